-- The paper's explanation, by cutting the context off. Parameters: :artefact, :scale. W* is the smallest
-- window from which on perplexity stays within `same` of dense attention. A gain is the mean over 64
-- blocks of the same targets, with its standard error. A statement must hold for each seed; until all
-- windows of a model have a finite number, and both ends of a gain their blocks, it is "not run".
WITH
threshold AS (SELECT
    0.005 AS same,  -- E3a, E3b, E3c: a difference that counts, as a share of perplexity with dense attention
    3     AS errors, -- E3b, E3c: standard errors that a gain exceeds
    0.01  AS denied  -- E3d: what mini's slopes gain from keys beyond L, at most
),
e AS (
    SELECT w.position || CASE WHEN CAST(s.value AS REAL) >= 2 THEN ' steep' ELSE '' END AS model, w.method, w.run_id, w.train_run_id, w.L_train AS L, w.seed,
        w.attention_window AS W, w.perplexity AS p, w.L_valid
    FROM wanted_evaluations w LEFT JOIN settings s ON s.run_id = w.train_run_id AND s.key = 'model.alibi_slopes'
    WHERE w.artefact = :artefact AND w.scale = :scale),
dense AS (
    SELECT train_run_id, max(CASE WHEN W = L_valid THEN p END) AS p, max(CASE WHEN W = L THEN p END) AS at_L
    FROM e GROUP BY train_run_id HAVING count(*) = count(p)),
star AS ( -- the smallest window above the largest one that differs
    SELECT e.train_run_id, e.model, e.method, e.seed, e.L, d.p AS dense, d.at_L,
        min(e.W) FILTER (WHERE e.W > (SELECT coalesce(max(o.W), 0) FROM e o, threshold WHERE o.train_run_id = e.train_run_id AND abs(o.p / d.p - 1) > same)) AS W
    FROM e JOIN dense d USING (train_run_id) GROUP BY e.train_run_id),
paired AS ( -- nats that dense attention gains over a window of L, on the same targets
    SELECT train_run_id, avg(nats) AS gain, sqrt(max(0, avg(nats * nats) - avg(nats) * avg(nats)) / (count(*) - 1)) AS error
    FROM (SELECT e.train_run_id, x.loss_nats - y.loss_nats AS nats
        FROM e JOIN e o USING (train_run_id) JOIN target_blocks x ON x.run_id = e.run_id
        JOIN target_blocks y ON y.run_id = o.run_id AND y.first = x.first AND y.last = x.last
        WHERE e.W = e.L AND o.W = o.L_valid)
    GROUP BY train_run_id HAVING count(nats) = count(*) AND count(*) > 1),
case_of(claim, model) AS (
    VALUES ('E3a', 'alibi steep'), ('E3b', 'kerple_log'), ('E3b', 'sandwich'), ('E3c', 'none'), ('E3d', 'alibi')),
wanted AS (SELECT claim, count(*) AS n FROM case_of JOIN (SELECT DISTINCT model, seed FROM e) USING (model) GROUP BY claim),
found(claim, seed, item, holds, measured, error, bound, said) AS ( -- what is denied has a bound; what is claimed must also exceed its error
    SELECT claim, seed, method, W > L AND at_L >= (1 + same) * dense AND gain > errors * error,
        at_L / dense - 1, error * at_L / dense, CASE claim WHEN 'E3a' THEN same WHEN 'E3d' THEN denied END,
        printf('%s: W* = %d, L = %d; %.2f with a window of L, %.2f without (%+.2f %%; %.4f nats, standard error %.4f)', method, W, L, at_L, dense, 100 * (at_L / dense - 1), gain, error)
    FROM star JOIN paired USING (train_run_id) JOIN case_of USING (model), threshold),
statements(claim, statement, effect, threshold) AS (
    SELECT 'E3a', printf('With four times mini''s slopes, the paper''s penalty at L, ALiBi uses no key beyond L: a window of L or less is within %.1f %% of dense attention on 6 L.', 100 * same), 'context beyond L', same FROM threshold
    UNION ALL SELECT 'E3b', printf('KERPLE-log and Sandwich use keys beyond L and gain: perplexity with a window of L is at least %.1f %% above that of dense attention on 6 L, by more than %d standard errors.', 100 * same, errors), NULL, NULL FROM threshold
    UNION ALL SELECT 'E3c', printf('A model without positions uses keys beyond L and gains at least %.1f %%, by more than %d standard errors.', 100 * same, errors), NULL, NULL FROM threshold
    UNION ALL SELECT 'E3d', printf('With the slopes of the scale ALiBi gains at most %.0f %% from keys beyond L.', 100 * denied), 'context beyond L', denied FROM threshold)
SELECT s.claim, s.statement, coalesce(w.n, 0) AS wanted, f.seed, f.holds, f.said, s.effect, s.threshold,
    CASE WHEN s.effect IS NOT NULL THEN 'ALiBi' END AS method, f.item, f.measured, f.error, f.bound, 'at most' AS direction,
    CASE WHEN s.effect IS NOT NULL THEN f.measured END AS realised
FROM statements s LEFT JOIN wanted w USING (claim) LEFT JOIN found f ON f.claim = s.claim ORDER BY s.claim, f.seed, f.said;
