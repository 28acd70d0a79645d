-- Perplexity on 3,072 tokens of test after more and more updates, each arm at the rate, and a rotary
-- one at the base, that is best on valid; and q, the perplexity of one arm over another's. The last
-- column of a q is where it becomes 1 and stays above, linear in log updates, with each seed that
-- has such a place. Rows without a line are of the figure alone: these places of the first q, and the
-- paper's q of Table 5. With one width the figure has the perplexities beside q.
-- Parameters: :artefact, :scale.
WITH
e AS MATERIALIZED (
    SELECT w.*, CAST(d.value AS INTEGER) AS width, CAST(u.value AS INTEGER) AS trained,
        row_number() OVER (PARTITION BY d.value, u.value, w.position, w.L_train, w.seed, w.split ORDER BY v.perplexity IS NULL, v.perplexity, w.point) AS n
    FROM wanted_evaluations w JOIN settings d ON d.run_id = w.train_run_id AND d.key = 'model.dim'
    JOIN settings u ON u.run_id = w.train_run_id AND u.key = 'train.updates'
    LEFT JOIN wanted_evaluations v ON v.artefact = w.artefact AND v.scale = w.scale AND v.train_run_id = w.train_run_id AND v.split = 'valid'
    WHERE w.artefact = :artefact AND w.scale = :scale),
arm AS MATERIALIZED (SELECT * FROM e WHERE n = 1 AND split = 'test'),
rival(rank, position, L, other, other_L) AS (VALUES
    (1, 'alibi', 512, 'sinusoidal', 3072), (2, 'alibi', 512, 'rotary', 3072), (3, 'alibi', 3072, 'sinusoidal', 3072), (4, 'alibi', 3072, 'rotary', 3072),
    (5, 'forget_gate', 512, 'alibi', 512)),
shown AS MATERIALIZED ( -- without config_id: each seed has its own best rate, so that the runs of a cell may differ in it
    SELECT 0 AS rank, method || ' trained on ' || L_train AS line, perplexity AS number, position AS color, * FROM arm
    UNION ALL
    SELECT r.rank, a.method || ' ' || a.L_train || ' over ' || o.method || ' ' || o.L_train, a.perplexity / o.perplexity, CASE WHEN r.rank IN (1, 5) THEN a.position ELSE o.position END, a.*
    FROM rival r JOIN arm a ON a.position = r.position AND a.L_train_nominal = r.L
    JOIN arm o ON o.position = r.other AND o.L_train_nominal = r.other_L AND o.width = a.width AND o.trained = a.trained AND o.seed = a.seed),
next AS (
    SELECT rank, width, seed, trained, number AS q, lead(number) OVER by_updates AS q_next, lead(trained) OVER by_updates AS trained_next,
        max(CASE WHEN number < 1 THEN trained END) OVER own AS last_below, count(*) OVER own = count(number) OVER own AS whole
    FROM shown WHERE rank > 0 WINDOW own AS (PARTITION BY rank, width, seed), by_updates AS (PARTITION BY rank, width, seed ORDER BY trained)),
crossing AS (
    SELECT rank, width, seed, trained * pow(1.0 * trained_next / trained, (1 - q) / (q_next - q)) AS at
    FROM next WHERE trained = last_below AND whole),
theirs AS (
    SELECT a.value / s.value AS q FROM paper_values a JOIN paper_values s USING (artefact, metric, L_valid)
    WHERE artefact = 'table5' AND metric = 'perplexity' AND L_valid = 3072 AND a.position = 'alibi' AND a.L_train = 512 AND s.position = 'sinusoidal' AND s.L_train = 3072),
part(part) AS (VALUES ('number'), ('place'), ('paper'))
SELECT width, CASE part WHEN 'number' THEN line END AS line, trained AS updates, CASE part WHEN 'number' THEN number END AS number,
    CASE rank WHEN 0 THEN 'perplexity' ELSE 'ratio' END AS metric, CASE part WHEN 'number' THEN at END AS at,
    CASE rank WHEN 0 THEN 'perplexity' ELSE 'ratio' END || ', width ' || width AS panel,
    CASE part WHEN 'place' THEN 'where it is 1 (each seed)' WHEN 'paper' THEN 'the paper''s models after 286,000 updates' ELSE CASE WHEN rank > 0 OR widths = 1 THEN line END END AS series,
    CASE part WHEN 'place' THEN at ELSE trained END AS x, CASE part WHEN 'place' THEN 1 WHEN 'paper' THEN theirs.q ELSE number END AS y, color AS position,
    L_train, L_train_nominal, L_valid, L_valid_nominal, seed, scale, dataset, corpus, model, split, protocol, precision, tokens, parameters, modified, state,
    CASE WHEN part <> 'paper' THEN run_id END AS run_id, NULL AS config_id, CASE WHEN part <> 'paper' THEN train_run_id END AS train_run_id
FROM shown LEFT JOIN crossing USING (rank, width, seed) JOIN (SELECT count(DISTINCT width) AS widths FROM arm)
JOIN part ON part = 'number' OR rank = 1 AND CASE part WHEN 'place' THEN trained = (SELECT min(trained) FROM arm) AND at IS NOT NULL ELSE 1 END
LEFT JOIN theirs ON part = 'paper'
ORDER BY width, rank > 0, part = 'paper', part = 'place', rank, place DESC, L_train, trained, seed;
