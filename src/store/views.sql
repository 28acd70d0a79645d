-- The views of results.db: the contract with users. Names and columns stay; columns are added at
-- the end. The build makes a C string of each statement: it ends with a semicolon at the end of a
-- line, and comments are lines outside of it.
--
-- 1. Only current results are shown; nothing is searched for by time.
-- 2. Nominal lengths are the paper's. A run of several points shows the smallest; a run without
--    points shows its own length.
-- 3. Functions are SQLite's own, so that any sqlite3 shell can read the file.
-- 4. The view position_methods is made from the table of methods (schema.c): their names in the
--    paper, their places in tables, their styles in figures, and whether a method is bounded: not
--    defined for rows longer than L_train.
-- 5. origin is that of the training: `trained` here, `imported` from a checkpoint that stands for a
--    training here, or the value of train.origin, a training that is never made here. What is not
--    known of a source, such as the updates of a pretrained model, is NULL; its seed is 0.
-- 6. What a row and a column is, is in columns.c, which `alibi query --views` prints.

CREATE VIEW run_origins AS
SELECT run_id, coalesce(
  (SELECT value FROM run_settings s WHERE s.run_id = r.run_id AND s.key = 'train.origin' AND s.hashed),
  (SELECT 'imported' FROM sources s WHERE s.id = r.run_id AND s.current = 1), 'trained') AS origin
FROM runs r
WHERE kind = 'train';

-- A row for each evaluation that was asked for: how it evaluates, beyond the columns of
-- `evaluations`.
-- settings: the settings of its run id that have no column there, such as
--   "eval.attention_sinks=4 eval.attention_window=64"; '' where each key has its neutral value. A
--   new key appears here by itself.
-- The other columns are four of these keys.
CREATE VIEW evaluation_settings AS
SELECT run_id,
  coalesce((SELECT value FROM run_settings s
    WHERE s.run_id = r.run_id AND s.key = 'eval.position_scaling'), 'none') AS position_scaling,
  coalesce((SELECT CAST(value AS REAL) FROM run_settings s
    WHERE s.run_id = r.run_id AND s.key = 'eval.position_scaling_factor'), 0.0)
    AS position_scaling_factor,
  coalesce((SELECT CAST(value AS INTEGER) FROM run_settings s
    WHERE s.run_id = r.run_id AND s.key = 'eval.attention_window'), 0) AS attention_window,
  coalesce((SELECT CAST(value AS INTEGER) FROM run_settings s
    WHERE s.run_id = r.run_id AND s.key = 'eval.attention_sinks'), 0) AS attention_sinks,
  (SELECT coalesce(group_concat(line, ' '), '') FROM (
    SELECT key || '=' || value AS line FROM run_settings s
    WHERE s.run_id = r.run_id AND s.hashed AND s.key NOT IN ('kind', 'scale', 'meaning',
      'eval.train_run', 'eval.checkpoint', 'eval.split', 'eval.window', 'eval.L', 'eval.stride',
      'eval.precision', 'eval.targets')
    ORDER BY s.key)) AS settings
FROM runs r
WHERE kind = 'eval';

-- A row for each training: the settings that tell it from the other trainings of results.db with the
-- same scale, dataset, corpus, model, position and L_train, such as "train.lr=0.5 train.updates=40";
-- '' where there are none. A setting at its neutral value, and the seed, say nothing. train.from
-- names the parent by its method, L_train, updates and config_id. Trainings of one config_id differ
-- in the seed alone, so one of them represents all.
CREATE VIEW training_settings AS
WITH
configs AS MATERIALIZED (
  SELECT config_id, min(run_id) AS run_id FROM runs WHERE kind = 'train' GROUP BY config_id),
kept AS MATERIALIZED (
  SELECT r.config_id, r.scale, r.dataset, r.corpus, r.model, r.position, r.L_train, s.key,
    coalesce(p.position || ':' || p.L_train || ':' || p.updates || ':' || substr(p.config_id, 1, 8),
      s.value) AS value
  FROM configs c
  JOIN runs r USING (run_id)
  JOIN run_settings s USING (run_id)
  LEFT JOIN runs p ON s.key = 'train.from' AND p.run_id = s.value
  WHERE s.hashed AND s.key <> 'train.seed'),
counted AS (
  SELECT *, count(*) OVER (PARTITION BY scale, dataset, corpus, model, position, L_train, key,
      value) AS same_n,
    sum(key = 'kind') OVER (PARTITION BY scale, dataset, corpus, model, position, L_train) AS all_n
  FROM kept),
shown AS MATERIALIZED (
  SELECT config_id, group_concat(key || '=' || value, ' ') AS settings
  FROM (SELECT * FROM counted WHERE same_n < all_n ORDER BY config_id, key)
  GROUP BY config_id)
