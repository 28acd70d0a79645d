-- Figure 7: words per second in training over the input length.
-- One row for each benchmark the grid asks for, whether it has a result or not.
-- Parameters: :artefact, :scale.
SELECT p.artefact, r.scale, r.dataset, r.corpus, r.model, r.position,
       CASE r.position WHEN 'sinusoidal' THEN 'Sinusoidal' WHEN 'rotary' THEN 'Rotary'
                       WHEN 't5' THEN 'T5 Bias' WHEN 'alibi' THEN 'ALiBi' ELSE r.position END AS method,
       CASE r.position WHEN 'sinusoidal' THEN 'Sinusoidal' WHEN 'rotary' THEN 'Rotary'
                       WHEN 't5' THEN 'T5 Bias' WHEN 'alibi' THEN 'ALiBi' ELSE r.position END AS series,
       r.L_train, p.L_train_nominal, r.precision, r.seed, r.mode,
       b.wps, b.peak_memory_bytes, b.batch_tokens, b.mfu, b.device AS machine,
       coalesce(b.modified, r.modified) AS modified,
       r.run_id, r.config_id, b.code_id, b.finished_at
FROM points p
JOIN runs r ON r.run_id = p.run_id AND r.kind = 'bench' AND r.mode = 'train'
LEFT JOIN benchmarks b ON b.run_id = r.run_id
WHERE p.artefact = :artefact AND p.scale = :scale
ORDER BY CASE r.position WHEN 'sinusoidal' THEN 1 WHEN 'rotary' THEN 2 WHEN 't5' THEN 3 WHEN 'alibi' THEN 4 END, r.L_train, r.seed, p.point;
