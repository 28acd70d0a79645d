-- What trainings that go on are worth, as verdicts. Parameters: :artefact, :scale. Each arm counts at
-- the learning rate that has the lowest perplexity on valid, at the arm's last L_train; all other
-- numbers are of the test split, on 3,072 tokens unless a claim says otherwise. A claim must hold for
-- each seed; until all numbers of its arms exist it is "not run".
WITH
threshold AS (SELECT
    1.00 AS staged,      -- E9a: staged over sinusoidal at 3072 throughout, at most
    0.95 AS time,        -- E9b: its time of training, the same, at most
    1.01 AS alibi,       -- E9c, E9d: ALiBi over staged, at most (Table 7: 17.66 and 17.56, x 1.006)
    1.02 AS tuned,       -- E9e: each of the four fine-tuned scalings over the best, at most
    1.00 AS unscaled,    -- E9f: each of the four over fine-tuning without a scaling, at most
    1.01 AS lengths      -- E9j: ALiBi at 512, then 1536, over 1536 throughout, at most
),
e AS MATERIALIZED ( -- an evaluation and its arm: method, heads, the parent's length, scaling, last length, such as 'rotary-2 512 yarn 3072'
    SELECT w.seed, w.split, w.protocol, w.L_valid_nominal AS V, w.perplexity AS p, w.state, w.train_run_id AS run, w.run_id AS id,
        w.position || CASE WHEN h.value <> '8' THEN '-' || h.value ELSE '' END
            || coalesce(' ' || (f.L_train * w.L_train_nominal / w.L_train), '')
            || CASE WHEN s.value <> 'none' THEN ' ' || s.value WHEN w.position_scaling <> 'none' THEN ' untrained ' || w.position_scaling ELSE '' END
            || ' ' || w.L_train_nominal AS arm
    FROM wanted_evaluations w
    JOIN settings h ON h.run_id = w.train_run_id AND h.key = 'model.heads'
    LEFT JOIN settings s ON s.run_id = w.train_run_id AND s.key = 'model.rope_scaling'
    LEFT JOIN settings t ON t.run_id = w.train_run_id AND t.key = 'train.from'
    LEFT JOIN run_list f ON f.run_id = t.value
    WHERE w.artefact = :artefact AND w.scale = :scale),
complete AS MATERIALIZED ( -- arms of which every number exists, or a model diverged
    SELECT arm, seed FROM e GROUP BY arm, seed HAVING count(*) = sum(p IS NOT NULL OR coalesce(state = 'diverged', 0))),
chosen AS MATERIALIZED ( -- a scaling that is applied in the evaluation only has nothing to choose
    SELECT arm, seed, run FROM (
        SELECT arm, seed, run, row_number() OVER (PARTITION BY arm, seed ORDER BY split DESC, p IS NULL, p) AS n
        FROM e JOIN complete USING (arm, seed))
    WHERE n = 1),
at AS MATERIALIZED ( -- on test: 'V' nonoverlapping, 'sliding'
    SELECT e.arm, e.seed, CASE protocol WHEN 'sliding' THEN 'sliding' ELSE CAST(V AS TEXT) END AS V, p, id
    FROM e JOIN chosen c ON c.arm = e.arm AND c.seed = e.seed AND c.run = e.run WHERE split = 'test' AND p IS NOT NULL),
picked AS ( -- the better of the two stages on valid
    SELECT arm, seed FROM (
        SELECT e.arm, e.seed, row_number() OVER (PARTITION BY e.seed ORDER BY e.p) AS n, count(*) OVER (PARTITION BY e.seed) AS arms
        FROM e JOIN chosen c ON c.arm = e.arm AND c.seed = e.seed AND c.run = e.run
        WHERE e.split = 'valid' AND e.arm IN ('sinusoidal 128 3072', 'sinusoidal 512 3072'))
    WHERE n = 1 AND arms = 2),
staged AS (SELECT a.* FROM at a JOIN picked USING (arm, seed) WHERE V = 'sliding'),
time AS ( -- seconds at the speed of the training by one process, its stages together
    SELECT c.arm, c.seed, (t.updates - coalesce(s.updates, 0)) * t.tokens_per_update / t.train_wps + coalesce(s.updates * s.tokens_per_update / s.train_wps, 0) AS seconds
    FROM chosen c JOIN trainings t ON t.run_id = c.run AND t.ranks = 1
    LEFT JOIN settings f ON f.run_id = c.run AND f.key = 'train.from' LEFT JOIN trainings s ON s.run_id = f.value
    WHERE s.run_id IS NULL OR s.ranks = 1),
scaling(name) AS (VALUES ('pi'), ('ntk'), ('dynamic_ntk'), ('yarn')),
tuned AS ( -- of heads of width 32: fine-tuned and not, a row a scaling
    SELECT a.seed, name, a.p, a.id, min(a.p) OVER of_seed AS low, max(z.p) OVER of_seed / min(z.p) OVER of_seed AS before,
        group_concat(printf('%s %.2f', name, a.p), ', ') OVER of_seed AS said, count(*) OVER of_seed AS n
    FROM scaling JOIN at a ON a.arm = 'rotary-2 512 ' || name || ' 3072' AND a.V = '3072'
    JOIN at z ON z.arm = 'rotary-2 untrained ' || name || ' 512' AND z.V = '3072' AND z.seed = a.seed
    WINDOW of_seed AS (PARTITION BY a.seed)),
