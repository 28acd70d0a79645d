-- Statements about every method, as verdicts. Parameters: :artefact, :scale. Each must hold for each
-- training length, each method that it names and each seed; until all its numbers exist, finite, it is
-- "not run".
WITH
threshold AS (SELECT
    1.05  AS breaks_above, -- E1a, E1c: a method breaks at the first length above this multiple of its perplexity at L
    0.005 AS gains_more,   -- E1b: perplexity at 6 L over that at L is lower than ALiBi's by this much, at least
    2     AS none_at       -- E1c: NoPE has broken at this multiple of L
),
e AS (
    SELECT w.position || CASE WHEN CAST(s.value AS REAL) >= 2 THEN ' steep' ELSE '' END AS method, w.method AS name,
        w.L_train, w.L_train_nominal AS L, w.seed, w.perplexity AS p, 1.0 * w.L_valid / w.L_train AS multiple, w.train_run_id
    FROM wanted_evaluations w LEFT JOIN settings s ON s.run_id = w.train_run_id AND s.key = 'model.alibi_slopes'
    WHERE w.artefact = :artefact AND w.scale = :scale AND w.state IS NOT 'not defined'),
trained AS ( -- one row a training all of whose numbers up to 6 L exist
    SELECT method, min(name) AS name, L, seed, max(CASE WHEN multiple = 1 THEN p END) AS at_L,
        max(CASE WHEN multiple = 2 THEN p END) AS at_2L, max(CASE WHEN multiple = 6 THEN p END) AS at_6L
    FROM e WHERE multiple <= 6 GROUP BY train_run_id HAVING count(*) = count(p)),
breaks AS (
    SELECT e.method, e.L, e.seed, min(CASE WHEN e.p > breaks_above * t.at_L THEN e.multiple END) AS at
    FROM e JOIN trained t USING (method, L, seed), threshold WHERE e.multiple <= 6 GROUP BY e.train_run_id),
said_breaks AS (SELECT *, CASE WHEN at IS NULL THEN 'does not break up to 6 L' ELSE printf('breaks at %.3g L', at) END AS words FROM breaks),
biased(method) AS (VALUES ('alibi'), ('alibi_learned'), ('kerple_log'), ('kerple_power'), ('sandwich')),
case_of(claim, method) AS (
    SELECT 'E1a', method FROM biased UNION ALL VALUES ('E1b', 'kerple_log'), ('E1b', 'sandwich'), ('E1c', 'none')),
wanted AS (
    SELECT claim, count(*) AS n FROM case_of JOIN (SELECT DISTINCT method, L, seed FROM e) USING (method) GROUP BY claim),
found(claim, L, seed, holds, said) AS (
    SELECT 'E1a', m.L, m.seed, m.at IS NULL AND s.at IS NOT NULL AND r.at IS NOT NULL AND s.at < r.at,
        printf('%s %s, sinusoidal %s, rotary %s', m.method, m.words, s.words, r.words)
    FROM biased b JOIN said_breaks m USING (method)
    JOIN said_breaks s ON s.method = 'sinusoidal' AND s.L = m.L AND s.seed = m.seed
    JOIN said_breaks r ON r.method = 'rotary' AND r.L = m.L AND r.seed = m.seed
    UNION ALL
    SELECT 'E1b', t.L, t.seed, t.at_6L / t.at_L <= a.at_6L / a.at_L - gains_more,
        printf('%s x %.4f from L to 6 L (%.2f to %.2f), ALiBi x %.4f', t.name, t.at_6L / t.at_L, t.at_L, t.at_6L, a.at_6L / a.at_L)
    FROM threshold, trained t JOIN trained a ON a.method = 'alibi' AND a.L = t.L AND a.seed = t.seed
    WHERE t.method IN ('kerple_log', 'sandwich')
    UNION ALL
    SELECT 'E1c', t.L, t.seed, t.at_2L > breaks_above * t.at_L,
        printf('NoPE %.2f at L, %.2f at 2 L (x %.3f), %.2f at 6 L', t.at_L, t.at_2L, t.at_2L / t.at_L, t.at_6L)
    FROM threshold, trained t WHERE t.method = 'none'),
statements(claim, statement) AS (
    SELECT 'E1a', printf('With a bias that falls with distance (ALiBi, fixed and learned, both KERPLE, Sandwich) perplexity does not exceed %.2f x that at L up to 6 L; with sinusoidal positions it does, and sooner than with rotary ones.', breaks_above) FROM threshold
    UNION ALL SELECT 'E1b', printf('KERPLE-log and Sandwich gain more from longer input than ALiBi: from L to 6 L their perplexity, relative to that at L, falls lower by at least %.1f %% of that at L.', 100 * gains_more) FROM threshold
    UNION ALL SELECT 'E1c', printf('A language model without positions does not extrapolate: at %d L its perplexity is above %.2f x that at L.', none_at, breaks_above) FROM threshold)
SELECT s.claim, s.statement, coalesce(w.n, 0) AS wanted, f.seed, f.holds, CASE WHEN f.claim IS NOT NULL THEN printf('L=%d: %s', f.L, f.said) END AS said
FROM statements s LEFT JOIN wanted w USING (claim) LEFT JOIN found f ON f.claim = s.claim ORDER BY s.claim, f.seed, f.L;
