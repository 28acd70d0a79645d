-- Is the advantage still there after enough training? Verdicts on q: on 3,072 tokens of test, the
-- perplexity of one arm over that of another. An arm is a method and its length of training, at one
-- width and number of updates; it counts at the rate, and a rotary one at the base, that is best on
-- valid on 3,072 tokens. Parameters: :artefact, :scale. A claim must hold for each seed; until all its
-- numbers exist it is "not run", and a claim whose arms the grid does not have is left out.
WITH
threshold AS (SELECT
    1.00 AS q,        -- E16a, E16e to E16h: q after any number of updates, at most
    2000 AS lasts,    -- E16b: the updates at which q of E16a is 1, at least (those of Table 5 at scale mini)
    1.010 AS rises,   -- E16c: ALiBi's r after any number of updates, at most (P4's threshold)
    0.02 AS drifts,   -- E16d: its r after the most updates less that after the fewest, at most
    0.01 AS shrinks,  -- E16i: q at the largest width less q at the smallest after the same updates, at most
    1.05 AS worsens   -- E16j: rotary's r after the most updates over that after the fewest, at least
),
t AS MATERIALIZED ( -- a training, and its perplexity on either split
    SELECT CAST(d.value AS INTEGER) AS width, CAST(u.value AS INTEGER) AS updates, w.position, w.L_train_nominal AS L, w.seed,
        max(CASE split WHEN 'valid' THEN w.perplexity END) AS valid, max(CASE split WHEN 'test' THEN w.perplexity END) AS p,
        max(CASE split WHEN 'test' THEN w.run_id END) AS id, sum(w.perplexity IS NOT NULL OR coalesce(w.state = 'diverged', 0)) = count(*) AS known
    FROM wanted_evaluations w JOIN settings d ON d.run_id = w.train_run_id AND d.key = 'model.dim'
    JOIN settings u ON u.run_id = w.train_run_id AND u.key = 'train.updates'
    WHERE w.artefact = :artefact AND w.scale = :scale GROUP BY w.train_run_id),
arm AS MATERIALIZED ( -- of complete arms the training that is best on valid
    SELECT width, updates, position, L, seed, p, id FROM (
        SELECT *, min(known) OVER own AS complete, row_number() OVER (own ORDER BY valid IS NULL, valid) AS n
        FROM t WINDOW own AS (PARTITION BY width, updates, position, L, seed))
    WHERE n = 1 AND complete AND p IS NOT NULL),
rival(claim, position, L, other, other_L, name) AS (VALUES
    ('E16a', 'alibi', 512, 'sinusoidal', 3072, 'ALiBi 512 %.2f, sinusoidal 3,072 %.2f'),
    ('E16e', 'alibi', 512, 'rotary', 3072, 'ALiBi 512 %.2f, rotary 3,072 %.2f'),
    ('E16f', 'alibi', 3072, 'sinusoidal', 3072, 'ALiBi 3,072 %.2f, sinusoidal 3,072 %.2f'),
    ('E16g', 'alibi', 3072, 'rotary', 3072, 'ALiBi 3,072 %.2f, rotary 3,072 %.2f'),
    ('E16h', 'forget_gate', 512, 'alibi', 512, 'forget gate 512 %.2f, ALiBi 512 %.2f')),
q AS MATERIALIZED (
    SELECT r.claim, r.name, a.width, a.updates, a.seed, a.p, o.p AS rival, a.id AS run, o.id AS other, a.p / o.p AS q
    FROM rival r JOIN arm a ON a.position = r.position AND a.L = r.L
    JOIN arm o ON o.position = r.other AND o.L = r.other_L AND o.width = a.width AND o.updates = a.updates AND o.seed = a.seed),
part AS MATERIALIZED (SELECT run_id, first, loss_nats FROM target_blocks WHERE run_id IN (SELECT id FROM arm)),
lead AS MATERIALIZED ( -- q of E16a with the standard error of the mean difference over the blocks of the targets
    SELECT q.*, (SELECT sqrt(max(0, avg(d * d) - avg(d) * avg(d)) / (count(*) - 1)) FROM (
        SELECT a.loss_nats - o.loss_nats AS d FROM part a JOIN part o USING (first) WHERE a.run_id = q.run AND o.run_id = q.other)) * q.q AS error,
        count(*) OVER own AS points, group_concat(run || ' ' || other, ' ') OVER own AS runs,
        max(CASE WHEN q.q < 1 THEN updates END) OVER own AS last_below, lead(q.q) OVER by_updates AS q_next, lead(updates) OVER by_updates AS updates_next
    FROM q WHERE claim = 'E16a'
    WINDOW own AS (PARTITION BY width, seed), by_updates AS (PARTITION BY width, seed ORDER BY updates)),
