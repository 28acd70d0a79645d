-- Does the precision of ALiBi's bias matter? Parameters: :artefact, :scale. A case compares a form and format
-- of the bias with -slope x distance in fp32: the same checkpoint, the longest rows, the same targets.
WITH
threshold AS (SELECT
    0.001 AS equal,  -- E19a: a rise of perplexity that is none, at most
    0.01  AS matters -- E19b, E19c: one that matters, at least
),
e AS (
    SELECT w.run_id, w.train_run_id, w.L_train_nominal AS L, w.L_valid, w.L_valid_nominal AS nominal, w.seed, w.perplexity AS p,
        coalesce(b.value, 'distance') || ' ' || coalesce(f.value, 'fp32') AS how
    FROM wanted_evaluations w LEFT JOIN settings b ON b.run_id = w.run_id AND b.key = 'eval.alibi_bias'
    LEFT JOIN settings f ON f.run_id = w.run_id AND f.key = 'eval.alibi_precision'
    WHERE w.artefact = :artefact AND w.scale = :scale),
case_of(claim, how, what, direction) AS (VALUES
    ('E19a', 'distance bf16', 'slope x distance in bf16', 'at most'), ('E19a', 'distance fp16', 'slope x distance in fp16', 'at most'),
    ('E19a', 'key fp32', 'slope x key in fp32', 'at most'),
    ('E19b', 'key bf16', 'slope x key in bf16', 'at least'), ('E19c', 'key fp16', 'slope x key in fp16', 'at least')),
row AS (SELECT c.claim, c.what, c.direction, e.* FROM case_of c JOIN e USING (how) WHERE e.L_valid = (SELECT max(L_valid) FROM e)),
wanted AS (SELECT claim, count(*) AS n FROM row GROUP BY claim),
found AS (
    SELECT r.claim, r.seed, printf('trained on %d, %s', r.L, r.what) AS item, r.run_id AS run, x.run_id AS other,
        1 + CASE r.claim WHEN 'E19a' THEN equal ELSE matters END AS bound, r.direction,
        printf('trained on %d, rows of %d (%d tokens): %.3f with %s, %.3f exact (%+.3f %%)', r.L, r.nominal, r.L_valid, r.p, r.what, x.p, 100 * (r.p / x.p - 1)) AS said
    FROM row r JOIN e x ON x.train_run_id = r.train_run_id AND x.L_valid = r.L_valid AND x.how = 'distance fp32', threshold
    WHERE r.p + x.p IS NOT NULL),
statements(claim, statement) AS (
    SELECT 'E19a', printf('As -slope x distance the precision of the bias does not matter, nor does its form in fp32: in the longest rows bf16 and fp16, and slope x key in fp32, cost at most %.1f %% of perplexity.', 100 * equal) FROM threshold
    UNION ALL SELECT 'E19b', printf('As slope x key it does: in the longest rows bf16 costs at least %.0f %%.', 100 * matters) FROM threshold
    UNION ALL SELECT 'E19c', printf('So does fp16, the format of the authors'' training: in the longest rows slope x key costs at least %.0f %%.', 100 * matters) FROM threshold)
SELECT s.claim, s.statement, coalesce(w.n, 0) AS wanted, f.seed, NULL AS holds, f.said, f.item, f.run, f.other, f.bound, f.direction
FROM statements s LEFT JOIN wanted w USING (claim) LEFT JOIN found f ON f.claim = s.claim ORDER BY s.claim, f.seed, f.item;
