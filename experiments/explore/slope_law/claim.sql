-- Which slopes for so many heads and such a length? Verdicts on the best factor on ALiBi's slopes, of each
-- seed: the minimum of a parabola in log2 of the factor, least squares of ln perplexity on test at the
-- lowest factor and those within `reach` octaves of it. Its standard error is that of the residuals,
-- with n - 3 degrees of freedom; the spread over seeds enters as in every claim. A factor counts on the
-- paper's slopes for so many heads. Parameters: :artefact, :scale. A claim must hold for each seed;
-- until all its numbers exist it is "not run", and a parabola without a minimum among the factors
-- leaves it not judged.
WITH
threshold AS (SELECT
    0.25 AS law,  -- E17a, E17b: the slope of log2 of the best factor over log2 of L off -1, off 0, at most
    0.01 AS near, -- E17c to E17e: perplexity over that at the best factor, less 1, at most
    1.0 AS octave,-- E17f: octaves between the best factors for 8 heads and for another number, at most
    4.0 AS reach  -- octaves from the lowest factor to those of its parabola
),
paper(heads, first) AS (VALUES (4, 0.25), (8, 0.5), (12, 0.5), (16, 0.70710678118654757)), -- its first slope
e AS MATERIALIZED (
    SELECT CAST(h.value AS INTEGER) AS heads, w.L_train_nominal AS L, w.L_valid / w.L_train AS multiple, w.seed, w.run_id,
        ln(CAST(s.value AS REAL) / first) / ln(2) AS x, ln(w.perplexity) AS y
    FROM wanted_evaluations w JOIN settings h ON h.run_id = w.train_run_id AND h.key = 'model.heads'
    JOIN settings s ON s.run_id = w.train_run_id AND s.key = 'model.alibi_slopes' JOIN paper p ON p.heads = h.value
    WHERE w.artefact = :artefact AND w.scale = :scale),
low AS MATERIALIZED ( -- of complete rows the lowest factor, and the factors that were tried
    SELECT heads, L, multiple, seed, x AS lowest, min(y) AS y_low, group_concat(run_id, ' ') AS runs FROM e
    GROUP BY heads, L, multiple, seed HAVING count(y) = count(*)),
tried AS (SELECT heads, L, min(x) AS x_min, max(x) AS x_max FROM e GROUP BY heads, L),
point AS ( -- of a parabola, from its means
    SELECT e.*, avg(x) OVER own AS x_mean, avg(y) OVER own AS y_mean, x - avg(x) OVER own AS u, y - avg(y) OVER own AS v
    FROM e JOIN low USING (heads, L, multiple, seed), threshold WHERE abs(x - lowest) < reach + 0.01 WINDOW own AS (PARTITION BY heads, L, multiple, seed)),
sums AS (
    SELECT heads, L, multiple, seed, count(*) AS n, x_mean, y_mean, sum(u * u) AS uu, sum(u * u * u) AS u3, sum(v * u) AS vu, sum(v * u * u) AS vuu, sum(v * v) AS vv,
        sum(u * u * u * u) - sum(u * u) * sum(u * u) / count(*) - sum(u * u * u) * sum(u * u * u) / sum(u * u) AS det
    FROM point GROUP BY heads, L, multiple, seed),
curve AS (SELECT *, (vuu - vu * u3 / uu) / det AS a, (vu - (vuu - vu * u3 / uu) / det * u3) / uu AS b FROM sums WHERE n > 3),
fit AS MATERIALIZED ( -- v = a u^2 + b u - a uu / n
    SELECT c.*, l.runs, CASE WHEN a > 0 AND x_mean - b / 2 / a BETWEEN x_min AND x_max THEN x_mean - b / 2 / a END AS best,
        y_mean - a * uu / n - b * b / 4 / a AS y_best, max(0, vv - b * vu - a * vuu) / (n - 3) AS variance
    FROM curve c JOIN low l USING (heads, L, multiple, seed) JOIN tried USING (heads, L)),
best AS MATERIALIZED (
    SELECT *, sqrt(max(0, variance * (1 / uu + u3 * u3 / (uu * uu * det) + b / a * b / a / det + 2 * b / a * u3 / (uu * det)))) / 2 / a AS error
    FROM fit WHERE best IS NOT NULL),
rows AS (SELECT DISTINCT heads, L, multiple, seed FROM e),
law AS ( -- the slope of the best factors over octaves of L, of complete rows
    SELECT heads, seed, sum(best * octaves) / sum(octaves * octaves) AS slope, sqrt(sum(error * error * octaves * octaves)) / sum(octaves * octaves) AS error,
        group_concat(runs, ' ') AS runs, group_concat(printf('L %d x %.2f (%.2f to %.2f)', L, pow(2, best), pow(2, best - 2 * error), pow(2, best + 2 * error)), ', ') AS said
    FROM (SELECT *, ln(L) / ln(2) - avg(ln(L) / ln(2)) OVER (PARTITION BY heads, seed) AS octaves, count(*) OVER (PARTITION BY heads, seed) AS lengths
        FROM best WHERE multiple = 1 ORDER BY L)
    WHERE lengths > 1 AND lengths = (SELECT count(DISTINCT L) FROM rows) GROUP BY heads, seed),
