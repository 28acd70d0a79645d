-- The evaluations of the grid. For the table: of each kind of datastore and window the temperature
-- and lambda that are best on valid, and what these give on test. For the figure: all of
-- valid. Parameters: :artefact, :scale.
WITH
s AS (
    SELECT run_id, max(CASE key WHEN 'eval.knn_window' THEN CAST(value AS INTEGER) END) AS keys_window,
        max(CASE key WHEN 'eval.knn_stride' THEN CAST(value AS INTEGER) END) AS keys_stride,
        max(CASE key WHEN 'eval.knn_lambda' THEN CAST(value AS REAL) END) AS lambda,
        max(CASE key WHEN 'eval.knn_temperature' THEN CAST(value AS REAL) END) AS temperature,
        max(CASE key WHEN 'eval.knn_control' THEN value END) AS control
    FROM settings WHERE key LIKE 'eval.knn%' GROUP BY run_id),
e AS (
    SELECT w.*, s.lambda, s.temperature, s.control,
        CASE WHEN s.lambda IS NULL THEN 'ALiBi' WHEN s.control = 'unigram' THEN 'ALiBi + unigram'
             WHEN s.control = 'untrained' THEN 'ALiBi + untrained keys'
             ELSE printf('ALiBi + kNN-LM, keys %d-%d', s.keys_window - s.keys_stride, s.keys_window - 1) END AS name
    FROM wanted_evaluations w LEFT JOIN s ON s.run_id = w.run_id
    WHERE w.artefact = :artefact AND w.scale = :scale),
best AS (
    SELECT *, row_number() OVER (PARTITION BY name, L_valid, seed ORDER BY perplexity IS NULL, perplexity, lambda, temperature) AS rank
    FROM e WHERE split = 'valid'),
chosen AS (
    SELECT e.* FROM e JOIN best b ON b.rank = 1 AND b.name = e.name AND b.L_valid = e.L_valid AND b.seed = e.seed
        AND b.lambda IS e.lambda AND b.temperature IS e.temperature)
SELECT 'ours' AS series, name AS method, L_train, L_train_nominal, L_valid, L_valid_nominal, lambda, temperature,
    NULL AS curve, NULL AS window_tokens, NULL AS x, position, perplexity, loss_nats, scale,
    dataset, corpus, model, split, protocol, precision, seed, tokens, modified, run_id, config_id, state
FROM (SELECT * FROM chosen ORDER BY L_valid, name)
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, lambda, temperature,
    CASE control WHEN 'none' THEN 'keys' WHEN 'untrained' THEN 'untrained keys' ELSE 'unigram' END || coalesce(', T = ' || CAST(temperature AS INTEGER), ''),
    L_valid, lambda, CASE control WHEN 'none' THEN 'alibi' WHEN 'untrained' THEN 'none' ELSE 't5' END, perplexity, loss_nats, scale,
    dataset, corpus, model, split, protocol, precision, seed, tokens, modified, run_id, config_id, state
FROM (SELECT * FROM e WHERE split = 'valid' AND lambda IS NOT NULL ORDER BY L_valid, control, temperature, lambda)
UNION ALL -- the model alone, as a level line
SELECT NULL, NULL, NULL, NULL, NULL, NULL, l.lambda, NULL, 'the model alone',
    p.L_valid, l.lambda, 'sinusoidal', p.perplexity, p.loss_nats, p.scale,
    p.dataset, p.corpus, p.model, p.split, p.protocol, p.precision, p.seed, p.tokens, p.modified, p.run_id, p.config_id, p.state
FROM e p JOIN (SELECT DISTINCT L_valid, lambda FROM e WHERE lambda IS NOT NULL) l ON l.L_valid = p.L_valid
WHERE p.split = 'valid' AND p.lambda IS NULL;
