WITH e AS (
    SELECT a.position, CAST(u.value AS INTEGER) AS updates, a.train_run_id AS training, a.split, a.perplexity AS p
    FROM artefact_evaluations a JOIN settings u ON u.run_id = a.train_run_id AND u.key = 'train.updates'
    WHERE a.artefact = 'explore/training' AND a.scale = 'mini' AND a.seed = 1),
arm AS (
    SELECT t.*, row_number() OVER (PARTITION BY v.position, v.updates ORDER BY v.p) AS place
    FROM e v JOIN e t USING (training) WHERE v.split = 'valid' AND t.split = 'test'),
q AS (
    SELECT a.updates, printf('%.2f', a.p / s.p) AS q FROM arm a JOIN arm s USING (updates)
    WHERE a.position = 'alibi' AND s.position = 'sinusoidal' AND a.place = 1 AND s.place = 1)
SELECT 'ALiBi 64 over sinusoidal 384' AS "updates", (SELECT q FROM q WHERE updates = 750) AS "750", (SELECT q FROM q WHERE updates = 1500) AS "1,500",
    (SELECT q FROM q WHERE updates = 3000) AS "3,000", (SELECT q FROM q WHERE updates = 6000) AS "6,000"
