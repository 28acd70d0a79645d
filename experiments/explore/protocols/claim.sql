-- Is a number the model or the protocol? Parameters: :artefact, :scale. Each must hold for each method and
-- seed; until all its numbers exist it is "not run". The prediction is that of query.sql, which explains it.
WITH RECURSIVE
threshold AS (SELECT
    1.05  AS costs,  -- E18a: nonoverlapping windows of L over stride 1, at least
    0.003 AS same,   -- E18b, E18c: predicted and measured perplexity agree within this share ...
    3     AS errors, -- ... or so many standard errors of their difference, if that is more
    1.003 AS coarse  -- E18d: stride L / 8 over stride 1, windows of L, at most
),
e AS (SELECT w.*, max(w.L_valid) OVER () AS longest FROM wanted_evaluations w WHERE w.artefact = :artefact AND w.scale = :scale),
run AS MATERIALIZED (
    SELECT DISTINCT run_id, train_run_id, L_train, position_scaling AS scaling, L_valid AS W, coalesce(stride, L_valid) AS S, stride IS 1 AS knot
    FROM e WHERE protocol <> 'rolling'),
block AS MATERIALIZED (
    SELECT r.*, b.first, b.last, b.loss_nats AS nats FROM run r JOIN (SELECT run_id, first, last, loss_nats FROM target_blocks) b USING (run_id)
    WHERE b.first > (SELECT max(longest) FROM e)),
curve AS MATERIALIZED ( -- a knot of a model in a block; within L_train nothing is scaled
    SELECT train_run_id, scaling, W AS c, first, nats FROM block WHERE knot
    UNION ALL SELECT k.train_run_id, o.scaling, k.W, k.first, k.nats FROM block k JOIN (SELECT DISTINCT scaling FROM run WHERE scaling <> 'none') o
    WHERE k.knot AND k.scaling = 'none' AND k.W <= k.L_train),
knot AS (SELECT scaling, c, coalesce(lead(c) OVER (PARTITION BY scaling ORDER BY c), c) AS next FROM (SELECT DISTINCT scaling, c FROM curve)),
context(p) AS (SELECT 1 UNION ALL SELECT p + 1 FROM context WHERE p < (SELECT max(longest) FROM e)),
line AS MATERIALIZED ( -- the loss with p tokens: the share of the knot above it, the rest is of the one below
    SELECT scaling, p, c, next, CASE WHEN next > c THEN ln(1.0 * p / c) / ln(1.0 * next / c) ELSE 0 END AS above
    FROM knot JOIN context ON p >= c AND (p < next OR next = c)),
counted AS MATERIALIZED ( -- targets of a block that have p tokens
    SELECT q.scaling, W, S, first, p, (last - p + W) / S - (first - 1 - p + W) / S AS n
    FROM (SELECT DISTINCT scaling, W, S, first, last FROM block WHERE NOT knot) q JOIN context ON p > W - S AND p <= W),
share AS MATERIALIZED ( -- targets of a block between two knots, and what of them is the upper one's
    SELECT k.scaling, W, S, first, c, next, sum(n) AS n, sum(n * above) AS above
    FROM counted k JOIN line USING (scaling, p) GROUP BY k.scaling, W, S, first, c),
predicted AS (
    SELECT b.run_id, b.nats, sum((h.n - h.above) * l.nats + h.above * u.nats) / sum(h.n) AS predicted, count(l.nats + u.nats) = count(*) AS whole
    FROM block b JOIN share h USING (scaling, W, S, first)
    LEFT JOIN curve l ON l.train_run_id = b.train_run_id AND l.scaling = b.scaling AND l.c = h.c AND l.first = b.first
    LEFT JOIN curve u ON u.train_run_id = b.train_run_id AND u.scaling = b.scaling AND u.c = h.next AND u.first = b.first
    WHERE NOT b.knot GROUP BY b.run_id, b.first),
off AS ( -- predicted less measured, nats, with its standard error over the blocks
    SELECT run_id, avg(predicted - nats) AS nats,
        sqrt(max(0, avg((predicted - nats) * (predicted - nats)) - avg(predicted - nats) * avg(predicted - nats)) / (count(*) - 1)) AS error
    FROM predicted GROUP BY run_id HAVING min(whole) AND count(nats) = count(*) AND count(*) > 1),
arm(arm, position, scaling) AS (VALUES ('alibi', 'alibi', 'none'), ('sinusoidal', 'sinusoidal', 'none'), ('rotary', 'rotary', 'none'), ('t5', 't5', 'none'), ('alibi by row', 'alibi', 'slopes')),
asked AS (SELECT arm, e.* FROM e JOIN arm m ON m.position = e.position AND m.scaling = e.position_scaling),
case_of(claim, arm) AS (
    SELECT column1, arm FROM (VALUES ('E18a'), ('E18b'), ('E18d')) JOIN arm ON scaling = 'none' UNION ALL VALUES ('E18c', 'alibi by row')),
