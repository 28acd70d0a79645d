-- The paper's statements about trained and drawn slopes (section 3, footnote 11), as verdicts.
-- Parameters: :artefact, :scale. Lengths are the paper's (nominal), so that one statement serves
-- every scale. A claim about speed is judged at scale paper only. A claim must hold for each case;
-- until all its numbers exist it is "not run".
WITH
threshold AS (SELECT
    0.50 AS gain,    -- C9a: share of the gain of the paper's slopes from 512 to 3072 tokens that trained ones have, at most
    0.98 AS speed,   -- C9b: trained over fixed slopes, words per second in training, at most (the paper: 0.97)
    2.0  AS spread,  -- C9c: deviation over draws over that over seeds, at 3072 tokens, at least
    3    AS draws    -- C9c: so many of each, at least
),
e AS (
    SELECT w.seed, w.L_valid_nominal AS V, w.perplexity AS p,
           CASE WHEN w.position = 'alibi_learned' THEN 'trained' WHEN s.value = 'exponential' THEN 'drawn' ELSE 'fixed' END AS slopes
    FROM wanted_evaluations w LEFT JOIN settings s ON s.run_id = w.train_run_id AND s.key = 'model.alibi_slopes_source'
    WHERE w.artefact = :artefact AND w.scale = :scale),
b AS ( -- measured on an otherwise idle machine
    SELECT k.position, k.seed, k.wps, k.noisy
    FROM points p JOIN benchmarks k ON k.run_id = p.run_id
    WHERE p.artefact = :artefact AND p.scale = :scale),
gain AS ( -- beyond L: how much lower perplexity is at 3072 than at 512
    SELECT x.slopes, x.seed, x.p AS at_L, y.p AS at_3072, 1 - y.p / x.p AS share
    FROM e x JOIN e y ON y.slopes = x.slopes AND y.seed = x.seed WHERE x.V = 512 AND y.V = 3072 AND x.p + y.p IS NOT NULL),
centred AS (
    SELECT *, avg(p) OVER (PARTITION BY slopes) AS mean FROM e WHERE V = 3072 AND slopes <> 'trained'),
spread AS (
    SELECT slopes, count(*) AS n, min(mean) AS mean, sqrt(sum((p - mean) * (p - mean)) / (count(*) - 1)) AS std
    FROM centred GROUP BY slopes HAVING count(p) = count(*) AND count(*) >= (SELECT draws FROM threshold)),

found(claim, place, seed, holds, said) AS (
    SELECT 'C9a', 1, t.seed, t.share <= gain * f.share,
           printf('trained slopes %.2f at 512, %.2f at 3072 (x %.3f), the paper''s %.2f and %.2f (x %.3f)',
                  t.at_L, t.at_3072, t.at_3072 / t.at_L, f.at_L, f.at_3072, f.at_3072 / f.at_L)
    FROM threshold, gain t JOIN gain f ON f.seed = t.seed AND f.slopes = 'fixed' WHERE t.slopes = 'trained'
    UNION ALL
    SELECT 'C9b', 1, t.seed, t.wps <= speed * f.wps,
           printf('trained slopes %.0f words/s, fixed ones %.0f (%+.1f %%)', t.wps, f.wps, 100 * (t.wps / f.wps - 1))
    FROM threshold, b t JOIN b f ON f.position = 'alibi' AND f.seed = t.seed WHERE t.position = 'alibi_learned'
    UNION ALL
    SELECT 'C9c', 1, NULL, d.std >= spread * f.std,
           printf('at 3072: drawn %.2f, deviation %.2f over %d draws; the paper''s %.2f, deviation %.2f over %d seeds', d.mean, d.std, d.n, f.mean, f.std, f.n)
    FROM threshold, spread d JOIN spread f ON f.slopes = 'fixed' WHERE d.slopes = 'drawn'),
statements(claim, statement, wanted_n, unjudged) AS (
    SELECT 'C9a', printf('Trained slopes do not extrapolate: from 512 to 3,072 tokens they gain at most %.0f %% of what the paper''s slopes gain.', 100 * gain),
           (SELECT count(DISTINCT seed) FROM e WHERE slopes = 'trained'), NULL FROM threshold
    UNION ALL
    SELECT 'C9b', printf('Trained slopes cost speed: training is at least %.0f %% slower (the paper: 3 %%).', 100 * (1 - speed)),
           (SELECT count(DISTINCT seed) FROM e WHERE slopes = 'trained'),
           CASE WHEN :scale <> 'paper' THEN 'at this scale: speeds are judged at scale paper'
                WHEN (SELECT max(noisy) FROM b) THEN 'because the machine was busy' END FROM threshold
    UNION ALL
    SELECT 'C9c', printf('Slopes drawn from an exponential distribution have a high variance: their deviation at 3,072 tokens is at least %.0f x that over seeds with the paper''s slopes.', spread),
           (SELECT count(*) > 0 FROM e), NULL FROM threshold)
SELECT s.claim, s.statement, s.wanted_n AS wanted, f.seed, f.holds, f.said, s.unjudged
FROM statements s LEFT JOIN found f ON f.claim = s.claim ORDER BY s.claim, f.seed, f.place;
