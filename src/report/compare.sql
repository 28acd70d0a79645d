-- compare.sql - alibi compare. "-- @ NAME" begins a part; compare.c puts them together and binds
--   report_asked    c0 the side ('a', 'b'), c1 at, c2 name and c3 value of each part of its filter: a
--                   coordinate, a setting such as train.lr, or the beginning of a run id
--   report_keys     c0 each key of evaluations with c1 its neutral value, and c2 whether every
--                   evaluation has a value of it: the neutral one if its spec is older
--   report_chosen   the answer of chosen_sql, for pairs_sql

-- @ coordinates_sql
-- What a filter can name.
-- is_protected: part of the protocol: must agree, named or not. of_training: fixed by the id of a
--   training. is_shown: always a column; the others where rows differ in them.
-- frees: naming the coordinate lets runs differ in these settings. A key by its whole name is this
--   coordinate and no setting beside it.
WITH
coordinate(at, name, type, is_protected, of_training, is_shown, frees) AS (VALUES
  (0, 'scale', 't', 1, 0, 1, 'data.*'),
  (1, 'dataset', 't', 1, 0, 1, 'data.*'),
  (2, 'corpus', 't', 1, 0, 0, 'data.*'),
  (3, 'model', 't', 0, 1, 1, 'model.*'),
  (4, 'position', 't', 0, 1, 1, 'model.position'),
  (5, 'L_train', 'i', 0, 1, 1, 'train.L'),
  (6, 'L_valid', 'i', 0, 0, 1, 'eval.L'),
  (7, 'split', 't', 1, 0, 1, 'eval.split'),
  (8, 'protocol', 't', 1, 0, 1, 'eval.window'),
  (9, 'stride', 'i', 1, 0, 1, 'eval.stride'),
  (10, 'first_window', 't', 1, 0, 0, NULL),
  (11, 'precision', 't', 1, 0, 0, 'eval.precision'),
  (12, 'checkpoint', 't', 1, 0, 0, 'eval.checkpoint'),
  (13, 'targets', 'i', 1, 0, 0, 'eval.targets'),
  (14, 'seed', 'i', 0, 1, 1, 'train.seed'),
  (15, 'modified', 'i', 0, 1, 0, NULL),
  (16, 'origin', 't', 0, 1, 0, NULL))

-- @ asked_sql
-- by_id: the parts that are ids; of_evaluation: the id of an evaluation, not only of a training.
-- free: the coordinates in which the sides may differ, because a filter names them, or an id fixes
--   them. The id of a training fixes its settings, and so does the name of a pretrained model; the
--   id of an evaluation also fixes L_valid. A
--   setting makes a run modified, so that a filter that names one frees `modified`.
-- valued: a row for each evaluation and part of a filter, with the evaluation's value.
,
asked AS MATERIALIZED (
  SELECT c0 AS side, c1 AS at, c2 AS name, c3 AS wanted FROM report_asked),
evaluation AS NOT MATERIALIZED (
  SELECT scale, dataset, corpus, model, position, L_train_nominal AS L_train,
    L_valid_nominal AS L_valid, split, protocol, stride, first_window, precision, checkpoint,
    targets, seed, modified, origin, perplexity, run_id, train_run_id, settings AS way,
    coalesce(tokenizer_sha256, '') AS tokenizer, bits_per_byte,
    printf('%d bytes, %d words, %d documents', bytes, words, documents) AS text,
    coalesce(tokenizer || ' ' || substr(tokenizer_sha256, 1, 12), 'dict.txt') AS tokenizer_name
  FROM evaluations),
