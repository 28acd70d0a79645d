-- Perplexity on 3,072 tokens of test after more and more updates, each arm at the rate, and a rotary
-- one at the base, that is best on valid; and q, the perplexity of one arm over another's. The last
-- column of a q is where it becomes 1 and stays above, linear in log updates, with each seed that
-- has such a place. A row of `paper` is a line of the figure: the paper's q of Table 5.
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
rival(place, position, L, other, other_L) AS (VALUES
    (1, 'alibi', 512, 'sinusoidal', 3072), (2, 'alibi', 512, 'rotary', 3072), (3, 'alibi', 3072, 'sinusoidal', 3072), (4, 'alibi', 3072, 'rotary', 3072),
    (5, 'forget_gate', 512, 'alibi', 512)),
q AS MATERIALIZED (
    SELECT r.place AS rank, a.method || ' ' || a.L_train || ' over ' || o.method || ' ' || o.L_train AS line, a.perplexity / o.perplexity AS q,
        CASE r.place WHEN 5 THEN a.position ELSE o.position END AS color, a.*
    FROM rival r JOIN arm a ON a.position = r.position AND a.L_train_nominal = r.L
    JOIN arm o ON o.position = r.other AND o.L_train_nominal = r.other_L AND o.width = a.width AND o.trained = a.trained AND o.seed = a.seed),
next AS (
    SELECT rank, width, seed, trained, q, lead(q) OVER by_updates AS q_next, lead(trained) OVER by_updates AS trained_next,
        max(CASE WHEN q < 1 THEN trained END) OVER (PARTITION BY rank, width, seed) AS last_below, count(*) OVER own = count(q) OVER own AS whole
    FROM q WINDOW own AS (PARTITION BY rank, width, seed), by_updates AS (PARTITION BY rank, width, seed ORDER BY trained)),
crossing AS (
    SELECT rank, width, seed, trained * pow(1.0 * trained_next / trained, (1 - q) / (q_next - q)) AS at
    FROM next WHERE trained = last_below AND whole),
shown AS (
    SELECT 'perplexity' AS kind, 0 AS rank, method || ' ' || L_train AS line, perplexity AS number, NULL AS at, position AS color, width, trained,
        place, point, L_train, L_train_nominal, L_valid, L_valid_nominal, seed, scale, dataset, corpus, model, split, protocol, precision, tokens, parameters, modified, state,
        run_id, config_id, train_run_id FROM arm
    UNION ALL
    SELECT 'ratio', q.rank, line, q, at, color, q.width, trained,
        place, point, L_train, L_train_nominal, L_valid, L_valid_nominal, q.seed, scale, dataset, corpus, model, split, protocol, precision, tokens, parameters, modified, state,
        run_id, config_id, train_run_id FROM q LEFT JOIN crossing USING (rank, width, seed)
    UNION ALL
    SELECT 'paper', 9, NULL, a.value / s.value, NULL, 'alibi', w.width, w.trained, 99, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
    FROM paper_values a JOIN paper_values s ON s.artefact = a.artefact AND s.metric = a.metric AND s.L_valid = a.L_valid
    JOIN (SELECT DISTINCT width, trained FROM arm) w
    WHERE a.artefact = 'table5' AND a.metric = 'perplexity' AND a.position = 'alibi' AND a.L_train = 512 AND a.L_valid = 3072 AND s.position = 'sinusoidal' AND s.L_train = 3072)
SELECT width, CASE kind WHEN 'paper' THEN NULL ELSE line END AS line, trained AS updates, number, kind AS metric, at,
    CASE kind WHEN 'paper' THEN 'the paper' ELSE line END AS series, color AS position,
    L_train, L_train_nominal, L_valid, L_valid_nominal, seed, scale, dataset, corpus, model, split, protocol, precision, tokens, parameters, modified, state, run_id, config_id, train_run_id
FROM shown ORDER BY width, kind = 'paper', kind = 'ratio', rank, place DESC, L_train, trained, seed;
