-- Perplexity at L, 2 L and 6 L, and the ratios, after more and more updates. A number of the table is
-- perplexity (`what`) or a ratio; the figure has the ratios. Parameters: :artefact, :scale.
WITH e AS (
    SELECT w.*, CAST(u.value AS INTEGER) AS trained,
        w.method || coalesce(', ' || CAST(2 * CAST(a.value AS REAL) AS INTEGER) || ' x the paper''s slopes', '') AS line,
        -- of a run without a result as well
        round(1.0 * u.value * h.value * t.value / w.parameters, 1) AS tokens_per_parameter,
        first_value(w.perplexity) OVER (PARTITION BY w.train_run_id ORDER BY w.L_valid) AS at_L
    FROM wanted_evaluations w
    JOIN settings u ON u.run_id = w.train_run_id AND u.key = 'train.updates'
    JOIN settings h ON h.run_id = w.train_run_id AND h.key = 'train.shards'
    JOIN settings t ON t.run_id = w.train_run_id AND t.key = 'train.shard_tokens'
    LEFT JOIN settings a ON a.run_id = w.train_run_id AND a.key = 'model.alibi_slopes'
    WHERE w.artefact = :artefact AND w.scale = :scale),
kind(kind) AS (VALUES ('perplexity'), ('ratio'))
SELECT line, CASE kind WHEN 'ratio' THEN line END AS series,
    CASE kind WHEN 'perplexity' THEN 'perplexity' ELSE 'times that at L' END || ' at ' || (L_valid / L_train) || ' L' AS what,
    (L_valid / L_train) || ' L' AS longer,
    CASE kind WHEN 'perplexity' THEN perplexity ELSE perplexity / at_L END AS number,
    kind AS metric, trained AS updates, tokens_per_parameter,
    position, L_train, L_train_nominal, seed, scale, dataset, corpus, model, split, protocol, precision, tokens, parameters, modified, state, run_id, config_id
FROM e JOIN kind ON kind = 'perplexity' OR L_valid > L_train
ORDER BY kind, L_valid, place, line, trained, seed;