valued AS NOT MATERIALIZED (
  SELECT f.*, e.run_id, CASE f.name WHEN 'scale' THEN scale WHEN 'dataset' THEN dataset
    WHEN 'corpus' THEN corpus WHEN 'model' THEN model WHEN 'position' THEN position
    WHEN 'L_train' THEN L_train WHEN 'L_valid' THEN L_valid WHEN 'split' THEN split
    WHEN 'protocol' THEN protocol WHEN 'stride' THEN stride
    WHEN 'first_window' THEN first_window WHEN 'precision' THEN precision
    WHEN 'checkpoint' THEN checkpoint WHEN 'targets' THEN targets WHEN 'seed' THEN seed
    WHEN 'modified' THEN modified WHEN 'origin' THEN origin
    WHEN 'run' THEN CASE 1 WHEN instr(e.run_id, wanted) THEN wanted
      WHEN instr(e.train_run_id, wanted) THEN wanted END
    ELSE coalesce((SELECT s.value FROM run_settings s WHERE s.key = f.name AND s.run_id
        = CASE WHEN f.name GLOB 'eval.*' THEN e.run_id ELSE e.train_run_id END),
      (SELECT k.c1 FROM report_keys k WHERE k.c0 = f.name AND k.c2)) END AS value
  FROM evaluation e CROSS JOIN asked f),
by_id AS MATERIALIZED (
  SELECT EXISTS (SELECT 1 FROM results v WHERE v.current = 1 AND v.kind = 'eval'
    AND v.run_id >= wanted AND v.run_id < wanted || 'g') AS of_evaluation
  FROM asked WHERE name = 'run'),
free(name) AS MATERIALIZED (
  SELECT name FROM asked
  UNION SELECT 'modified' FROM asked WHERE name GLOB '*.*'
  UNION SELECT name FROM by_id, coordinate WHERE of_training
  UNION SELECT 'L_valid' FROM by_id WHERE of_evaluation
  UNION SELECT name FROM coordinate WHERE of_training
    AND EXISTS (SELECT 1 FROM asked WHERE name = 'model')
    AND NOT EXISTS (SELECT 1 FROM evaluation e JOIN asked f ON f.name = 'model'
      AND f.wanted = e.model WHERE e.origin <> 'pretrained'))

-- @ unmet_sql
-- The first part of the filter of :side that no evaluation meets, with the values that there are.
SELECT name, wanted, known FROM (
  SELECT f.*, (
    SELECT group_concat(v, ', ') || CASE count(*) WHEN 12 THEN ', …' ELSE '' END FROM (
      SELECT DISTINCT CAST(value AS TEXT) AS v FROM valued k
      WHERE k.side = f.side AND k.at = f.at AND value NOT NULL ORDER BY value LIMIT 12)) AS known
  FROM asked f
  WHERE side = :side AND name <> 'run' AND NOT EXISTS (
    SELECT 1 FROM valued v WHERE v.side = f.side AND v.at = f.at AND v.value = f.wanted))
WHERE known NOT NULL ORDER BY at LIMIT 1

-- @ chosen_sql
-- The evaluations of each side, which meet every part of its filter, in order.
-- trained, way: what names a training's settings but for its seed, and an evaluation's own. kind: what
--   names a protocol. pair: what names the coordinates that must agree but are not protected.
,
picked AS MATERIALIZED (
  SELECT side, run_id FROM valued v WHERE value = wanted GROUP BY side, run_id
  HAVING count(*) = (SELECT count(*) FROM asked f WHERE f.side = v.side)),
evaluated AS MATERIALIZED (
  SELECT e.*, side, (SELECT t.config_id || ' ' || (
      SELECT count(*) FROM run_settings s WHERE s.run_id = t.run_id)
    FROM runs t WHERE t.run_id = e.train_run_id) AS trained
  FROM evaluation e CROSS JOIN (SELECT DISTINCT side FROM asked) s
  WHERE (s.side, e.run_id) IN (SELECT side, run_id FROM picked))
SELECT *, printf('%Q %Q %Q %Q %Q %Q %Q %Q %Q %Q %Q', scale, dataset, corpus, split, protocol,
    stride, first_window, precision, checkpoint, targets, tokenizer) AS kind,
  printf('%Q %Q %Q %Q %Q %Q %Q', CASE WHEN 'model' NOT IN free THEN model END,
    CASE WHEN 'position' NOT IN free THEN position END,
    CASE WHEN 'L_train' NOT IN free THEN L_train END,
    CASE WHEN 'L_valid' NOT IN free THEN L_valid END,
    CASE WHEN 'seed' NOT IN free THEN seed END,
    CASE WHEN 'modified' NOT IN free THEN modified END,
    CASE WHEN 'origin' NOT IN free THEN origin END) AS pair
