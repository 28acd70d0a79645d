-- Table 6: validation and test with nonoverlapping windows, and speeds.
-- A row for each evaluation the grid asks for, with a result or without. alone_eval_wps: of the benchmark
-- of the same model at the same length, one window at a time.
-- Parameters: :artefact, :scale.
SELECT w.*, k.wps AS alone_eval_wps, 'perplexity' AS metric
FROM wanted_evaluations w LEFT JOIN wanted_benchmarks k
    ON k.artefact = w.artefact AND k.scale = w.scale AND k.mode = 'eval' AND k.position = w.position
    AND k.L_train = w.L_train AND k.L_valid = w.L_valid AND k.seed = w.seed
WHERE w.artefact = :artefact AND w.scale = :scale
ORDER BY w.place, w.L_train, w.split DESC, w.seed, w.point;
