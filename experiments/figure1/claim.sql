-- The paper's statements about Figure 1, as verdicts. Parameters: :artefact, :scale.
-- Lengths are the paper's (nominal), so that one statement serves every scale. Each claim must hold for
-- each training length below and for each seed the grid asks for, on each split that it asks for;
-- until all its numbers exist it is "not run". "1 valid" is seed 1 on the validation split. A claim has
-- parts, each a ratio of two perplexities of the same targets; alibi judges the part nearest to its bound.
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
e AS MATERIALIZED (
    SELECT position, L_train_nominal AS L, seed || ' ' || split AS seed, L_valid_nominal AS V, perplexity AS p, run_id
    FROM artefact_evaluations
    WHERE artefact IN (:artefact, 'test_split') AND scale = :scale AND perplexity IS NOT NULL),
read AS MATERIALIZED (SELECT position, L, seed, group_concat(run_id, ' ') AS runs FROM e GROUP BY position, L, seed),
multiple(k) AS (VALUES (1), (2)),
near AS MATERIALIZED ( -- of each method the evaluated length nearest to k times L
    SELECT position, L, seed, k, p, run_id FROM (
        SELECT position, L, seed, k, p, run_id, V, min(abs(V - k * L)) AS off FROM e, multiple GROUP BY position, L, seed, k)
    WHERE off <= 0.15 * k * L),
at_L AS (SELECT position, L, seed, p, run_id FROM near WHERE k = 1),
at_2L AS (SELECT position, L, seed, p, run_id FROM near WHERE k = 2),
best AS MATERIALIZED (SELECT position, L, seed, p, V, run_id FROM (SELECT position, L, seed, V, run_id, min(p) AS p FROM e GROUP BY position, L, seed)),
longest AS MATERIALIZED (
    SELECT position, L, seed, p, V, run_id FROM (SELECT position, L, seed, p, run_id, max(V) AS V FROM e GROUP BY position, L, seed)
    WHERE V >= (SELECT k FROM longest_at_least) * L),
breaks AS MATERIALIZED (
    SELECT e.position, e.L, e.seed, min(e.V) AS V FROM e JOIN at_L USING (position, L, seed), threshold
    WHERE e.V > e.L AND e.p > breaks_above * at_L.p GROUP BY e.position, e.L, e.seed),

-- P1: sinusoidal's lowest perplexity on inputs that are near L and on the longer ones.
lowest AS MATERIALIZED (
    SELECT L, seed, V > sinusoidal_best_at * L AS is_longer, run_id, min(p) AS p FROM e, threshold
    WHERE position = 'sinusoidal' GROUP BY L, seed, is_longer),
-- The highest perplexity of a method beyond L: of all inputs, of rotary until sinusoidal breaks, of ALiBi from 8L on.
range(range) AS (VALUES ('all'), ('until sinusoidal breaks'), ('from 8L')),
highest AS MATERIALIZED (
    SELECT e.position, e.L, e.seed, range, e.run_id, max(e.p) AS p
    FROM range, e LEFT JOIN breaks s ON s.position = 'sinusoidal' AND s.L = e.L AND s.seed = e.seed
    WHERE e.V > e.L AND (range = 'all' OR range = 'until sinusoidal breaks' AND e.V <= coalesce(s.V, e.V) OR range = 'from 8L' AND e.V >= 8 * e.L)
    GROUP BY e.position, e.L, e.seed, range),

