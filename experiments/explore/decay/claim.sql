-- The decay of attention. Parameters: :artefact, :scale. Every claim needs each model and seed.
WITH RECURSIVE
threshold AS (SELECT
    2.0  AS near,      -- E12c: factor between the measured weight and the theorem's, at most
    0.01 AS counts,    -- E12c: where the theorem's weight is this share of its peak, or more
    0.25 AS steep,     -- E12c: slopes from here on: the row's start does not cut their curves
    0.5  AS share      -- E12d: heads whose upper bound is below 1 within a row, share at least
),
asked AS (
    SELECT DISTINCT w.run_id, w.seed, w.L_valid AS L, s.value + 0 AS depth
    FROM wanted_evaluations w LEFT JOIN settings s ON s.run_id = w.train_run_id AND s.key = 'model.layers'
    WHERE w.artefact = :artefact AND w.scale = :scale),
head AS (
    SELECT a.seed, a.L, a.depth, h.run_id, h.text, h.layer, h.head, h.slope AS m, h.logit_high - h.logit_low AS width
    FROM asked a JOIN attention h ON h.run_id = a.run_id),
slope AS (SELECT DISTINCT run_id, head, m FROM head),
rolled AS (
    SELECT a.run_id, a.seed, a.L, a.depth, r.text, r.head, k.m, r.distance AS x, r.weight
    FROM asked a JOIN attention_rollout r ON r.run_id = a.run_id AND r.layers = a.depth
    JOIN slope k ON k.run_id = a.run_id AND k.head = r.head),
choose(n, x, c) AS ( -- C(n-1+x, x), n layers
    SELECT 1, x, 1.0 FROM (SELECT DISTINCT x FROM rolled)
    UNION ALL SELECT n + 1, x, c * (n + x) / n FROM choose WHERE n < (SELECT max(depth) FROM rolled)),
beside AS ( -- the theorem's weight p beside the measured one, in the half of the row next to its last word
    SELECT r.run_id, r.seed, r.depth, r.text, r.head, r.x, r.weight, c.c * exp(-r.m * r.x) * pow(1 - exp(-r.m), r.depth) AS p
    FROM threshold, rolled r JOIN choose c ON c.n = r.depth AND c.x = r.x WHERE r.m >= steep AND r.x <= r.L / 2),
judged AS (SELECT *, max(p) OVER (PARTITION BY run_id, text, head) AS peak FROM beside),

found(claim, place, seed, holds, said) AS (
    SELECT 'E12c', depth, seed, max(abs(ln(weight / p))) <= ln(near),
           printf('%d layers: a factor of %.2f at most', depth, exp(max(abs(ln(weight / p)))))
    FROM threshold, judged WHERE text = 'natural' AND p >= counts * peak GROUP BY run_id
    UNION ALL
    SELECT 'E12d', depth, seed, sum(width / m < L) >= share * count(*),
           printf('%d layers: %d of %d heads', depth, sum(width / m < L), count(*))
    FROM threshold, head WHERE text = 'natural' GROUP BY run_id),
statements(claim, statement) AS (
    SELECT 'E12c', printf('The curve describes trained models: on natural rows the weights are within a factor of %g, where the curve is at least %.0f %% of its peak.', near, 100 * counts) FROM threshold
    UNION ALL
    SELECT 'E12d', printf('The bounds say something about trained models: the upper one is below 1 within a row for at least %.0f %% of the heads.', 100 * share) FROM threshold)
SELECT s.claim, s.statement, (SELECT count(*) FROM asked) AS wanted, f.seed, f.holds, f.said
FROM statements s LEFT JOIN found f ON f.claim = s.claim ORDER BY s.claim, f.seed, f.place;
