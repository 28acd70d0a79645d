-- Statements about how ALiBi's slopes are chosen, as verdicts. Parameters: :artefact, :scale. The scale's
-- set is the first of the grid. A choice is made on the validation split and reported on test, E5a to E5c
-- for means over seeds; E5d and E5e must hold for each seed. Until all its numbers exist, finite, a
-- statement is "not run".
WITH
threshold AS (SELECT
    0.01 AS near,   -- E5a, E5b: the scale's set over the best of the factors, at most
    0.01 AS choice, -- E5c: what the choice at L costs at 6 L, at most
    0.01 AS rise,   -- E5d: learned slopes at 6 L over at L, at most
    0.01 AS zero    -- E5e: heads without a penalty at 6 L over the scale's set there, at least
),
listed AS (
    SELECT w.point, w.position, w.train_run_id, w.seed, w.split, w.L_valid / w.L_train AS multiple, w.perplexity AS p, w.run_id,
        coalesce(s.value, '0.5,0.00390625') AS list, min(w.point) OVER () AS first_point,
        coalesce(m.value, 'exp') || CASE WHEN b.value IS NULL OR b.value LIKE '%,0.0078125' THEN ', from the paper''s' ELSE ', from a forget gate''s' END AS form
    FROM wanted_evaluations w
    LEFT JOIN settings s ON s.run_id = w.train_run_id AND s.key = 'model.alibi_slopes'
    LEFT JOIN settings m ON m.run_id = w.train_run_id AND m.key = 'model.alibi_parametrisation'
    LEFT JOIN settings b ON b.run_id = w.train_run_id AND b.key = 'model.alibi_start_slopes'
    WHERE w.artefact = :artefact AND w.scale = :scale),
ends AS (
    SELECT *, CAST(list AS REAL) AS high, CAST(replace(list, rtrim(list, replace(list, ',', '')), '') AS REAL) AS low FROM listed),
own(list) AS (SELECT list FROM ends WHERE point = first_point),
t AS ( -- one row a training; factor NULL: not the paper's set times a factor
    SELECT position, seed, list, form, low,
        CASE WHEN position = 'alibi' AND low > 0 AND abs(high / low / 128 - 1) < 1e-3 THEN high / 0.5 END AS factor,
        list = (SELECT list FROM own) AND position = 'alibi' AS is_own,
        max(p) FILTER (WHERE split = 'valid' AND multiple = 1) AS valid_L, max(p) FILTER (WHERE split = 'valid' AND multiple = 6) AS valid_6L,
        max(p) FILTER (WHERE split = 'test' AND multiple = 1) AS test_L, max(p) FILTER (WHERE split = 'test' AND multiple = 6) AS test_6L,
        max(run_id) FILTER (WHERE split = 'test' AND multiple = 1) AS run_L, max(run_id) FILTER (WHERE split = 'test' AND multiple = 6) AS run_6L
    FROM ends GROUP BY train_run_id),
seeds AS (SELECT count(DISTINCT seed) AS n FROM t),
knob AS ( -- one row a factor all of whose numbers exist with each seed: means over seeds. Each the best of nine single trainings is a lucky one
    SELECT factor, max(is_own) AS is_own, avg(valid_L) AS valid_L, avg(valid_6L) AS valid_6L, avg(test_L) AS test_L, avg(test_6L) AS test_6L
    FROM t WHERE factor IS NOT NULL GROUP BY factor HAVING count(valid_L + valid_6L + test_L + test_6L) = (SELECT n FROM seeds)),
whole AS (SELECT count(*) AS n FROM (SELECT DISTINCT factor FROM t WHERE factor IS NOT NULL)),
chosen AS (
    SELECT o.test_L AS own_L, o.test_6L AS own_6L, l.test_L AS best_L, l.factor AS best_factor_L, x.test_6L AS best_6L, x.factor AS best_factor_6L,
        a.factor AS at_L, a.test_6L AS at_L_6L, b.factor AS at_6L, b.test_6L AS at_6L_6L
    FROM knob o JOIN (SELECT *, min(test_L) FROM knob) l JOIN (SELECT *, min(test_6L) FROM knob) x
    JOIN (SELECT *, min(valid_L) FROM knob) a JOIN (SELECT *, min(valid_6L) FROM knob) b, whole
    WHERE o.is_own AND whole.n > 1 AND whole.n = (SELECT count(*) FROM knob)),