FROM evaluated
ORDER BY side, scale, dataset, split, protocol, position, L_train, L_valid, way, seed, run_id

-- @ pairs_sql
-- nth: the row, from 1.
-- subject: one training represents those of a configuration and a number of keys, because they
--   differ in the seed alone; an older program's lack the keys that are newer. One evaluation
--   represents those that evaluate in the same way, whose column `settings` is the same.
-- kept: the settings of subjects that are not coordinates. varying: those in which they differ.
,
chosen(scale, dataset, corpus, model, position, L_train, L_valid, split, protocol, stride,
  first_window, precision, checkpoint, targets, seed, modified, origin, perplexity, run_id,
  train_run_id, way, tokenizer, bits_per_byte, text, tokenizer_name, side, trained, kind, pair,
  nth) AS (SELECT *, rowid FROM report_chosen),
a AS (SELECT * FROM chosen WHERE side = 'a'),
b AS (SELECT * FROM chosen WHERE side = 'b'),
neutral AS (
  SELECT c0 AS key, c1 AS value, c2 AS universal FROM report_keys
  WHERE c0 NOT IN (SELECT frees FROM coordinate WHERE frees NOT NULL)),
subject AS MATERIALIZED (
  SELECT trained AS id, min(train_run_id) AS run_id, 0 AS of_evaluation, tokenizer
  FROM chosen GROUP BY trained
  UNION ALL SELECT way, min(run_id), 1, '' FROM chosen GROUP BY way),
kept AS MATERIALIZED (
  SELECT o.id, s.key, s.value, o.tokenizer FROM subject o JOIN run_settings s USING (run_id)
  WHERE o.of_evaluation = (s.key GLOB 'eval.*') AND s.key NOT IN ('kind', 'scale', 'meaning',
    'model.name', 'data.dataset', 'data.corpus', 'eval.train_run')
  AND s.key NOT IN (SELECT frees FROM coordinate WHERE frees NOT NULL)
  UNION ALL
  SELECT o.id, n.key, n.value, o.tokenizer FROM subject o JOIN neutral n ON n.universal
  WHERE o.of_evaluation AND NOT EXISTS (
    SELECT 1 FROM run_settings s WHERE s.run_id = o.run_id AND s.key = n.key)),
varying AS MATERIALIZED (
  SELECT key, key GLOB 'eval.*' AS of_evaluation FROM kept
  GROUP BY key HAVING count(DISTINCT value) > 1 ORDER BY key),
-- other_cut: the protocols of one text, cut by two tokenizers. Its name and the settings of its ids
--   may differ; bits per byte are then compared.
other_cut AS MATERIALIZED (
  SELECT DISTINCT x.kind AS x, y.kind AS y FROM chosen x JOIN chosen y
    ON y.side <> x.side AND y.tokenizer <> x.tokenizer AND y.text = x.text
  WHERE x.bits_per_byte NOT NULL AND y.bits_per_byte NOT NULL),
-- unlike, apart: the first protected coordinate in which two protocols differ, and the first setting
--   that two trainings, or two evaluations, both have, in which they differ and which nothing frees.
--   The id of a training frees the training's settings; the id of an evaluation also its own.
protected AS MATERIALIZED (
  SELECT k.kind, c.at, c.name, CASE c.name WHEN 'scale' THEN scale WHEN 'dataset' THEN dataset
    WHEN 'corpus' THEN corpus WHEN 'split' THEN split WHEN 'protocol' THEN protocol
    WHEN 'stride' THEN stride WHEN 'first_window' THEN first_window
    WHEN 'precision' THEN precision WHEN 'checkpoint' THEN checkpoint ELSE targets END AS value
  FROM (SELECT *, min(run_id) FROM chosen GROUP BY kind) k JOIN coordinate c ON c.is_protected),
unlike AS MATERIALIZED (
  SELECT x.kind AS x, y.kind AS y, min(x.at) AS at, x.name, x.value AS of_a, y.value AS of_b
  FROM protected x JOIN protected y ON y.at = x.at AND y.value IS NOT x.value
  WHERE x.name NOT IN ('dataset', 'corpus') OR (x.kind, y.kind) NOT IN (SELECT x, y FROM other_cut)
  GROUP BY 1, 2),
