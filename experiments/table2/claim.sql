-- The paper's statements about Tables 2 to 4, as verdicts. Parameters: :artefact, :scale.
-- Lengths are the paper's (nominal), so that one statement serves every scale. A claim must hold for
-- each case and for each seed the grid asks for, on each split that it asks for; until all its numbers
-- exist it is "not run". "1 valid" is seed 1 on the validation split. C1 has parts, each a ratio of two
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
    SELECT a.position, a.L, a.seed, a.p, coalesce(min(e.V), 9e9) AS V
    FROM at_L a LEFT JOIN e ON e.position = a.position AND e.L = a.L AND e.seed = a.seed AND e.V > e.L
        AND e.p > (SELECT breaks_above FROM threshold) * a.p
    GROUP BY a.position, a.L, a.seed),
common AS ( -- the longest input that all four have read
    SELECT L, seed, max(V) AS V FROM (SELECT L, seed, V FROM e GROUP BY L, seed, V HAVING count(DISTINCT position) = 4)
    WHERE V > 2 * L GROUP BY L, seed),
multiple AS ( -- of a method's perplexity at L
    SELECT k.position, k.L, k.seed, k.V AS broken, e.V, e.p / k.p AS times
    FROM breaks k JOIN common c ON c.L = k.L AND c.seed = k.seed
    JOIN e ON e.position = k.position AND e.L = k.L AND e.seed = k.seed AND e.V = c.V),

-- One row for each claim, case and seed, of C1 for each part: the two runs whose ratio of perplexities has a bound; of C2 whether it holds.
found(claim, place, seed, holds, part, run, other, bound, direction, runs, said) AS (
    SELECT 'C1', a.L, a.seed, NULL, k.part, CASE k.part WHEN 'further on' THEN b.run_id ELSE o.run_id END,
           CASE k.part WHEN 'further on' THEN a.run_id ELSE n.run_id END, k.bound, 'at least', x.runs,
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
    SELECT 'C2', s.L, s.seed,
           t.broken <= a.broken AND t.times > a.times AND min(s.times, r.times) > t.times
               AND s.broken < r.broken AND r.broken <= t.broken AND r.broken < 9e9
               AND (NOT whole_order OR s.times > r.times), NULL, NULL, NULL, NULL, NULL, NULL,
           printf('L=%d: break at %s (sinusoidal), %s (rotary), %s (T5 bias), %s (ALiBi), and at %d are x %.2f, x %.2f, x %.2f, x %.2f',
                  s.L, CASE WHEN s.broken > 1e9 THEN 'no length' ELSE s.broken END, CASE WHEN r.broken > 1e9 THEN 'no length' ELSE r.broken END,
                  CASE WHEN t.broken > 1e9 THEN 'no length' ELSE t.broken END, CASE WHEN a.broken > 1e9 THEN 'no length' ELSE a.broken END,
                  s.V, s.times, r.times, t.times, a.times)
    FROM threshold, multiple s
    JOIN multiple r ON r.L = s.L AND r.seed = s.seed AND r.position = 'rotary'
    JOIN multiple t ON t.L = s.L AND t.seed = s.seed AND t.position = 't5'
    JOIN multiple a ON a.L = s.L AND a.seed = s.seed AND a.position = 'alibi'
    WHERE s.position = 'sinusoidal'),
statements(claim, statement) AS (
    SELECT 'C1', printf('Sinusoidal embeddings extrapolate by some 20 to 50 tokens only: perplexity is best at no more than L + %d, and at %s at least %.2f x that at L.',
                        best_beyond, CASE :scale WHEN 'paper' THEN 'L + 1000' ELSE 'the longest input' END, fails_at) FROM threshold
    UNION ALL
    SELECT 'C2', printf('The position method alone decides how far a model extrapolates: with all else equal sinusoidal, then rotary embeddings first exceed %.2f x their perplexity at L, then the T5 bias, ALiBi last or never; at the longest common input they are in the same order%s.', breaks_above, CASE WHEN whole_order THEN '' ELSE ', sinusoidal and rotary in either' END) FROM threshold)
SELECT s.claim, s.statement, w.seeds_n AS wanted, CAST(f.seed AS INTEGER) AS seed, f.holds, f.said, w.split,
       'L=' || f.place AS item, f.part, f.run, f.other, f.bound, f.direction, f.runs
FROM statements s CROSS JOIN splits w
LEFT JOIN found f ON f.claim = s.claim AND f.seed LIKE '% ' || w.split ORDER BY s.claim, w.split DESC, CAST(f.seed AS INTEGER), f.place;
