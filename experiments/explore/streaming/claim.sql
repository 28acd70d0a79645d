-- Statements about streams, as verdicts. Parameters: :artefact, :scale. All numbers are of the same
-- targets; "computed again" is a window of as many tokens for each target. A statement must hold for each
-- model, window that it names and seed; until all its numbers exist, finite, it is "not run".
WITH
threshold AS (SELECT
    0.02 AS jumps, -- E4a: a stream without sinks over windows computed again, at least
    0.02 AS equal, -- E4b: a stream with four sinks over windows computed again, at most
    0.01 AS helps  -- E4c: what four sinks gain over none, at least
),
e AS (
    SELECT w.method || CASE WHEN CAST(s.value AS REAL) >= 2 THEN ', 4 x the slopes' ELSE '' END AS model, w.train_run_id, w.seed, w.L_train AS L,
        CASE WHEN w.protocol = 'sliding' THEN w.L_valid ELSE w.attention_window END AS W, w.protocol, w.attention_sinks AS sinks, w.perplexity AS p, w.run_id
    FROM wanted_evaluations w LEFT JOIN settings s ON s.run_id = w.train_run_id AND s.key = 'model.alibi_slopes'
    WHERE w.artefact = :artefact AND w.scale = :scale AND (w.protocol = 'sliding' OR w.attention_window > 0)
        AND coalesce(w.settings, '') NOT LIKE '%eval.sink_positions=text%'),
row AS (
    SELECT model, seed, L, W, max(p) FILTER (WHERE protocol = 'sliding') AS again,
        max(p) FILTER (WHERE protocol <> 'sliding' AND sinks = 0) AS none, max(p) FILTER (WHERE protocol <> 'sliding' AND sinks = 4) AS four,
        max(run_id) FILTER (WHERE protocol = 'sliding') AS run_again, max(run_id) FILTER (WHERE protocol <> 'sliding' AND sinks = 0) AS run_none,
        max(run_id) FILTER (WHERE protocol <> 'sliding' AND sinks = 4) AS run_four
    FROM e WHERE W <= L GROUP BY train_run_id, W),
found(claim, seed, W, model, run, other, bound, direction, said) AS (
    SELECT 'E4a', seed, W, model, run_none, run_again, 1 + jumps, 'at least', printf('%s, window %d: %.2f without sinks, %.2f computed again (%+.2f %%)', model, W, none, again, 100 * (none / again - 1))
    FROM row, threshold WHERE W = L AND none + again IS NOT NULL
    UNION ALL
    SELECT 'E4b', seed, W, model, run_four, run_again, 1 + equal, 'at most', printf('%s, window %d: %.2f with four sinks, %.2f computed again (%+.2f %%)', model, W, four, again, 100 * (four / again - 1))
    FROM row, threshold WHERE four + again IS NOT NULL
    UNION ALL
    SELECT 'E4c', seed, W, model, run_four, run_none, 1 - helps, 'at most', printf('%s, window %d: %.2f with four sinks, %.2f without (%+.2f %%)', model, W, four, none, 100 * (four / none - 1))
    FROM row, threshold WHERE W = L AND four + none IS NOT NULL),
sinks(why) AS ( -- the largest mean weight that a model without a penalty gives the first key (the artefact sinks), as there
    SELECT CASE WHEN coalesce(max(first_weight), 0) < 0.30 THEN 'because no model has a sink' || CASE WHEN count(*) = 0 THEN ' that the artefact sinks has measured'
        ELSE printf(': a first key has %.2f of the weight at most', max(first_weight)) END END
    FROM (SELECT first_weight, text, position, run_id FROM attention)
    WHERE text = 'natural' AND position <> 'alibi'
        AND run_id IN (SELECT run_id FROM wanted_evaluations WHERE artefact = replace(:artefact, 'streaming', 'sinks') AND scale = :scale)),
statements(claim, statement, n) AS (
    SELECT 'E4a', printf('Without sinks a stream loses: with a window of L it is at least %.0f %% above windows that are computed again (StreamingLLM, from 60M parameters on, reports a collapse).', 100 * jumps),
        (SELECT count(*) FROM row WHERE W = L) FROM threshold
    UNION ALL SELECT 'E4b', printf('With four sinks at positions of the cache a stream is at most %.0f %% above windows that are computed again, for windows up to L.', 100 * equal), (SELECT count(*) FROM row) FROM threshold
    UNION ALL SELECT 'E4c', printf('Four sinks help: with a window of L they gain at least %.0f %%.', 100 * helps), (SELECT count(*) FROM row WHERE W = L) FROM threshold)
SELECT s.claim, s.statement, s.n AS wanted, f.seed, NULL AS holds, f.said, (SELECT why FROM sinks) AS unjudged,
    f.model || ', window ' || f.W AS item, f.run, f.other, f.bound, f.direction
FROM statements s LEFT JOIN found f ON f.claim = s.claim ORDER BY s.claim, f.seed, f.said, f.W;