whole AS (SELECT width, seed, count(DISTINCT updates) AS points, min(updates) AS fewest, max(updates) AS most FROM t GROUP BY width, seed),
crossing AS ( -- the update at which q becomes 1 and stays above it, linear in log updates; else the nearer end
    SELECT l.width, l.seed, l.runs,
        CASE WHEN last_below IS NULL THEN w.fewest WHEN q_next IS NULL THEN w.most ELSE updates * pow(1.0 * updates_next / updates, (1 - q) / (q_next - q)) END AS at,
        CASE WHEN last_below IS NOT NULL THEN error * ln(1.0 * updates_next / updates) / (q_next - q) * updates END AS error,
        CASE WHEN last_below IS NULL THEN printf('q is above 1 after %d updates', w.fewest) WHEN q_next IS NULL THEN printf('q is below 1 after %d updates', w.most)
            ELSE printf('q is %.3f after %d updates, %.3f after %d', q, updates, q_next, updates_next) END AS said
    FROM lead l JOIN whole w ON w.width = l.width AND w.seed = l.seed AND w.points = l.points
    WHERE l.updates = coalesce(last_below, w.fewest)),
r AS MATERIALIZED ( -- in rows of 6 L, perplexity beyond L over that in the last half of L
    SELECT a.*, exp(x.difference_nats) AS r, exp(x.difference_nats) * x.standard_error AS error
    FROM arm a JOIN extrapolation x ON x.run_id = a.id WHERE a.L = 512 AND a.position IN ('alibi', 'rotary')),
span AS ( -- of complete rows, from the fewest updates to the most
    SELECT l.position, l.width, l.seed, f.r AS r_first, f.error AS e_first, l.r AS r_last, l.error AS e_last, f.id || ' ' || l.id AS runs,
        printf('%.3f after %d updates, %.3f after %d', f.r, f.updates, l.r, l.updates) AS said
    FROM whole w JOIN r f ON f.width = w.width AND f.seed = w.seed AND f.updates = w.fewest
    JOIN r l ON l.width = w.width AND l.seed = w.seed AND l.updates = w.most AND l.position = f.position
    WHERE w.points = (SELECT count(*) FROM r n WHERE n.position = l.position AND n.width = l.width AND n.seed = l.seed)),
found(claim, seed, width, updates, item, run, other, measured, error, bound, direction, runs, said) AS (
    SELECT claim, seed, width, updates, printf('width %d, %d updates', width, updates), run, other, NULL, NULL, threshold.q, 'at most', NULL,
        printf('%d updates, width %d: ' || name || ' (q %.3f)', updates, width, p, rival, q.q)
    FROM threshold, q
    UNION ALL
    SELECT 'E16b', seed, width, 0, width, NULL, NULL, at, error, lasts, 'at least', runs, printf('width %d: %.0f updates; %s', width, at, said) FROM threshold, crossing
    UNION ALL
    SELECT 'E16c', seed, width, updates, printf('width %d, %d updates', width, updates), NULL, NULL, r, error, rises, 'at most', id, printf('%d updates, width %d: x %.3f', updates, width, r)
    FROM threshold, r WHERE position = 'alibi'
    UNION ALL
    SELECT 'E16d', seed, width, 0, width, NULL, NULL, r_last - r_first, sqrt(e_first * e_first + e_last * e_last), drifts, 'at most', runs, printf('width %d: %s', width, said)
    FROM threshold, span WHERE position = 'alibi'
    UNION ALL
    SELECT 'E16i', l.seed, l.width, l.updates, l.updates, NULL, NULL, l.q - s.q, sqrt(l.error * l.error + s.error * s.error), shrinks, 'at most',
        l.run || ' ' || l.other || ' ' || s.run || ' ' || s.other, printf('%d updates: q %.3f at width %d, %.3f at %d', l.updates, s.q, s.width, l.q, l.width)
    FROM threshold, lead l JOIN lead s ON s.seed = l.seed AND s.updates = l.updates
    WHERE l.width = (SELECT max(width) FROM t) AND s.width = (SELECT min(width) FROM t) AND l.width > s.width
    UNION ALL
    SELECT 'E16j', seed, width, 0, width, NULL, NULL, r_last / r_first, r_last / r_first * sqrt(e_first * e_first / r_first / r_first + e_last * e_last / r_last / r_last),
        worsens, 'at least', runs, printf('width %d: %s', width, said)
    FROM threshold, span WHERE position = 'rotary'),