SELECT r.run_id, coalesce(w.settings, '') AS settings
FROM runs r
LEFT JOIN shown w USING (config_id)
WHERE r.kind = 'train';

-- The other views read evaluation_results: SQLite before 3.41 computes every column of a view that it
-- keeps in memory for a join, and all_settings compares every training with the others.
CREATE VIEW evaluations AS
SELECT e.*, trim((SELECT g.settings FROM training_settings g WHERE g.run_id = e.train_run_id)
  || ' ' || e.settings) AS all_settings
FROM evaluation_results e;

-- An older program's evaluation has no rows.
CREATE VIEW position_loss AS
SELECT scale, dataset, model, position, L_train, L_valid, split, protocol, stride, seed, first,
  last, targets, nll, nll / targets AS loss_nats, exp(nll / targets) AS perplexity, run_id,
  train_run_id, config_id, modified, precision, checkpoint, settings
FROM current_evaluations
JOIN position_losses USING (result_id);

-- A row for each evaluation with rows longer than in training whose losses are finite: the mean loss at
-- the positions of the last half of L_train (near), and at those beyond it up to 6 L_train (far), of
-- the same rows. A range of position_losses that reaches beyond either part counts in neither.
-- difference_nats: far less near. Perplexity at a longer L_valid over that at L_train also has fewer
--   early tokens; this has not.
-- standard_error: that of the difference, if the two were independent samples of losses that vary as
--   the blocks of the evaluation do. They are of the same rows, so it is rather too large.
CREATE VIEW extrapolation AS
WITH
part AS MATERIALIZED (
  SELECT v.result_id,
    sum(p.targets) FILTER (WHERE 2 * p.first > r.L_train AND p.last <= r.L_train) AS near_targets,
    sum(p.nll) FILTER (WHERE 2 * p.first > r.L_train AND p.last <= r.L_train) AS near_nll,
    sum(p.targets) FILTER (WHERE p.first > r.L_train) AS far_targets,
    sum(p.nll) FILTER (WHERE p.first > r.L_train) AS far_nll, max(p.last) AS last
  FROM results v
  JOIN runs r ON r.run_id = v.run_id AND r.L_valid > r.L_train
  JOIN position_losses p ON p.result_id = v.result_id AND p.last <= 6 * r.L_train
  WHERE v.current = 1 AND v.kind = 'eval' AND v.perplexity IS NOT NULL
  GROUP BY v.result_id HAVING count(p.nll) = count(*)),
spread AS MATERIALIZED (
  SELECT result_id, sum(targets) AS targets,
    (avg(nll / targets * nll / targets) - avg(nll / targets) * avg(nll / targets))
      / (count(*) - 1) AS variance
  FROM group_losses WHERE grouping = 'block'
  GROUP BY result_id HAVING count(*) > 1 AND count(nll) = count(*))
SELECT e.scale, e.dataset, e.model, e.position, e.L_train, e.L_valid, e.split, e.protocol, e.stride,
  e.seed, p.last, p.near_targets, p.near_nll / p.near_targets AS near_nats, p.far_targets,
  p.far_nll / p.far_targets AS far_nats,
  p.far_nll / p.far_targets - p.near_nll / p.near_targets AS difference_nats,
  sqrt(max(0, s.variance) * s.targets * (1.0 / p.near_targets + 1.0 / p.far_targets))
    AS standard_error,
  e.run_id, e.train_run_id, e.config_id, e.modified, e.precision, e.checkpoint, e.settings, e.corpus
FROM part p
JOIN current_evaluations e ON e.result_id = p.result_id
LEFT JOIN spread s ON s.result_id = p.result_id
WHERE p.near_targets > 0 AND p.far_targets > 0;

CREATE VIEW attention AS
SELECT scale, dataset, model, position, L_train, L_valid, seed, text, layer, head, rows,
  first_weight, entropy, distance, logit_low, logit_high, slope, bound_excess, run_id,
  train_run_id, config_id, modified, checkpoint, settings
FROM current_evaluations
JOIN attention_heads USING (attempt_id);

CREATE VIEW target_groups AS
SELECT scale, dataset, model, position, L_train, L_valid, split, protocol, stride, seed,
  first AS number, name, targets, nll, nll / targets AS loss_nats,
  exp(nll / targets) AS perplexity, hits, hits * 1.0 / targets AS accuracy, run_id, train_run_id,
  config_id, modified, precision, checkpoint, settings, corpus
FROM current_evaluations
JOIN group_losses USING (result_id)
WHERE grouping = 'group';

CREATE VIEW attention_rollout AS
SELECT scale, dataset, model, position, L_train, L_valid, seed, text, layers, head, distance,
  weight, run_id, train_run_id, config_id, modified, checkpoint, settings
