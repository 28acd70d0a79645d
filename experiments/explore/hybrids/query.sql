-- Perplexity by the length of the input, a curve for each pattern of layers, relative to inputs as long
-- as those of training. Parameters: :artefact, :scale.
SELECT w.*, w.method || CASE WHEN n.value <> '' THEN ' + NoPE layers' ELSE '' END
        || CASE WHEN s.value <> 'none' THEN ' + windows' ELSE '' END AS name,
    1.0 * w.L_valid / w.L_train AS multiple,
    w.perplexity / max(CASE WHEN w.L_valid = w.L_train THEN w.perplexity END) OVER (PARTITION BY w.train_run_id) AS relative
FROM wanted_evaluations w
LEFT JOIN settings n ON n.run_id = w.train_run_id AND n.key = 'model.position_layers'
LEFT JOIN settings s ON s.run_id = w.train_run_id AND s.key = 'model.attention_window_layers'
WHERE w.artefact = :artefact AND w.scale = :scale
ORDER BY w.place, name, w.L_valid, w.seed;
