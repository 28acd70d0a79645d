-- Verdicts of E10. Parameters: :artefact, :scale. Lengths are nominal. Temperature and lambda are
-- those that are best on valid; every number compared is of test. A gain is nats per target on the
-- same targets, with its standard error over blocks of them; it counts if it exceeds three of them.
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
    SELECT w.run_id, w.seed, w.L_valid_nominal AS V, w.split, w.loss_nats, s.lambda, s.temperature, coalesce(s.control, 'model') AS kind
    FROM wanted_evaluations w LEFT JOIN s ON s.run_id = w.run_id
    WHERE w.artefact = :artefact AND w.scale = :scale),
best AS ( -- only of complete grids of temperature and lambda
    SELECT *, row_number() OVER (PARTITION BY kind, V, seed ORDER BY loss_nats, lambda, temperature) AS rank,
        count(*) OVER (PARTITION BY kind, V, seed) - count(loss_nats) OVER (PARTITION BY kind, V, seed) AS open
    FROM e WHERE split = 'valid'),
t AS (
    SELECT e.* FROM e JOIN best b ON b.rank = 1 AND b.open = 0 AND b.kind = e.kind AND b.V = e.V AND b.seed = e.seed
        AND b.lambda IS e.lambda AND b.temperature IS e.temperature
    WHERE e.split = 'test' AND e.loss_nats IS NOT NULL),
pairs AS ( -- by how much one kind is better than another, in each block of targets
    SELECT x.seed, x.V, x.kind, y.kind AS other, x.run_id || ' ' || y.run_id AS runs, x.lambda, x.temperature, p.targets, q.nll - p.nll AS nats
    FROM t x JOIN t y ON y.seed = x.seed AND y.V = x.V AND y.kind <> x.kind
    JOIN target_blocks p ON p.run_id = x.run_id JOIN target_blocks q ON q.run_id = y.run_id AND q.first = p.first AND q.last = p.last),
g AS (
    SELECT seed, V, kind, other, runs, lambda, temperature, sum(nats) / sum(targets) AS gain,
        sqrt(max(0, count(*) * (sum(nats * nats) - sum(nats) * sum(nats) / count(*)) / (count(*) - 1))) / sum(targets) AS error
    FROM pairs GROUP BY seed, V, kind, other HAVING count(*) > 1),
blocks AS ( -- in each block of targets the gains of longer windows, of the datastore, and of both
    SELECT seed, targets, plain - longer AS windows, plain - keys AS datastore, plain - both AS both, runs FROM (
        SELECT t.seed, max(p.targets) AS targets, group_concat(t.run_id, ' ') AS runs,
            max(CASE WHEN kind = 'model' AND V = 512 THEN nll END) AS plain, max(CASE WHEN kind = 'model' AND V = 2048 THEN nll END) AS longer,
            max(CASE WHEN kind = 'none' AND V = 512 THEN nll END) AS keys, max(CASE WHEN kind = 'none' AND V = 2048 THEN nll END) AS both
        FROM t JOIN target_blocks p USING (run_id) WHERE kind IN ('model', 'none') AND V IN (512, 2048) GROUP BY t.seed, p.first, p.last)),
ratio AS (
    SELECT seed, sum(both) / sum(windows + datastore) AS ratio FROM blocks GROUP BY seed HAVING count(both + windows + datastore) = count(*) AND count(*) > 1),
joint AS ( -- the joint gain over the sum of both, with the standard error of a ratio of two sums over blocks
    SELECT b.seed, r.ratio, sum(windows) / sum(targets) AS window_gain, k.gain AS knn_gain, k.error AS knn_error, sum(both) / sum(targets) AS both,
        sqrt(max(0, count(*) * (sum(pow(both - ratio * (windows + datastore), 2)) - pow(sum(both - ratio * (windows + datastore)), 2) / count(*)) / (count(*) - 1)))
            / abs(sum(windows + datastore)) AS error, max(b.runs) AS runs
    FROM blocks b JOIN ratio r USING (seed) JOIN g k ON k.kind = 'none' AND k.other = 'model' AND k.V = 512 AND k.seed = b.seed GROUP BY b.seed),
found(claim, place, seed, item, measured, error, bound, direction, runs, said) AS ( -- gains in nats per target
    SELECT 'E10a', V, seed, 'windows of ' || V, gain, error, errors * error, 'above', runs,
           printf('windows of %d: %+.4f nats (standard error %.4f) at lambda %g, temperature %g', V, gain, error, lambda, temperature)
    FROM threshold, g WHERE kind = 'none' AND other = 'model' AND V IN (512, 2048)
    UNION ALL
    SELECT 'E10b', 1, seed, 'sum', abs(ratio - 1), error, apart, 'at most', runs,
           printf('longer windows %+.4f nats, the datastore %+.4f, both %+.4f (x %.2f of their sum, standard error %.2f)', window_gain, knn_gain, both, ratio, error)
    FROM threshold, joint WHERE knn_gain > max(errors * knn_error, apart * (window_gain + knn_gain))
    UNION ALL
    SELECT 'E10c', other = 'unigram', seed, other, gain, error, errors * error, 'above', runs,
           printf('better than %s by %+.4f nats (standard error %.4f)', iif(other = 'unigram', 'the unigram', 'untrained keys'), gain, error)
    FROM threshold, g WHERE kind = 'none' AND V = 512 AND other IN ('untrained', 'unigram')),
bare(why) AS (SELECT CASE WHEN :scale = 'mini' THEN 'because the text of scale mini has nothing to memorise' END),
seeds(n) AS (SELECT count(DISTINCT seed) FROM e),
statements(claim, statement, wanted_n, unjudged) AS (
    SELECT 'E10a', 'A datastore of the training text improves ALiBi, with windows of 512 and of 2,048 tokens.', 2 * n, why FROM seeds, bare
    UNION ALL
    SELECT 'E10b', printf('Longer windows and a datastore add up: together they gain the sum of both, within %.0f %%.', 100 * apart), n,
           CASE WHEN why IS NOT NULL THEN why WHEN EXISTS (SELECT 1 FROM joint, threshold WHERE knn_gain <= max(errors * knn_error, apart * (window_gain + knn_gain)))
                THEN 'because the datastore gains too little at 512 for its share of the sum to be seen' END
    FROM threshold, seeds, bare
    UNION ALL
    SELECT 'E10c', 'The keys carry the gain: the initial model''s keys, and the unigram, gain less.', 2 * n, why FROM seeds, bare)
SELECT s.claim, s.statement, s.wanted_n AS wanted, f.seed, NULL AS holds, f.said, s.unjudged, f.item, f.measured, f.error, f.bound, f.direction, f.runs
FROM statements s LEFT JOIN found f ON f.claim = s.claim ORDER BY s.claim, f.seed, f.place;