FROM current_evaluations
JOIN attention_rollouts USING (attempt_id);

-- An older program's evaluation has no rows.
CREATE VIEW target_blocks AS
SELECT scale, dataset, model, position, L_train, L_valid, split, protocol, stride, seed, first,
  last, targets, nll, nll / targets AS loss_nats, exp(nll / targets) AS perplexity, run_id,
  train_run_id, config_id, modified, precision, checkpoint, settings, corpus
FROM current_evaluations
JOIN group_losses USING (result_id)
WHERE grouping = 'block';

CREATE VIEW artefact_evaluations AS
SELECT p.artefact, p.point, e.scale, e.dataset, e.model, e.position, e.L_train, e.L_valid,
  coalesce(p.L_train_nominal, e.L_train) AS L_train_nominal,
  coalesce(p.L_valid_nominal, e.L_valid) AS L_valid_nominal,
  e.split, e.protocol, e.stride, e.first_window, e.precision, e.seed,
  e.perplexity, e.loss_nats, e.tokens, e.nonfinite, e.eval_wps, e.peak_memory_bytes,
  e.device, e.origin, e.run_id, e.train_run_id, e.config_id, e.code_id, e.finished_at,
  e.checkpoint, e.targets, e.modified, e.checkpoint_sha256, e.wall_seconds, e.attempt,
  e.corpus, e.backend,
  CASE e.protocol WHEN 'sliding' THEN coalesce(p.stride_nominal, e.stride) END AS stride_nominal,
  e.position_scaling, e.position_scaling_factor, e.attention_window, e.attention_sinks, e.settings,
  e.datastore_sha256, e.bits_per_byte, e.byte_perplexity, e.word_perplexity, e.bytes, e.words,
  e.documents, e.tokenizer, e.tokenizer_sha256, (SELECT g.settings FROM grid_settings g
    WHERE g.artefact = p.artefact AND g.scale = p.scale AND g.run_id = p.run_id) AS all_settings
FROM points p
JOIN evaluation_results e ON e.run_id = p.run_id;

-- A row for each training that is done, and for each source that stands for one. A reader of a file
-- before version 6 sees the attempt of a source, too.
-- ranks: the number of processes, 1 of an older program. Speed, memory and time are of this number.
-- NULL if the training resumed from a checkpoint that another number of processes wrote: its
-- wall_seconds are then of both, and its speed may be of either.
CREATE VIEW trainings AS
SELECT r.scale, r.dataset, r.model, r.position, r.L_train,
  coalesce((SELECT min(p.L_train_nominal) FROM runs w JOIN points p ON p.run_id = w.run_id
    WHERE w.run_id = r.run_id OR w.train_run_id = r.run_id), r.L_train) AS L_train_nominal,
  r.seed, v.updates, v.tokens_per_update, coalesce(v.parameters, r.parameters) AS parameters,
  v.final_loss_nats, v.train_wps, v.peak_memory_bytes, v.wall_seconds,
  coalesce(a.device, a.slot) AS device, r.run_id, r.config_id, a.code_id,
  a.ended_at AS finished_at,
  o.origin, r.precision, r.modified, v.best_sha256, v.last_sha256, a.attempt, r.corpus, a.backend,
  CASE WHEN NOT EXISTS (SELECT 1 FROM run_attempts b
    WHERE b.run_id = a.run_id AND b.attempt < a.attempt
    AND coalesce(b.ranks, 1) <> coalesce(a.ranks, 1)
    AND EXISTS (SELECT 1 FROM checkpoint_files c WHERE c.attempt_id = b.attempt_id)
    AND NOT EXISTS (SELECT 1 FROM run_attempts d WHERE d.run_id = b.run_id
      AND d.attempt BETWEEN b.attempt AND a.attempt - 1 AND d.state = 'done'))
    THEN coalesce(a.ranks, 1) END AS ranks
FROM results v
JOIN runs r ON r.run_id = v.run_id
JOIN run_origins o ON o.run_id = v.run_id
JOIN run_attempts a ON a.attempt_id = v.attempt_id
WHERE v.current = 1 AND v.kind = 'train'
AND NOT EXISTS (SELECT 1 FROM sources s WHERE s.uid = a.uid)
UNION ALL
SELECT r.scale, r.dataset, r.model, r.position, r.L_train,
  coalesce((SELECT min(p.L_train_nominal) FROM runs w JOIN points p ON p.run_id = w.run_id
    WHERE w.run_id = r.run_id OR w.train_run_id = r.run_id), r.L_train),
  r.seed, s.updates, s.tokens_per_update, coalesce(s.parameters, r.parameters), s.final_loss_nats,
  NULL, NULL, NULL, 'imported', r.run_id, r.config_id, s.code_id, s.registered_at, o.origin,
  r.precision, r.modified, s.sha256, s.sha256, s.attempt, r.corpus, 'none', 1
