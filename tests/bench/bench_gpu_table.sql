-- bench_gpu_table.sql - the tables of a file of results, and the goals for one GPU.
--
-- bench_gpu_table.c loads the file into raw (number, json), one row a line, runs these statements
-- and prints the rows that they return. peak_flops(gpu, precision) is the data sheet's, FLOP/s,
-- NULL if unknown.

-- The last line of each case, in the order in which the cases first occur.
CREATE TABLE line AS
SELECT first AS place, json, json_extract(json, '$.case') AS name,
       ifnull(json_extract(json, '$.gpu'), '') AS gpu,
       ifnull(json_extract(json, '$.precision'), '') AS precision,
       ifnull(json_extract(json, '$.dropout'), 0) AS dropout,
       ifnull(json_extract(json, '$.L'), 0) AS L, json_extract(json, '$.position') AS position,
       json_extract(json, '$.median_s') AS median_s, json_extract(json, '$.wps') AS wps,
       json_extract(json, '$.high_s') - json_extract(json, '$.low_s') AS spread_s,
       json_extract(json, '$.tflops') AS tflops, json_extract(json, '$.refused') AS refused
FROM (SELECT min(number) AS first, max(number) AS last
      FROM raw
      GROUP BY json_extract(json, '$.case'))
JOIN raw ON number = last;

-- An op of a case.
CREATE TABLE op AS
SELECT place, line.name AS in_case, precision, key, json_extract(value, '$.op') AS name,
       json_extract(value, '$.refused') AS refused, 1.0 * json_extract(value, '$.median_s') AS s,
       json_extract(value, '$.high_s') - json_extract(value, '$.low_s') AS spread_s,
       1e-9 * json_extract(value, '$.bytes') / json_extract(value, '$.median_s') AS gb_s,
       1e-12 * json_extract(value, '$.flops') / json_extract(value, '$.median_s') AS tflops
FROM line, json_each(line.json, '$.ops');

-- What the device reaches: copies in GB/s, products of a precision in TFLOP/s.
CREATE TABLE ceiling AS
SELECT replace(name, 'product ', '') AS what, iif(name = 'copy', gb_s, tflops) AS most
FROM op
WHERE in_case = 'ceilings';

-- Ops; a share is relative to the ceiling that the op is nearer to.
SELECT text
FROM (SELECT place, -1 AS key, printf('
%s on %s, %s
  %-34s %10s %8s %9s %9s %10s', name, json_extract(json, '$.device'), gpu, 'op', 'ms', 'spread',
                                      'GB/s', 'TFLOP/s', 'of ceiling') AS text
      FROM line
      WHERE json_type(json, '$.ops') IS NOT NULL
      UNION ALL
      SELECT place, key, iif(s > 0,
             printf('  %-34s %10.4f %7.1f%% %9.0f %9.1f %9.0f%%', name, 1e3 * s,
                    100.0 * spread_s / s, gb_s, tflops,
                    100.0 * max(ifnull(gb_s / copy.most, 0), ifnull(tflops / product.most, 0))),
             printf('  %-34s refused: %s', name, refused))
      FROM op
      LEFT JOIN ceiling AS copy ON copy.what = 'copy'
      LEFT JOIN ceiling AS product ON product.what = precision)
ORDER BY place, key;

-- Steps.
SELECT text
FROM (SELECT 0 AS place, printf('
%-34s %9s %7s %9s %8s %6s %8s %8s %7s', 'step', 'ms', 'spread', 'tokens/s', 'TFLOP/s', 'MFU',
                                'of prod.', 'peak GB', 'first s') AS text
      UNION ALL
      SELECT place, printf('%-34s %9.3f %6.1f%% %9.0f %8.1f %5.1f%% %7.1f%% %8.2f %7.2f', name,
                           1e3 * median_s, 100.0 * spread_s / median_s, wps, tflops,
                           ifnull(1e14 * tflops / peak_flops(gpu, precision), 0),
                           ifnull(100.0 * tflops / most, 0),
                           1e-9 * json_extract(json, '$.peak_memory_bytes'),
                           json_extract(json, '$.first_step_s'))
      FROM line LEFT JOIN ceiling ON what = precision
      WHERE wps > 0)
ORDER BY place;

-- For each case of ALiBi those that differ from it only in the position method.
CREATE TABLE rival AS
SELECT a.place, a.name, a.L, a.dropout, a.precision, b.position, b.wps
FROM line AS a
JOIN line AS b ON substr(a.name, 1, 4) = substr(b.name, 1, 4) AND a.precision = b.precision
     AND a.dropout = b.dropout AND a.L = b.L AND b.wps > 0
WHERE a.position = 'alibi' AND a.wps > 0;

