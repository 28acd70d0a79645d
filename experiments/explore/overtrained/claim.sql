-- Does extrapolation survive long training? Verdicts on r: in rows of 6 L, perplexity at the positions
-- beyond L over that in the last half of L, so that fewer early tokens do not count.
-- Parameters: :artefact, :scale. A claim must hold for each seed; until all its numbers exist it is
-- "not run".
WITH
threshold AS (SELECT
    1.010 AS alibi_rises, -- E8a: ALiBi's r after any number of updates, at most (P4's threshold)
    0.02  AS drifts,      -- E8b: r after the most updates less r after the fewest, at most
    1.05  AS worsens      -- E8c, E8d: r after the most updates over r after the fewest, at least
),
e AS (
    SELECT w.position || CASE CAST(coalesce(a.value, 1) AS REAL) WHEN 1 THEN '' ELSE ' steep' END AS method, w.seed, w.L_train AS L, w.L_valid AS V,
        w.perplexity AS p, CAST(u.value AS INTEGER) AS updates, round(1.0 * u.value * h.value * t.value / w.parameters) AS tokens, w.train_run_id, w.run_id
    FROM wanted_evaluations w
    JOIN settings u ON u.run_id = w.train_run_id AND u.key = 'train.updates'
    JOIN settings h ON h.run_id = w.train_run_id AND h.key = 'train.shards'
    JOIN settings t ON t.run_id = w.train_run_id AND t.key = 'train.shard_tokens'
    LEFT JOIN settings a ON a.run_id = w.train_run_id AND a.key = 'model.alibi_slopes'
    WHERE w.artefact = :artefact AND w.scale = :scale),
r AS ( -- of each training
    SELECT y.method, y.seed, y.updates, y.tokens, y.run_id, exp(x.difference_nats) AS r, exp(x.difference_nats) * x.standard_error AS error
    FROM e y LEFT JOIN (SELECT run_id, difference_nats, standard_error FROM extrapolation) x ON x.run_id = y.run_id WHERE y.V = 6 * y.L),
drift AS ( -- from the fewest updates to the most, of complete rows
    SELECT DISTINCT method, seed,
        first_value(r) OVER by_updates AS r_first, last_value(r) OVER by_updates AS r_last, max(r) OVER by_updates AS r_most,
        first_value(error) OVER by_updates AS e_first, last_value(error) OVER by_updates AS e_last, max(error) OVER by_updates AS e_most,
        first_value(run_id) OVER by_updates || ' ' || last_value(run_id) OVER by_updates AS runs,
        printf('x %.3f after %.0f tokens a parameter, x %.3f after %.0f', first_value(r) OVER by_updates, first_value(tokens) OVER by_updates,
            last_value(r) OVER by_updates, last_value(tokens) OVER by_updates) AS said
    FROM r WHERE (method, seed) NOT IN (SELECT method, seed FROM r WHERE r IS NULL)
    WINDOW by_updates AS (PARTITION BY method, seed ORDER BY updates ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)),
judged(claim, method) AS (VALUES ('E8a', 'alibi'), ('E8a', 'alibi steep'), ('E8b', 'alibi'), ('E8b', 'alibi steep'), ('E8c', 'none'), ('E8d', 'rotary')),
found(claim, seed, method, measured, error, bound, direction, runs, said) AS (
    SELECT claim, seed, method,
        CASE claim WHEN 'E8a' THEN r_most WHEN 'E8b' THEN r_last - r_first ELSE r_last / r_first END,
        CASE claim WHEN 'E8a' THEN e_most WHEN 'E8b' THEN sqrt(e_first * e_first + e_last * e_last)
            ELSE r_last / r_first * sqrt(e_first * e_first / r_first / r_first + e_last * e_last / r_last / r_last) END,
        CASE claim WHEN 'E8a' THEN alibi_rises WHEN 'E8b' THEN drifts ELSE worsens END, CASE WHEN claim IN ('E8a', 'E8b') THEN 'at most' ELSE 'at least' END, runs,
        CASE method WHEN 'alibi' THEN 'ALiBi' WHEN 'alibi steep' THEN 'steep slopes' WHEN 'none' THEN 'NoPE' ELSE method END || ': ' || said
    FROM threshold, judged JOIN drift USING (method)),
statements(claim, statement) AS (
    SELECT 'E8a', printf('However long ALiBi is trained, with the scale''s slopes or steep ones, in rows of 6 L perplexity beyond L is at most %.3f x that in the last half of L.', alibi_rises) FROM threshold
    UNION ALL
    SELECT 'E8b', printf('Long training does not wear it off: that ratio rises by at most %.2f from the shortest training to the longest.', drifts) FROM threshold
    UNION ALL
    SELECT 'E8c', printf('Without positions extrapolation gets worse with training: NoPE''s ratio grows to at least %.2f x that of the shortest training.', worsens) FROM threshold
    UNION ALL
    SELECT 'E8d', printf('So does rotary''s: at least %.2f x.', worsens) FROM threshold)
SELECT s.claim, s.statement, (SELECT count(DISTINCT seed) FROM e) * (SELECT count(*) FROM judged j WHERE j.claim = s.claim) AS wanted,
    f.seed, NULL AS holds, f.said, f.method AS item, f.measured, f.error, f.bound, f.direction, f.runs
FROM statements s LEFT JOIN found f ON f.claim = s.claim ORDER BY s.claim, f.seed, f.method;
