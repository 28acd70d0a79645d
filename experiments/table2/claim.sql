-- The paper's statements about Tables 2 to 4, as verdicts. Parameters: :artefact, :scale.
-- Lengths are the paper's (nominal), so that one statement serves every scale. A claim must hold for
-- each case and for each seed the grid asks for, on each split that it asks for; until all its numbers
-- exist it is "not run". "1 valid" is seed 1 on the validation split. A claim has parts, ratios of
-- perplexities of the same targets; alibi judges the part nearest to its bound.
WITH
judged AS ( -- the table's training length, and the longest input it asks for; NULL where nothing is asked for yet
    SELECT max(L_train_nominal) AS L, max(L_valid_nominal) AS longest FROM wanted_evaluations
    WHERE artefact = :artefact AND scale = :scale),
threshold AS (SELECT
    50 AS best_beyond,                                                  -- C1: sinusoidal is best at no more than so many tokens beyond L
    1.5 AS fails_at,                                                    -- C1: its perplexity further on, as a multiple of that at L, at least
    CASE :scale WHEN 'paper' THEN 1000 ELSE longest - L END AS further, -- C1: so many tokens beyond L
    1.05 AS breaks_above,                                               -- C2: a method breaks at the first length above this multiple of its value at L
    :scale = 'paper' AS whole_order                                     -- C2: sinusoidal is worse than rotary at the longest input too
    FROM judged),
seeds AS (
    SELECT DISTINCT r.seed, r.split FROM points p JOIN runs r ON r.run_id = p.run_id
    WHERE p.artefact IN (:artefact, 'test_split') AND p.scale = :scale AND r.kind = 'eval'),
splits AS (SELECT split, (SELECT count(DISTINCT seed) FROM seeds) AS seeds_n FROM seeds GROUP BY split UNION ALL SELECT NULL, 0 WHERE NOT EXISTS (SELECT 1 FROM seeds)),
e AS (
    SELECT position, L_train_nominal AS L, seed || ' ' || split AS seed, L_valid_nominal AS V, perplexity AS p, run_id
    FROM artefact_evaluations
    WHERE artefact IN (:artefact, 'test_split') AND scale = :scale AND perplexity IS NOT NULL),
at_L AS (SELECT e.* FROM e JOIN judged USING (L) WHERE e.V = e.L),
best AS (SELECT position, L, seed, V, p FROM (SELECT position, L, seed, V, min(p) AS p FROM e GROUP BY position, L, seed)),
lowest AS ( -- on inputs that are near L and on the longer ones
    SELECT position, L, seed, V > L + best_beyond AS is_longer, run_id, min(p) AS p FROM e, threshold GROUP BY position, L, seed, is_longer),
read AS (SELECT position, L, seed, group_concat(run_id, ' ') AS runs FROM e GROUP BY position, L, seed),
breaks AS ( -- a method that never breaks does so at no finite length
    SELECT a.position, a.L, a.seed, a.p, a.run_id, coalesce(min(e.V), 9e9) AS V
    FROM at_L a LEFT JOIN e ON e.position = a.position AND e.L = a.L AND e.seed = a.seed AND e.V > e.L
        AND e.p > (SELECT breaks_above FROM threshold) * a.p
    GROUP BY a.position, a.L, a.seed),
common AS ( -- the longest input that all four have read
    SELECT L, seed, max(V) AS V FROM (SELECT L, seed, V FROM e GROUP BY L, seed, V HAVING count(DISTINCT position) = 4)
    WHERE V > 2 * L GROUP BY L, seed),
multiple AS ( -- its perplexity over that at L, and the runs of both
    SELECT b.position, b.L, b.seed, b.V AS broken, e.V, b.run_id AS at_L, e.run_id AS at_V, e.p / b.p AS times
    FROM breaks b JOIN common c ON c.L = b.L AND c.seed = b.seed
    JOIN e ON e.position = b.position AND e.L = b.L AND e.seed = b.seed AND e.V = c.V),

-- C2, the order of breaking: below the length at which `earlier` breaks, and at it unless or_at_once, `later` has not broken.
follows(later, earlier, or_at_once) AS (VALUES ('rotary', 'sinusoidal', 0), ('t5', 'rotary', 1), ('alibi', 't5', 1)),
until AS (
    SELECT f.later AS position, e.L, e.seed, f.earlier, e.run_id, max(e.p) AS p
    FROM follows f JOIN e ON e.position = f.later AND e.V > e.L
    JOIN breaks b ON b.position = f.earlier AND b.L = e.L AND b.seed = e.seed AND (e.V < b.V OR e.V = b.V AND NOT or_at_once)
    GROUP BY f.later, e.L, e.seed),
-- C2, the order at the longest common input: by how much more `higher` rises from L than `lower`, in nats over the same targets.
above(higher, lower) AS (
    VALUES ('sinusoidal', 't5'), ('rotary', 't5'), ('t5', 'alibi')
    UNION ALL SELECT 'sinusoidal', 'rotary' FROM threshold WHERE whole_order),
block AS (
    SELECT o.higher, o.lower, h.L, h.seed, count(*) AS n, avg(hv.loss_nats - ha.loss_nats - lv.loss_nats + la.loss_nats) AS mean,
           avg(power(hv.loss_nats - ha.loss_nats - lv.loss_nats + la.loss_nats, 2)) AS square
    FROM above o
    JOIN multiple h ON h.position = o.higher
    JOIN multiple l ON l.position = o.lower AND l.L = h.L AND l.seed = h.seed
    JOIN target_blocks hv ON hv.run_id = h.at_V
    JOIN target_blocks ha ON ha.run_id = h.at_L AND ha.first = hv.first AND ha.last = hv.last
    JOIN target_blocks lv ON lv.run_id = l.at_V AND lv.first = hv.first AND lv.last = hv.last
    JOIN target_blocks la ON la.run_id = l.at_L AND la.first = hv.first AND la.last = hv.last
    GROUP BY o.higher, o.lower, h.L, h.seed),