FROM sources s
JOIN runs r ON r.run_id = s.id
JOIN run_origins o ON o.run_id = s.id
WHERE s.current = 1;

-- noisy: other programs used the machine. A worker on the CPU never waits, so that lost processor
-- time, or many involuntary switches, mean that others ran. NULL if neither was measured.
CREATE VIEW benchmarks AS
SELECT r.position, r.L_train, r.mode, v.batch_tokens, v.wps, v.peak_memory_bytes, v.mfu,
  coalesce(a.device, a.slot) AS device, r.scale, r.dataset, r.model,
  coalesce((SELECT min(p.L_train_nominal) FROM points p WHERE p.run_id = r.run_id), r.L_train)
    AS L_train_nominal,
  r.precision, r.seed, v.wall_seconds, r.run_id, r.config_id, a.code_id,
  a.ended_at AS finished_at, r.modified, r.parameters, a.attempt, r.corpus, a.backend, r.L_valid,
  coalesce((SELECT min(p.L_valid_nominal) FROM points p WHERE p.run_id = r.run_id), r.L_valid)
    AS L_valid_nominal,
  v.batch_tokens / coalesce(r.L_valid, r.L_train) AS rows,
  (a.backend = 'cpu' AND v.cpu_share < 0.95) OR v.switches_per_s > 50 AS noisy
FROM results v
JOIN runs r ON r.run_id = v.run_id
JOIN run_attempts a ON a.attempt_id = v.attempt_id
WHERE v.current = 1 AND v.kind = 'bench';

-- A resumed training has points of several attempts: of each step the newest attempt's is shown,
-- and none of an attempt after the one whose result is current, unless a log was imported then.
CREATE VIEW curves AS
SELECT r.scale, r.dataset, r.model, r.position, r.L_train, r.seed, r.run_id, c.split, c.step,
  c.loss_nats, c.lr, c.grad_norm, c.epoch, c.perplexity, c.best, a.attempt, o.origin
FROM runs r
JOIN run_origins o ON o.run_id = r.run_id
JOIN run_attempts a ON a.run_id = r.run_id
JOIN curve_points c ON c.attempt_id = a.attempt_id
LEFT JOIN results v ON v.run_id = r.run_id AND v.current = 1
LEFT JOIN run_attempts shown ON shown.attempt_id = v.attempt_id
WHERE (shown.attempt IS NULL OR a.attempt <= shown.attempt OR a.slot = 'imported')
AND NOT EXISTS (
  SELECT 1 FROM run_attempts b
  JOIN curve_points d ON d.attempt_id = b.attempt_id AND d.split = c.split AND d.step = c.step
  WHERE b.run_id = r.run_id AND b.attempt > a.attempt
  AND (shown.attempt IS NULL OR b.attempt <= shown.attempt OR b.slot = 'imported'));

CREATE VIEW paper_values AS
SELECT artefact, dataset, panel, series, method, params, L_train, L_valid, split, protocol, stride,
  x_name, x, metric, value, unit, note, source, position, line
FROM paper_cells;

-- What an artefact needs beside the paper's numbers, a row for each configuration and metric.
-- 1. Perplexities are of evaluations, speed and memory of runs that held their machine alone, in
--    the paper's units. A run without a result is a row of 0 seeds; its state tells whether its
--    training diverged, or whether its position method is not defined there.
-- 2. Seeds are averaged within a configuration; speed and memory within a device as well.
-- 3. The paper's number is shown beside ours only if ours is of the paper's own configuration.
-- 4. A paper row that gives its length as the x of a figure is read so; an x that is itself a
--    speed is a number of its own; rows over another x, such as GPU hours, are not end results.
CREATE VIEW comparison AS
WITH
metrics(kind, mode, metric, unit) AS (VALUES
  ('eval', NULL, 'perplexity', 'ppl'), ('bench', 'train', 'train_wps', 'words/s'),
  ('bench', 'train', 'memory_gb', 'GB'), ('bench', 'eval', 'eval_wps', 'words/s')),
