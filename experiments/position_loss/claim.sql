-- The paper's explanation of Figure 1 (its section 5) as verdicts on the losses by position.
-- Parameters: :artefact, :scale. All lengths of input are pooled. Each claim must hold for each
-- training length and each seed the grid asks for, on each split that it asks for; until all its
-- numbers exist it is "not run". "1 valid" is seed 1 on the validation split.
WITH
threshold AS (SELECT
    1.10 AS early_costs,      -- P8a: ALiBi's perplexity in the first eighth of L, as a multiple of that in its last half, at least
    8    AS longest_at_least, -- P8b: the last position is this multiple of L or more
    0.05 AS alibi_within,     -- P8b: ALiBi's perplexity at any position beyond L differs from that in the last half of L by at most this share
    1.30 AS sinusoidal_breaks -- P8c: sinusoidal perplexity at any position beyond L, as a multiple of that in the last half of L, at least
),
asked AS (
    SELECT DISTINCT position, L_train AS L, L_train_nominal, seed || ' ' || split AS seed, split, run_id, train_run_id
    FROM wanted_evaluations WHERE artefact IN (:artefact, 'test_split') AND scale = :scale AND L_train_nominal IN (512, 1024)),
wanted AS (SELECT DISTINCT L, seed, split FROM asked),
pooled AS (
    SELECT position, L, L_train_nominal, seed, first, max(last) AS last, sum(targets) AS targets,
        CASE WHEN count(nll) = count(*) THEN sum(nll) END AS nll
    FROM asked a JOIN (SELECT run_id, first, last, targets, nll FROM position_loss) USING (run_id)
    GROUP BY train_run_id, split, first),
part AS ( -- the first eighth of L, its last half, and each range beyond it
    SELECT position, L, L_train_nominal, seed,
        exp(sum(nll) FILTER (WHERE last <= L / 8) / sum(targets) FILTER (WHERE last <= L / 8)) AS early,
        exp(sum(nll) FILTER (WHERE first > L / 2 AND last <= L) / sum(targets) FILTER (WHERE first > L / 2 AND last <= L)) AS late,
        min(exp(nll / targets)) FILTER (WHERE first > L) AS low,
        max(exp(nll / targets)) FILTER (WHERE first > L) AS high,
        1.0 * max(last) / L AS longest
    FROM pooled GROUP BY position, L, seed HAVING count(nll) = count(*)),

-- One row for each claim, training length and seed: whether it holds, and the numbers.
found(claim, L, seed, measured, bound, direction, realised, said) AS (
    SELECT 'P8a', L_train_nominal, seed, early / late, early_costs, 'at least', NULL,
           printf('%.2f in the first eighth of L, %.2f in its last half (x %.2f)', early, late, early / late)
    FROM part, threshold WHERE position = 'alibi' AND early IS NOT NULL AND late IS NOT NULL
    UNION ALL
    SELECT 'P8b', L_train_nominal, seed, max(high / late - 1, 1 - low / late), alibi_within, 'at most', 1 - low / late,
           printf('%.2f in the last half of L, %.2f to %.2f beyond, up to %.1f L', late, low, high, longest)
    FROM part, threshold WHERE position = 'alibi' AND longest >= longest_at_least AND late IS NOT NULL
    UNION ALL
    SELECT 'P8c', L_train_nominal, seed, low / late, sinusoidal_breaks, 'at least', NULL,
           printf('%.2f in the last half of L, %.2f or more beyond', late, low)
    FROM part, threshold WHERE position = 'sinusoidal' AND low IS NOT NULL AND late IS NOT NULL),
statements(claim, statement, effect, threshold) AS (
    SELECT 'P8a', printf('The early-token curse: ALiBi''s perplexity in the first eighth of L is at least %.2f x that in its last half.', early_costs), NULL, NULL FROM threshold
    UNION ALL
    SELECT 'P8b', printf('Beyond L ALiBi''s perplexity at each position stays within %.0f %% of that in the last half of L: longer input gains by sparing early tokens, not by more context.', 100 * alibi_within),
           'context beyond L', alibi_within FROM threshold
    UNION ALL
    SELECT 'P8c', printf('Sinusoidal models fail at the positions beyond L: perplexity at each is at least %.2f x that in the last half of L.', sinusoidal_breaks), NULL, NULL FROM threshold)
SELECT s.claim, s.statement, w.n AS wanted, CAST(f.seed AS INTEGER) AS seed, NULL AS holds, CASE WHEN f.claim IS NOT NULL THEN printf('L=%d: %s', f.L, f.said) END AS said,
       s.effect, s.threshold, CASE WHEN s.effect IS NOT NULL THEN 'ALiBi' END AS method, w.split, CASE WHEN f.claim IS NOT NULL THEN printf('L=%d', f.L) END AS item, f.measured, f.bound, f.direction, f.realised
FROM statements s
CROSS JOIN (SELECT DISTINCT split, (SELECT count(*) FROM (SELECT DISTINCT L, CAST(seed AS INTEGER) FROM wanted)) AS n FROM wanted UNION ALL SELECT NULL, 0 WHERE NOT EXISTS (SELECT 1 FROM wanted)) w
LEFT JOIN found f ON f.claim = s.claim AND f.seed LIKE '% ' || w.split ORDER BY s.claim, w.split DESC, CAST(f.seed AS INTEGER), f.L;
