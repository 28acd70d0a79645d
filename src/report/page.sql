-- page.sql - the claims, the provenance and the runs of the page. "-- @ NAME" begins a part.
-- The first character of a column's name tells report_rows_arrange what to do with the column: > and <
-- align it to the right and left, ? leaves it out if all its values are the same and ~ if it has none,
-- and # sets a field (the verdict, the markup, ...) of the cells in the column before it.

-- @ claims_sql
,
badge AS (
  SELECT first_row, '<span class="badge '
    || CASE verdict_n WHEN 4 THEN 'yes' WHEN 1 THEN 'no' ELSE 'open' END || '">' || verdict
    || '</span>'
    || CASE WHEN count(*) < all_n THEN ' ' || group_concat(folder, ' ') ELSE '' END AS badge
  FROM (SELECT * FROM shared ORDER BY "#row") GROUP BY first_row, verdict_n
  ORDER BY first_row, verdict_n)
SELECT '' AS artefact, group_concat(folder, ' ') AS "#markup", claim AS "<claim",
  scale AS "<scale", '' AS verdict,
  (SELECT group_concat(badge, ' ') FROM badge b WHERE b.first_row = s.first_row) AS "#markup",
  statement || CASE min(verdict_n) WHEN 3 THEN ' N' || substr(note, 2) || '.' ELSE '' END
    AS "<statement", '' AS "#wide"
FROM (SELECT * FROM shared ORDER BY "#row") s GROUP BY first_row ORDER BY first_row

-- @ counts_sql
-- One row: how many claims about runs hold, of how many, what became of the rest (for the page's first
-- sentence), and all of it in words.
SELECT sum(own AND verdict = 'supported') AS supported, sum(own) AS claims_n,
  CASE sum(own AND verdict = 'contradicted') WHEN 0 THEN 'none is contradicted'
    WHEN 1 THEN '1 is contradicted'
    ELSE printf('%d are contradicted', sum(own AND verdict = 'contradicted')) END
    || CASE sum(own AND verdict = 'mixed') WHEN 0 THEN ''
      ELSE printf(', %d mixed', sum(own AND verdict = 'mixed')) END
    || CASE sum(own AND verdict = 'not run') WHEN 0 THEN '' WHEN 1 THEN ', 1 was not run'
      ELSE printf(', %d were not run', sum(own AND verdict = 'not run')) END
    || CASE sum(own AND verdict = 'not judged') WHEN 0 THEN ''
      ELSE printf(', %d cannot be judged at this scale', sum(own AND verdict = 'not judged')) END
    || coalesce('; ' || group_concat(claim || ' holds' || share, ', ') FILTER (WHERE share <> ''), '')
    AS rest,
  printf('%d supported, ', sum(own AND verdict = 'supported'))
    || CASE sum(own AND verdict = 'mixed') WHEN 0 THEN ''
      ELSE printf('%d mixed, ', sum(own AND verdict = 'mixed')) END
    || printf('%d contradicted, %d not run, %d not judged at their scale; and %d of %d about the'
      || ' paper''s own numbers alone supported.', sum(own AND verdict = 'contradicted'),
      sum(own AND verdict = 'not run'), sum(own AND verdict = 'not judged'),
      sum(NOT own AND verdict = 'supported'), sum(NOT own))
    AS sentence
FROM once

-- @ runs_sql
-- The runs that the artefacts ask for, and the attempt whose result is shown; machine numbers what
-- they ran on from 1.
WITH
kinds(kind, many, title, heading) AS (
  VALUES ('train', 'trainings', 'Trainings: ', '>last loss (nats)'),
    ('eval', 'evaluations', 'Evaluations: ', '>perplexity'),
    ('bench', 'benchmarks', 'Benchmarks: ', '>words/s')),
wanted AS (
  SELECT DISTINCT r.run_id FROM artefact_points p
  JOIN run_list e ON e.run_id = p.run_id
  JOIN run_list r ON r.run_id IN (e.run_id, e.train_run_id)
  WHERE instr(:items, '|' || p.artefact || ' ' || p.scale || '|')),