best AS (SELECT seed, id FROM (SELECT seed, id, row_number() OVER (PARTITION BY seed ORDER BY p) AS n FROM tuned) WHERE n = 1),

found(claim, seed, item, run, other, measured, bound, said) AS (
    SELECT 'E9a', s.seed, NULL, s.id, o.id, NULL, staged, printf('%s %.2f, throughout %.2f (x %.3f)', s.arm, s.p, o.p, s.p / o.p)
    FROM threshold, staged s JOIN at o ON o.arm = 'sinusoidal 3072' AND o.V = 'sliding' AND o.seed = s.seed
    UNION ALL
    SELECT 'E9b', s.seed, NULL, NULL, NULL, s.seconds / o.seconds, time, printf('%s %.0f s, throughout %.0f s (x %.2f)', s.arm, s.seconds, o.seconds, s.seconds / o.seconds)
    FROM threshold, picked k JOIN time s USING (arm, seed) JOIN time o ON o.arm = 'sinusoidal 3072' AND o.seed = s.seed
    UNION ALL
    SELECT c.claim, s.seed, NULL, a.id, s.id, NULL, alibi, printf('ALiBi %.2f, %s %.2f (x %.3f)', a.p, s.arm, s.p, a.p / s.p)
    FROM threshold, (SELECT 'E9c' AS claim, 'alibi 512' AS arm UNION ALL SELECT 'E9d', 'alibi 3072') c
    JOIN at a ON a.arm = c.arm AND a.V = 'sliding' JOIN staged s ON s.seed = a.seed
    UNION ALL
    SELECT 'E9e', seed, name, t.id, b.id, NULL, tuned, printf('fine-tuned %s is x %.3f of the best (%s); not fine-tuned they differ by x %.3f', name, p / low, said, before)
    FROM threshold, tuned t JOIN best b USING (seed) WHERE n = 4
    UNION ALL
    SELECT 'E9f', t.seed, name, t.id, n.id, NULL, unscaled, printf('fine-tuned %s %.2f, without a scaling %.2f', name, t.p, n.p)
    FROM threshold, tuned t JOIN at n ON n.arm = 'rotary-2 512 3072' AND n.V = '3072' AND n.seed = t.seed WHERE t.n = 4
    UNION ALL
    SELECT 'E9j', v.seed, NULL, v.id, o.id, NULL, lengths, printf('512, then 1536: %.2f; 1536 throughout %.2f (x %.3f); 512 throughout %.2f', v.p, o.p, v.p / o.p, s.p)
    FROM threshold, at v JOIN at o ON o.arm = 'alibi 1536' AND o.V = '3072' AND o.seed = v.seed
    JOIN at s ON s.arm = 'alibi 512' AND s.V = '3072' AND s.seed = v.seed WHERE v.arm = 'alibi 512 1536' AND v.V = '3072'),
statements(claim, statement, unjudged) AS (
    SELECT 'E9a', 'T1: staged training (a quarter of the updates on 128 or 512 tokens) is at least as good as training on 3,072 tokens throughout.', NULL
    UNION ALL
    SELECT 'E9b', printf('T1: and takes at most %.2f x the time.', time), CASE WHEN :scale <> 'paper' THEN 'at this scale: speeds are judged at scale paper' END FROM threshold
    UNION ALL
    SELECT 'E9c', printf('T2: ALiBi trained on 512 tokens is within %.0f %% of staged training, or better.', 100 * (alibi - 1)), NULL FROM threshold
    UNION ALL
    SELECT 'E9d', printf('T2, as in Table 7: ALiBi trained on 3,072 tokens is within %.0f %% of staged training, or better.', 100 * (alibi - 1)), NULL FROM threshold
    UNION ALL
    SELECT 'E9e', printf('160 updates at 6 L bring PI, NTK, dynamic NTK and YaRN to within %.0f %% of each other (heads of width 32).', 100 * (tuned - 1)),
        CASE WHEN (SELECT min(before) FROM tuned) <= tuned THEN 'because they do not differ by more before' END FROM threshold
    UNION ALL
    SELECT 'E9f', 'Each of the four is then at least as good as fine-tuning without a scaling.', NULL
    UNION ALL
    SELECT 'E9j', printf('ALiBi trained on 512 tokens for three quarters of the updates and on 1,536 for the rest is on 3,072 within %.0f %% of 1,536 throughout, or better.', 100 * (lengths - 1)), NULL FROM threshold)
SELECT s.claim, s.statement, (SELECT count(DISTINCT seed) FROM e) * CASE WHEN s.claim IN ('E9e', 'E9f') THEN 4 ELSE 1 END AS wanted, f.seed, NULL AS holds, f.said, s.unjudged,
    f.item, f.run, f.other, f.measured, f.bound, 'at most' AS direction
FROM statements s LEFT JOIN found f ON f.claim = s.claim ORDER BY s.claim, f.seed;
