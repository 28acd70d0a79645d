-- Perplexity by the window of the attention, a curve for each model, relative to a window as long
-- as the inputs of training. Parameters: :artefact, :scale.
SELECT w.*, w.method || CASE WHEN CAST(s.value AS REAL) >= 2 THEN ' slopes=×4' ELSE '' END AS name, w.attention_window AS window,
    1.0 * w.attention_window / w.L_train AS multiple,
    w.perplexity / max(CASE WHEN w.attention_window = w.L_train THEN w.perplexity END) OVER (PARTITION BY w.train_run_id) AS relative
FROM wanted_evaluations w LEFT JOIN settings s ON s.run_id = w.train_run_id AND s.key = 'model.alibi_slopes'
WHERE w.artefact = :artefact AND w.scale = :scale
ORDER BY w.place, name, w.attention_window, w.seed;
