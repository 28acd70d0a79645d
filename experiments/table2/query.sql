-- Table 2: perplexity and words per second on inputs from 512 tokens on.
-- One row for each evaluation the grid asks for, whether it has a result or not: what was asked for
-- is in points and runs, what came of it in the views evaluations and trainings.
-- Parameters: :artefact, :scale.
-- Each evaluation gives two rows, one for each metric.
SELECT p.artefact, r.scale, r.dataset, r.corpus, r.model, r.position,
       CASE r.position WHEN 'sinusoidal' THEN 'Sinusoidal' WHEN 'rotary' THEN 'Rotary'
                       WHEN 't5' THEN 'T5 Bias' WHEN 'alibi' THEN 'ALiBi' ELSE r.position END AS method,
       r.L_train, p.L_train_nominal, r.L_valid, p.L_valid_nominal,
       r.split, r.protocol, r.stride, r.first_window, r.precision, r.seed,
       m.metric, CASE m.metric WHEN 'perplexity' THEN e.perplexity ELSE e.eval_wps END AS value,
       e.loss_nats, e.tokens, e.nonfinite, e.peak_memory_bytes,
       CASE WHEN e.nonfinite > 0 THEN 'not finite'
            WHEN e.run_id IS NULL AND (SELECT a.state FROM attempts a WHERE a.run_id = r.train_run_id
                                       ORDER BY a.attempt DESC LIMIT 1) = 'diverged' THEN 'diverged'
       END AS state,
       coalesce(e.modified, r.modified) AS modified,
       r.run_id, r.train_run_id, r.config_id, e.code_id, e.device, e.finished_at
FROM (SELECT 1 AS place, 'perplexity' AS metric UNION ALL SELECT 2, 'eval_wps') m
CROSS JOIN points p
JOIN runs r ON r.run_id = p.run_id AND r.kind = 'eval'
LEFT JOIN evaluations e ON e.run_id = r.run_id
WHERE p.artefact = :artefact AND p.scale = :scale
ORDER BY m.place, CASE r.position WHEN 'sinusoidal' THEN 1 WHEN 'rotary' THEN 2 WHEN 't5' THEN 3 WHEN 'alibi' THEN 4 END, r.L_valid, r.seed, p.point;