-- The parts of C2: each the ratio of two runs' perplexities, or the ratio of two such ratios with its error.
ordered(L, seed, part, run, other, measured, error, bound, direction) AS (
    SELECT b.L, b.seed, position || ' breaks', h.run_id, b.run_id, NULL, NULL, breaks_above, 'above'
    FROM threshold, breaks b JOIN (SELECT position, L, seed, run_id, max(p) AS p FROM e GROUP BY position, L, seed) h USING (position, L, seed)
    WHERE position IN ('sinusoidal', 'rotary')
    UNION ALL
    SELECT u.L, u.seed, u.position || ' not before ' || u.earlier, u.run_id, b.run_id, NULL, NULL, breaks_above, 'at most'
    FROM threshold, until u JOIN breaks b USING (position, L, seed)
    UNION ALL
    SELECT h.L, h.seed, o.higher || ' above ' || o.lower, NULL, NULL, h.times / l.times,
           h.times / l.times * sqrt(max(0, k.square - k.mean * k.mean) / (k.n - 1)), 1, 'above'
    FROM above o JOIN multiple h ON h.position = o.higher JOIN multiple l ON l.position = o.lower AND l.L = h.L AND l.seed = h.seed
    LEFT JOIN block k ON k.higher = o.higher AND k.lower = o.lower AND k.L = h.L AND k.seed = h.seed),

-- One row for each claim, case, seed and part.
found(claim, place, seed, part, run, other, measured, error, bound, direction, runs, said) AS (
    SELECT 'C1', a.L, a.seed, k.part, CASE k.part WHEN 'further on' THEN b.run_id ELSE o.run_id END,
           CASE k.part WHEN 'further on' THEN a.run_id ELSE n.run_id END, NULL, NULL, k.bound, 'at least', x.runs,
           printf('L=%d: %.2f at L, best %.2f at L + %d, %.2f at L + %d (x %.2f)', a.L, a.p, m.p, m.V - a.L, b.p, further, b.p / a.p)
    FROM threshold, at_L a
    JOIN best m ON m.position = a.position AND m.L = a.L AND m.seed = a.seed
    JOIN e b ON b.position = a.position AND b.L = a.L AND b.seed = a.seed AND b.V = a.L + further
    JOIN lowest n ON n.position = a.position AND n.L = a.L AND n.seed = a.seed AND NOT n.is_longer
    JOIN lowest o ON o.position = a.position AND o.L = a.L AND o.seed = a.seed AND o.is_longer
    JOIN read x ON x.position = a.position AND x.L = a.L AND x.seed = a.seed
    JOIN (SELECT 'further on' AS part, fails_at AS bound FROM threshold UNION ALL SELECT 'the best length', 1) k
    WHERE a.position = 'sinusoidal'
    UNION ALL
    SELECT 'C2', s.L, s.seed, o.part, o.run, o.other, o.measured, o.error, o.bound, o.direction,
           (SELECT group_concat(runs, ' ') FROM read x WHERE x.L = s.L AND x.seed = s.seed),
           printf('L=%d: break at %s (sinusoidal), %s (rotary), %s (T5 bias), %s (ALiBi), and at %d are x %.2f, x %.2f, x %.2f, x %.2f',
                  s.L, CASE WHEN s.broken > 1e9 THEN 'no length' ELSE s.broken END, CASE WHEN r.broken > 1e9 THEN 'no length' ELSE r.broken END,
                  CASE WHEN t.broken > 1e9 THEN 'no length' ELSE t.broken END, CASE WHEN a.broken > 1e9 THEN 'no length' ELSE a.broken END,
                  s.V, s.times, r.times, t.times, a.times)
    FROM multiple s
    JOIN multiple r ON r.L = s.L AND r.seed = s.seed AND r.position = 'rotary'
    JOIN multiple t ON t.L = s.L AND t.seed = s.seed AND t.position = 't5'
    JOIN multiple a ON a.L = s.L AND a.seed = s.seed AND a.position = 'alibi'
    JOIN ordered o ON o.L = s.L AND o.seed = s.seed
    WHERE s.position = 'sinusoidal'),
statements(claim, statement) AS (
    SELECT 'C1', printf('Sinusoidal embeddings extrapolate by some 20 to 50 tokens only: perplexity is best at no more than L + %d, and at %s at least %.2f x that at L.',
                        best_beyond, CASE :scale WHEN 'paper' THEN 'L + 1000' ELSE 'the longest input' END, fails_at) FROM threshold
    UNION ALL
    SELECT 'C2', printf('The position method alone decides how far a model extrapolates: with all else equal sinusoidal, then rotary embeddings first exceed %.2f x their perplexity at L, then the T5 bias, ALiBi last or never; at the longest common input they are in the same order%s.', breaks_above, CASE WHEN whole_order THEN '' ELSE ', sinusoidal and rotary in either' END) FROM threshold)
SELECT s.claim, s.statement, w.seeds_n AS wanted, CAST(f.seed AS INTEGER) AS seed, NULL AS holds, f.said, w.split,
       'L=' || f.place AS item, f.part, f.run, f.other, f.measured, f.error, f.bound, f.direction, f.runs
FROM statements s CROSS JOIN splits w
LEFT JOIN found f ON f.claim = s.claim AND f.seed LIKE '% ' || w.split ORDER BY s.claim, w.split DESC, CAST(f.seed AS INTEGER), f.place;
