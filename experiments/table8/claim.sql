-- The paper's statements about Table 8, as verdicts. Parameters: :artefact, :scale.
-- Lengths are the paper's (nominal), so that one statement serves every scale. A claim must hold for
-- each case and for each seed the grid asks for; until all its numbers exist it is "not run". A case has
-- parts, each a ratio of two perplexities of the same targets; alibi judges the part nearest to its bound.
WITH
threshold AS (SELECT
    1.0 AS at_L,                                                       -- C7a: ALiBi over sinusoidal, both at L, below
    1.0 AS rises,                                                      -- C7a: ALiBi at 3072 over ALiBi at L, at most
    1.0 AS short_over_long                                             -- C7a: ALiBi trained on L over sinusoidal trained on 3072, both at 3072, below
),
judged(L) AS (VALUES (512), (1024), (3072)),
seeds AS (
    SELECT DISTINCT r.seed FROM points p JOIN runs r ON r.run_id = p.run_id
    WHERE p.artefact = :artefact AND p.scale = :scale),
e AS (
    SELECT position, L_train_nominal AS L, seed, L_valid_nominal AS V, perplexity AS p, run_id
    FROM artefact_evaluations
    WHERE artefact = :artefact AND scale = :scale AND perplexity IS NOT NULL),

-- One row for each claim, case, seed and part: the two runs whose ratio of perplexities has a bound.
found(claim, place, seed, part, run, other, bound, direction, said) AS (
    SELECT 'C7a', j.L, a.seed, k.part, CASE k.part WHEN 'at L' THEN a.run_id ELSE x.run_id END,
           CASE k.part WHEN 'at L' THEN s.run_id WHEN 'ALiBi on 3072' THEN a.run_id ELSE y.run_id END,
           k.bound, k.direction,
           printf('L=%d: ALiBi %.2f at L and %.2f at 3072, sinusoidal %.2f at L, trained on 3072 %.2f', j.L, a.p, x.p, s.p, y.p)
    FROM judged j
    JOIN e a ON a.position = 'alibi' AND a.L = j.L AND a.V = j.L
    JOIN e x ON x.position = 'alibi' AND x.L = j.L AND x.V = 3072 AND x.seed = a.seed
    JOIN e s ON s.position = 'sinusoidal' AND s.L = j.L AND s.V = j.L AND s.seed = a.seed
    JOIN e y ON y.position = 'sinusoidal' AND y.L = 3072 AND y.V = 3072 AND y.seed = a.seed
    JOIN (SELECT 'at L' AS part, at_L AS bound, 'below' AS direction FROM threshold
          UNION ALL SELECT 'ALiBi on 3072', rises, 'at most' FROM threshold
          UNION ALL SELECT 'sinusoidal trained on 3072', short_over_long, 'below' FROM threshold) k
    WHERE a.run_id <> x.run_id OR k.part = 'at L'), -- trained on 3072 the other parts say nothing, or the same
statements(claim, statement, wanted_n) AS (
    SELECT 'C7a', 'The slopes chosen on WikiText-103 hold for BookCorpus: at every L ALiBi beats sinusoidal, does not lose on 3,072 tokens, and there beats the sinusoidal model trained on them.',
           (SELECT count(*) FROM judged) * (SELECT count(*) FROM seeds))
SELECT s.claim, s.statement, s.wanted_n AS wanted, f.seed, NULL AS holds, f.said, 'L=' || f.place AS item, f.part, f.run, f.other, f.bound, f.direction
FROM statements s LEFT JOIN found f ON f.claim = s.claim ORDER BY s.claim, f.seed, f.place;