wanted AS (
  SELECT DISTINCT p.artefact, r.scale, r.dataset, r.position,
    coalesce(p.L_train_nominal, r.L_train) AS L_train_nominal,
    coalesce(p.L_valid_nominal, r.L_valid) AS L_valid_nominal, r.split, r.protocol, r.stride,
    CASE r.protocol WHEN 'sliding' THEN coalesce(p.stride_nominal, r.stride) END AS stride_nominal,
    r.config_id, r.run_id, m.metric, m.unit, max(r.modified, coalesce(t.modified, 0)) AS modified,
    coalesce(i.origin, 'trained') AS origin, coalesce(a.device, a.slot) AS device,
    CASE m.metric WHEN 'perplexity' THEN v.perplexity
      WHEN 'memory_gb' THEN v.peak_memory_bytes / 1e9 ELSE v.wps END AS value,
    CASE m.metric WHEN 'memory_gb' THEN v.peak_memory_bytes IS NOT NULL
      ELSE v.result_id IS NOT NULL END AS done,
    CASE WHEN v.result_id IS NOT NULL THEN NULL
      WHEN r.kind = 'eval' AND r.L_valid > r.L_train
        AND r.position IN (SELECT position FROM position_methods WHERE bounded) THEN 'not defined'
      ELSE (SELECT f.state FROM run_attempts f WHERE f.run_id = coalesce(r.train_run_id, r.run_id)
        ORDER BY f.attempt DESC LIMIT 1) END AS fate, coalesce(s.settings, '') AS settings
  FROM points p
  JOIN runs r ON r.run_id = p.run_id
  JOIN metrics m ON m.kind = r.kind AND m.mode IS r.mode
  LEFT JOIN evaluation_settings s ON s.run_id = p.run_id
  LEFT JOIN runs t ON t.run_id = r.train_run_id
  LEFT JOIN run_origins i ON i.run_id = coalesce(r.train_run_id, r.run_id)
  LEFT JOIN results v ON v.run_id = r.run_id AND v.current = 1
  LEFT JOIN run_attempts a ON a.attempt_id = v.attempt_id),
counted AS (
  SELECT *, CASE WHEN done AND metric <> 'perplexity' THEN device END AS machine,
    sum(done) OVER (PARTITION BY artefact, scale, config_id, L_train_nominal, L_valid_nominal,
      stride_nominal, metric) AS done_n
  FROM wanted),
centred AS (
  SELECT *, value - avg(value) OVER (PARTITION BY artefact, scale, config_id, L_train_nominal,
    L_valid_nominal, stride_nominal, metric, machine) AS off
  FROM counted WHERE done OR done_n = 0),
averaged AS (
  SELECT artefact, scale, dataset, position, L_train_nominal, L_valid_nominal, split, protocol,
    stride, stride_nominal, config_id, metric, unit, max(modified) AS modified,
    CASE WHEN count(value) < sum(done) THEN 'not finite' WHEN sum(done) > 0 THEN 'done'
      WHEN max(fate = 'not defined') THEN 'not defined'
      WHEN max(fate = 'diverged') THEN 'diverged' ELSE 'not run' END AS state,
    sum(done) AS seeds, CASE WHEN count(value) = sum(done) THEN avg(value) END AS ours,
    CASE WHEN count(value) = sum(done) AND count(value) > 1
      THEN sqrt(sum(off * off) / (count(value) - 1)) END AS ours_std,
    group_concat(DISTINCT CASE WHEN done THEN device END) AS device,
    group_concat(DISTINCT origin) AS origin, settings
  FROM centred
  GROUP BY artefact, scale, config_id, L_train_nominal, L_valid_nominal, stride_nominal, metric,
    machine),
cells AS (
  SELECT artefact, position, split, protocol, stride, metric, value, x_name, x,
    lower(replace(replace(dataset, '-', ''), ' ', '')) AS dataset,
    coalesce(L_train, CASE WHEN x_name IN ('L_train', 'input_length') THEN x END) AS L_train,
    coalesce(L_valid, CASE WHEN x_name = 'L_valid' THEN x END) AS L_valid
  FROM paper_cells
  WHERE position IS NOT NULL
  AND (x_name IS NULL OR x_name IN ('L_train', 'L_valid', 'input_length', 'train_wps'))),
theirs AS (
  SELECT * FROM cells
  UNION ALL
  SELECT artefact, position, split, protocol, stride, x_name, x, NULL, NULL, dataset, L_train,
    L_valid
  FROM cells WHERE x_name = 'train_wps')
SELECT o.artefact, o.scale, o.position, o.L_train_nominal, o.L_valid_nominal, o.metric,
  o.ours, o.ours_std, o.seeds, t.value AS paper, o.ours - t.value AS delta,
  o.dataset, o.split, o.protocol, o.stride, o.stride_nominal, o.config_id, o.modified,
  o.unit, o.device, o.origin, o.state, o.settings
FROM averaged o
LEFT JOIN theirs t ON o.scale = 'paper' AND o.modified = 0
  AND t.artefact = o.artefact AND t.position = o.position AND t.metric = o.metric
  AND t.L_train = o.L_train_nominal AND (t.dataset IS NULL OR t.dataset = o.dataset)
  AND CASE o.metric
    WHEN 'perplexity' THEN t.L_valid = o.L_valid_nominal AND t.split = o.split
      AND t.protocol = o.protocol AND t.stride IS o.stride_nominal
    WHEN 'eval_wps' THEN coalesce(t.L_valid, t.L_train)
      = coalesce(o.L_valid_nominal, o.L_train_nominal)
    ELSE 1 END;