bound AS MATERIALIZED (
  SELECT * FROM kept WHERE key IN (
    SELECT key FROM varying v
    WHERE NOT EXISTS (SELECT 1 FROM free f LEFT JOIN coordinate c USING (name)
      WHERE v.key = f.name OR v.key GLOB c.frees)
    AND NOT EXISTS (
      SELECT 1 FROM by_id i
      WHERE v.key NOT GLOB 'data.*' AND (i.of_evaluation OR v.key NOT GLOB 'eval.*')))),
apart AS MATERIALIZED (
  SELECT x.id AS x, y.id AS y, min(x.key) AS key, x.value AS of_a, y.value AS of_b
  FROM bound x JOIN bound y ON y.key = x.key AND y.value <> x.value
  WHERE x.key NOT GLOB 'data.*' OR x.tokenizer = y.tokenizer GROUP BY 1, 2),
-- near: the pairs that agree in all coordinates that are not protected, and what keeps them apart.
-- nearest_b, nearest_a: of each evaluation, the pair that agrees in most, one that nothing keeps
--   apart before all others.
-- shown: the pairs that nothing keeps apart, then the rest of a and of b, with the reason.
near AS MATERIALIZED (
  SELECT a.nth AS a, b.nth AS b, coalesce(u.name, t.key, w.key) AS name,
    CASE WHEN u.name NOT NULL THEN u.of_a ELSE coalesce(t.of_a, w.of_a) END AS of_a,
    CASE WHEN u.name NOT NULL THEN u.of_b ELSE coalesce(t.of_b, w.of_b) END AS of_b,
    coalesce(u.at, 17) AS agree_n,
    CASE WHEN a.tokenizer <> b.tokenizer THEN '; their tokenizers differ (' || a.tokenizer_name
      || ', ' || b.tokenizer_name || '): compare bits per byte of one whole split' ELSE '' END AS cut
  FROM a JOIN b ON b.pair = a.pair
  LEFT JOIN unlike u ON u.x = a.kind AND u.y = b.kind
  LEFT JOIN apart t ON t.x = a.trained AND t.y = b.trained
  LEFT JOIN apart w ON w.x = a.way AND w.y = b.way),
nearest_b AS (
  SELECT a, name, of_a, of_b, cut, max((name IS NULL) * 1e12 + agree_n * 1e9 - b)
  FROM near GROUP BY a),
nearest_a AS (
  SELECT b, name, of_a, of_b, cut, max((name IS NULL) * 1e12 + agree_n * 1e9 - a)
  FROM near GROUP BY b),
shown AS (
  SELECT 0 AS part, a, b, NULL AS note FROM near WHERE name IS NULL
  UNION ALL
  SELECT 1, a.nth, NULL, CASE WHEN n.a IS NULL THEN 'B has no such evaluation'
    ELSE 'not compared: B has ' || name || ' ' || coalesce(of_b, 'none') || ', this one '
      || coalesce(of_a, 'none') || cut END
  FROM a LEFT JOIN nearest_b n ON n.a = a.nth WHERE n.a IS NULL OR name NOT NULL
  UNION ALL
  SELECT 2, NULL, b.nth, CASE WHEN n.b IS NULL THEN 'A has no such evaluation'
    ELSE 'not compared: A has ' || name || ' ' || coalesce(of_a, 'none') || ', this one '
      || coalesce(of_b, 'none') || cut END
  FROM b LEFT JOIN nearest_a n ON n.b = b.nth WHERE n.b IS NULL OR name NOT NULL),