wanted(claim, n) AS (
    SELECT 'E5a', count(*) > 0 FROM t UNION ALL SELECT 'E5b', count(*) > 0 FROM t UNION ALL SELECT 'E5c', count(*) > 0 FROM t
    UNION ALL SELECT 'E5d', count(*) FROM t WHERE position = 'alibi_learned' UNION ALL SELECT 'E5e', count(*) FROM t WHERE position = 'alibi' AND low = 0),
found(claim, seed, item, run, other, measured, bound, direction, said) AS (
    SELECT 'E5a', NULL, NULL, NULL, NULL, own_L / best_L, 1 + near, 'at most',
        printf('means over %d seeds: at L %.2f, best %.2f (the paper''s x %g, %+.2f %%)', n, own_L, best_L, best_factor_L, 100 * (best_L / own_L - 1)) FROM chosen, threshold, seeds
    UNION ALL
    SELECT 'E5b', NULL, NULL, NULL, NULL, own_6L / best_6L, 1 + near, 'at most',
        printf('means over %d seeds: at 6 L %.2f, best %.2f (the paper''s x %g, %+.2f %%)', n, own_6L, best_6L, best_factor_6L, 100 * (best_6L / own_6L - 1)) FROM chosen, threshold, seeds
    UNION ALL
    SELECT 'E5c', NULL, NULL, NULL, NULL, at_L_6L / at_6L_6L, 1 + choice, 'at most',
        printf('means over %d seeds, chosen at L: the paper''s x %g, %.2f at 6 L; chosen at 6 L: x %g, %.2f there (%+.2f %%)', n, at_L, at_L_6L, at_6L, at_6L_6L, 100 * (at_L_6L / at_6L_6L - 1)) FROM chosen, threshold, seeds
    UNION ALL
    SELECT 'E5d', seed, form, run_6L, run_L, NULL, 1 + rise, 'at most', printf('%s: %.2f at L, %.2f at 6 L (x %.3f)', form, test_L, test_6L, test_6L / test_L) FROM t, threshold
    WHERE position = 'alibi_learned' AND test_L + test_6L IS NOT NULL
    UNION ALL
    SELECT 'E5e', z.seed, CASE WHEN z.list LIKE '%,0,0,0,0' THEN 'four heads' ELSE 'one head' END, z.run_6L, o.run_6L, NULL, 1 + zero, 'at least',
        printf('%s: %.2f at L, %.2f at 6 L; the scale''s set %.2f and %.2f', CASE WHEN z.list LIKE '%,0,0,0,0' THEN 'four heads' ELSE 'one head' END, z.test_L, z.test_6L, o.test_L, o.test_6L)
    FROM threshold, t z JOIN t o ON o.seed = z.seed AND o.is_own WHERE z.position = 'alibi' AND z.low = 0 AND z.test_L + z.test_6L + o.test_L + o.test_6L IS NOT NULL),
statements(claim, statement) AS (
    SELECT 'E5a', printf('Of the paper''s slopes times a factor, the scale''s set is within %.0f %% of the best at L.', 100 * near) FROM threshold
    UNION ALL SELECT 'E5b', printf('It is within %.0f %% of the best at 6 L.', 100 * near) FROM threshold
    UNION ALL SELECT 'E5c', printf('A factor chosen at L costs at most %.0f %% at 6 L against one that is chosen there.', 100 * choice) FROM threshold
    UNION ALL SELECT 'E5d', printf('Learned slopes do not lose extrapolation: from either start and in either form their perplexity at 6 L is at most %.0f %% above that at L. (The paper''s section 3 found that they do.)', 100 * rise) FROM threshold
    UNION ALL SELECT 'E5e', printf('Heads without a penalty cost extrapolation: at 6 L one, and four, are at least %.0f %% above the scale''s set.', 100 * zero) FROM threshold)
SELECT s.claim, s.statement, w.n AS wanted, f.seed, NULL AS holds, f.said,
    CASE WHEN s.claim IN ('E5a', 'E5b') AND (SELECT n FROM seeds) < 3 THEN 'because with fewer than three seeds the best of the factors is a lucky one'
        WHEN s.claim = 'E5c' AND (SELECT n FROM seeds) < 5 THEN 'because with fewer than five seeds the factor that is chosen is a lucky one' END AS unjudged,
    f.item, f.run, f.other, f.measured, f.bound, f.direction
FROM statements s JOIN wanted w USING (claim) LEFT JOIN found f ON f.claim = s.claim ORDER BY s.claim, f.seed, f.said;
