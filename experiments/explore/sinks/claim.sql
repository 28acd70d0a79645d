-- Attention sinks. Parameters: :artefact, :scale. E11c and E4a presuppose a sink: where no model without a
-- penalty on distance has one, they are not judged.
WITH
threshold AS (SELECT
    0.30 AS sink,     -- E11b, E11c: mean weight of the first key over a row, at least, is a sink
    64   AS shortest, -- E11b, E11c: words of a row, at least; equal weights reach 0.34 in rows of 8
    0.02 AS jumps     -- E4a: a stream without sinks over windows computed again, at least
),
e AS (
    SELECT w.run_id, w.train_run_id, w.position, w.seed, w.L_train AS L, w.protocol, w.attention_window AS W, w.attention_sinks AS sinks, w.perplexity AS p,
        w.method || CASE WHEN CAST(s.value AS REAL) >= 2 THEN ', 4 x the slopes' ELSE '' END AS model
    FROM wanted_evaluations w LEFT JOIN settings s ON s.run_id = w.train_run_id AND s.key = 'model.alibi_slopes'
    WHERE w.artefact = :artefact AND w.scale = :scale),
first AS ( -- the largest mean weight that a head gives the first key of natural rows
    SELECT e.model, e.position = 'alibi' AS penalty, e.seed, max(a.first_weight) AS most
    FROM e JOIN (SELECT run_id, text, first_weight FROM attention) a ON a.run_id = e.run_id WHERE a.text = 'natural' GROUP BY e.run_id),
found(claim, seed, item, measured, bound, direction, run, other, said) AS (
    SELECT 'E11b', seed, 'any', max(most), sink, 'at least', NULL, NULL, group_concat(printf('%s at most %.3f', model, most), ', ')
    FROM threshold, (SELECT * FROM first WHERE NOT penalty ORDER BY model) GROUP BY seed
    UNION ALL
    SELECT 'E11c', seed, model, most, sink, 'below', NULL, NULL, printf('%s at most %.3f', model, most) FROM threshold, first WHERE penalty
    UNION ALL
    SELECT 'E4a', x.seed, x.model, NULL, 1 + jumps, 'at least', x.run_id, y.run_id,
        printf('%s: %.2f without sinks, %.2f computed again (%+.2f %%)', x.model, x.p, y.p, 100 * (x.p / y.p - 1))
    FROM threshold, e x JOIN e y USING (train_run_id) WHERE x.W = x.L AND x.sinks = 0 AND y.protocol = 'sliding' AND x.p + y.p IS NOT NULL),
rows AS (
    SELECT count(DISTINCT seed) AS seeds, count(DISTINCT train_run_id) AS models, count(DISTINCT train_run_id) FILTER (WHERE position = 'alibi') AS alibi, min(L) AS L FROM e),
short AS (SELECT CASE WHEN L < shortest THEN printf('in rows of %d words: equal weights alone reach the threshold', L) END AS why FROM threshold, rows),
none AS ( -- without a measurement neither judged nor denied
    SELECT CASE WHEN max(measured) < (SELECT sink FROM threshold) THEN printf('because no model has a sink: a first key has %.2f of the weight at most', max(measured)) END AS why
    FROM found WHERE claim = 'E11b'),
statements(claim, statement, wanted, unjudged) AS (
    SELECT 'E11b', printf('A model without a penalty on distance has a sink: a head of NoPE or rotary gives the first key of natural rows %.2f of its weight, or more.', sink),
        seeds, short.why FROM threshold, rows, short
    UNION ALL
    SELECT 'E11c', printf('The penalty prevents the sink: no head of ALiBi gives the first key %.2f of its weight.', sink), alibi, coalesce(short.why, none.why)
    FROM threshold, rows, short, none
    UNION ALL
    SELECT 'E4a', printf('Without sinks a stream loses: with a window of L it is at least %.0f %% above windows that are computed again (StreamingLLM, from 60M parameters on, reports a collapse).', 100 * jumps),
        models, none.why FROM threshold, rows, none)
SELECT s.claim, s.statement, s.wanted, f.seed, NULL AS holds, f.said, s.unjudged, f.item, f.measured, f.run, f.other, f.bound, f.direction
FROM statements s LEFT JOIN found f ON f.claim = s.claim ORDER BY s.claim, f.seed, f.said;
