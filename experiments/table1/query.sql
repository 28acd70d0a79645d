-- Words per second in training and evaluation, and memory in training: a row for each metric of each
-- benchmark the grid asks for, with a result or without.
-- Parameters: :artefact, :scale.
SELECT w.*, w.method AS series, m.metric, m.panel,
       replace(m.metric, 'memory_mb', 'memory_gb') AS compares,
       CASE m.metric WHEN 'memory_mb' THEN 1e-6 * w.peak_memory_bytes ELSE w.wps END AS value,
       CASE m.metric WHEN 'memory_mb' THEN 1e-9 * w.peak_memory_bytes ELSE w.wps END AS drawn
FROM (SELECT 1 AS place, 'train_wps' AS metric, 'train' AS mode, 'Training Speed' AS panel
      UNION ALL SELECT 2, 'eval_wps', 'eval', 'Inference Speed'
      UNION ALL SELECT 3, 'memory_mb', 'train', 'Training Memory') m
JOIN wanted_benchmarks w ON w.mode = m.mode
WHERE artefact = :artefact AND scale = :scale
ORDER BY m.place, w.place, w.L_train, w.seed, w.point;
