-- The paper's statements about Table 15 and appendix B, as verdicts. Parameters: :artefact, :scale.
-- Lengths are the paper's (nominal), so that one statement serves every scale. A claim must hold for
-- each case and for each seed the grid asks for; until all its numbers exist it is "not run".
WITH
threshold AS (SELECT
    0.03 AS flat, -- C6: sliding perplexity on a longer window differs from that at L by at most this share
    0.97 AS gains -- C6: nonoverlapping perplexity at the longest length over that at L, at most
),
judged(L) AS (VALUES (512), (1024)),
seeds AS (
    SELECT DISTINCT r.seed FROM points p JOIN runs r ON r.run_id = p.run_id
    WHERE p.artefact = :artefact AND p.scale = :scale),
e AS (
    SELECT position, L_train_nominal AS L, seed, L_valid_nominal AS V, perplexity AS p
    FROM artefact_evaluations
    WHERE artefact = :artefact AND scale = :scale AND perplexity IS NOT NULL),
n AS ( -- nonoverlapping windows of the same trainings: Table 5's
    SELECT L_train_nominal AS L, seed, L_valid_nominal AS V, perplexity AS p FROM artefact_evaluations
    WHERE artefact = 'table5' AND scale = :scale AND protocol = 'nonoverlapping' AND position = 'alibi' AND perplexity IS NOT NULL),

found(claim, place, seed, holds, realised, said) AS (
    SELECT 'C6', j.L, a.seed, max(abs(v.p / a.p - 1)) <= flat AND y.p <= gains * x.p AND y.p / x.p < z.p / a.p, 1 - z.p / a.p,
           printf('L=%d: sliding %.2f at L and %.2f to %.2f beyond, nonoverlapping %.2f at L and %.2f at 3072 (x %.3f, sliding x %.3f)',
                  j.L, a.p, min(v.p), max(v.p), x.p, y.p, y.p / x.p, z.p / a.p)
    FROM judged j, threshold
    JOIN e a ON a.L = j.L AND a.V = j.L
    JOIN e v ON v.L = j.L AND v.V > j.L AND v.seed = a.seed
    JOIN e z ON z.L = j.L AND z.V = 3072 AND z.seed = a.seed
    JOIN n x ON x.L = j.L AND x.V = j.L AND x.seed = a.seed
    JOIN n y ON y.L = j.L AND y.V = 3072 AND y.seed = a.seed
    GROUP BY j.L, a.seed),
statements(claim, statement, wanted_n, effect, threshold) AS (
    SELECT 'C6', printf('What ALiBi gains on longer input is the early-token curse, lifted: with a sliding window of stride 1 perplexity stays within %.0f %% of that at L, with nonoverlapping windows (Table 5) it falls.', 100 * flat),
           (SELECT count(*) FROM judged) * (SELECT count(*) FROM seeds), 'context beyond L', flat FROM threshold)
SELECT s.claim, s.statement, s.wanted_n AS wanted, f.seed, f.holds, f.said, s.effect, s.threshold, 'ALiBi' AS method, f.realised
FROM statements s LEFT JOIN found f ON f.claim = s.claim ORDER BY s.claim, f.seed, f.place;
