-- The paper's statements about Table 11, as verdicts. Parameters: :artefact, :scale.
-- Lengths are the paper's (nominal), so that one statement serves every scale. A claim must hold for
-- each case and for each seed the grid asks for; until all its numbers exist it is "not run".
WITH
threshold AS (SELECT
    1.0 AS below,      -- C5a: ALiBi trained on 1024 over sinusoidal trained on 2048, perplexity at 2048, below
    0.05 AS less_share -- C5c: share of the memory that it saves, at least (the paper: 3.1 of 29.3 GB)
),
seeds AS (
    SELECT DISTINCT r.seed FROM points p JOIN runs r ON r.run_id = p.run_id
    WHERE p.artefact = :artefact AND p.scale = :scale),
e AS (
    SELECT position, L_train_nominal AS L, seed, L_valid_nominal AS V, perplexity AS p, run_id
    FROM artefact_evaluations
    WHERE artefact = :artefact AND scale = :scale AND perplexity IS NOT NULL),
b AS ( -- measured on an otherwise idle machine
    SELECT k.position, p.L_train_nominal AS L, k.seed, k.mode, k.wps, k.peak_memory_bytes AS bytes
    FROM points p JOIN benchmarks k ON k.run_id = p.run_id
    WHERE p.artefact = :artefact AND p.scale = :scale),

found(claim, place, seed, holds, run, other, bound, direction, said) AS (
    SELECT 'C5a', 1, a.seed, NULL, a.run_id, s.run_id, below, 'below',
           printf('ALiBi L=1024 at 2048: %.2f, sinusoidal L=2048: %.2f (%+.2f)', a.p, s.p, a.p - s.p)
    FROM threshold, e a JOIN e s ON s.position = 'sinusoidal' AND s.L = 2048 AND s.V = 2048 AND s.seed = a.seed
    WHERE a.position = 'alibi' AND a.L = 1024 AND a.V = 2048
    UNION ALL
    SELECT 'C5c', 1, a.seed, a.bytes <= (1 - less_share) * s.bytes, NULL, NULL, NULL, NULL,
           printf('ALiBi L=1024: %.1f MB, sinusoidal L=2048: %.1f MB', 1e-6 * a.bytes, 1e-6 * s.bytes)
    FROM threshold, b a JOIN b s ON s.position = 'sinusoidal' AND s.L = 2048 AND s.mode = 'train' AND s.seed = a.seed
    WHERE a.position = 'alibi' AND a.L = 1024 AND a.mode = 'train'),
statements(claim, statement, wanted_n, unjudged) AS (
    SELECT 'C5a', 'With 16 heads and in equal time ALiBi trained on 1,024 tokens beats the sinusoidal model trained on 2,048, both evaluated on 2,048.',
           (SELECT count(*) FROM seeds), NULL
    UNION ALL
    SELECT 'C5c', printf('It trains in at least %.0f %% less memory (the paper: 3.1 of 29.3 GB).', 100 * less_share),
           (SELECT count(*) FROM seeds),
           CASE WHEN :scale <> 'paper' THEN 'at this scale: memory is judged at scale paper' END FROM threshold)
SELECT s.claim, s.statement, s.wanted_n AS wanted, f.seed, f.holds, f.said, s.unjudged, f.run, f.other, f.bound, f.direction
FROM statements s LEFT JOIN found f ON f.claim = s.claim ORDER BY s.claim, f.seed, f.place;
