-- E7: copied strings, and words at first and later mentions. Verdicts on classes of targets.
-- Parameters: :artefact, :scale. A case for each seed, "not run" until its numbers exist.
WITH
threshold AS (SELECT
    0.90 AS copies,  -- E7a: right letters of short strings, from the second on, at least
    0.50 AS learned, -- E7b, E7c: judged only if some method gives so many right letters of short strings
    0.10 AS keeps,   -- E7b: share of right letters that long strings may cost Hard-ALiBi, at most
    0.30 AS loses,   -- E7c: share that they cost ALiBi, at least
    0.30 AS cheaper  -- E7d: nats that a word mentioned 16 to 63 tokens ago is cheaper than a first mention, at least
),
asked AS (
    SELECT DISTINCT run_id, dataset, position, L_train, L_valid, seed
    FROM wanted_evaluations WHERE artefact = :artefact AND scale = :scale),
wanted AS (SELECT DISTINCT seed FROM asked),
windows AS (SELECT min(L_valid) AS short, max(L_valid) AS long FROM asked),
scored AS (
    SELECT a.dataset, a.position, a.L_valid, a.seed, g.name, g.targets, g.hits, g.loss_nats FROM asked a
    JOIN (SELECT run_id, name, targets, hits, loss_nats FROM target_groups) g ON g.run_id = a.run_id),
copied AS ( -- right letters: of short strings in short windows, of long ones in long windows
    SELECT position, seed,
        sum(hits) FILTER (WHERE L_valid = short AND name IN ('short-2', 'short-10')) * 1.0
            / sum(targets) FILTER (WHERE L_valid = short AND name IN ('short-2', 'short-10')) AS brief,
        sum(hits) FILTER (WHERE L_valid = long AND name IN ('long-2', 'long-29', 'long-65', 'long-129')) * 1.0
            / sum(targets) FILTER (WHERE L_valid = long AND name IN ('long-2', 'long-29', 'long-65', 'long-129')) AS lengthy
    FROM scored, windows WHERE dataset = 'copy' GROUP BY position, seed),
power AS (SELECT max(brief) AS best FROM copied),
found(claim, seed, holds, said) AS (
    SELECT 'E7a', seed, brief >= copies, printf('%.3f of the letters of short strings', brief) FROM copied, threshold WHERE position = 'hard_alibi' AND brief IS NOT NULL
    UNION ALL
    SELECT 'E7b', seed, lengthy >= brief - keeps, printf('short %.3f, long %.3f', brief, lengthy) FROM copied, threshold WHERE position = 'hard_alibi' AND lengthy IS NOT NULL
    UNION ALL
    SELECT 'E7c', seed, lengthy <= brief - loses, printf('short %.3f, long %.3f', brief, lengthy) FROM copied, threshold WHERE position = 'alibi' AND lengthy IS NOT NULL
    UNION ALL
    SELECT 'E7d', seed, a.loss_nats - b.loss_nats >= cheaper, printf('first %.2f nats, after 16 to 63 tokens %.2f', a.loss_nats, b.loss_nats)
    FROM scored a JOIN scored b USING (dataset, position, L_valid, seed), threshold, windows
    WHERE a.name = 'first' AND b.name = 'again-16' AND position = 'alibi' AND L_valid = long),
statements(claim, statement, unjudged) AS (
    SELECT 'E7a', printf('Hard-ALiBi copies strings within L: at least %.0f %% of the letters of short strings are right.', 100 * copies), NULL FROM threshold
    UNION ALL
    SELECT 'E7b', printf('Hard-ALiBi copies longer strings than it was trained with room for: at most %.0f points fewer letters of strings of 28 to 189 are right.', 100 * keeps),
        CASE WHEN best < learned THEN printf('no method learns to copy: at most %.2f of the letters of short strings are right', best) END FROM threshold, power
    UNION ALL
    SELECT 'E7c', printf('ALiBi does not: at least %.0f points fewer.', 100 * loses),
        CASE WHEN best < learned THEN printf('no method learns to copy: at most %.2f of the letters of short strings are right', best) END FROM threshold, power
    UNION ALL
    SELECT 'E7d', printf('What the context has named is cheaper to name again: ALiBi spends at least %.1f nats less on a word mentioned 16 to 63 tokens ago than on a first mention.', cheaper), NULL FROM threshold)
SELECT s.claim, s.statement, (SELECT count(*) FROM wanted) AS wanted, f.seed, f.holds, f.said, s.unjudged
FROM statements s LEFT JOIN found f ON f.claim = s.claim ORDER BY s.claim, f.seed;