CREATE VIEW attempts AS
SELECT run_id, attempt, state, coalesce(device, slot) AS device, host, blas, threads, started_at,
  ended_at, exit_code, signal, message, dir || '/log' AS log_path,
  backend, code_id, program, slot, pid, dir, merged_from,
  EXISTS (SELECT 1 FROM results v WHERE v.attempt_id = t.attempt_id AND v.current = 1)
    AS current_result, choices, CASE WHEN device IS NOT NULL THEN coalesce(ranks, 1) END AS ranks
FROM run_attempts t;

CREATE VIEW claims AS
SELECT claim, statement, verdict, evidence, scale, artefact, judged_at, threshold, effect, error,
  low, high, seeds, split, runs, codes, cases
FROM claim_verdicts;

CREATE VIEW progress AS
SELECT a.run_id, a.attempt, r.kind, r.scale, r.position, r.L_train, r.L_valid, r.seed,
  coalesce(a.device, a.slot) AS device, a.slot, a.host, a.pid, a.started_at, n.done, n.total,
  n.loss_nats, n.wps, n.updated_at,
  CASE WHEN a.device IS NOT NULL THEN coalesce(a.ranks, 1) END AS ranks
FROM run_attempts a
JOIN runs r ON r.run_id = a.run_id
LEFT JOIN progress_now n ON n.attempt_id = a.attempt_id
WHERE a.state = 'running';

-- Every run with its state: done if a result is current, else that of the newest attempt; none if
-- it was never tried, or is to be done again.
CREATE VIEW run_list AS
SELECT run_id, kind, scale, dataset, model, position, L_train, L_valid, split, protocol, stride,
  mode, seed, config_id, train_run_id, modified, parameters, spec, created_at,
  CASE WHEN EXISTS (SELECT 1 FROM results v WHERE v.run_id = r.run_id AND v.current = 1)
    OR EXISTS (SELECT 1 FROM sources s WHERE s.id = r.run_id AND s.current = 1) THEN 'done'
    ELSE coalesce((SELECT nullif(a.state, 'done') FROM run_attempts a WHERE a.run_id = r.run_id
      ORDER BY a.attempt DESC LIMIT 1), 'none') END AS state
FROM runs r;

CREATE VIEW artefact_points AS
SELECT artefact, scale, point, run_id, L_train_nominal, L_valid_nominal, stride_nominal
FROM points;

-- The rows of tables and figures: one for each evaluation that an artefact's grid needs, with a
-- result or without.
-- method, place: the position method as the paper writes it, and its place in the paper's tables.
-- trained_on: the length a model was trained on, such as "L=64 (512)", with the paper's in
--   parentheses where a scale divides.
-- train_wps, train_memory_bytes: NULL unless one process trained (train_ranks = 1), so that no mean
--   over rows mixes numbers of processes.
-- alone_…: of the training's benchmark in the same artefact, which had its device to itself.
-- state: why there is no number. A training diverged, too, if one that it continues did.
CREATE VIEW wanted_evaluations AS
WITH RECURSIVE diverged(run_id) AS (
  SELECT a.run_id FROM run_attempts a
  WHERE a.state = 'diverged' AND NOT EXISTS (
    SELECT 1 FROM run_attempts n WHERE n.run_id = a.run_id AND n.attempt > a.attempt)
  UNION
  SELECT c.run_id FROM diverged d
  JOIN run_settings c ON c.key = 'train.from' AND c.value = d.run_id
  WHERE NOT EXISTS (SELECT 1 FROM results v WHERE v.run_id = c.run_id AND v.current = 1)
  AND NOT EXISTS (SELECT 1 FROM sources s WHERE s.id = c.run_id AND s.current = 1))
