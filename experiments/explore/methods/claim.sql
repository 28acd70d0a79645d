-- Statements about every method, as verdicts. Parameters: :artefact, :scale. Each must hold for each
-- training length, each method that it names and each seed; until all its numbers exist, finite, it is
-- "not run". A break is where the line between two lengths first crosses the threshold.
WITH
threshold AS (SELECT
    1.05  AS breaks_above, -- E1a, E1c: a method breaks at the first length above this multiple of its perplexity at L
    0.005 AS gains_more,   -- E1b: nats beyond L less nats in the last half of L are lower than ALiBi's by this much, at least
    2     AS none_at       -- E1c: NoPE has broken at this multiple of L
),
e AS (
    SELECT w.position || CASE WHEN CAST(s.value AS REAL) >= 2 THEN ' steep' ELSE '' END AS method, w.method AS name,
        w.L_train, w.L_train_nominal AS L, w.seed, w.perplexity AS p, 1.0 * w.L_valid / w.L_train AS multiple, w.train_run_id, w.run_id
    FROM wanted_evaluations w LEFT JOIN settings s ON s.run_id = w.train_run_id AND s.key = 'model.alibi_slopes'
    WHERE w.artefact = :artefact AND w.scale = :scale AND w.state IS NOT 'not defined'),
trained AS ( -- one row a training all of whose numbers up to 6 L exist
    SELECT method, min(name) AS name, L, seed, max(CASE WHEN multiple = 1 THEN p END) AS at_L,
        max(CASE WHEN multiple = 2 THEN p END) AS at_2L, max(CASE WHEN multiple = 6 THEN p END) AS at_6L,
        max(CASE WHEN multiple = 1 THEN run_id END) AS run_L, max(CASE WHEN multiple = 2 THEN run_id END) AS run_2L, max(CASE WHEN multiple = 6 THEN run_id END) AS run_6L
    FROM e WHERE multiple <= 6 GROUP BY train_run_id HAVING count(*) = count(p)),
step AS (SELECT *, lag(multiple) OVER w AS before, lag(p) OVER w AS p_before FROM e WHERE multiple <= 6 WINDOW w AS (PARTITION BY train_run_id ORDER BY multiple)),
breaks AS (
    SELECT e.method, e.L, e.seed, min(CASE WHEN e.p > breaks_above * t.at_L AND e.p_before <= breaks_above * t.at_L THEN e.before + (e.multiple - e.before) * (breaks_above * t.at_L - e.p_before) / (e.p - e.p_before) END) AS at
    FROM step e JOIN trained t USING (method, L, seed), threshold GROUP BY e.train_run_id),
beyond AS ( -- nats by which positions beyond L are worse than those in its last half, in rows of 6 L
    SELECT t.method, t.name, t.L, t.seed, t.run_6L, x.difference_nats AS nats, x.standard_error AS error
    FROM trained t JOIN (SELECT run_id, difference_nats, standard_error FROM extrapolation) x ON x.run_id = t.run_6L),
said_breaks AS (SELECT *, CASE WHEN at IS NULL THEN 'does not break up to 6 L' ELSE printf('breaks at %.3g L', at) END AS words FROM breaks),
biased(method) AS (VALUES ('alibi'), ('alibi_learned'), ('kerple_log'), ('kerple_power'), ('sandwich')),
case_of(claim, method) AS (
    SELECT 'E1a', method FROM biased UNION ALL VALUES ('E1b', 'kerple_log'), ('E1b', 'sandwich'), ('E1c', 'none')),
wanted AS (
    SELECT claim, count(*) AS n FROM case_of JOIN (SELECT DISTINCT method, L, seed FROM e) USING (method) GROUP BY claim),
found(claim, L, seed, item, holds, run, other, measured, error, bound, direction, runs, said) AS (
    SELECT 'E1a', m.L, m.seed, m.method, m.at IS NULL AND s.at IS NOT NULL AND r.at IS NOT NULL AND s.at < r.at, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
        printf('%s %s, sinusoidal %s, rotary %s', m.method, m.words, s.words, r.words)
    FROM biased b JOIN said_breaks m USING (method)
    JOIN said_breaks s ON s.method = 'sinusoidal' AND s.L = m.L AND s.seed = m.seed
    JOIN said_breaks r ON r.method = 'rotary' AND r.L = m.L AND r.seed = m.seed
    UNION ALL
    SELECT 'E1b', t.L, t.seed, t.method, NULL, NULL, NULL, a.nats - t.nats, sqrt(a.error * a.error + t.error * t.error), gains_more, 'at least', t.run_6L || ' ' || a.run_6L,
        printf('%s %+.4f nats beyond L, ALiBi %+.4f', t.name, t.nats, a.nats)
    FROM threshold, beyond t JOIN beyond a ON a.method = 'alibi' AND a.L = t.L AND a.seed = t.seed
    WHERE t.method IN ('kerple_log', 'sandwich')
    UNION ALL
    SELECT 'E1c', t.L, t.seed, t.method, NULL, t.run_2L, t.run_L, NULL, NULL, breaks_above, 'above', NULL,
        printf('NoPE %.2f at L, %.2f at 2 L (x %.3f), %.2f at 6 L', t.at_L, t.at_2L, t.at_2L / t.at_L, t.at_6L)
    FROM threshold, trained t WHERE t.method = 'none'),
statements(claim, statement, unjudged) AS (
    SELECT 'E1a', printf('With a bias that falls with distance (ALiBi, fixed and learned, both KERPLE, Sandwich) perplexity does not exceed %.2f x that at L up to 6 L; with sinusoidal positions it does, and sooner than with rotary ones.', breaks_above), NULL FROM threshold
    UNION ALL SELECT 'E1b', printf('KERPLE-log and Sandwich gain more from longer input than ALiBi: in rows of 6 L their loss at positions beyond L, less that in the last half of L, is lower than ALiBi''s by at least %.3f nats.', gains_more),
        CASE WHEN :scale NOT IN ('paper', 'none') THEN 'at this scale: ALiBi''s slopes are scaled like the lengths, their starts and wavelengths are not' END FROM threshold
    UNION ALL SELECT 'E1c', printf('A language model without positions does not extrapolate: at %d L its perplexity is above %.2f x that at L.', none_at, breaks_above), NULL FROM threshold)
SELECT s.claim, s.statement, coalesce(w.n, 0) AS wanted, f.seed, f.holds, CASE WHEN f.claim IS NOT NULL THEN printf('L=%d: %s', f.L, f.said) END AS said,
    s.unjudged, CASE WHEN f.claim IS NOT NULL THEN printf('L=%d, %s', f.L, f.item) END AS item, f.run, f.other, f.measured, f.error, f.bound, f.direction, f.runs
FROM statements s LEFT JOIN wanted w USING (claim) LEFT JOIN found f ON f.claim = s.claim ORDER BY s.claim, f.seed, f.L;
