-- Statements about sets of slopes, as verdicts. Parameters: :artefact, :scale. The scale's set is the
-- first of the grid. Numbers are of the test split. A claim must hold for each seed; until all its
-- numbers exist it is "not run".
WITH
threshold AS (SELECT
    0.01 AS rise,   -- E5d: learned slopes at 6 L over at L, at most
    0.01 AS zero    -- E5e: heads without a penalty at 6 L over the scale's set there, at least
),
listed AS (
    SELECT w.point, w.position, w.train_run_id, w.seed, w.L_valid / w.L_train AS multiple, w.perplexity AS p, w.run_id,
        coalesce(s.value, '0.5,0.00390625') AS list, min(w.point) OVER () AS first_point,
        coalesce(m.value, 'exp') || CASE WHEN b.value IS NULL OR b.value LIKE '%,0.0078125' THEN ', from the paper''s' ELSE ', from a forget gate''s' END AS form
    FROM wanted_evaluations w
    LEFT JOIN settings s ON s.run_id = w.train_run_id AND s.key = 'model.alibi_slopes'
    LEFT JOIN settings m ON m.run_id = w.train_run_id AND m.key = 'model.alibi_parametrisation'
    LEFT JOIN settings b ON b.run_id = w.train_run_id AND b.key = 'model.alibi_start_slopes'
    LEFT JOIN settings a ON a.run_id = w.run_id AND a.key = 'eval.attention_rows'
    WHERE w.artefact = :artefact AND w.scale = :scale AND coalesce(a.value, '0') = '0'),
t AS ( -- one row a training
    SELECT position, seed, list, form, position = 'alibi' AND list = (SELECT list FROM listed WHERE point = first_point) AS is_own,
        position = 'alibi' AND list LIKE '%,0' AS has_zeros,
        max(p) FILTER (WHERE multiple = 1) AS at_L, max(p) FILTER (WHERE multiple = 6) AS at_6L,
        max(run_id) FILTER (WHERE multiple = 1) AS run_L, max(run_id) FILTER (WHERE multiple = 6) AS run_6L
    FROM listed GROUP BY train_run_id),
wanted(claim, n) AS (
    SELECT 'E5d', count(*) FROM t WHERE position = 'alibi_learned' UNION ALL SELECT 'E5e', count(*) FROM t WHERE has_zeros),
found(claim, seed, item, run, other, bound, direction, said) AS (
    SELECT 'E5d', seed, form, run_6L, run_L, 1 + rise, 'at most', printf('%s: %.2f at L, %.2f at 6 L (x %.3f)', form, at_L, at_6L, at_6L / at_L) FROM t, threshold
    WHERE position = 'alibi_learned' AND at_L + at_6L IS NOT NULL
    UNION ALL
    SELECT 'E5e', z.seed, CASE WHEN z.list LIKE '%,0,0,0,0' THEN 'four heads' ELSE 'one head' END, z.run_6L, o.run_6L, 1 + zero, 'at least',
        printf('%s: %.2f at L, %.2f at 6 L; the scale''s set %.2f and %.2f', CASE WHEN z.list LIKE '%,0,0,0,0' THEN 'four heads' ELSE 'one head' END, z.at_L, z.at_6L, o.at_L, o.at_6L)
    FROM threshold, t z JOIN t o ON o.seed = z.seed AND o.is_own WHERE z.has_zeros AND z.at_L + z.at_6L + o.at_L + o.at_6L IS NOT NULL),
statements(claim, statement) AS (
    SELECT 'E5d', printf('Learned slopes do not lose extrapolation: from either start and in either form their perplexity at 6 L is at most %.0f %% above that at L. (The paper''s section 3 found that they do.)', 100 * rise) FROM threshold
    UNION ALL SELECT 'E5e', printf('Heads without a penalty cost extrapolation: at 6 L one, and four, are at least %.0f %% above the scale''s set.', 100 * zero) FROM threshold)
SELECT s.claim, s.statement, w.n AS wanted, f.seed, NULL AS holds, f.said, f.item, f.run, f.other, NULL AS measured, f.bound, f.direction
FROM statements s JOIN wanted w USING (claim) LEFT JOIN found f ON f.claim = s.claim ORDER BY s.claim, f.seed, f.said;
