-- Perplexity by the length of the input, a curve for each pattern of layers, relative to inputs as long
-- as those of training. Parameters: :artefact, :scale.
SELECT e.*, CASE WHEN e.temperature = 'none' THEN name END AS curve, -- the figure has the trained models as they are
    name || CASE WHEN e.temperature = 'none' THEN '' ELSE ', log-n' END AS arm
FROM (SELECT w.*, coalesce(t.value, 'none') AS temperature, w.method || CASE WHEN n.value <> '' THEN ' + NoPE layers' ELSE '' END
        || CASE WHEN s.value <> 'none' THEN ' + windows' ELSE '' END AS name,
    1.0 * w.L_valid / w.L_train AS multiple,
    w.perplexity / max(CASE WHEN w.L_valid = w.L_train THEN w.perplexity END) OVER (PARTITION BY w.train_run_id) AS relative
FROM wanted_evaluations w
LEFT JOIN settings n ON n.run_id = w.train_run_id AND n.key = 'model.position_layers'
LEFT JOIN settings s ON s.run_id = w.train_run_id AND s.key = 'model.attention_window_layers'
LEFT JOIN settings t ON t.run_id = w.run_id AND t.key = 'eval.temperature'
WHERE w.artefact = :artefact AND w.scale = :scale) AS e
ORDER BY place, arm, L_valid, seed;
