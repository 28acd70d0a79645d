-- E6: does the recency bias limit retrieval? Verdicts on the share of right answers by distance.
-- Parameters: :artefact, :scale. Lengths L are tokens, as run; a case for each seed, "not run" until its
-- numbers exist. Two arms answer the same questions; the standard error of a difference of shares is that
-- of two independent samples, which is too large for pairs and so on the safe side.
WITH
threshold AS (SELECT
    0.90 AS finds,  -- E6a, E6e: right answers at every distance within L, at least; E6f: at some distance, below
    3    AS errors  -- the others: standard errors of a difference, at least
),
asked AS (
    SELECT DISTINCT w.run_id, w.position, w.L_train, w.L_train_nominal, w.L_valid, w.stride, w.seed,
        CASE WHEN s.value LIKE '%,0,0,0,0' THEN 'four zeros' WHEN CAST(s.value AS REAL) >= 8 THEN printf('c = %g', 2 * s.value)
            WHEN CAST(s.value AS REAL) >= 2 THEN 'steep' WHEN w.position = 'alibi' THEN 'plain' ELSE '' END AS slopes
    FROM wanted_evaluations w LEFT JOIN settings s ON s.run_id = w.train_run_id AND s.key = 'model.alibi_slopes'
    WHERE artefact = :artefact AND scale = :scale),
wanted AS (SELECT DISTINCT seed FROM asked),
lengths AS (SELECT min(L_train) AS short, max(L_train) AS long, max(L_valid) AS window FROM asked),
bins(name, first, next) AS (VALUES
    ('from-1', 1, 16), ('from-16', 16, 32), ('from-32', 32, 48), ('from-48', 48, 64), ('from-64', 64, 96),
    ('from-96', 96, 128), ('from-128', 128, 192), ('from-192', 192, 256), ('from-256', 256, 384)),
answers AS ( -- of bins whose needles are in the context
    SELECT a.position, a.slopes, a.L_train, a.L_valid, a.seed, b.first, b.next, g.targets, g.hits
    FROM asked a JOIN bins b ON b.next <= a.L_valid - a.stride
    JOIN (SELECT run_id, name, targets, hits FROM target_groups WHERE hits IS NOT NULL) g ON g.run_id = a.run_id AND g.name = b.name),
