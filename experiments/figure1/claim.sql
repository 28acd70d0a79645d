-- The paper's statements about Figure 1, as verdicts. Parameters: :artefact, :scale.
-- Lengths are the paper's (nominal), so that one statement serves every scale. Each claim must hold for
-- each training length below and for each seed the grid asks for, on each split that it asks for;
-- until all its numbers exist it is "not run". "1 valid" is seed 1 on the validation split.
WITH
threshold AS (SELECT
    1.20  AS sinusoidal_at_2L,   -- P1: perplexity at 2L, as a multiple of that at L, at least
    1.10  AS sinusoidal_best_at, -- P1: the best length, as a multiple of L, at most
    1.05  AS breaks_above,       -- P2: a method breaks at the first length above this multiple of its value at L
    1.00  AS t5_at_2L,           -- P3: perplexity at 2L, as a multiple of that at L, at most
    1.005 AS t5_turns_up,        -- P3: perplexity at the longest length, as a multiple of the best, at least
    1.010 AS alibi_rises,        -- P4: perplexity at any longer length, as a multiple of that at L, at most: where
                                 -- blocks begin changes with the length, so neighbouring lengths differ by chance
    1.005 AS alibi_at_8L         -- P4: the same from eight times L on
),
judged(L) AS (VALUES (512), (1024)),      -- training lengths
longest_at_least(k) AS (VALUES (8)),      -- the longest length must be this multiple of L or more

wanted AS (
    SELECT DISTINCT p.L_train_nominal AS L, r.seed || ' ' || r.split AS seed, r.split
    FROM points p JOIN runs r ON r.run_id = p.run_id JOIN judged j ON j.L = p.L_train_nominal
    WHERE p.artefact IN (:artefact, 'test_split') AND p.scale = :scale AND r.kind = 'eval'),
e AS (
    SELECT position, L_train_nominal AS L, seed || ' ' || split AS seed, L_valid_nominal AS V, perplexity AS p
    FROM artefact_evaluations
    WHERE artefact IN (:artefact, 'test_split') AND scale = :scale AND perplexity IS NOT NULL),
multiple(k) AS (VALUES (1), (2)),
near AS ( -- of each method the evaluated length nearest to k times L
    SELECT position, L, seed, k, p FROM (
        SELECT position, L, seed, k, p, V, min(abs(V - k * L)) AS off FROM e, multiple GROUP BY position, L, seed, k)
    WHERE off <= 0.15 * k * L),
at_L AS (SELECT position, L, seed, p FROM near WHERE k = 1),
at_2L AS (SELECT position, L, seed, p FROM near WHERE k = 2),
best AS (SELECT position, L, seed, p, V FROM (SELECT position, L, seed, V, min(p) AS p FROM e GROUP BY position, L, seed)),
longest AS (
    SELECT position, L, seed, p, V FROM (SELECT position, L, seed, p, max(V) AS V FROM e GROUP BY position, L, seed)
    WHERE V >= (SELECT k FROM longest_at_least) * L),
breaks AS (
    SELECT e.position, e.L, e.seed, min(e.V) AS V FROM e JOIN at_L USING (position, L, seed), threshold
    WHERE e.V > e.L AND e.p > breaks_above * at_L.p GROUP BY e.position, e.L, e.seed),