-- One row for each claim, training length and seed: the numbers in words, the runs that it reads, and those that its parts compare.
words(claim, L, seed, runs, a, b, c, d, f, said) AS MATERIALIZED (
    SELECT 'P1', w.L, w.seed, x.runs, a.run_id, b.run_id, n.run_id, o.run_id, NULL,
           printf('%.2f at L, %.2f at 2L (x %.2f), best at %.2f L', a.p, b.p, b.p / a.p, 1.0 * m.V / w.L)
    FROM wanted w
    JOIN at_L a ON a.L = w.L AND a.seed = w.seed AND a.position = 'sinusoidal'
    JOIN at_2L b ON b.L = w.L AND b.seed = w.seed AND b.position = 'sinusoidal'
    JOIN best m ON m.L = w.L AND m.seed = w.seed AND m.position = 'sinusoidal'
    JOIN lowest n ON n.L = w.L AND n.seed = w.seed AND NOT n.is_longer
    JOIN lowest o ON o.L = w.L AND o.seed = w.seed AND o.is_longer
    JOIN read x ON x.L = w.L AND x.seed = w.seed AND x.position = 'sinusoidal'
    UNION ALL
    SELECT 'P2', w.L, w.seed, x.runs || ' ' || y.runs, c.run_id, sh.run_id, d.run_id, ru.run_id, rh.run_id,
           printf('sinusoidal breaks at %s, rotary at %s',
                  CASE WHEN s.V IS NULL THEN 'no length' ELSE printf('%.2f L', 1.0 * s.V / w.L) END,
                  CASE WHEN r.V IS NULL THEN 'no length' ELSE printf('%.2f L', 1.0 * r.V / w.L) END)
    FROM wanted w
    JOIN longest ls ON ls.L = w.L AND ls.seed = w.seed AND ls.position = 'sinusoidal'
    JOIN longest lr ON lr.L = w.L AND lr.seed = w.seed AND lr.position = 'rotary'
    JOIN at_L c ON c.L = w.L AND c.seed = w.seed AND c.position = 'sinusoidal'
    JOIN at_L d ON d.L = w.L AND d.seed = w.seed AND d.position = 'rotary'
    JOIN highest sh ON sh.L = w.L AND sh.seed = w.seed AND sh.position = 'sinusoidal' AND sh.range = 'all'
    JOIN highest rh ON rh.L = w.L AND rh.seed = w.seed AND rh.position = 'rotary' AND rh.range = 'all'
    JOIN highest ru ON ru.L = w.L AND ru.seed = w.seed AND ru.position = 'rotary' AND ru.range = 'until sinusoidal breaks'
    JOIN read x ON x.L = w.L AND x.seed = w.seed AND x.position = 'sinusoidal'
    JOIN read y ON y.L = w.L AND y.seed = w.seed AND y.position = 'rotary'
    LEFT JOIN breaks s ON s.L = w.L AND s.seed = w.seed AND s.position = 'sinusoidal'
    LEFT JOIN breaks r ON r.L = w.L AND r.seed = w.seed AND r.position = 'rotary'
    UNION ALL
    SELECT 'P3', w.L, w.seed, z.runs || ' ' || r.run_id || ' ' || y.run_id, a.run_id, b.run_id, m.run_id, x.run_id, NULL,
           printf('%.2f at L, %.2f at 2L, best %.2f at %.1f L, %.2f at %.1f L (rotary there x %.2f)',
                  a.p, b.p, m.p, 1.0 * m.V / w.L, x.p, 1.0 * x.V / w.L, y.p / r.p)
    FROM wanted w
    JOIN at_L a ON a.L = w.L AND a.seed = w.seed AND a.position = 't5'
    JOIN at_2L b ON b.L = w.L AND b.seed = w.seed AND b.position = 't5'
    JOIN best m ON m.L = w.L AND m.seed = w.seed AND m.position = 't5'
    JOIN longest x ON x.L = w.L AND x.seed = w.seed AND x.position = 't5'
    JOIN at_L r ON r.L = w.L AND r.seed = w.seed AND r.position = 'rotary'
    JOIN e y ON y.L = w.L AND y.seed = w.seed AND y.position = 'rotary' AND y.V = x.V
    JOIN read z ON z.L = w.L AND z.seed = w.seed AND z.position = 't5'
    UNION ALL
    SELECT 'P4', w.L, w.seed, z.runs || ' ' || s.run_id, a.run_id, s.run_id, h.run_id, g.run_id, NULL,
           printf('%.2f at L (sinusoidal %.2f), highest beyond L %.2f, highest from 8L %.2f, %.2f at %.1f L', a.p, s.p, h.p, g.p, x.p, 1.0 * x.V / w.L)
    FROM wanted w
    JOIN at_L a ON a.L = w.L AND a.seed = w.seed AND a.position = 'alibi'
    JOIN at_L s ON s.L = w.L AND s.seed = w.seed AND s.position = 'sinusoidal'
    JOIN longest x ON x.L = w.L AND x.seed = w.seed AND x.position = 'alibi'
    JOIN highest h ON h.L = w.L AND h.seed = w.seed AND h.position = 'alibi' AND h.range = 'all'
    JOIN highest g ON g.L = w.L AND g.seed = w.seed AND g.position = 'alibi' AND g.range = 'from 8L'
    JOIN read z ON z.L = w.L AND z.seed = w.seed AND z.position = 'alibi'),
-- P3: how much more the T5 bias rises from L to its longest input than rotary does, in nats over the blocks of the same targets.
block AS (
    SELECT x.L, x.seed, count(*) AS n, avg(xb.loss_nats - ab.loss_nats - yb.loss_nats + rb.loss_nats) AS mean,
           avg(power(xb.loss_nats - ab.loss_nats - yb.loss_nats + rb.loss_nats, 2)) AS square
    FROM longest x
    JOIN at_L a USING (position, L, seed)
    JOIN e y ON y.L = x.L AND y.seed = x.seed AND y.position = 'rotary' AND y.V = x.V
    JOIN at_L r ON r.L = x.L AND r.seed = x.seed AND r.position = 'rotary'
    JOIN target_blocks xb ON xb.run_id = x.run_id
    JOIN target_blocks ab ON ab.run_id = a.run_id AND ab.first = xb.first AND ab.last = xb.last
    JOIN target_blocks yb ON yb.run_id = y.run_id AND yb.first = xb.first AND yb.last = xb.last
    JOIN target_blocks rb ON rb.run_id = r.run_id AND rb.first = xb.first AND rb.last = xb.last
    WHERE x.position = 't5' GROUP BY x.L, x.seed),