-- ranges of distances: near (below 64), far (from L of the shorter training, in the longer one's)
ranges AS (
    SELECT position, slopes, L_train, L_valid, seed, 'near' AS range, sum(hits) * 1.0 / sum(targets) AS share, sum(targets) AS n
    FROM answers WHERE next <= 64 GROUP BY position, slopes, L_train, L_valid, seed
    UNION ALL
    SELECT position, slopes, L_train, L_valid, seed, 'far', sum(hits) * 1.0 / sum(targets), sum(targets)
    FROM answers, lengths WHERE first >= short AND next <= long GROUP BY position, slopes, L_train, L_valid, seed),
differences AS (
    SELECT a.position AS p, a.slopes AS s, a.L_train AS L, b.position AS q, b.slopes AS r, b.L_train AS M, range, seed, a.share AS one, b.share AS other,
        a.share - b.share AS more, sqrt(a.share * (1 - a.share) / a.n + b.share * (1 - b.share) / b.n + 1e-9) AS error
    FROM ranges a JOIN ranges b USING (range, seed), lengths WHERE a.L_valid = window AND b.L_valid = window),
within AS ( -- answers within windows of L of models trained on the longer L: the bin of the fewest right ones, and where they are too few
    SELECT position, slopes, L_train, seed, min(first) AS first, max(next) AS next, min(share) AS least, min(at) AS at, min(at_next) AS at_next, min(at_error) AS error,
        min(first) FILTER (WHERE share < finds) AS fails_from
    FROM (SELECT *, first_value(first) OVER of_model AS at, first_value(next) OVER of_model AS at_next, first_value(sqrt(share * (1 - share) / targets)) OVER of_model AS at_error
        FROM (SELECT *, hits * 1.0 / targets AS share FROM answers, lengths WHERE L_train = long AND L_valid = long)
        WINDOW of_model AS (PARTITION BY position, slopes, seed ORDER BY share)), threshold
    GROUP BY position, slopes, seed),

found(claim, seed, item, measured, error, bound, direction, said) AS (
    SELECT 'E6a', seed, slopes, least, error, finds, 'at least', printf('ALiBi (%s slopes), L = %d: at least %.3f at %d to %d', slopes, L_train, least, first, next - 1)
    FROM within, threshold WHERE position = 'alibi' AND slopes IN ('plain', 'steep')
    UNION ALL
    SELECT 'E6b', seed, 'steep', more, error, errors * error, 'at least', printf('from %d to %d tokens back, L = %d: %.3f, slopes × 4 %.3f (%.1f errors)', short, long - 1, L, one, other, more / error)
    FROM differences, threshold, lengths WHERE p = 'alibi' AND s = 'plain' AND q = 'alibi' AND r = 'steep' AND L = short AND M = short AND range = 'far'
    UNION ALL
    SELECT 'E6c', seed, 'plain', more, error, errors * error, 'at least', printf('from %d to %d tokens back: trained on %d %.3f, on %d %.3f (%.1f errors)', short, long - 1, L, one, M, other, more / error)
    FROM differences, threshold, lengths WHERE p = 'alibi' AND s = 'plain' AND q = 'alibi' AND r = 'plain' AND L = long AND M = short AND range = 'far'
    UNION ALL
    SELECT 'E6d', seed, 'none', more, error, errors * error, 'at least', printf('less than 64 tokens back, L = %d: ALiBi %.3f, NoPE %.3f (%.1f errors)', L, one, other, more / error)
    FROM differences, threshold, lengths WHERE p = 'alibi' AND s = 'plain' AND q = 'none' AND L = long AND M = long AND range = 'near'
    UNION ALL
    SELECT 'E6e', seed, position, least, error, finds, 'at least', printf('%s, L = %d: at least %.3f at %d to %d', position, L_train, least, first, next - 1)
    FROM within, threshold WHERE position IN ('t5', 'kerple_log', 'bam', 'forget_gate')
    UNION ALL
    SELECT 'E6f', seed, position || ' ' || slopes, least, error, finds, 'below',
        printf('%s, L = %d: ', CASE position WHEN 'none' THEN 'NoPE' ELSE 'ALiBi, ' || slopes END, L_train)
            || CASE WHEN fails_from IS NULL THEN 'nowhere' ELSE printf('from %d tokens back on', fails_from) END || printf(' below %.2f, fewest %.3f at %d to %d', finds, least, at, at_next - 1)
    FROM within, threshold WHERE position = 'none' OR slopes LIKE 'c = %'),
statements(claim, statement) AS (
    SELECT 'E6a', printf('Within L the recency bias does not limit retrieval: ALiBi, with the paper''s slopes and with four times as steep ones, gives at least %.0f %% right answers at every distance in windows of L (L = 1,536 nominal).', 100 * finds) FROM threshold
    UNION ALL SELECT 'E6f', printf('Within L retrieval fails where the penalty is too large, or where there is none: ALiBi with slopes of 16, 32 and 64 times the paper''s per token, and NoPE, give less than %.0f %% right answers at some distance in windows of L.', 100 * finds) FROM threshold
    UNION ALL SELECT 'E6b', 'Beyond L steeper slopes forget sooner: trained on 512 (nominal), ALiBi with slopes × 4 gives fewer right answers than with the paper''s slopes.'
    UNION ALL SELECT 'E6c', 'Beyond L what is missing is training, not only weight: with the same slopes, ALiBi trained on 1,536 finds needles 512 to 1,535 tokens back (nominal) that ALiBi trained on 512 does not.'
    UNION ALL SELECT 'E6d', 'Without positions near needles are lost: NoPE gives fewer right answers than ALiBi where the latest needle is less than 64 tokens back.'
    UNION ALL SELECT 'E6e', printf('Within L neither does a learned bias or a forget gate: T5, KERPLE-log, BAM and the forget gate give at least %.0f %% right answers at every distance in windows of L (L = 1,536 nominal).', 100 * finds) FROM threshold)
SELECT s.claim, s.statement, (SELECT count(*) FROM wanted) * CASE s.claim WHEN 'E6a' THEN 2 WHEN 'E6e' THEN 4 WHEN 'E6f' THEN 4 ELSE 1 END AS wanted, f.seed, NULL AS holds, f.said,
    f.item, f.measured, f.error, f.bound, f.direction
FROM statements s LEFT JOIN found f ON f.claim = s.claim ORDER BY s.claim, f.seed, f.said;
