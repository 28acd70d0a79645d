-- The paper's statements about Figure 5, as verdicts. Parameters: :artefact, :scale.
-- Lengths are the paper's (nominal). A claim about speed is judged at scale paper only. A claim must hold
-- for each case and for each seed the grid asks for; until all its numbers exist it is "not run".
WITH
threshold AS (SELECT
    1.05 AS faster  -- C5b: hours of sinusoidal over those of ALiBi to the same perplexity, mean of five, above (the paper: 1.11)
),
seeds AS (
    SELECT DISTINCT r.seed FROM points p JOIN runs r ON r.run_id = p.run_id
    WHERE p.artefact = :artefact AND p.scale = :scale),
v AS ( -- validations on 2,048 tokens: sinusoidal trained on them, ALiBi on half of them
    SELECT r.position, r.seed, c.step, c.perplexity AS p, 1.0 * c.step * t.tokens_per_update / t.train_wps / 3600 AS hours
    FROM points q JOIN runs r ON r.run_id = q.run_id JOIN trainings t ON t.run_id = r.run_id
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

found(claim, place, seed, holds, said) AS (
    SELECT 'C5b', 1, a.seed, avg(s.hours / a.hours) > (SELECT faster FROM threshold),
           printf('from %.2f down to %.2f ALiBi L=1024 takes %.4g to %.4g hours, sinusoidal L=2048 %.4g to %.4g (mean x %.3f)',
                  max(a.p), min(a.p), min(a.hours), max(a.hours), min(s.hours), max(s.hours), avg(s.hours / a.hours))
    FROM crossing a JOIN crossing s ON s.seed = a.seed AND s.k = a.k AND s.position = 'sinusoidal'
    WHERE a.position = 'alibi' GROUP BY a.seed HAVING count(*) = 5),
statements(claim, statement, wanted_n, unjudged) AS (
    SELECT 'C5b', printf('With 16 heads ALiBi trained on 1,024 tokens comes to the perplexities of the sinusoidal model trained on 2,048 sooner: above %.2f x as fast in the mean of five (the paper: 11 %% faster).', faster),
           (SELECT count(*) FROM seeds),
           CASE WHEN :scale <> 'paper' THEN 'at this scale: speeds are judged at scale paper' END FROM threshold)
SELECT s.claim, s.statement, s.wanted_n AS wanted, f.seed, f.holds, f.said, s.unjudged
FROM statements s LEFT JOIN found f ON f.claim = s.claim ORDER BY s.claim, f.seed, f.place;
