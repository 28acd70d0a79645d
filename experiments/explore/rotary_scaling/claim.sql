-- Statements about scaled angles and slopes, as verdicts. Parameters: :artefact, :scale. Those about
-- rotary models are judged with 2 heads, whose frequencies are enough to tell the scalings apart. Each must
-- hold for each training length and seed; until all its numbers exist, finite, it is "not run".
WITH
threshold AS (SELECT
    0.01  AS above_alibi, -- E2c: perplexity of the best scaling at 6 L, above ALiBi's, as multiples of those at L, at least
    0.002 AS slopes_gain  -- E2d: what scaled slopes gain at 2 L, at least
),
e AS (
    SELECT w.position || CASE WHEN h.value = '2' THEN ' 2' ELSE '' END AS model, w.position_scaling AS scaling, w.protocol,
        w.L_train_nominal AS L, w.seed, 1.0 * w.L_valid / w.L_train AS multiple, w.perplexity AS p
    FROM wanted_evaluations w LEFT JOIN settings h ON h.run_id = w.train_run_id AND h.key = 'model.heads'
    WHERE w.artefact = :artefact AND w.scale = :scale),
wanted AS (SELECT count(*) AS n FROM (SELECT DISTINCT L, seed FROM e)),
row AS ( -- one a training length and seed: the numbers at 6 L, and what the claims need of 1 and 2 L
    SELECT L, seed,
        max(p) FILTER (WHERE model = 'rotary 2' AND multiple = 1) AS r1, max(p) FILTER (WHERE model = 'alibi' AND multiple = 1) AS a1,
        max(p) FILTER (WHERE model = 'alibi' AND multiple = 6 AND scaling = 'none') AS a6,
        max(p) FILTER (WHERE model = 'alibi' AND multiple = 2 AND scaling = 'none') AS a2,
        max(p) FILTER (WHERE model = 'alibi' AND multiple = 2 AND scaling = 'slopes') AS s2,
        max(p) FILTER (WHERE model = 'rotary 2' AND multiple = 6 AND scaling = 'none') AS none,
        max(p) FILTER (WHERE model = 'rotary 2' AND multiple = 6 AND scaling = 'pi') AS pi,
        max(p) FILTER (WHERE model = 'rotary 2' AND multiple = 6 AND scaling = 'ntk') AS ntk,
        max(p) FILTER (WHERE model = 'rotary 2' AND multiple = 6 AND scaling = 'yarn') AS yarn,
        max(p) FILTER (WHERE model = 'rotary 2' AND multiple = 6 AND scaling = 'llama3') AS llama3
    FROM e WHERE protocol = 'nonoverlapping' GROUP BY L, seed),
slid AS ( -- with a sliding window, where every target has the context of the window
    SELECT L, seed, max(p) FILTER (WHERE scaling = 'none') AS a2, max(p) FILTER (WHERE scaling = 'slopes') AS s2
    FROM e WHERE protocol = 'sliding' AND model = 'alibi' AND multiple = 2 GROUP BY L, seed),
found(claim, L, seed, holds, said) AS (
    SELECT 'E2a', L, seed, max(pi, ntk, yarn, llama3) < none,
        printf('at 6 L none %.2f, pi %.2f, ntk %.2f, yarn %.2f, llama3 %.2f', none, pi, ntk, yarn, llama3) FROM row
    WHERE none + pi + ntk + yarn + llama3 IS NOT NULL
    UNION ALL
    SELECT 'E2b', L, seed, yarn <= ntk AND ntk <= pi, printf('at 6 L yarn %.2f, ntk %.2f, pi %.2f', yarn, ntk, pi) FROM row
    WHERE pi + ntk + yarn IS NOT NULL
    UNION ALL
    SELECT 'E2c', L, seed, min(pi, ntk, yarn, llama3) / r1 >= (1 + above_alibi) * (a6 / a1),
        printf('at 6 L the best scaling is x %.3f of %.2f at L, ALiBi x %.3f of %.2f', min(pi, ntk, yarn, llama3) / r1, r1, a6 / a1, a1) FROM row, threshold
    WHERE pi + ntk + yarn + llama3 + r1 + a6 + a1 IS NOT NULL
    UNION ALL
    SELECT 'E2d', s.L, s.seed, s.s2 <= (1 - slopes_gain) * s.a2,
        printf('at 2 L with a sliding window %.2f with scaled slopes, %.2f without (%+.2f %%); nonoverlapping %.2f and %.2f', s.s2, s.a2, 100 * (s.s2 / s.a2 - 1), r.s2, r.a2)
    FROM threshold, slid s JOIN row r USING (L, seed) WHERE s.s2 + s.a2 + r.s2 + r.a2 IS NOT NULL),
statements(claim, statement, n) AS (
    SELECT 'E2a', 'At 6 L every scaling of a rotary model''s angles beats none.', n FROM wanted
    UNION ALL SELECT 'E2b', 'At 6 L yarn is at least as good as ntk, and ntk as pi.', n FROM wanted
    UNION ALL SELECT 'E2c', printf('No scaling extrapolates like ALiBi without training: at 6 L the best is, relative to its perplexity at L, at least %.0f %% above ALiBi.', 100 * above_alibi), n FROM threshold, wanted
    UNION ALL SELECT 'E2d', printf('ALiBi''s slopes times L / L_valid are better at 2 L than plain ones, by at least %.1f %% with a sliding window (Al-Khateeb et al. 2023).', 100 * slopes_gain),
        (SELECT count(*) FROM (SELECT DISTINCT L, seed FROM e WHERE protocol = 'sliding' AND model = 'alibi')) FROM threshold)
SELECT s.claim, s.statement, s.n AS wanted, f.seed, f.holds, CASE WHEN f.claim IS NOT NULL THEN printf('L=%d: %s', f.L, f.said) END AS said
FROM statements s LEFT JOIN found f ON f.claim = s.claim ORDER BY s.claim, f.seed, f.L;