made AS (
  SELECT a.run_id, a.attempt, a.device, a.backend, a.blas, a.threads, a.ranks, a.code_id, a.ended_at,
    dense_rank() OVER (ORDER BY a.device, a.backend, a.blas, a.threads, a.ranks) AS machine
  FROM wanted w JOIN attempts a ON a.run_id = w.run_id WHERE a.current_result = 1)

-- @ subject_sql
-- The runs that are done.
SELECT count(*) AS n, min(r.parameters) AS low, max(r.parameters) AS high,
  replace(group_concat(DISTINCT r.scale), ',', ', ') AS scales
FROM made JOIN runs r USING (run_id)

-- @ texts_sql
-- Their texts: the datasets, or that it is generated.
SELECT DISTINCT CASE WHEN r.corpus LIKE 'synthetic-%' THEN 'synthetic text' ELSE r.dataset END AS text
FROM made JOIN runs r USING (run_id) WHERE r.corpus IS NOT NULL ORDER BY 1

-- @ results_sql
-- The artefacts that have a result; trainings alone fill no table.
SELECT DISTINCT p.artefact, p.scale FROM artefact_points p JOIN run_list r USING (run_id)
WHERE instr(:items, '|' || p.artefact || ' ' || p.scale || '|') AND r.kind <> 'train'
  AND r.state = 'done'

-- @ made_sql
SELECT r.scale, k.many AS what, r.dataset, r.model, count(*) AS "asked for",
  sum(r.state = 'done') AS done, group_concat(DISTINCT r.seed) AS seeds,
  group_concat(DISTINCT m.code_id) AS code, min(m.ended_at) AS oldest, max(m.ended_at) AS newest,
  CASE max(r.modified) WHEN 1 THEN 'modified' ELSE 'as written' END AS settings
FROM wanted w JOIN run_list r USING (run_id) JOIN kinds k USING (kind)
LEFT JOIN made m ON m.run_id = w.run_id
GROUP BY r.scale, r.dataset, r.model, r.kind ORDER BY r.scale, r.dataset, r.model, r.kind DESC

-- @ machines_sql
SELECT 'm-' || machine AS machine, 'm-' || machine AS "#id", backend AS "<backend",
  device AS "<device", blas AS "<BLAS", threads,
  CASE WHEN max(ranks) OVER () > 1 THEN ranks END AS "~ranks", count(*) AS runs
FROM made GROUP BY machine, backend, device, blas, threads, ranks ORDER BY machine

-- @ list_sql
-- drawn: the curves of each training, a polyline of each split in a box of 300 by 60: the mean of
-- each hundredth of the updates, and in words the losses and updates it begins and ends with. The
-- box is as high as what follows the first twentieth, whose fall would flatten the rest.
,
sized AS (
  SELECT run_id, max(step) AS steps FROM wanted JOIN curves USING (run_id)
  WHERE loss_nats IS NOT NULL GROUP BY run_id),
losses AS MATERIALIZED (
  SELECT c.run_id, c.split, c.step, c.loss_nats AS loss, s.steps, min(c.loss_nats) OVER run AS low,
    max(CASE WHEN c.step * 20 >= s.steps THEN c.loss_nats END) OVER run AS high
  FROM sized s JOIN curves c USING (run_id) WHERE c.loss_nats IS NOT NULL
  WINDOW run AS (PARTITION BY c.run_id)),
points AS (
  SELECT run_id, split, min(step) AS first, max(step) AS last, avg(loss) AS mean,
    printf('%.0f,%.0f', 300.0 * max(step) / steps,
      max(3, 57 - 54 * (avg(loss) - low) / max(high - low, 1e-9))) AS point
  FROM losses GROUP BY run_id, split, 100 * step / steps),
ends AS (
  SELECT *, first_value(mean) OVER curve AS of_first, last_value(mean) OVER curve AS of_last
  FROM points WINDOW curve AS (PARTITION BY run_id, split ORDER BY first
    ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)),
