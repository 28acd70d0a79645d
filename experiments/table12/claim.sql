-- The paper's statements about Table 12, as verdicts. Parameters: :artefact, :scale.
-- Lengths are the paper's (nominal), so that one statement serves every scale. A claim must hold for
-- each case and for each seed the grid asks for; until all its numbers exist it is "not run". A case has
-- parts, each a ratio of two perplexities of the same targets; alibi judges the part nearest to its bound.
WITH
threshold AS (SELECT
    1.01 AS at_L,                                                       -- C7b: ALiBi over sinusoidal, both at L, at most
    0.99 AS at_2L,                                                      -- C7b: ALiBi at 2L over ALiBi at L, at most
    CASE :scale WHEN 'paper' THEN 3.0 ELSE 1.5 END AS sinusoidal_at_2L  -- C7b: the same of sinusoidal, at least; smaller models lose less
),
judged(L) AS (VALUES (512), (1024)),
seeds AS (
    SELECT DISTINCT r.seed FROM points p JOIN runs r ON r.run_id = p.run_id
    WHERE p.artefact = :artefact AND p.scale = :scale),
e AS (
    SELECT position, L_train_nominal AS L, seed, L_valid_nominal AS V, perplexity AS p, run_id
    FROM artefact_evaluations
    WHERE artefact = :artefact AND scale = :scale AND perplexity IS NOT NULL),

-- One row for each claim, case, seed and part: the two runs whose ratio of perplexities has a bound.
found(claim, place, seed, part, run, other, bound, direction, said) AS (
    SELECT 'C7b', j.L, a.seed, k.part, CASE k.part WHEN 'at L' THEN a.run_id WHEN 'at 2L' THEN x.run_id ELSE y.run_id END,
           CASE k.part WHEN 'at 2L' THEN a.run_id ELSE s.run_id END, k.bound, k.direction,
           printf('L=%d: ALiBi %.2f at L and %.2f at 2L (x %.3f), sinusoidal %.2f and %.2f (x %.2f)', j.L, a.p, x.p, x.p / a.p, s.p, y.p, y.p / s.p)
    FROM judged j
    JOIN e a ON a.position = 'alibi' AND a.L = j.L AND a.V = j.L
    JOIN e x ON x.position = 'alibi' AND x.L = j.L AND x.V = 2 * j.L AND x.seed = a.seed
    JOIN e s ON s.position = 'sinusoidal' AND s.L = j.L AND s.V = j.L AND s.seed = a.seed
    JOIN e y ON y.position = 'sinusoidal' AND y.L = j.L AND y.V = 2 * j.L AND y.seed = a.seed
    JOIN (SELECT 'at L' AS part, at_L AS bound, 'at most' AS direction FROM threshold
          UNION ALL SELECT 'at 2L', at_2L, 'at most' FROM threshold
          UNION ALL SELECT 'sinusoidal at 2L', sinusoidal_at_2L, 'at least' FROM threshold) k),
statements(claim, statement, wanted_n) AS (
    SELECT 'C7b', printf('The same rule for slopes holds for 16 heads and another text: at L ALiBi is at most %.2f x sinusoidal, at 2L at most %.3f x itself, where sinusoidal is at least %.1f x itself.', at_L, at_2L, sinusoidal_at_2L),
           (SELECT count(*) FROM judged) * (SELECT count(*) FROM seeds) FROM threshold)
SELECT s.claim, s.statement, s.wanted_n AS wanted, f.seed, NULL AS holds, f.said, 'L=' || f.place AS item, f.part, f.run, f.other, f.bound, f.direction
FROM statements s LEFT JOIN found f ON f.claim = s.claim ORDER BY s.claim, f.seed, f.place;