listed AS (SELECT *, row_number() OVER (ORDER BY part, a, b) AS row FROM shown)
-- A row of the answer. a, b: the places of its evaluations. settings: "train.lr=0.25|0.5
-- model.heads=4": A and B, or one value where they agree; without keys that have their neutral value
-- in both. alike: the first row of the same protocol.
SELECT l.a, l.b, (
    SELECT group_concat(v.key || '=' || coalesce(x.value || CASE WHEN x.value <> y.value
      THEN '|' || y.value ELSE '' END, y.value), ' ')
    FROM varying v
    LEFT JOIN kept x
      ON x.key = v.key AND x.id = CASE WHEN v.of_evaluation THEN a.way ELSE a.trained END
    LEFT JOIN kept y
      ON y.key = v.key AND y.id = CASE WHEN v.of_evaluation THEN b.way ELSE b.trained END
    LEFT JOIN neutral n ON n.key = v.key
    WHERE coalesce(x.value, n.value) IS NOT n.value OR coalesce(y.value, n.value) IS NOT n.value)
    AS settings,
  CASE WHEN cut THEN NULL ELSE a.perplexity END AS A,
  CASE WHEN cut THEN NULL ELSE b.perplexity END AS B,
  CASE WHEN cut THEN NULL ELSE a.perplexity - b.perplexity END AS "A - B",
  CASE WHEN cut THEN NULL ELSE a.perplexity / b.perplexity END AS "A / B",
  a.run_id AS "run A", b.run_id AS "run B",
  coalesce(note, CASE WHEN cut THEN 'perplexities of the tokenizers '
      || a.tokenizer_name || ' and ' || b.tokenizer_name || ' are not comparable; bits per byte are'
    WHEN a.perplexity - b.perplexity IS NULL
    THEN 'a perplexity that is not finite' END) AS note,
  CASE WHEN cut THEN a.bits_per_byte END AS "bits/byte A",
  CASE WHEN cut THEN b.bits_per_byte END AS "bits/byte B",
  min(row) OVER (PARTITION BY coalesce(a.kind, b.kind)) AS alike
FROM (
  SELECT l.*, coalesce(a.tokenizer <> b.tokenizer, 0) AS cut
  FROM listed l LEFT JOIN a ON a.nth = l.a LEFT JOIN b ON b.nth = l.b) l
LEFT JOIN a ON a.nth = l.a
LEFT JOIN b ON b.nth = l.b
ORDER BY CASE WHEN :for_people THEN alike END, row LIMIT 100001

-- @ mean_sql
-- The geometric mean of A / B over the pairs of report_pairs (c0 and c1: the runs), and its standard
-- errors. Over seeds: of the means of each seed. Over targets: of the blocks that every pair has, each
-- block the mean over the pairs, because pairs that score the same text are not independent. A pair
-- whose perplexities are not comparable or not finite has no part in it.
,
pair AS MATERIALIZED (
  SELECT a.run_id AS a, b.run_id AS b, a.seed || ' ' || b.seed AS seed,
    ln(a.perplexity / b.perplexity) AS nats
  FROM report_pairs p
  JOIN evaluations a ON a.run_id = p.c0
  JOIN evaluations b ON b.run_id = p.c1
  WHERE a.perplexity > 0 AND b.perplexity > 0 AND a.tokenizer_sha256 IS b.tokenizer_sha256),
seeded AS (SELECT avg(nats) AS nats FROM pair GROUP BY seed),
block AS (
  SELECT avg(x.loss_nats - y.loss_nats) AS nats
  FROM pair p
  JOIN target_blocks x ON x.run_id = p.a
  JOIN target_blocks y ON y.run_id = p.b AND y.first = x.first AND y.last = x.last
  GROUP BY x.first, x.last HAVING count(*) = (SELECT count(*) FROM pair)),
mean AS (SELECT count(*) AS n, exp(avg(nats)) AS ratio FROM pair),
errors AS (
  SELECT count(*) AS n, sqrt(max(0, avg(nats * nats) - avg(nats) * avg(nats)) / (count(*) - 1))
    AS error, 'seeds' AS what FROM seeded
  UNION ALL
  SELECT count(*), sqrt(max(0, avg(nats * nats) - avg(nats) * avg(nats)) / (count(*) - 1)),
    'blocks of targets' FROM block)
SELECT printf('Mean A / B: %.4f over %d pair%s', ratio, m.n, CASE m.n WHEN 1 THEN '' ELSE 's' END)
  || coalesce((SELECT '; standard error '
    || group_concat(printf('%.4f over %d %s', m.ratio * error, n, what), ', ')
    FROM errors WHERE n > 1), '') || '.' AS sentence,
  ln(ratio) AS nats, (SELECT max(error) FROM errors WHERE n > 1) AS error
FROM mean m WHERE m.n > 0