less AS MATERIALIZED (
    SELECT x.L, x.seed, (x.p / a.p) / (y.p / r.p) AS ratio,
           (x.p / a.p) / (y.p / r.p) * sqrt(max(0, k.square - k.mean * k.mean) / (k.n - 1)) AS error
    FROM longest x
    JOIN at_L a USING (position, L, seed)
    JOIN e y ON y.L = x.L AND y.seed = x.seed AND y.position = 'rotary' AND y.V = x.V
    JOIN at_L r ON r.L = x.L AND r.seed = x.seed AND r.position = 'rotary'
    LEFT JOIN block k ON k.L = x.L AND k.seed = x.seed
    WHERE x.position = 't5'),

-- The parts of a claim: two runs of the same targets, by their columns above, the bound of the ratio of their perplexities.
part(claim, part, run, other, bound, direction) AS (
    SELECT 'P1', 'at 2L', 'b', 'a', sinusoidal_at_2L, 'at least' FROM threshold
    UNION ALL SELECT 'P1', 'the best length', 'd', 'c', 1, 'at least'
    UNION ALL SELECT 'P2', 'sinusoidal breaks', 'b', 'a', breaks_above, 'above' FROM threshold
    UNION ALL SELECT 'P2', 'rotary does not by then', 'd', 'c', breaks_above, 'at most' FROM threshold
    UNION ALL SELECT 'P2', 'rotary breaks', 'f', 'c', breaks_above, 'above' FROM threshold
    UNION ALL SELECT 'P3', 'at 2L', 'b', 'a', t5_at_2L, 'at most' FROM threshold
    UNION ALL SELECT 'P3', 'turning up', 'd', 'c', t5_turns_up, 'at least' FROM threshold
    UNION ALL SELECT 'P3', 'less than rotary', NULL, NULL, 1, 'below'
    UNION ALL SELECT 'P4', 'beyond L', 'c', 'a', alibi_rises, 'at most' FROM threshold
    UNION ALL SELECT 'P4', 'from 8L', 'd', 'a', alibi_at_8L, 'at most' FROM threshold
    UNION ALL SELECT 'P4', 'at L', 'a', 'b', 1, 'at most'),
found AS (
    SELECT w.claim, w.L, w.seed, p.part, CASE p.run WHEN 'a' THEN w.a WHEN 'b' THEN w.b WHEN 'c' THEN w.c WHEN 'd' THEN w.d WHEN 'f' THEN w.f END AS run,
           CASE p.other WHEN 'a' THEN w.a WHEN 'b' THEN w.b WHEN 'c' THEN w.c END AS other,
           k.ratio AS measured, k.error, p.bound, p.direction, w.runs, w.said
    FROM words w JOIN part p USING (claim) LEFT JOIN less k ON p.part = 'less than rotary' AND k.L = w.L AND k.seed = w.seed),
statements(claim, statement) AS (
    SELECT 'P1', printf('Sinusoidal embeddings do not extrapolate: perplexity at 2L is at least %.2f x that at L, and is best at no more than %.2f L.', sinusoidal_at_2L, sinusoidal_best_at) FROM threshold
    UNION ALL
    SELECT 'P2', printf('Rotary embeddings extrapolate further than sinusoidal ones, but break too: they first exceed %.2f x their perplexity at L at a longer input.', breaks_above) FROM threshold
    UNION ALL
    SELECT 'P3', printf('The T5 bias is at 2L at most %.2f x its perplexity at L, then turns up (at least %.3f x its best at the longest input), less than rotary.', t5_at_2L, t5_turns_up) FROM threshold
    UNION ALL
    SELECT 'P4', printf('ALiBi keeps its perplexity on every longer input (never above %.3f x that at L, from 8L never above %.3f x), and is at L at least as good as sinusoidal.', alibi_rises, alibi_at_8L) FROM threshold)
SELECT s.claim, s.statement, w.n AS wanted, CAST(f.seed AS INTEGER) AS seed, NULL AS holds, CASE WHEN f.claim IS NOT NULL THEN printf('L=%d: %s', f.L, f.said) END AS said,
       w.split, CASE WHEN f.claim IS NOT NULL THEN printf('L=%d', f.L) END AS item, f.part, f.run, f.other, f.measured, f.error, f.bound, f.direction, f.runs
FROM statements s
CROSS JOIN (SELECT DISTINCT split, (SELECT count(*) FROM (SELECT DISTINCT L, CAST(seed AS INTEGER) FROM wanted)) AS n FROM wanted UNION ALL SELECT NULL, 0 WHERE NOT EXISTS (SELECT 1 FROM wanted)) w
LEFT JOIN found f ON f.claim = s.claim AND f.seed LIKE '% ' || w.split ORDER BY s.claim, w.split DESC, CAST(f.seed AS INTEGER), f.L;
