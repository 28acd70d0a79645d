-- The paper's statements about Figure 8 and Table 5, as verdicts. Parameters: :artefact, :scale.
-- Lengths are the paper's (nominal). A claim about speed is judged at scale paper only. A claim must hold
-- for each case and for each seed the grid asks for; until all its numbers exist it is "not run".
WITH
threshold AS (SELECT
    1.0 AS below,  -- C3a: ALiBi trained on 512 over sinusoidal trained on 3072, perplexity at 3072, below
    1.65 AS faster -- C3b: its training speed over that of the other, at least (the paper: 1.84)
),
seeds AS (
    SELECT DISTINCT r.seed, r.split FROM points p JOIN runs r ON r.run_id = p.run_id
    WHERE p.artefact IN (:artefact, 'test_split') AND p.scale = :scale AND r.kind = 'eval'),
splits AS (SELECT split, (SELECT count(DISTINCT seed) FROM seeds) AS seeds_n FROM seeds GROUP BY split UNION ALL SELECT NULL, 0 WHERE NOT EXISTS (SELECT 1 FROM seeds)),
e AS (
    SELECT position, L_train_nominal AS L, seed, L_valid_nominal AS V, perplexity AS p, split, run_id
    FROM artefact_evaluations
    WHERE artefact IN (:artefact, 'test_split') AND scale = :scale AND perplexity IS NOT NULL),
b AS ( -- measured on an otherwise idle machine
    SELECT k.position, p.L_train_nominal AS L, k.seed, k.mode, k.wps, k.peak_memory_bytes AS bytes, k.noisy
    FROM points p JOIN benchmarks k ON k.run_id = p.run_id
    WHERE p.artefact = :artefact AND p.scale = :scale),

found(claim, split, seed, holds, run, other, bound, direction, said) AS (
    SELECT 'C3a', a.split, a.seed, NULL, a.run_id, s.run_id, below, 'below',
           printf('ALiBi L=512 at 3072: %.2f, sinusoidal L=3072: %.2f (%+.2f, the paper gives %.2f as standard deviation)', a.p, s.p, a.p - s.p, 0.24)
    FROM threshold, e a JOIN e s ON s.position = 'sinusoidal' AND s.L = 3072 AND s.V = 3072 AND s.seed = a.seed AND s.split = a.split
    WHERE a.position = 'alibi' AND a.L = 512 AND a.V = 3072
    UNION ALL
    SELECT 'C3b', NULL, a.seed, a.wps >= faster * s.wps, NULL, NULL, NULL, NULL,
           printf('ALiBi L=512: %.0f words/s, sinusoidal L=3072: %.0f (x %.2f)', a.wps, s.wps, a.wps / s.wps)
    FROM threshold, b a JOIN b s ON s.position = 'sinusoidal' AND s.L = 3072 AND s.mode = 'train' AND s.seed = a.seed
    WHERE a.position = 'alibi' AND a.L = 512 AND a.mode = 'train'),
statements(claim, statement, split, wanted_n, unjudged) AS (
    SELECT 'C3a', 'ALiBi trained on 512 tokens beats the sinusoidal model trained on 3,072, both evaluated on 3,072.',
           split, seeds_n, NULL FROM splits
    UNION ALL
    SELECT 'C3b', printf('It trains at least %.2f x as fast (the paper: 1.84 x).', faster),
           NULL, (SELECT count(DISTINCT seed) FROM seeds),
           CASE WHEN :scale <> 'paper' THEN 'at this scale: speeds are judged at scale paper'
                WHEN (SELECT max(noisy) FROM b) THEN 'because the machine was busy' END FROM threshold)
SELECT s.claim, s.statement, s.wanted_n AS wanted, f.seed, f.holds, f.said, s.unjudged, s.split, f.run, f.other, f.bound, f.direction
FROM statements s LEFT JOIN found f ON f.claim = s.claim AND f.split IS s.split ORDER BY s.claim, s.split DESC, f.seed;
