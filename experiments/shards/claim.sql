-- The statement of the authors' README about shards, as a verdict. Parameters: :artefact, :scale.
-- Lengths are the paper's (nominal), so that one statement serves every scale. A claim must hold for
-- each case and for each seed the grid asks for; until all its numbers exist it is "not run".
WITH
threshold AS (SELECT
    0.013 AS within -- C10: perplexities of the two trainings differ by at most this share (the paper's deviation over seeds, 0.24 on 18.67)
),
e AS (
    SELECT w.seed, w.L_train_nominal AS L, w.L_valid_nominal AS V, w.perplexity AS p, s.value AS shards, w.tokens_per_update AS tokens
    FROM wanted_evaluations w JOIN settings s ON s.run_id = w.train_run_id AND s.key = 'train.shards'
    WHERE w.artefact = :artefact AND w.scale = :scale),
found(claim, place, seed, measured, bound, said) AS (
    SELECT 'C10', few.V, few.seed, abs(many.p / few.p - 1), within,
           printf('L=%d at %d: %d shard%s %.2f, %d shards %.2f (%+.1f %%)', few.L, few.V,
                  few.shards, CASE few.shards WHEN '1' THEN '' ELSE 's' END, few.p, many.shards, many.p, 100 * (many.p / few.p - 1))
    FROM threshold, e few JOIN e many ON many.seed = few.seed AND many.V = few.V AND many.shards = 2 * few.shards
    WHERE few.p + many.p IS NOT NULL),
unequal(why) AS ( -- a scale without an entry for these shards runs the paper's, beside its own
    SELECT CASE WHEN count(DISTINCT tokens) > 1 THEN 'at this scale: the trainings have not the same tokens an update' END FROM e),
statements(claim, statement, wanted_n, unjudged) AS (
    SELECT 'C10', printf('Half the tokens in a shard and twice the shards give the same model: perplexity differs by at most %.1f %%.', 100 * within),
           (SELECT count(*) FROM (SELECT DISTINCT seed, V FROM e)), why FROM threshold, unequal)
SELECT s.claim, s.statement, s.wanted_n AS wanted, f.seed, NULL AS holds, f.said, s.unjudged, f.measured, f.bound, 'at most' AS direction, f.place AS item
FROM statements s LEFT JOIN found f ON f.claim = s.claim ORDER BY s.claim, f.seed, f.place;
