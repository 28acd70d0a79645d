-- The paper's statements about Figure 5, as verdicts. Parameters: :artefact, :scale.
-- Lengths are the paper's (nominal). A claim about speed is judged at scale paper only, by trainings of one process. A claim must hold
-- for each case and for each seed the grid asks for; until all its numbers exist it is "not run".
WITH
threshold AS (SELECT
    0.01 AS behind, -- C5d: share by which ALiBi's perplexity is above sinusoidal's after equal time, at most (the paper: 0.007)
    0.33 AS from_share, -- C5d: share of the time from which on they are compared (the figure begins there)
    1.05 AS faster  -- C5b: hours of sinusoidal over those of ALiBi to the same perplexity, mean of five, above (the paper: 1.11)
),
seeds AS (
    SELECT DISTINCT r.seed FROM points p JOIN runs r ON r.run_id = p.run_id
    WHERE p.artefact = :artefact AND p.scale = :scale),
v AS ( -- validations on 2,048 tokens: sinusoidal trained on them, ALiBi on half of them
    SELECT r.position, r.seed, c.step, c.perplexity AS p, 1.0 * c.step * t.tokens_per_update / t.train_wps / 3600 AS hours
    FROM points q JOIN runs r ON r.run_id = q.run_id JOIN trainings t ON t.run_id = r.run_id AND t.ranks = 1
    JOIN curves c ON c.run_id = r.run_id AND c.split = 'valid'
    WHERE q.artefact = :artefact AND q.scale = :scale AND c.perplexity IS NOT NULL
      AND (r.position = 'sinusoidal' AND q.L_train_nominal = 2048 OR r.position = 'alibi' AND q.L_train_nominal = 1024)),
span AS ( -- perplexities that both curves pass
    SELECT seed, max(low) AS low, min(high) AS high
    FROM (SELECT position, seed, min(p) AS low, max(p) AS high FROM v GROUP BY position, seed)
    GROUP BY seed HAVING count(*) = 2),
level(k) AS (VALUES (1), (2), (3), (4), (5)),
crossing AS ( -- the hour at which a curve first is at the level, on the line between two validations
    SELECT y.position, s.seed, k, s.low + (s.high - s.low) * k / 6 AS p,
           min(x.hours + (y.hours - x.hours) * (x.p - (s.low + (s.high - s.low) * k / 6)) / (x.p - y.p)) AS hours
    FROM span s, level
    JOIN v y ON y.seed = s.seed AND y.p <= s.low + (s.high - s.low) * k / 6
    JOIN v x ON x.seed = y.seed AND x.position = y.position AND x.p > s.low + (s.high - s.low) * k / 6
        AND x.step = (SELECT max(step) FROM v w WHERE w.position = y.position AND w.seed = y.seed AND w.step < y.step)
    GROUP BY y.position, s.seed, k),

-- Validations on 1,024 tokens over time. Away from scale paper time is updates, of which a sinusoidal
-- model makes 46.7 while an ALiBi model makes 50 (Table 11).
half AS (
    SELECT r.position, r.seed, c.step, c.perplexity AS p,
           CASE WHEN :scale = 'paper' THEN CASE t.ranks WHEN 1 THEN 1.0 * c.step * t.tokens_per_update / t.train_wps / 3600 END
                WHEN r.position = 'alibi' THEN 1.0 * c.step ELSE c.step * 50.0 / 46.7 END AS time
    FROM points q JOIN runs r ON r.run_id = q.run_id JOIN trainings t ON t.run_id = r.run_id
    JOIN curves c ON c.run_id = r.run_id AND c.split = 'valid'
    WHERE q.artefact = :artefact AND q.scale = :scale AND c.perplexity IS NOT NULL
      AND (r.position = 'sinusoidal' AND q.L_train_nominal = 1024 OR r.position = 'alibi' AND q.L_train_nominal = 512)),
beside AS ( -- each validation of ALiBi, and the sinusoidal curve at its time, on the line between two validations
    SELECT a.seed, a.time, a.p, x.p + (y.p - x.p) * (a.time - x.time) / (y.time - x.time) AS other
    FROM half a, threshold
    JOIN half x ON x.position = 'sinusoidal' AND x.seed = a.seed AND x.time < a.time
        AND x.step = (SELECT max(step) FROM half h WHERE h.position = 'sinusoidal' AND h.seed = a.seed AND h.time < a.time)
    JOIN half y ON y.position = 'sinusoidal' AND y.seed = a.seed AND y.time >= a.time
        AND y.step = (SELECT min(step) FROM half h WHERE h.position = 'sinusoidal' AND h.seed = a.seed AND h.time >= a.time)
    WHERE a.position = 'alibi' AND a.time >= (SELECT max(time) FROM half h WHERE h.position = 'alibi' AND h.seed = a.seed) * from_share),

found(claim, place, seed, holds, said) AS (
    SELECT 'C5d', 1, seed, max(p / other) <= 1 + behind,
           printf('ALiBi L=512 over sinusoidal L=1024 at %d equal times: x %.3f to x %.3f, lowest %.2f and %.2f',
                  count(*), min(p / other), max(p / other), min(p), min(other))
    FROM beside, threshold GROUP BY seed HAVING count(*) >= 5
    UNION ALL
    SELECT 'C5b', 1, a.seed, avg(s.hours / a.hours) > (SELECT faster FROM threshold),
           printf('from %.2f down to %.2f ALiBi L=1024 takes %.4g to %.4g hours, sinusoidal L=2048 %.4g to %.4g (mean x %.3f)',
                  max(a.p), min(a.p), min(a.hours), max(a.hours), min(s.hours), max(s.hours), avg(s.hours / a.hours))
    FROM crossing a JOIN crossing s ON s.seed = a.seed AND s.k = a.k AND s.position = 'sinusoidal'
    WHERE a.position = 'alibi' GROUP BY a.seed HAVING count(*) = 5),
statements(claim, statement, wanted_n, unjudged) AS (
    SELECT 'C5d', printf('With 16 heads ALiBi trained on 512 tokens is, after equal time of training, at most %.0f %% above the sinusoidal model trained on 1,024, both evaluated on 1,024, from a third of the time on (the paper: 0.06 above 9.24 at the end).', 100 * behind),
           (SELECT count(*) FROM seeds), NULL FROM threshold
    UNION ALL
    SELECT 'C5b', printf('With 16 heads ALiBi trained on 1,024 tokens comes to the perplexities of the sinusoidal model trained on 2,048 sooner: above %.2f x as fast in the mean of five (the paper: 11 %% faster).', faster),
           (SELECT count(*) FROM seeds),
           CASE WHEN :scale <> 'paper' THEN 'at this scale: speeds are judged at scale paper' END FROM threshold)
SELECT s.claim, s.statement, s.wanted_n AS wanted, f.seed, f.holds, f.said, s.unjudged
FROM statements s LEFT JOIN found f ON f.claim = s.claim ORDER BY s.claim, f.seed, f.place;
