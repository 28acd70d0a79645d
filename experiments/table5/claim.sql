-- The paper's statements about Table 5, as verdicts. Parameters: :artefact, :scale.
-- Lengths are the paper's (nominal), so that one statement serves every scale. Each claim must hold for
-- each case below and for each seed the grid asks for, on each split that it asks for; until all its
-- numbers exist it is "not run". Effects are ratios of perplexities of the same targets.
-- X2 is about the paper alone: "supported" means that its own numbers contradict its text.
WITH
threshold AS (SELECT
    1.000 AS short_over_long, -- P5: ALiBi trained short over sinusoidal trained long, below
    1.005 AS alibi_rises      -- P7: perplexity at the longest length over that at L_train, at most
),
pair(short, long) AS (VALUES -- P5: ALiBi trained on short, sinusoidal trained on long, both evaluated on long
    (512, 1024), (512, 2048), (512, 3072), (1024, 2048), (1024, 3072)),
judged(L) AS (VALUES (128), (256), (512), (1024), (1536), (2048)), -- P7: training lengths
longest(V) AS (VALUES (3072)),

seeds AS (
    SELECT DISTINCT r.seed, r.split FROM points p JOIN runs r ON r.run_id = p.run_id
    WHERE p.artefact IN (:artefact, 'test_split') AND p.scale = :scale AND r.kind = 'eval'),
splits AS (SELECT split, (SELECT count(DISTINCT seed) FROM seeds) AS seeds_n FROM seeds GROUP BY split UNION ALL SELECT NULL, 0 WHERE NOT EXISTS (SELECT 1 FROM seeds)),
e AS (
    SELECT position, L_train_nominal AS L, seed, L_valid_nominal AS V, perplexity AS p, split, run_id
    FROM artefact_evaluations
    WHERE artefact IN (:artefact, 'test_split') AND scale = :scale AND perplexity IS NOT NULL),

-- One row for each claim, case and seed: the two runs and the numbers; X2 has no runs.
found(claim, split, place, item, seed, holds, run, other, bound, direction, said) AS (
    SELECT 'P5', a.split, c.short * 10000 + c.long, printf('%d against %d', c.short, c.long), a.seed, NULL, a.run_id, s.run_id, short_over_long, 'below',
           printf('ALiBi L=%d at %d: %.2f, sinusoidal L=%d: %.2f (x %.3f)', c.short, c.long, a.p, c.long, s.p, a.p / s.p)
    FROM pair c, threshold
    JOIN e a ON a.position = 'alibi' AND a.L = c.short AND a.V = c.long
    JOIN e s ON s.position = 'sinusoidal' AND s.L = c.long AND s.V = c.long AND s.seed = a.seed AND s.split = a.split
    UNION ALL
    SELECT 'P7', a.split, j.L, printf('L=%d', j.L), a.seed, NULL, b.run_id, a.run_id, alibi_rises, 'at most',
           printf('L=%d: %.2f at L, %.2f at %d (x %.3f)', j.L, a.p, b.p, b.V, b.p / a.p)
    FROM judged j, longest x, threshold
    JOIN e a ON a.position = 'alibi' AND a.L = j.L AND a.V = j.L
    JOIN e b ON b.position = 'alibi' AND b.L = j.L AND b.V = x.V AND b.seed = a.seed AND b.split = a.split
    UNION ALL
    SELECT 'X2', NULL, a.L_train, NULL, NULL, o.value < a.value, NULL, NULL, NULL, NULL,
           printf('L=%d: ALiBi %.2f, %s %.2f', a.L_train, a.value, o.method, o.value)
    FROM paper_values a
    JOIN paper_values o ON o.artefact = a.artefact AND o.L_train = a.L_train AND o.L_valid = a.L_valid
    WHERE a.artefact = 'table5' AND a.position = 'alibi' AND a.L_valid = a.L_train
      AND (o.position = 'sinusoidal' AND a.L_train IN (64, 128) OR o.position = 't5' AND a.L_train = 512)),
statements(claim, statement, split, wanted_n, counted) AS (
    SELECT 'P5', printf('ALiBi trained on short inputs beats a sinusoidal model trained on the longer inputs that both are evaluated on (below %.3f x its perplexity).', short_over_long),
           split, (SELECT count(*) FROM pair) * seeds_n, 1 FROM threshold, splits
    UNION ALL
    SELECT 'P7', printf('Every ALiBi model trained on 128 tokens or more keeps or betters its perplexity on inputs of the longest length (at most %.3f x that at its own length).', alibi_rises),
           split, (SELECT count(*) FROM judged) * seeds_n, 1 FROM threshold, splits
    UNION ALL
    SELECT 'X2', 'The paper against itself: section 4.1 says that ALiBi beats sinusoidal for every L; by Table 5 it does not at L=64 and 128, and at L=512 the T5 bias beats ALiBi.', NULL, 3, 0)
SELECT s.claim, s.statement, s.wanted_n AS wanted, f.seed, f.holds, f.said, s.counted, s.split, f.item, f.run, f.other, f.bound, f.direction
FROM statements s LEFT JOIN found f ON f.claim = s.claim AND f.split IS s.split ORDER BY s.claim, s.split DESC, f.seed, f.place;