SELECT p.artefact, r.scale, r.dataset, r.corpus, r.model, r.position,
  coalesce(m.display, r.position) AS method, coalesce(m.place, 99) AS place,
  'L=' || r.L_train || CASE WHEN r.L_train <> p.L_train_nominal
    THEN ' (' || p.L_train_nominal || ')' ELSE '' END AS trained_on,
  r.L_train, coalesce(p.L_train_nominal, r.L_train) AS L_train_nominal,
  r.L_valid, coalesce(p.L_valid_nominal, r.L_valid) AS L_valid_nominal,
  r.split, r.protocol, r.stride, r.first_window, r.precision, r.seed,
  e.perplexity, e.loss_nats, e.tokens, e.nonfinite, e.eval_wps, e.peak_memory_bytes,
  q.parameters, t.updates, t.tokens_per_update,
  CASE t.ranks WHEN 1 THEN t.train_wps END AS train_wps,
  CASE t.ranks WHEN 1 THEN t.peak_memory_bytes END AS train_memory_bytes, b.wps AS alone_wps,
  b.peak_memory_bytes AS alone_memory_bytes, b.device AS alone_device,
  CASE WHEN e.nonfinite > 0 THEN 'not finite'
    WHEN m.bounded AND r.L_valid > r.L_train THEN 'not defined'
    WHEN e.run_id IS NULL AND r.train_run_id IN (SELECT run_id FROM diverged)
      THEN 'diverged' END AS state,
  coalesce(e.modified, r.modified) AS modified, r.run_id, r.train_run_id, r.config_id,
  e.code_id, e.device, e.finished_at, p.point, b.noisy AS alone_noisy, r.checkpoint, r.targets,
  s.position_scaling, s.position_scaling_factor, s.attention_window, s.attention_sinks, s.settings,
  e.bits_per_byte, e.byte_perplexity, e.word_perplexity, e.tokenizer, t.ranks AS train_ranks
FROM points p
JOIN runs r ON r.run_id = p.run_id AND r.kind = 'eval'
JOIN evaluation_settings s ON s.run_id = p.run_id
JOIN runs q ON q.run_id = r.train_run_id
LEFT JOIN position_methods m ON m.position = r.position
LEFT JOIN evaluation_results e ON e.run_id = r.run_id
LEFT JOIN trainings t ON t.run_id = r.train_run_id
LEFT JOIN (
  SELECT o.artefact, o.scale, w.position, w.L_train, w.seed, w.run_id, min(o.point)
  FROM points o JOIN runs w ON w.run_id = o.run_id AND w.kind = 'bench' AND w.mode = 'train'
  GROUP BY o.artefact, o.scale, w.position, w.L_train, w.seed) alone
  ON alone.artefact = p.artefact AND alone.scale = p.scale AND alone.position = r.position
  AND alone.L_train = r.L_train AND alone.seed = r.seed
LEFT JOIN benchmarks b ON b.run_id = alone.run_id;

CREATE VIEW wanted_benchmarks AS
SELECT p.artefact, r.scale, r.dataset, r.corpus, r.model, r.position,
  coalesce(m.display, r.position) AS method, coalesce(m.place, 99) AS place,
  'L=' || r.L_train || CASE WHEN r.L_train <> p.L_train_nominal
    THEN ' (' || p.L_train_nominal || ')' ELSE '' END AS trained_on,
  r.L_train, coalesce(p.L_train_nominal, r.L_train) AS L_train_nominal,
  r.precision, r.seed, r.mode, b.wps, b.peak_memory_bytes, b.batch_tokens, b.mfu,
  b.device AS machine, coalesce(b.modified, r.modified) AS modified, r.run_id, r.config_id,
  b.code_id, b.finished_at, p.point,
  r.L_valid, coalesce(p.L_valid_nominal, r.L_valid) AS L_valid_nominal, b.rows, b.noisy,
  r.parameters
FROM points p
JOIN runs r ON r.run_id = p.run_id AND r.kind = 'bench'
LEFT JOIN position_methods m ON m.position = r.position
LEFT JOIN benchmarks b ON b.run_id = r.run_id;

-- A row for each setting of each run, and, for an evaluation, the settings of its training.
CREATE VIEW settings AS
SELECT run_id, key, value FROM run_settings
UNION ALL
SELECT r.run_id, t.key, t.value
FROM runs r
JOIN run_settings t ON t.run_id = r.train_run_id
WHERE substr(t.key, 1, 5) IN ('data.', 'train')
OR (substr(t.key, 1, 6) = 'model.' AND t.key <> 'model.name');

-- A row for each run of each grid: the settings in which trainings of the grid differ although they
-- have the same columns, and those of an evaluation in evaluation_settings, such as
-- "model.heads=4 train.lr=3 eval.attention_window=64"; '' where there are none. A training's setting
-- that only some of them have says nothing, except train.from, which names the parent by its method,
-- L_train and updates. Trainings of one config_id differ in the seed alone, so
-- one of them represents all.
CREATE VIEW grid_settings AS
WITH
asked AS (
  SELECT DISTINCT p.artefact, p.scale, p.run_id, t.config_id, t.run_id AS train_id
  FROM points p
  JOIN runs r ON r.run_id = p.run_id
  JOIN runs t ON t.run_id = coalesce(r.train_run_id, p.run_id)),
configs AS MATERIALIZED (
  SELECT artefact, scale, config_id, min(train_id) AS train_id
  FROM asked GROUP BY artefact, scale, config_id),