found(claim, seed, heads, L, item, measured, error, bound, runs, said) AS (
    SELECT claim, seed, heads, 0, heads, abs(slope - wanted), s.error, law, runs, printf('%d heads: %s; slope %.2f', heads, said, slope)
    FROM threshold, law s, (SELECT 'E17a' AS claim, -1 AS wanted UNION ALL SELECT 'E17b', 0)
    UNION ALL
    SELECT CASE multiple WHEN 1 THEN 'E17c' ELSE 'E17d' END, seed, heads, L, printf('%d heads, L %d', heads, L), exp(e.y - y_best), exp(e.y - y_best) * sqrt(variance * (1 + 1.0 / n)), 1 + near, runs,
        printf('%d heads, L %d: %.2f, x %.4f of the minimum at x %.2f', heads, L, exp(e.y), exp(e.y - y_best), pow(2, best))
    FROM threshold, best JOIN e USING (heads, L, multiple, seed) WHERE abs(e.x) < 0.01
    UNION ALL
    SELECT 'E17e', s.seed, s.heads, s.L, printf('%d heads, L %d', s.heads, s.L), exp(f.a * (s.best - f.best) * (s.best - f.best)),
        2 * f.a * abs(s.best - f.best) * sqrt(s.error * s.error + f.error * f.error), 1 + near, s.runs || ' ' || f.runs,
        printf('%d heads, L %d: best at L x %.2f, at 6 L x %.2f', s.heads, s.L, pow(2, s.best), pow(2, f.best))
    FROM threshold, best s JOIN best f USING (heads, L, seed) WHERE s.multiple = 1 AND f.multiple = 6
    UNION ALL
    SELECT 'E17f', o.seed, o.heads, o.L, printf('%d heads, L %d', o.heads, o.L), abs(o.best - t.best), sqrt(o.error * o.error + t.error * t.error), octave, o.runs || ' ' || t.runs,
        printf('L %d: %d heads x %.2f, 8 heads x %.2f', o.L, o.heads, pow(2, o.best), pow(2, t.best))
    FROM threshold, best o JOIN best t USING (L, multiple, seed) WHERE o.multiple = 1 AND t.heads = 8 AND o.heads <> 8),
cases(claim, n) AS (
    SELECT c.claim, (SELECT count(*) FROM (SELECT DISTINCT heads, seed FROM rows)) FROM (SELECT 'E17a' AS claim UNION ALL SELECT 'E17b') c
    UNION ALL SELECT 'E17c', count(*) FROM rows WHERE multiple = 1
    UNION ALL SELECT 'E17d', count(*) FROM rows WHERE multiple = 6
    UNION ALL SELECT 'E17e', count(*) FROM rows WHERE multiple = 6
    UNION ALL SELECT 'E17f', count(*) FROM rows WHERE multiple = 1 AND heads <> 8),
flat(multiple, why) AS (
    SELECT multiple, printf('because with %d heads and L = %d the lowest factor is at the border, or the parabola has no minimum among the factors', heads, L)
    FROM low WHERE (heads, L, multiple, seed) NOT IN (SELECT heads, L, multiple, seed FROM best)),
statements(claim, statement, multiples) AS (
    SELECT 'E17a', printf('The best factor follows the penalty at L, c x L: from one length of training to another log2 of it falls by 1 for each octave of L, within %.2f.', law), '1' FROM threshold
    UNION ALL
    SELECT 'E17b', printf('The best factor follows the penalty per token, c: log2 of it changes by at most %.2f for each octave of L.', law), '1' FROM threshold
    UNION ALL
    SELECT 'E17c', printf('Without tuning: the paper''s slopes are within %.0f %% of the best factor at L, for every length of training.', 100 * near), '1' FROM threshold
    UNION ALL
    SELECT 'E17d', printf('They are within %.0f %% of the best at 6 L.', 100 * near), '6' FROM threshold
    UNION ALL
    SELECT 'E17e', printf('A factor chosen at L costs at most %.0f %% at 6 L against one that is chosen there.', 100 * near), '1 6' FROM threshold
    UNION ALL
    SELECT 'E17f', printf('The paper''s rule serves every number of heads: the best factor on its slopes is for 4, 12 and 16 heads within %.0f octave of that for 8.', octave), '1' FROM threshold)
SELECT s.claim, s.statement, c.n AS wanted, f.seed, NULL AS holds, f.said, (SELECT min(why) FROM flat WHERE instr(s.multiples, multiple)) AS unjudged,
    f.item, f.measured, f.error, f.bound, 'at most' AS direction, f.runs
FROM statements s JOIN cases c USING (claim) LEFT JOIN found f USING (claim) WHERE c.n > 0 OR NOT EXISTS (SELECT 1 FROM e) ORDER BY s.claim, f.seed, f.heads, f.L;
