-- Does ALiBi's advantage shrink with size? Verdicts on q, perplexity of ALiBi trained on 512 tokens over
-- that of a sinusoidal model trained on the length that both read. Parameters: :artefact, :scale. A
-- claim must hold for each seed; until all its numbers exist it is "not run". Nothing follows for
-- other sizes.
WITH
threshold AS (SELECT
    1.00 AS better,  -- E13a: q at every width, less than
    0.01 AS shrinks  -- E13b, E13c: q at the largest width less q at the smallest, at most
),
e AS (
    SELECT w.*, CAST(d.value AS INTEGER) AS width
    FROM wanted_evaluations w JOIN settings d ON d.run_id = w.train_run_id AND d.key = 'model.dim'
    WHERE w.artefact = :artefact AND w.scale = :scale),
q AS (
    SELECT a.seed, a.width, a.L_valid_nominal AS V, a.perplexity AS alibi, s.perplexity AS sinusoidal, a.perplexity / s.perplexity AS q, a.run_id AS run, s.run_id AS other
    FROM e a JOIN e s ON s.position = 'sinusoidal' AND s.L_train = s.L_valid AND s.L_valid = a.L_valid AND s.width = a.width AND s.seed = a.seed
    WHERE a.position = 'alibi'),
line AS ( -- of complete rows: from the smallest width to the largest
    SELECT seed, V, max(q) AS most, group_concat(run || ' ' || other, ' ') AS runs, max(CASE WHEN width = (SELECT max(width) FROM e) THEN q END) - max(CASE WHEN width = (SELECT min(width) FROM e) THEN q END) AS change,
        group_concat(printf('width %d %.2f and %.2f (x %.3f)', width, alibi, sinusoidal, q), '; ') AS said
    FROM (SELECT * FROM q ORDER BY V, width) GROUP BY seed, V HAVING count(q) = count(*)),
greatest AS ( -- the runs of the largest q
    SELECT seed, V, run, other, max(q) AS q FROM q GROUP BY seed, V),
found(claim, seed, V, run, other, measured, bound, direction, runs, said) AS (
    SELECT 'E13a', seed, V, g.run, g.other, NULL, better, 'below', l.runs, said FROM threshold, line l JOIN greatest g USING (seed, V)
    UNION ALL
    SELECT CASE V WHEN 512 THEN 'E13b' ELSE 'E13c' END, seed, V, NULL, NULL, change, shrinks, 'at most', runs, printf('%s: %+.3f', said, change) FROM threshold, line),
statements(claim, statement, lengths) AS (
    SELECT 'E13a', 'ALiBi trained on 512 tokens is better at every width than sinusoidal models trained on the length that both read, 512 and 3,072 tokens.', 2
    UNION ALL
    SELECT 'E13b', printf('Its advantage at L does not shrink from the smallest width to the largest: the ratio of perplexities rises by at most %.2f.', shrinks), 1 FROM threshold
    UNION ALL
    SELECT 'E13c', printf('Nor does that on 3,072 tokens: at most %.2f.', shrinks), 1 FROM threshold)
SELECT s.claim, s.statement, s.lengths * (SELECT count(DISTINCT seed) FROM e) AS wanted, f.seed, NULL AS holds,
    CASE WHEN f.claim IS NOT NULL THEN printf('at %d: %s', f.V, f.said) END AS said, f.V AS item, f.run, f.other, f.measured, f.bound, f.direction, f.runs
FROM statements s LEFT JOIN found f ON f.claim = s.claim ORDER BY s.claim, f.seed, f.V;
