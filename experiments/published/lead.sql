WITH e AS (
    SELECT a.position, a.seed, CAST(u.value AS INTEGER) AS updates, a.train_run_id AS training, a.split, a.perplexity AS p
    FROM artefact_evaluations a JOIN settings u ON u.run_id = a.train_run_id AND u.key = 'train.updates'
    WHERE a.artefact = 'explore/training' AND a.scale = 'mini'),
arm AS (
    SELECT t.*, row_number() OVER (PARTITION BY v.position, v.updates, v.seed ORDER BY v.p) AS nth
    FROM e v JOIN e t USING (training) WHERE v.split = 'valid' AND t.split = 'test'),
q AS (
    SELECT a.updates, avg(a.p / s.p) AS mean, min(a.p / s.p) AS lowest, max(a.p / s.p) AS highest, count(*) AS seeds
    FROM arm a JOIN arm s USING (updates, seed) WHERE a.position = 'alibi' AND s.position = 'sinusoidal' AND a.nth = 1 AND s.nth = 1 GROUP BY updates),
part AS (SELECT updates, printf('%.2f', mean) AS mean, printf('%.2f to %.2f', lowest, highest) AS spread, seeds FROM q),
line(nth, name) AS (VALUES (1, 'ALiBi 64 over sinusoidal 384, mean'), (2, (SELECT printf('lowest to highest of %d seeds', max(seeds)) FROM part)))
SELECT name AS "updates", max(CASE updates WHEN 750 THEN iif(nth = 1, mean, spread) END) AS "750", max(CASE updates WHEN 1500 THEN iif(nth = 1, mean, spread) END) AS "1,500",
    max(CASE updates WHEN 3000 THEN iif(nth = 1, mean, spread) END) AS "3,000", max(CASE updates WHEN 6000 THEN iif(nth = 1, mean, spread) END) AS "6,000"
FROM line, part GROUP BY nth ORDER BY nth