lines AS (
  SELECT run_id, printf('<g><title>%s loss: %.2f nats at update %d, %.2f at update %d</title>',
      CASE split WHEN 'train' THEN 'training' ELSE 'validation' END, of_first, min(first), of_last,
      max(last))
    || printf('<polyline class="%s" points="', CASE split WHEN 'train' THEN 'train' ELSE 'valid' END)
    || group_concat(point, ' ') || '"/></g>' AS line
  FROM (SELECT * FROM ends ORDER BY run_id, split, first) GROUP BY run_id, split
  ORDER BY run_id, split),
drawn AS (
  SELECT run_id, '<svg xmlns="http://www.w3.org/2000/svg" class="curve" viewBox="0 0 300 60"'
    || ' role="img">' || group_concat(line, '') || '</svg>' AS svg
  FROM lines GROUP BY run_id),
result_text AS MATERIALIZED (
  SELECT run_id, printf('%.4f', perplexity) AS result FROM wanted JOIN evaluation_results USING (run_id)
  UNION ALL
  SELECT run_id, printf('%.4f', final_loss_nats) FROM wanted JOIN trainings USING (run_id)
  UNION ALL
  SELECT run_id, printf('%.0f', wps) FROM wanted JOIN benchmarks USING (run_id)),
listed AS (
  SELECT r.*, k.*, r.config_id IS lag(r.config_id) OVER (PARTITION BY r.kind, r.dataset
      ORDER BY r.position, r.L_train, r.L_valid, r.config_id, r.seed, r.run_id) AS again,
    printf('%s, L=%d', r.position, r.L_train)
      || CASE WHEN r.L_valid AND r.kind <> 'train' THEN printf(' at %d', r.L_valid) ELSE '' END
      || CASE r.kind WHEN 'eval' THEN printf(', %s, %s', r.split, r.protocol)
        WHEN 'bench' THEN printf(', %s', r.mode) ELSE '' END
      || CASE WHEN r.kind = 'eval' AND r.protocol = 'sliding' THEN printf(' S=%d', r.stride)
        ELSE '' END
      || coalesce((SELECT ', ' || nullif(s.settings, '') FROM evaluation_settings s
        WHERE s.run_id = r.run_id), '')
      || printf(' (model %s, scale %s%s)', r.model, r.scale,
        CASE r.modified WHEN 1 THEN ', modified' ELSE '' END) AS facts
  FROM wanted w JOIN run_list r ON r.run_id = w.run_id JOIN kinds k ON k.kind = r.kind)
-- The runs, those of a kind and a dataset together: title and heading are those of their table and
-- of its results. A configuration has its specification at its first seed.
SELECT r.title || coalesce(r.dataset, '') AS title, r.heading, r.run_id AS "<run",
  'r-' || r.run_id AS "#id", CASE WHEN again THEN 'the same' ELSE facts END AS "<configuration",
  CASE WHEN NOT again THEN 'c-' || r.config_id END AS "#id",
  CASE WHEN NOT again THEN coalesce(r.spec, '') END AS "#more", r.seed AS ">seed",
  coalesce(v.result, nullif(r.state, 'none'), 'not run') AS result,
  CASE r.kind WHEN 'eval' THEN r.train_run_id END AS "~training", 'r-' || r.train_run_id AS "#link",
  CASE r.kind WHEN 'train' THEN '' END AS "~loss over updates", d.svg AS "#markup",
  m.attempt AS ">attempt", 'm-' || m.machine AS "<machine", 'm-' || m.machine AS "#link",
  m.code_id AS "<code", m.ended_at AS "<ended"
FROM listed r LEFT JOIN result_text v USING (run_id) LEFT JOIN made m USING (run_id)
LEFT JOIN drawn d USING (run_id)
ORDER BY r.kind DESC, r.dataset, r.position, r.L_train, r.L_valid, r.config_id, r.seed, r.run_id