wanted AS (SELECT claim, count(*) AS n FROM case_of JOIN (SELECT DISTINCT arm, seed FROM asked) USING (arm) GROUP BY claim),
predictions AS ( -- each protocol of an arm that is predicted, and how far its prediction is off, as a multiple of what is allowed
    SELECT DISTINCT arm, method, seed, run_id, perplexity, printf('%s, W = %d', protocol, L_valid) || CASE protocol WHEN 'sliding' THEN printf(', S = %d', stride) ELSE '' END AS protocol,
        exp(f.nats) - 1 AS off, f.error, max(same, errors * f.error) AS allowed, abs(exp(f.nats) - 1) / max(same, errors * f.error) AS times
    FROM threshold, asked LEFT JOIN off f USING (run_id) WHERE protocol <> 'rolling' AND stride IS NOT 1),
worst AS (
    SELECT *, row_number() OVER (PARTITION BY arm, seed ORDER BY times DESC) AS place, count(*) OVER (PARTITION BY arm, seed) AS n, count(times) OVER (PARTITION BY arm, seed) AS done
    FROM predictions),
ends AS ( -- windows of L: without overlap, and with strides of 1 and L / 8
    SELECT arm, method, seed, max(CASE WHEN protocol = 'nonoverlapping' THEN run_id END) AS apart, max(CASE WHEN stride = 1 THEN run_id END) AS one,
        max(CASE WHEN 8 * stride = L_train THEN run_id END) AS eighth, max(CASE WHEN protocol = 'nonoverlapping' THEN perplexity END) AS apart_p,
        max(CASE WHEN stride = 1 THEN perplexity END) AS one_p, max(CASE WHEN 8 * stride = L_train THEN perplexity END) AS eighth_p
    FROM asked WHERE L_valid = L_train GROUP BY train_run_id, arm),
found(claim, seed, item, run, other, measured, error, bound, runs, said) AS (
    SELECT claim, seed, arm, CASE claim WHEN 'E18a' THEN apart ELSE eighth END, one, NULL, NULL, CASE claim WHEN 'E18a' THEN costs ELSE coarse END, NULL,
        printf('%s: stride 1 %.3f, ', method, one_p) || CASE claim WHEN 'E18a' THEN printf('nonoverlapping %.3f (%+.2f %%)', apart_p, 100 * (apart_p / one_p - 1))
            ELSE printf('stride L / 8 %.3f (%+.2f %%)', eighth_p, 100 * (eighth_p / one_p - 1)) END
    FROM threshold, case_of JOIN ends USING (arm) WHERE claim IN ('E18a', 'E18d') AND one_p IS NOT NULL AND CASE claim WHEN 'E18a' THEN apart_p ELSE eighth_p END IS NOT NULL
    UNION ALL
    SELECT claim, seed, arm, NULL, NULL, abs(off), error, allowed, run_id,
        printf('%s, worst of %d protocols: %s, %.3f, prediction off by %+.2f %% (standard error %.2f)', method || CASE claim WHEN 'E18c' THEN ' with slopes by row' ELSE '' END, n, protocol, perplexity, 100 * off, 100 * error)
    FROM case_of JOIN worst USING (arm) WHERE claim IN ('E18b', 'E18c') AND place = 1 AND done = n),
statements(claim, direction, statement) AS (
    SELECT 'E18a', 'at least', printf('A number is also its protocol''s: on the same targets nonoverlapping windows of L cost each method at least %.0f %% against windows of L with stride 1.', 100 * costs - 100) FROM threshold
    UNION ALL SELECT 'E18b', 'at most', printf('The loss by context predicts each other protocol, also beyond L: perplexity within %.1f %% or %d standard errors for each method.', 100 * same, errors) FROM threshold
    UNION ALL SELECT 'E18c', 'above', printf('It does not where a model looks at the length of the row: with slopes scaled by L / L_valid some prediction is off by more than %.1f %% and %d standard errors.', 100 * same, errors) FROM threshold
    UNION ALL SELECT 'E18d', 'at most', printf('Stride 1 is not needed: in windows of L a stride of L / 8 costs each method at most %.1f %%, for an eighth of the work.', 100 * coarse - 100) FROM threshold)
SELECT s.claim, s.statement, coalesce(w.n, 0) AS wanted, f.seed, NULL AS holds, f.said, f.item, f.run, f.other, f.measured, f.error, f.bound, s.direction, f.runs
FROM statements s LEFT JOIN wanted w USING (claim) LEFT JOIN found f ON f.claim = s.claim ORDER BY s.claim, f.seed, f.item;
