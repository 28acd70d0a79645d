-- Where heads look. Parameters: :artefact, :scale. Every claim needs each seed of the grid.
WITH
threshold AS (SELECT
    0.30 AS sink,     -- E11b, E11c: mean weight of the first key over a row, at least, is a sink
    64   AS shortest, -- E11b, E11c: words of a row, at least; equal weights reach 0.34 in rows of 8
    0.90 AS nearer    -- E11d: mean distance over that of the flatter penalty, at most
),
asked AS (
    SELECT DISTINCT w.run_id, w.position, w.seed, w.L_valid AS L, s.value + 0 AS heads
    FROM wanted_evaluations w LEFT JOIN settings s ON s.run_id = w.train_run_id AND s.key = 'model.heads'
    WHERE w.artefact = :artefact AND w.scale = :scale),
head AS (
    SELECT a.position, a.seed, a.L, a.heads, h.run_id, h.text, h.layer, h.head, h.first_weight, h.entropy, h.distance,
           coalesce(h.slope, CASE a.position WHEN 'none' THEN 0 END) AS m
    FROM asked a JOIN attention h ON h.run_id = a.run_id),

natural AS (
    SELECT run_id, position, seed, min(heads) AS heads, max(m) AS m, max(first_weight) AS most, avg(distance) AS distance
    FROM head WHERE text = 'natural' GROUP BY run_id),
pair AS ( -- a steeper penalty beside the next flatter one
    SELECT seed, position, m, heads, distance, lag(distance) OVER (PARTITION BY seed ORDER BY m) AS flatter
    FROM natural WHERE m IS NOT NULL),

found(claim, place, seed, holds, said) AS (
    SELECT 'E11b', 0, seed, max(most) >= sink,
           group_concat(printf('%s at most %.3f', position, most), ', ')
    FROM threshold, (SELECT * FROM natural WHERE position <> 'alibi' ORDER BY position) GROUP BY seed
    UNION ALL
    SELECT 'E11c', m, seed, most < sink, printf('ALiBi c=%g at most %.3f', m * pow(2, 8.0 / heads), most)
    FROM threshold, natural WHERE position = 'alibi'
    UNION ALL
    SELECT 'E11d', m, seed, distance <= nearer * flatter,
           printf('c=%g: %.1f words, the flatter penalty %.1f', m * pow(2, 8.0 / heads), distance, flatter)
    FROM threshold, pair WHERE flatter IS NOT NULL),
rows AS (
    SELECT count(DISTINCT seed) AS seeds, count(*) FILTER (WHERE position = 'alibi') AS alibi, min(L) AS L FROM asked),
short AS (SELECT CASE WHEN L < shortest THEN printf('in rows of %d words: equal weights alone reach the threshold', L) END AS why FROM threshold, rows),
statements(claim, statement, wanted, unjudged) AS (
    SELECT 'E11b', printf('A model without a penalty on distance has a sink: a head of NoPE or rotary gives the first key of natural rows %.2f of its weight, or more.', sink),
           seeds, why FROM threshold, rows, short
    UNION ALL
    SELECT 'E11c', printf('The penalty prevents the sink: no head of ALiBi gives the first key %.2f of its weight.', sink),
           alibi, coalesce(why, CASE WHEN (SELECT max(holds) FROM found WHERE claim = 'E11b') = 0 THEN 'because no model has a sink that it could prevent' END)
    FROM threshold, rows, short
    UNION ALL
    SELECT 'E11d', printf('The penalty brings attention nearer: the mean distance on natural rows is at most %.2f x that of the next flatter penalty, NoPE being none.', nearer),
           alibi, NULL FROM threshold, rows)
SELECT s.claim, s.statement, s.wanted, f.seed, f.holds, f.said, s.unjudged
FROM statements s LEFT JOIN found f ON f.claim = s.claim ORDER BY s.claim, f.seed, f.place;