kept AS MATERIALIZED (
  SELECT c.artefact, c.scale, c.config_id, r.kind, r.dataset, r.corpus, r.model, r.position,
    r.L_train, s.key, s.value
  FROM configs c
  JOIN runs r ON r.run_id = c.train_id
  JOIN run_settings s ON s.run_id = c.train_id
  WHERE s.key NOT IN ('train.seed', 'train.from') AND substr(s.key, 1, 6) <> 'bench.'
  UNION ALL
  SELECT c.artefact, c.scale, c.config_id, r.kind, r.dataset, r.corpus, r.model, r.position,
    r.L_train, 'train.from',
    coalesce(p.position || ':' || p.L_train || ':' || p.updates, s.value, 'none')
  FROM configs c
  JOIN runs r ON r.run_id = c.train_id
  LEFT JOIN run_settings s ON s.run_id = c.train_id AND s.key = 'train.from'
  LEFT JOIN runs p ON p.run_id = s.value),
varying AS (
  SELECT DISTINCT artefact, scale, key FROM (
    SELECT artefact, scale, key FROM kept
    GROUP BY artefact, scale, kind, dataset, corpus, model, position, L_train, key
    HAVING count(DISTINCT value) > 1)),
shown AS MATERIALIZED (
  SELECT artefact, scale, config_id, group_concat(key || '=' || value, ' ') AS settings FROM (
    SELECT DISTINCT k.artefact, k.scale, k.config_id, k.key, k.value
    FROM kept k
    JOIN varying v ON v.artefact = k.artefact AND v.scale = k.scale AND v.key = k.key
    ORDER BY k.artefact, k.scale, k.config_id, k.key)
  GROUP BY artefact, scale, config_id)
SELECT a.artefact, a.scale, a.run_id,
  trim(coalesce(w.settings, '') || ' ' || coalesce(s.settings, '')) AS settings
FROM asked a
LEFT JOIN shown w
  ON w.artefact = a.artefact AND w.scale = a.scale AND w.config_id = a.config_id
LEFT JOIN evaluation_settings s ON s.run_id = a.run_id;

-- bits_per_byte and the two after it: as in lm-eval, of the whole split; NULL where a part was scored,
--   and for texts that no tokenizer cut. 0.693…: the logarithm of 2. Beyond e^709 there is no number.
CREATE VIEW evaluation_results AS
SELECT e.scale, e.dataset, e.model, e.position, e.L_train, e.L_valid,
  coalesce((SELECT min(p.L_train_nominal) FROM points p WHERE p.run_id = e.run_id), e.L_train)
    AS L_train_nominal,
  coalesce((SELECT min(p.L_valid_nominal) FROM points p WHERE p.run_id = e.run_id), e.L_valid)
    AS L_valid_nominal,
  e.split, e.protocol, e.stride, e.first_window, e.precision, e.seed,
  v.perplexity, v.loss_nats, v.tokens, v.nonfinite, v.eval_wps, v.peak_memory_bytes,
  coalesce(a.device, a.slot) AS device, o.origin, e.run_id, e.train_run_id, e.config_id,
  a.code_id, a.ended_at AS finished_at,
  e.checkpoint, e.targets_asked AS targets, e.modified, v.checkpoint_sha256,
  v.wall_seconds, a.attempt, e.corpus, a.backend, e.position_scaling, e.position_scaling_factor,
  e.attention_window, e.attention_sinks, e.settings, v.datastore_sha256,
  v.loss_nats * v.tokens / (v.bytes * 0.6931471805599453) AS bits_per_byte,
  CASE WHEN v.loss_nats * v.tokens < 709.0 * v.bytes
    THEN exp(v.loss_nats * v.tokens / v.bytes) END AS byte_perplexity,
  CASE WHEN v.loss_nats * v.tokens < 709.0 * v.words
    THEN exp(v.loss_nats * v.tokens / v.words) END AS word_perplexity,
  v.bytes, v.words, v.documents, v.tokenizer, v.tokenizer_sha256
FROM current_evaluations e
JOIN results v ON v.result_id = e.result_id
JOIN run_attempts a ON a.attempt_id = e.attempt_id
JOIN run_origins o ON o.run_id = e.train_run_id;

CREATE VIEW current_evaluations AS
SELECT r.scale, r.dataset, r.model, r.position, r.L_train, r.L_valid, r.split, r.protocol, r.stride,
  r.seed, r.run_id, r.train_run_id, r.config_id, max(r.modified, t.modified) AS modified,
  r.precision, r.checkpoint, s.settings, r.corpus, r.first_window, r.targets AS targets_asked,
  s.position_scaling, s.position_scaling_factor, s.attention_window, s.attention_sinks,
  v.result_id, v.attempt_id
FROM results v
JOIN runs r ON r.run_id = v.run_id
JOIN runs t ON t.run_id = r.train_run_id
JOIN evaluation_settings s ON s.run_id = v.run_id
WHERE v.current = 1 AND v.kind = 'eval';
