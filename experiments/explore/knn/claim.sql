-- Verdicts of E10. Parameters: :artefact, :scale. Lengths are nominal. Temperature and lambda are
-- those that are best on valid; every number compared is of test. A gain is nats per target, with
-- its standard error over the windows; it counts if it exceeds three of them.
WITH
threshold AS (SELECT
    3.0 AS errors, -- E10a, E10c: a gain is one beyond so many standard errors
    0.2 AS apart   -- E10b: relative difference of the joint gain from the sum of both, at most
),
s AS (
    SELECT run_id, max(CASE key WHEN 'eval.knn_window' THEN CAST(value AS INTEGER) END) AS keys_window,
        max(CASE key WHEN 'eval.knn_lambda' THEN CAST(value AS REAL) END) AS lambda,
        max(CASE key WHEN 'eval.knn_temperature' THEN CAST(value AS REAL) END) AS temperature,
        max(CASE key WHEN 'eval.knn_control' THEN value END) AS control
    FROM settings WHERE key LIKE 'eval.knn%' GROUP BY run_id),
e AS (
    SELECT w.seed, w.L_valid_nominal AS V, w.split, w.loss_nats, s.lambda, s.temperature,
        coalesce(s.control, 'model') AS kind, v.datastore_gain_nats AS gain, v.datastore_gain_error AS error
    FROM wanted_evaluations w LEFT JOIN s ON s.run_id = w.run_id LEFT JOIN evaluations v ON v.run_id = w.run_id
    WHERE w.artefact = :artefact AND w.scale = :scale),
best AS ( -- only of complete grids of temperature and lambda
    SELECT *, row_number() OVER (PARTITION BY kind, V, seed ORDER BY loss_nats, lambda, temperature) AS rank,
        count(*) OVER (PARTITION BY kind, V, seed) - count(loss_nats) OVER (PARTITION BY kind, V, seed) AS open
    FROM e WHERE split = 'valid'),
t AS (
    SELECT e.* FROM e JOIN best b ON b.rank = 1 AND b.open = 0 AND b.kind = e.kind AND b.V = e.V AND b.seed = e.seed
        AND b.lambda IS e.lambda AND b.temperature IS e.temperature
    WHERE e.split = 'test' AND e.loss_nats IS NOT NULL),
joint AS (
    SELECT a.seed, a.loss_nats - b.loss_nats AS window_gain, k.gain AS knn_gain, k.error AS knn_error,
        a.loss_nats - j.loss_nats AS both
    FROM t a JOIN t b ON b.kind = 'model' AND b.V = 2048 AND b.seed = a.seed
    JOIN t k ON k.kind = 'none' AND k.V = 512 AND k.seed = a.seed
    JOIN t j ON j.kind = 'none' AND j.V = 2048 AND j.seed = a.seed
    WHERE a.kind = 'model' AND a.V = 512),
found(claim, place, seed, holds, said) AS (
    SELECT 'E10a', V, seed, gain > errors * error,
           printf('windows of %d: %+.4f nats (standard error %.4f) at lambda %g, temperature %g', V, gain, error, lambda, temperature)
    FROM threshold, t WHERE kind = 'none' AND V IN (512, 2048)
    UNION ALL
    SELECT 'E10b', 1, seed, abs(both - window_gain - knn_gain) <= apart * (window_gain + knn_gain),
           printf('longer windows %+.4f nats, the datastore %+.4f, both %+.4f', window_gain, knn_gain, both)
    FROM threshold, joint WHERE knn_gain > errors * knn_error
    UNION ALL
    SELECT 'E10c', c.kind = 'unigram', k.seed, k.gain - c.gain > errors * sqrt(k.error * k.error + c.error * c.error),
           printf('keys %+.4f nats, %s %+.4f', k.gain, c.kind, c.gain)
    FROM threshold, t k JOIN t c ON c.kind IN ('untrained', 'unigram') AND c.V = 512 AND c.seed = k.seed
    WHERE k.kind = 'none' AND k.V = 512),
seeds(n) AS (SELECT count(DISTINCT seed) FROM e),
statements(claim, statement, wanted_n, unjudged) AS (
    SELECT 'E10a', 'A datastore of the training text improves ALiBi, with windows of 512 and of 2,048 tokens.', 2 * n, NULL FROM seeds
    UNION ALL
    SELECT 'E10b', printf('Longer windows and a datastore add up: together they gain the sum of both, within %.0f %%.', 100 * apart), n,
           CASE WHEN EXISTS (SELECT 1 FROM joint, threshold WHERE knn_gain <= errors * knn_error)
                THEN 'because the datastore gains nothing at 512' END
    FROM threshold, seeds
    UNION ALL
    SELECT 'E10c', 'The keys carry the gain: the initial model''s keys, and the unigram, gain less.', 2 * n, NULL FROM seeds)
SELECT s.claim, s.statement, s.wanted_n AS wanted, f.seed, f.holds, f.said, s.unjudged
FROM statements s LEFT JOIN found f ON f.claim = s.claim ORDER BY s.claim, f.seed, f.place;
