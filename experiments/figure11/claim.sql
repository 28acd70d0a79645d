-- The paper's statements about Figure 11, as verdicts. Parameters: :artefact, :scale.
-- Lengths are the paper's (nominal), so that one statement serves every scale. Each claim must hold for
-- each training length below and for each seed the grid asks for; until all its numbers exist it
-- is "not run".
WITH
threshold AS (SELECT
    0.05  AS alibi_within,          -- P6a: perplexity at any longer window differs from that at L by at most this share
    1.30  AS sinusoidal_explodes,   -- P6b: perplexity at any longer window, as a multiple of that at L, at least
    1.000 AS nonoverlapping_gains   -- P6c: nonoverlapping perplexity at the longest length over that at L, below
),
judged(L) AS (VALUES (512), (1024)), -- training lengths
longest(V) AS (VALUES (3072)),

wanted AS (
    SELECT DISTINCT p.L_train_nominal AS L, r.seed
    FROM points p JOIN runs r ON r.run_id = p.run_id JOIN judged j ON j.L = p.L_train_nominal
    WHERE p.artefact = :artefact AND p.scale = :scale AND r.kind = 'eval'),
e AS ( -- sliding windows: this artefact's
    SELECT position, L_train_nominal AS L, seed, L_valid_nominal AS V, perplexity AS p
    FROM artefact_evaluations
    WHERE artefact = :artefact AND scale = :scale AND protocol = 'sliding' AND perplexity IS NOT NULL),
n AS ( -- nonoverlapping windows of the same trainings: Table 5's
    SELECT L_train_nominal AS L, seed, L_valid_nominal AS V, perplexity AS p
    FROM artefact_evaluations
    WHERE artefact = 'table5' AND scale = :scale AND protocol = 'nonoverlapping' AND position = 'alibi'
      AND perplexity IS NOT NULL),

-- One row for each claim, training length and seed: whether it holds, and the numbers.
found(claim, L, seed, holds, measured, bound, direction, realised, said) AS (
    SELECT 'P6a', w.L, w.seed, NULL, max(abs(v.p / a.p - 1)), alibi_within, 'at most', 1 - max(CASE WHEN v.V = x.V THEN v.p END) / a.p,
           printf('%.2f at L, %.2f to %.2f up to %.1f L', a.p, min(v.p), max(v.p), 1.0 * max(v.V) / w.L)
    FROM wanted w, threshold, longest x
    JOIN e a ON a.position = 'alibi' AND a.L = w.L AND a.seed = w.seed AND a.V = w.L
    JOIN e v ON v.position = 'alibi' AND v.L = w.L AND v.seed = w.seed AND v.V > v.L
    GROUP BY w.L, w.seed HAVING max(v.V) = x.V
    UNION ALL
    SELECT 'P6b', w.L, w.seed, NULL, min(v.p) / a.p, sinusoidal_explodes, 'at least', NULL,
           printf('%.2f at L, %.2f or more beyond', a.p, min(v.p))
    FROM wanted w, threshold
    JOIN e a ON a.position = 'sinusoidal' AND a.L = w.L AND a.seed = w.seed AND a.V = w.L
    JOIN e v ON v.position = 'sinusoidal' AND v.L = w.L AND v.seed = w.seed AND v.V > v.L
    GROUP BY w.L, w.seed
    UNION ALL
    SELECT 'P6c', w.L, w.seed, b.p < nonoverlapping_gains * a.p AND b.p / a.p < t.p / s.p, NULL, NULL, NULL, NULL,
           printf('nonoverlapping %.2f at L, %.2f at %d (x %.3f), sliding x %.3f', a.p, b.p, b.V, b.p / a.p, t.p / s.p)
    FROM wanted w, threshold, longest x
    JOIN n a ON a.L = w.L AND a.seed = w.seed AND a.V = w.L
    JOIN n b ON b.L = w.L AND b.seed = w.seed AND b.V = x.V
    JOIN e s ON s.position = 'alibi' AND s.L = w.L AND s.seed = w.seed AND s.V = w.L
    JOIN e t ON t.position = 'alibi' AND t.L = w.L AND t.seed = w.seed AND t.V = x.V),
statements(claim, statement, effect, threshold) AS (
    SELECT 'P6a', printf('With a sliding window ALiBi''s perplexity stays within %.0f %% of that at L on every longer window.', 100 * alibi_within),
           'context beyond L', alibi_within FROM threshold
    UNION ALL
    SELECT 'P6b', printf('With a sliding window sinusoidal perplexity explodes beyond L: at least %.2f x that at L.', sinusoidal_explodes), NULL, NULL FROM threshold
    UNION ALL
    SELECT 'P6c', 'ALiBi''s gain on longer inputs comes from sparing early tokens: with nonoverlapping windows (Table 5) perplexity falls from L to the longest length, and falls more than with a sliding window.', NULL, NULL)
SELECT s.claim, s.statement, (SELECT count(*) FROM wanted) AS wanted, f.seed, f.holds, CASE WHEN f.claim IS NOT NULL THEN printf('L=%d: %s', f.L, f.said) END AS said,
       s.effect, s.threshold, CASE WHEN s.effect IS NOT NULL THEN 'ALiBi' END AS method, f.measured, f.bound, f.direction, f.realised, CASE WHEN f.claim IS NOT NULL THEN printf('L=%d', f.L) END AS item
FROM statements s LEFT JOIN found f ON f.claim = s.claim ORDER BY s.claim, f.seed, f.L;