-- One row for each claim, training length and seed: whether it holds, and the numbers.
found(claim, L, seed, holds, said) AS (
    SELECT 'P1', w.L, w.seed, b.p >= sinusoidal_at_2L * a.p AND m.V <= sinusoidal_best_at * w.L,
           printf('%.2f at L, %.2f at 2L (x %.2f), best at %.2f L', a.p, b.p, b.p / a.p, 1.0 * m.V / w.L)
    FROM wanted w, threshold
    JOIN at_L a ON a.L = w.L AND a.seed = w.seed AND a.position = 'sinusoidal'
    JOIN at_2L b ON b.L = w.L AND b.seed = w.seed AND b.position = 'sinusoidal'
    JOIN best m ON m.L = w.L AND m.seed = w.seed AND m.position = 'sinusoidal'
    UNION ALL
    SELECT 'P2', w.L, w.seed, coalesce(s.V < r.V, 0),
           printf('sinusoidal breaks at %s, rotary at %s',
                  CASE WHEN s.V IS NULL THEN 'no length' ELSE printf('%.2f L', 1.0 * s.V / w.L) END,
                  CASE WHEN r.V IS NULL THEN 'no length' ELSE printf('%.2f L', 1.0 * r.V / w.L) END)
    FROM wanted w
    JOIN longest x ON x.L = w.L AND x.seed = w.seed AND x.position = 'sinusoidal'
    JOIN longest y ON y.L = w.L AND y.seed = w.seed AND y.position = 'rotary'
    LEFT JOIN breaks s ON s.L = w.L AND s.seed = w.seed AND s.position = 'sinusoidal'
    LEFT JOIN breaks r ON r.L = w.L AND r.seed = w.seed AND r.position = 'rotary'
    UNION ALL
    SELECT 'P3', w.L, w.seed,
           b.p <= t5_at_2L * a.p AND x.p >= t5_turns_up * m.p AND x.p / a.p < y.p / r.p,
           printf('%.2f at L, %.2f at 2L, best %.2f at %.1f L, %.2f at %.1f L (rotary there x %.2f)',
                  a.p, b.p, m.p, 1.0 * m.V / w.L, x.p, 1.0 * x.V / w.L, y.p / r.p)
    FROM wanted w, threshold
    JOIN at_L a ON a.L = w.L AND a.seed = w.seed AND a.position = 't5'
    JOIN at_2L b ON b.L = w.L AND b.seed = w.seed AND b.position = 't5'
    JOIN best m ON m.L = w.L AND m.seed = w.seed AND m.position = 't5'
    JOIN longest x ON x.L = w.L AND x.seed = w.seed AND x.position = 't5'
    JOIN at_L r ON r.L = w.L AND r.seed = w.seed AND r.position = 'rotary'
    JOIN e y ON y.L = w.L AND y.seed = w.seed AND y.position = 'rotary' AND y.V = x.V
    UNION ALL
    SELECT 'P4', w.L, w.seed, max(v.p) <= alibi_rises * a.p AND a.p <= s.p
                                 AND max(CASE WHEN v.V >= 8 * v.L THEN v.p END) <= alibi_at_8L * a.p,
           printf('%.2f at L (sinusoidal %.2f), highest beyond L %.2f, highest from 8L %.2f, %.2f at %.1f L', a.p, s.p,
                  max(v.p), max(CASE WHEN v.V >= 8 * v.L THEN v.p END), x.p, 1.0 * x.V / w.L)
    FROM wanted w, threshold
    JOIN at_L a ON a.L = w.L AND a.seed = w.seed AND a.position = 'alibi'
    JOIN at_L s ON s.L = w.L AND s.seed = w.seed AND s.position = 'sinusoidal'
    JOIN longest x ON x.L = w.L AND x.seed = w.seed AND x.position = 'alibi'
    JOIN e v ON v.L = w.L AND v.seed = w.seed AND v.position = 'alibi' AND v.V > v.L
    GROUP BY w.L, w.seed),
statements(claim, statement) AS (
    SELECT 'P1', printf('Sinusoidal embeddings do not extrapolate: perplexity at 2L is at least %.2f x that at L, and is best at no more than %.2f L.', sinusoidal_at_2L, sinusoidal_best_at) FROM threshold
    UNION ALL
    SELECT 'P2', printf('Rotary embeddings extrapolate further than sinusoidal ones, but break too: they first exceed %.2f x their perplexity at L at a longer input.', breaks_above) FROM threshold
    UNION ALL
    SELECT 'P3', printf('The T5 bias is at 2L at most %.2f x its perplexity at L, then turns up (at least %.3f x its best at the longest input), less than rotary.', t5_at_2L, t5_turns_up) FROM threshold
    UNION ALL
    SELECT 'P4', printf('ALiBi keeps its perplexity on every longer input (never above %.3f x that at L, from 8L never above %.3f x), and is at L at least as good as sinusoidal.', alibi_rises, alibi_at_8L) FROM threshold)
SELECT s.claim, s.statement, w.n AS wanted, CAST(f.seed AS INTEGER) AS seed, f.holds, CASE WHEN f.claim IS NOT NULL THEN printf('L=%d: %s', f.L, f.said) END AS said,
       w.split, CASE WHEN f.claim IS NOT NULL THEN printf('L=%d', f.L) END AS item
FROM statements s
CROSS JOIN (SELECT DISTINCT split, (SELECT count(*) FROM (SELECT DISTINCT L, CAST(seed AS INTEGER) FROM wanted)) AS n FROM wanted UNION ALL SELECT NULL, 0 WHERE NOT EXISTS (SELECT 1 FROM wanted)) w
LEFT JOIN found f ON f.claim = s.claim AND f.seed LIKE '% ' || w.split ORDER BY s.claim, w.split DESC, CAST(f.seed AS INTEGER), f.L;