SELECT '
position tax: the slowest method''s speed over the fastest''s';

SELECT printf('  %-5.5s L %4.0f %s %s  %.3f  (%s / %s)', name, L,
              iif(dropout, 'dropout', 'plain  '), precision, slow.wps / fast.wps,
              slow.position, fast.position)
FROM (SELECT *, min(wps) AS wps FROM rival GROUP BY place HAVING count(*) >= 4) AS slow
JOIN (SELECT place, position, max(wps) AS wps FROM rival GROUP BY place) AS fast USING (place)
ORDER BY place;

-- What attention skips.
CREATE TABLE skip AS
SELECT place, name, json_extract(json, '$.live_share') AS live_share,
       json_extract(json, '$.skipping_s') AS s, json_extract(json, '$.dense_s') AS dense_s,
       json_extract(json, '$.most_nats') AS most_nats,
       json_extract(json, '$.trained') AS trained
FROM line
WHERE json_extract(json, '$.skipping_s') > 0;

SELECT printf('
%-34s %9s %9s %9s %9s  %s', 'what ALiBi leaves out', 'live', 'ms', 'dense ms', 'NLL off', 'weights')
WHERE EXISTS (SELECT 1 FROM skip);

SELECT printf('%-34s %8.1f%% %9.3f %9.3f %9.2g  %s', name, 100.0 * live_share, 1e3 * s,
              1e3 * dense_s, most_nats, ifnull(nullif(trained, ''), 'initial'))
FROM skip
ORDER BY place;

-- What graphs cost in updates of different batches.
SELECT printf('
%-34s %d updates: %d graphs captured, %d evicted, %d passes without a graph; %.3f ms an update', name,
              json_extract(json, '$.updates'), json_extract(json, '$.graphs_captured'),
              json_extract(json, '$.graphs_evicted'), json_extract(json, '$.direct_passes'),
              1e3 * json_extract(json, '$.update_s'))
FROM line
WHERE json_extract(json, '$.graphs_captured') >= 0
ORDER BY place;

-- Comparisons with PyTorch.
CREATE TABLE peer AS
SELECT place, name, 1.0 * json_extract(json, '$.ours_median_s') AS ours,
       json_extract(json, '$.torch_median_s') AS theirs,
       json_extract(json, '$.ours_peak_bytes') AS ours_bytes,
       json_extract(json, '$.torch_peak_bytes') AS theirs_bytes,
       json_extract(json, '$.torch') AS torch, json_extract(json, '$.way') AS way
FROM line
WHERE json_extract(json, '$.ours_median_s') > 0 AND json_extract(json, '$.torch_median_s') > 0;

SELECT printf('
%-34s %9s %9s %7s %9s %9s  %s', 'compared with PyTorch', 'ours ms', 'torch ms', 'faster', 'ours GB',
              'torch GB', 'PyTorch, its best way')
WHERE EXISTS (SELECT 1 FROM peer);

SELECT printf('%-34s %9.3f %9.3f %6.2fx %9.2f %9.2f  %s, %s', name, 1e3 * ours, 1e3 * theirs,
              theirs / ours, 1e-9 * ours_bytes, 1e-9 * theirs_bytes, torch, way)
FROM peer
ORDER BY place;

-- The goals for one GPU.
--
-- 1. A goal has one number for each of its cases, a method at a length (NULL: every method, at 512,
--    1024 and 3072): key of the case, times scale, divided by by_key of by_case (NULL: the same
--    case) if there is one. In the names of cases @ is the method and # the length.
-- 2. The worst of these numbers counts. If some cases were not measured, the others are judged and
--    their number is printed. spread: the number is the ratio of the lowest to the highest of the
--    methods of each length, or of all cases.
-- 3. The threshold is the lowest accepted number (>=) or the highest (<=).
-- 4. Speed goals are set for an H200, whose peak is 989.5 TFLOP/s of bf16 products. On another GPU
--    the threshold is multiplied by the ratio of the peaks (speed) or divided by it (time); a share
--    is of its peak. A GPU without a known peak has none.
CREATE TABLE goal (id, what, unit, side, accept, methods, lengths, in_case, key, by_key, by_case,
                   scale, spread, of_peak);

INSERT INTO goal
VALUES
('G1', 'training, ALiBi, L 1024: MFU', '%', '>=', 50, 'alibi', '1024',
    'train-@-#-bf16', 'tflops', NULL, NULL, 1e14, NULL, 'share'),
('G2', 'the paper''s update of 73,728 tokens: MFU', '%', '>=', 55, 'alibi', '1024',
    'update-@-#-bf16', 'tflops', NULL, NULL, 1e14, NULL, 'share'),
('G3', 'training, ALiBi and sinusoidal, over PyTorch', 'x', '>=', 1.25, 'alibi sinusoidal', NULL,
    'peer-train-@-#-bf16', 'torch_median_s', 'ours_median_s', NULL, 1, NULL, NULL),
('G4', 'with dropout, ALiBi, L 1024, over PyTorch', 'x', '>=', 1.5, 'alibi', '1024',
    'peer-train-@-#-drop-bf16', 'torch_median_s', 'ours_median_s', NULL, 1, NULL, NULL),
('G4', 'with dropout, ALiBi, L 3072, over PyTorch', 'x', '>=', 2, 'alibi', '3072',
    'peer-train-@-#-drop-bf16', 'torch_median_s', 'ours_median_s', NULL, 1, NULL, NULL),
('G4', 'a step with dropout over one without', '', '<=', 1.03, NULL, NULL,
    'train-@-#-drop-bf16', 'median_s', 'median_s', 'train-@-#-bf16', 1, NULL, NULL),
('G5', 'training: slowest method over fastest', '', '>=', 0.97, NULL, NULL,
    'train-@-#-bf16', 'wps', NULL, NULL, 1, 'methods', NULL),
('G6', 'training, T5, L 1024, over PyTorch', 'x', '>=', 1.5, 't5', '1024',
    'peer-train-@-#-bf16', 'torch_median_s', 'ours_median_s', NULL, 1, NULL, NULL),
('G6', 'training, T5, L 3072, over PyTorch', 'x', '>=', 2, 't5', '3072',
    'peer-train-@-#-bf16', 'torch_median_s', 'ours_median_s', NULL, 1, NULL, NULL),
('G7', 'training, L 3072: ALiBi over sinusoidal', '', '>=', 1.02, 'alibi', '3072',
    'train-@-#-bf16', 'wps', 'wps', 'train-sinusoidal-#-bf16', 1, NULL, NULL),
('G8', 'training, ALiBi: L 3072 over L 512', '', '>=', 0.82, 'alibi', '3072',
    'train-@-#-bf16', 'wps', 'wps', 'train-@-512-bf16', 1, NULL, NULL),
('G10', 'the same updates twice: what differs', '', '<=', 0, NULL, '1024',
    'repeat-@-#-drop-bf16', 'differ', NULL, NULL, 1, NULL, NULL),
('G12', 'host before the device begins a step', 'us', '<=', 100, NULL, NULL,
    'train-@-#-bf16', 'queue_s', NULL, NULL, 1e6, NULL, NULL),
('E1', 'evaluation, ALiBi, L 1024: tokens/s', '', '>=', 1.05e6, 'alibi', '1024',
    'eval-@-#-bf16', 'wps', NULL, NULL, 1, NULL, 'speed'),
('E2', 'evaluation, ALiBi: L 16384 over L 1024', '', '>=', 0.65, 'alibi', '16384',
    'eval-@-#-bf16', 'wps', 'wps', 'eval-@-1024-bf16', 1, NULL, NULL),
('E3', 'evaluation, T5, L 3072, over the paper''s', 'x', '>=', 180, 't5', '3072',
    'eval-@-#-bf16', 'wps', NULL, NULL, 1 / 4.9e3, NULL, 'speed'),
('E4', 'one window at a time, over PyTorch', 'x', '>=', 2, NULL, '512 3072',
    'peer-eval1-@-#-bf16', 'torch_median_s', 'ours_median_s', NULL, 1, NULL, NULL),
('E5', 'stride 1, L 3072, the whole validation set', 's', '<=', 800, 'alibi', '3072',
    'sliding-@-#-bf16', 'longest_target_s', NULL, NULL, 217646, NULL, 'time'),
('E6', 'Tables 13 to 15 in shared passes over apart', '', '<=', 0.6, 'alibi', '3072',
    'sliding-@-#-bf16', 'tables_together_s', 'tables_apart_s', NULL, 1, NULL, NULL),
('E7', 'scores of shared passes that differ', '', '<=', 0, 'alibi', '3072',
    'sliding-@-#-bf16', 'differ', NULL, NULL, 1, NULL, NULL),
('E9', 'NLL changed by what ALiBi leaves out', '', '<=', 1e-6, 'alibi', '1024 3072 16384',
    'skip-@-#-bf16', 'most_nats', NULL, NULL, 1, NULL, NULL),
('M1', 'peak memory of a training', 'GB', '<=', 8.5, NULL, NULL,
    'train-@-#-bf16', 'peak_memory_bytes', NULL, NULL, 1e-9, NULL, NULL),
('M1', 'the same, lowest over highest', '', '>=', 0.98, NULL, NULL,
    'train-@-#-bf16', 'peak_memory_bytes', NULL, NULL, 1, 'all', NULL),
('M3', 'peak memory over PyTorch''s', '', '<=', 0.6, NULL, NULL,
    'peer-train-@-#-bf16', 'ours_peak_bytes', 'torch_peak_bytes', NULL, 1, NULL, NULL),
('M4', 'planned memory off the driver''s', '%', '<=', 3, NULL, NULL,
    'train-@-#-bf16', 'planned_off', NULL, NULL, 100, NULL, NULL),
('S1', 'from exec to the first update, L 1024', 's', '<=', 1.5, 'alibi', '1024',
    'train-@-#-bf16', 'first_step_s', NULL, NULL, 1, NULL, NULL),
('S6', 'a training waits for a checkpoint', 's', '<=', 0.2, 'alibi', '1024',
    'checkpoint-@-#-bf16', 'pause_s', NULL, NULL, 1, NULL, NULL);

CREATE TABLE gpu AS
SELECT name, peak_flops(name, 'bf16') AS peak
FROM (SELECT ifnull((SELECT gpu FROM line WHERE gpu <> '' ORDER BY place LIMIT 1), 'H200') AS name);

DELETE FROM goal WHERE of_peak IS NOT NULL AND (SELECT peak FROM gpu) IS NULL;

UPDATE goal
SET accept = accept * CASE of_peak WHEN 'speed' THEN peak / 989.5e12
                                   WHEN 'time' THEN 989.5e12 / peak ELSE 1 END,
    scale = scale / iif(of_peak = 'share', peak, 1.0)
FROM gpu;

-- The numbers of the cases; those of the tiny model do not count.
CREATE TABLE number AS
SELECT line.name, key, value
FROM line, json_each(line.json)
WHERE type IN ('integer', 'real') AND NOT ifnull(json_extract(line.json, '$.tiny'), 0);

-- A number of a goal, or NULL.
CREATE TABLE found AS
SELECT goal.rowid AS goal, method, length,
       scale * a.value / iif(by_key IS NULL, 1.0, b.value) AS value
FROM goal
JOIN (SELECT 'alibi' AS method UNION SELECT 'sinusoidal' UNION SELECT 'rotary' UNION SELECT 't5')
  ON instr(ifnull(methods, 'alibi sinusoidal rotary t5'), method)
JOIN (SELECT '512' AS length UNION SELECT '1024' UNION SELECT '3072' UNION SELECT '16384')
  ON instr(ifnull(lengths, '512 1024 3072'), length)
LEFT JOIN number AS a
  ON a.key = goal.key AND a.name = replace(replace(in_case, '@', method), '#', length)
LEFT JOIN number AS b
  ON b.key = by_key
     AND b.name = replace(replace(ifnull(by_case, in_case), '@', method), '#', length);

-- The ratios of goals that have a spread, and the other numbers; NULL where fewer than two or none
-- were measured.
CREATE TABLE judged AS
SELECT goal, CASE WHEN spread IS NULL THEN max(value)
                  WHEN count(value) > 1 THEN min(value) / max(value) END AS value,
       count(value) AS n, count(*) AS cases_n
FROM found JOIN goal ON goal.rowid = goal
GROUP BY goal, CASE spread WHEN 'all' THEN '' WHEN 'methods' THEN length ELSE length || method END;

SELECT printf('
goals of one %s, the worst of the cases of each
%-4s %-48s %13s %12s', iif(peak IS NULL, 'GPU whose peak is unknown: none of speed', name), '', '',
              'accepted', 'measured')
FROM gpu;

SELECT printf('%-4s %-48s %s %7.4g %-2s ', id, what, side, accept, unit) || CASE
       WHEN worst IS NULL THEN printf('%9s    not measured', '-')
       ELSE printf('%9.4g %-2s ', worst, unit) || CASE
            WHEN iif(side = '>=', worst >= accept, worst <= accept) THEN 'met'
            WHEN accept = 0 THEN printf('missed by %.3g', worst)
            ELSE printf('missed by %.3g %%', 100.0 * abs(worst / accept - 1.0)) END
            || iif(measured_n < all_n, printf(', %d of %d cases', measured_n, all_n), '') END
FROM (SELECT goal.rowid AS place, *, iif(side = '>=', min(value), max(value)) AS worst,
             sum(iif(value IS NULL, 0, n)) AS measured_n, sum(cases_n) AS all_n
      FROM judged JOIN goal ON goal.rowid = goal
      GROUP BY goal)
ORDER BY place;

-- What was refused.
SELECT printf('%-34s refused: %s', name, refused)
FROM line
WHERE refused <> ''
ORDER BY place;
