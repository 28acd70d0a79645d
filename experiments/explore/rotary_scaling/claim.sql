-- Statements about scaled angles and slopes, as verdicts. Parameters: :artefact, :scale. Those about
-- rotary models are judged with the scale's heads, where rotary breaks: without a break there is nothing
-- to repair. pi is left out of "every": it is known to need training. Each must hold for each training length
-- and seed; until all its numbers exist, finite, it is "not run".
WITH
threshold AS (SELECT
    1.05  AS breaks,      -- E2a, E2b: perplexity without scaling at 6 L over that at L, at least, is a break
    0.01  AS above_alibi, -- E2c: perplexity beyond L over that in the last half of L, of the best scaling above ALiBi's, at least
    0.002 AS slopes_gain  -- E2d: what scaled slopes gain at 2 L, at least
),
e AS (
    SELECT w.position || CASE WHEN h.value = '2' THEN ' 2' ELSE '' END AS model, w.position_scaling AS scaling, w.protocol,
        w.L_train_nominal AS L, w.seed, 1.0 * w.L_valid / w.L_train AS multiple, w.perplexity AS p, w.run_id
    FROM wanted_evaluations w LEFT JOIN settings h ON h.run_id = w.train_run_id AND h.key = 'model.heads'
    WHERE w.artefact = :artefact AND w.scale = :scale),
wanted AS (SELECT count(*) AS n FROM (SELECT DISTINCT L, seed FROM e)),
far AS ( -- rotary at 6 L by scaling
    SELECT L, seed, scaling, p, run_id FROM e WHERE model = 'rotary' AND multiple = 6 AND protocol = 'nonoverlapping'),
pair(claim, one, other, bound, direction) AS (VALUES
    ('E2a', 'ntk', 'none', 1.0, 'below'), ('E2a', 'yarn', 'none', 1.0, 'below'), ('E2a', 'llama3', 'none', 1.0, 'below'),
    ('E2b', 'yarn', 'ntk', 1.0, 'at most'), ('E2b', 'ntk', 'pi', 1.0, 'at most')),
beyond AS ( -- of rows of 6 L: nats beyond L above those in the last half of L, by model and scaling
    SELECT e.L, e.seed, e.model, e.scaling, e.run_id, x.difference_nats AS nats, x.standard_error AS error
    FROM e JOIN (SELECT run_id, difference_nats, standard_error FROM extrapolation) x ON x.run_id = e.run_id
    WHERE e.multiple = 6 AND e.protocol = 'nonoverlapping'),
best AS ( -- the scaling that rises least, of four
    SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY L, seed ORDER BY nats) AS n, count(*) OVER (PARTITION BY L, seed) AS of FROM beyond
        WHERE model = 'rotary' AND scaling <> 'none') WHERE n = 1 AND of = 4),
row AS ( -- one a training length and seed
    SELECT L, seed, max(p) FILTER (WHERE model = 'rotary' AND multiple = 1) AS r1,
        max(p) FILTER (WHERE model = 'rotary' AND multiple = 6 AND scaling = 'none') AS none,
        max(p) FILTER (WHERE model = 'alibi' AND multiple = 2 AND scaling = 'none') AS a2,
        max(p) FILTER (WHERE model = 'alibi' AND multiple = 2 AND scaling = 'slopes') AS s2
    FROM e WHERE protocol = 'nonoverlapping' GROUP BY L, seed),
slid AS ( -- with a sliding window, where every target has the context of the window
    SELECT L, seed, max(p) FILTER (WHERE scaling = 'none') AS a2, max(p) FILTER (WHERE scaling = 'slopes') AS s2,
        max(run_id) FILTER (WHERE scaling = 'none') AS run_a, max(run_id) FILTER (WHERE scaling = 'slopes') AS run_s
    FROM e WHERE protocol = 'sliding' AND model = 'alibi' AND multiple = 2 GROUP BY L, seed),
found(claim, L, seed, item, run, other, measured, error, bound, direction, runs, said) AS (
    SELECT c.claim, x.L, x.seed, c.one || ' against ' || c.other, x.run_id, y.run_id, NULL, NULL, c.bound, c.direction, NULL,
        printf('at 6 L %s %.2f, %s %.2f', c.one, x.p, c.other, y.p)
    FROM pair c JOIN far x ON x.scaling = c.one JOIN far y ON y.scaling = c.other AND y.L = x.L AND y.seed = x.seed WHERE x.p + y.p IS NOT NULL
    UNION ALL
    SELECT 'E2c', b.L, b.seed, 'best', NULL, NULL, exp(b.nats - a.nats), exp(b.nats - a.nats) * sqrt(b.error * b.error + a.error * a.error), 1 + above_alibi, 'at least',
        b.run_id || ' ' || a.run_id, printf('beyond L %s x %.3f the last half of L, ALiBi x %.3f', b.scaling, exp(b.nats), exp(a.nats))
    FROM threshold, best b JOIN beyond a ON a.model = 'alibi' AND a.scaling = 'none' AND a.L = b.L AND a.seed = b.seed
    UNION ALL
    SELECT 'E2d', s.L, s.seed, 'slopes', s.run_s, s.run_a, NULL, NULL, 1 - slopes_gain, 'at most', NULL,
        printf('at 2 L with a sliding window %.2f with scaled slopes, %.2f without (%+.2f %%); nonoverlapping %.2f and %.2f', s.s2, s.a2, 100 * (s.s2 / s.a2 - 1), r.s2, r.a2)
    FROM threshold, slid s JOIN row r USING (L, seed) WHERE s.s2 + s.a2 + r.s2 + r.a2 IS NOT NULL),
whole(why) AS (SELECT CASE WHEN max(none / r1) < (SELECT breaks FROM threshold) THEN 'because rotary without scaling does not break' END FROM row),
statements(claim, statement, n, unjudged) AS (
    SELECT 'E2a', 'At 6 L ntk, yarn and llama3, which scale a rotary model''s angles, each beat no scaling.', 3 * n, why FROM wanted, whole
    UNION ALL SELECT 'E2b', 'At 6 L yarn is at least as good as ntk, and ntk as pi.', 2 * n, why FROM wanted, whole
    UNION ALL SELECT 'E2c', printf('No scaling extrapolates like ALiBi without training: in rows of 6 L the perplexity of the best beyond L, relative to that in the last half of L, is at least %.0f %% above ALiBi''s.', 100 * above_alibi), n, NULL FROM threshold, wanted
    UNION ALL SELECT 'E2d', printf('ALiBi''s slopes times L / L_valid are better at 2 L than plain ones, by at least %.1f %% with a sliding window (Al-Khateeb et al. 2023).', 100 * slopes_gain),
        (SELECT count(*) FROM (SELECT DISTINCT L, seed FROM e WHERE protocol = 'sliding' AND model = 'alibi')), NULL FROM threshold)
SELECT s.claim, s.statement, s.n AS wanted, f.seed, NULL AS holds, CASE WHEN f.claim IS NOT NULL THEN printf('L=%d: %s', f.L, f.said) END AS said,
    s.unjudged, CASE WHEN f.claim IS NOT NULL THEN printf('L=%d, %s', f.L, f.item) END AS item, f.run, f.other, f.measured, f.error, f.bound, f.direction, f.runs
FROM statements s LEFT JOIN found f ON f.claim = s.claim ORDER BY s.claim, f.seed, f.L;
