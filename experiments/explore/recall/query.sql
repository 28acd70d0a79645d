-- Answers by the distance of their needle, for each training and each evaluation. A row is a class of
-- answers whose needle is in the context of all of them. The bins end where the next begins.
-- Parameters: :artefact, :scale.
WITH
bins(name, first, next) AS (VALUES
    ('from-1', 1, 16), ('from-16', 16, 32), ('from-32', 32, 48), ('from-48', 48, 64), ('from-64', 64, 96),
    ('from-96', 96, 128), ('from-128', 128, 192), ('from-192', 192, 256), ('from-256', 256, 384)),
asked AS (
    SELECT DISTINCT w.*, s.value AS slopes, w.method || CASE WHEN s.value LIKE '%,0,0,0,0' THEN ', four slopes 0'
        WHEN CAST(s.value AS REAL) >= 2 THEN printf(', c = %g', 2 * s.value) ELSE '' END AS arm
    FROM wanted_evaluations w LEFT JOIN settings s ON s.run_id = w.train_run_id AND s.key = 'model.alibi_slopes'
    WHERE w.artefact = :artefact AND w.scale = :scale)
SELECT b.first || ' to ' || (b.next - 1) AS distance, sqrt(1.0 * b.first * b.next) AS tokens_back, b.first, b.next,
    a.arm, CASE WHEN a.L_valid = max(a.L_valid) OVER () THEN a.arm END AS curve, -- the figure has the longest windows
    g.accuracy, g.hits, g.targets AS answers, g.loss_nats, a.position, a.place, a.L_train, a.L_train_nominal, a.L_valid, a.L_valid_nominal,
    a.scale, a.dataset, a.corpus, a.model, a.split, a.protocol, a.stride, a.first_window, a.precision, a.seed, a.tokens, a.parameters,
    a.modified, a.state, a.run_id, a.config_id
FROM asked a JOIN bins b ON b.next <= a.L_valid - a.stride LEFT JOIN target_groups g ON g.run_id = a.run_id AND g.name = b.name
ORDER BY a.L_train, a.L_valid, a.place, CAST(slopes AS REAL), a.seed, b.first;
