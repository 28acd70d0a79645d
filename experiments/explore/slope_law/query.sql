-- Perplexity on test over the factor on the paper's slopes, at L and at 6 L, and the best factor: the
-- minimum of a parabola in log2 of the factor, least squares of ln perplexity at the lowest factor and
-- those within four octaves of it (claim.sql). Its interval is two standard errors to either side: of the mean
-- over seeds with three or more, else of the residuals. The figure divides by the minimum;
-- with several numbers of heads it has the best factors alone.
-- Parameters: :artefact, :scale.
WITH
paper(heads, first) AS (VALUES (4, 0.25), (8, 0.5), (12, 0.5), (16, 0.70710678118654757)), -- its first slope
e AS MATERIALIZED (
    SELECT w.*, p.heads, CAST(s.value AS REAL) / first AS c, w.L_valid / w.L_train AS multiple, ln(CAST(s.value AS REAL) / first) / ln(2) AS x, ln(w.perplexity) AS y
    FROM wanted_evaluations w JOIN settings h ON h.run_id = w.train_run_id AND h.key = 'model.heads'
    JOIN settings s ON s.run_id = w.train_run_id AND s.key = 'model.alibi_slopes' JOIN paper p ON p.heads = h.value
    WHERE w.artefact = :artefact AND w.scale = :scale),
low AS (
    SELECT heads, L_train, multiple, seed, x AS lowest, min(y) AS y_low FROM e GROUP BY heads, L_train, multiple, seed HAVING count(y) = count(*)),
point AS (
    SELECT heads, L_train, multiple, seed, avg(x) OVER own AS x_mean, avg(y) OVER own AS y_mean, x - avg(x) OVER own AS u, y - avg(y) OVER own AS v
    FROM e JOIN low USING (heads, L_train, multiple, seed) WHERE abs(x - lowest) < 4.01 WINDOW own AS (PARTITION BY heads, L_train, multiple, seed)),
sums AS (
    SELECT heads, L_train, multiple, seed, count(*) AS n, x_mean, y_mean, sum(u * u) AS uu, sum(u * u * u) AS u3, sum(v * u) AS vu, sum(v * u * u) AS vuu, sum(v * v) AS vv,
        sum(u * u * u * u) - sum(u * u) * sum(u * u) / count(*) - sum(u * u * u) * sum(u * u * u) / sum(u * u) AS det
    FROM point GROUP BY heads, L_train, multiple, seed),
curve AS (SELECT *, (vuu - vu * u3 / uu) / det AS a, (vu - (vuu - vu * u3 / uu) / det * u3) / uu AS b FROM sums WHERE n > 3),
best AS MATERIALIZED ( -- v = a u^2 + b u - a uu / n
    SELECT *, x_mean - b / 2 / a AS best, y_mean - a * uu / n - b * b / 4 / a AS y_best,
        sqrt(max(0, (vv - b * vu - a * vuu) / (n - 3) * (1 / uu + u3 * u3 / (uu * uu * det) + b / a * b / a / det + 2 * b / a * u3 / (uu * det)))) / 2 / a AS error
    FROM curve WHERE a > 0),
interval AS (
    SELECT heads, L_train, multiple, avg(best) AS mean,
        CASE WHEN count(*) > 2 THEN sqrt((avg(best * best) - avg(best) * avg(best)) / (count(*) - 1)) ELSE sqrt(avg(error * error) / count(*)) END AS error
    FROM best JOIN (SELECT heads, L_train, min(x) AS x_min, max(x) AS x_max FROM e GROUP BY heads, L_train) USING (heads, L_train)
    WHERE best BETWEEN x_min AND x_max GROUP BY heads, L_train, multiple),
part(part) AS (VALUES ('curve'), ('best'))
SELECT e.heads, CASE e.multiple WHEN 1 THEN 'at L' ELSE 'at ' || e.multiple || ' L' END AS read, e.L_train, e.L_train_nominal,
    CASE part WHEN 'curve' THEN e.L_train END AS trained_on, CASE part WHEN 'curve' THEN e.L_train_nominal END AS trained_on_nominal, e.c, perplexity,
    CASE part WHEN 'best' THEN 'best factor' ELSE e.heads || ' heads, read at ' || CASE e.multiple WHEN 1 THEN 'L' ELSE e.multiple || ' L' END END AS panel,
    CASE WHEN part = 'best' AND (e.multiple = 1 OR of_heads = 1) THEN 'ALiBi best=' || e.heads || ' heads, at ' || CASE e.multiple WHEN 1 THEN 'L' ELSE e.multiple || ' L' END
        WHEN part = 'curve' AND of_heads = 1 THEN 'ALiBi L=' || e.L_train END AS series,
    CASE part WHEN 'best' THEN e.L_train ELSE e.c END AS x, CASE part WHEN 'best' THEN pow(2, b.best) ELSE exp(e.y - b.y_best) END AS y,
    pow(2, i.mean) AS best, pow(2, i.mean - 2 * i.error) AS best_low, pow(2, i.mean + 2 * i.error) AS best_high,
    e.position, L_valid, L_valid_nominal, e.seed, scale, dataset, corpus, model, split, protocol, precision, tokens, parameters, modified, state, run_id, config_id, train_run_id
FROM e JOIN part ON part = 'curve' OR abs(e.x) < 0.01
LEFT JOIN best b ON b.heads = e.heads AND b.L_train = e.L_train AND b.multiple = e.multiple AND b.seed = e.seed
LEFT JOIN interval i ON i.heads = e.heads AND i.L_train = e.L_train AND i.multiple = e.multiple JOIN (SELECT count(DISTINCT heads) AS of_heads FROM e)
ORDER BY part = 'best', e.heads, e.multiple, e.L_train, e.c, e.seed;