asked AS ( -- what the grid has: arms, and the cases that a claim has for each
    SELECT DISTINCT position, L, width, updates, seed FROM t),
cases(claim, n) AS (
    SELECT r.claim, count(*) FROM rival r JOIN asked a ON a.position = r.position AND a.L = r.L
    JOIN asked o ON o.position = r.other AND o.L = r.other_L AND o.width = a.width AND o.updates = a.updates AND o.seed = a.seed GROUP BY r.claim
    UNION ALL
    SELECT 'E16b', count(DISTINCT a.width || ' ' || a.seed) FROM asked a JOIN asked o USING (width, updates, seed)
    WHERE a.position = 'alibi' AND a.L = 512 AND o.position = 'sinusoidal' AND o.L = 3072
    UNION ALL
    SELECT 'E16c', count(*) FROM asked WHERE position = 'alibi' AND L = 512
    UNION ALL
    SELECT CASE position WHEN 'alibi' THEN 'E16d' ELSE 'E16j' END, count(DISTINCT width || ' ' || seed) FROM asked WHERE position IN ('alibi', 'rotary') AND L = 512 GROUP BY position
    UNION ALL
    SELECT 'E16i', count(DISTINCT updates || ' ' || seed) FROM asked HAVING count(DISTINCT width) > 1),
statements(claim, statement) AS (
    SELECT 'E16a', 'After any number of updates ALiBi trained on 512 tokens is on 3,072 at least as good as the sinusoidal model trained on 3,072.'
    UNION ALL
    SELECT 'E16b', printf('That lead lasts: the ratio of their perplexities becomes 1 after %d updates or more, those of Table 5 at scale mini.', lasts) FROM threshold
    UNION ALL
    SELECT 'E16c', printf('However long ALiBi is trained on 512 tokens, in rows of 6 L perplexity beyond L is at most %.3f x that in the last half of L.', rises) FROM threshold
    UNION ALL
    SELECT 'E16d', printf('Long training does not wear that off: the ratio rises by at most %.2f from the shortest training to the longest.', drifts) FROM threshold
    UNION ALL
    SELECT 'E16e', 'After any number of updates ALiBi trained on 512 tokens is on 3,072 at least as good as a rotary model trained on 3,072, the best of its bases.'
    UNION ALL
    SELECT 'E16f', 'Trained on 3,072 tokens, too, ALiBi is there at least as good as the sinusoidal model after any number of updates.'
    UNION ALL
    SELECT 'E16g', 'And at least as good as rotary, the best of its bases.'
    UNION ALL
    SELECT 'E16h', 'After any number of updates the forget gate trained on 512 tokens is on 3,072 at least as good as ALiBi trained on 512.'
    UNION ALL
    SELECT 'E16i', printf('After equal updates the lead of E16a does not shrink with width: the ratio rises by at most %.2f from the smallest width to the largest.', shrinks) FROM threshold
    UNION ALL
    SELECT 'E16j', printf('Rotary''s extrapolation gets worse with training: its ratio beyond L grows to at least %.2f x that of the shortest training.', worsens) FROM threshold)
SELECT s.claim, s.statement, coalesce(c.n, 0) AS wanted, f.seed, NULL AS holds, f.said, f.item, f.run, f.other, f.measured, f.error, f.bound, f.direction, f.runs
FROM statements s LEFT JOIN cases c USING (claim) LEFT JOIN found f USING (claim) WHERE c.n > 0 OR NOT EXISTS (SELECT 1 FROM t) ORDER BY s.claim, f.seed, f.width, f.updates;
