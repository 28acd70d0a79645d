-- Figure 2: words per second in training and evaluation, and memory in training.
-- One row for each metric of each benchmark the grid asks for, whether it has a result or not.
-- Memory is that of the training. Parameters: :artefact, :scale.
SELECT p.artefact, r.scale, r.dataset, r.corpus, r.model, r.position,
       CASE r.position WHEN 'sinusoidal' THEN 'Sinusoidal' WHEN 'rotary' THEN 'Rotary'
                       WHEN 't5' THEN 'T5 Bias' WHEN 'alibi' THEN 'ALiBi' ELSE r.position END AS method,
       CASE r.position WHEN 'sinusoidal' THEN 'Sinusoidal' WHEN 'rotary' THEN 'Rotary'
                       WHEN 't5' THEN 'T5 Bias' WHEN 'alibi' THEN 'ALiBi' ELSE r.position END AS series,
       r.L_train, p.L_train_nominal, r.precision, r.seed, r.mode,
       m.metric, m.panel,
       CASE m.metric WHEN 'memory_mb' THEN 1e-6 * b.peak_memory_bytes ELSE b.wps END AS value,
       CASE m.metric WHEN 'memory_mb' THEN 1e-9 * b.peak_memory_bytes ELSE b.wps END AS drawn,
       b.wps, b.peak_memory_bytes, b.batch_tokens, b.mfu, b.device AS machine,
       coalesce(b.modified, r.modified) AS modified,
       r.run_id, r.config_id, b.code_id, b.finished_at
FROM (SELECT 1 AS place, 'train_wps' AS metric, 'train' AS mode, 'Training Speed' AS panel
      UNION ALL SELECT 2, 'eval_wps', 'eval', 'Inference Speed'
      UNION ALL SELECT 3, 'memory_mb', 'train', 'Training Memory') m
CROSS JOIN points p
JOIN runs r ON r.run_id = p.run_id AND r.kind = 'bench' AND r.mode = m.mode
LEFT JOIN benchmarks b ON b.run_id = r.run_id
WHERE p.artefact = :artefact AND p.scale = :scale
ORDER BY m.place, CASE r.position WHEN 'sinusoidal' THEN 1 WHEN 'rotary' THEN 2 WHEN 't5' THEN 3 WHEN 'alibi' THEN 4 END, r.L_train, r.seed, p.point;
