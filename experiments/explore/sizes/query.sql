-- Perplexity at each width, and that of ALiBi trained on 512 tokens over that of a sinusoidal model
-- trained on the length that both read. Parameters: :artefact, :scale.
WITH e AS (
    SELECT w.*, CAST(d.value AS INTEGER) AS width,
        max(CASE WHEN w.position = 'sinusoidal' AND w.L_train = w.L_valid THEN w.perplexity END) OVER (PARTITION BY d.value, w.L_valid, w.seed) AS sinusoidal
    FROM wanted_evaluations w JOIN settings d ON d.run_id = w.train_run_id AND d.key = 'model.dim'
    WHERE w.artefact = :artefact AND w.scale = :scale),
kind(kind) AS (VALUES ('perplexity'), ('ratio'))
SELECT CASE kind WHEN 'ratio' THEN 'ALiBi over Sinusoidal' ELSE method || ' ' || trained_on END AS line,
    CASE kind WHEN 'ratio' THEN 'ALiBi trained on ' || L_train || ', read at ' || L_valid || ', over Sinusoidal trained on ' || L_valid END AS series,
    CASE kind WHEN 'ratio' THEN perplexity / sinusoidal ELSE perplexity END AS number,
    kind AS metric, width, parameters AS size,
    position, L_train, L_valid, L_valid_nominal, seed, scale, dataset, corpus, model, split, protocol, precision, tokens, modified, state, run_id, config_id
FROM e JOIN kind ON CASE kind WHEN 'ratio' THEN position = 'alibi' ELSE position = 'alibi' OR L_train = L_valid END
ORDER BY kind, place, L_train, L_valid, parameters, seed;
