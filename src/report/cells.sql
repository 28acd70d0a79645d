-- cells.sql - the numbers of tables and figures. "-- @ NAME" begins a part; cells.c puts them together.
--
--   report_answer, report_numbered   the rows of query.sql or of a paper.tsv (answer.c)
--   report_row       the same by their meaning (cells.c): row, its number; part, a number for each
--                    group; the keys of table.txt, line0 to line3, head (of columns:) and group0 to
--                    group3, each with the paper's length that it stands for (line0_paper); number
--                    (of value:), extra0 to extra3, x (of the figure), style, state, compared (the
--                    metric of its cell), run, training. A column that the answer lacks is NULL
--   report_matched   the judged cell of each row
--   report_shown     the rows that are shown, with the first rows of their group, line and column
--   report_label     the labels of keys
--   report_cells     the cells
--
-- Tables begin with report_: query.sql may use any other name.

-- @ judged_sql
-- A row a cell of the view comparison: what it is, ours, the paper's, the verdict and its words.
-- report_rule has the lines verdict: of table.txt.
report_metric_order(metric, nth) AS (
  VALUES ('perplexity', 1), ('train_wps', 2), ('eval_wps', 3)),
report_compared AS (
  SELECT c.metric, coalesce(m.display, c.position) AS method, c.L_train_nominal AS L_train,
    c.L_valid_nominal AS L_valid, c.L_train_nominal, c.L_valid_nominal, c.split, c.protocol,
    c.stride, nullif(c.origin, 'trained') AS origin, c.seeds, c.ours, c.ours_std, c.paper, c.delta,
    c.state, c.device, c.device AS machine, c.config_id, c.artefact, c.scale, c.dataset, c.position,
    r.within,
    row_number() OVER (ORDER BY coalesce(o.nth, 4), c.stride DESC, coalesce(m.place, 99),
      c.position, c.L_train_nominal, c.L_valid_nominal, c.split DESC, c.device) AS cell,
    CASE WHEN r.metric IS NULL OR c.paper IS NULL THEN NULL
      WHEN c.state = 'not run' THEN 'not run'
      WHEN c.metric LIKE '%_wps' AND EXISTS (SELECT 1 FROM benchmarks b
        WHERE b.config_id = c.config_id AND b.noisy) THEN 'noisy'
      WHEN r.device IS NOT NULL AND coalesce(instr(c.device, r.device), 0) = 0 THEN 'other device'
      WHEN abs(c.ours - c.paper) <= r.near * c.paper THEN 'reproduced'
      WHEN abs(c.ours - c.paper) <= r.far * c.paper THEN 'within'
      ELSE 'not reproduced' END AS verdict
  FROM comparison c
  LEFT JOIN report_rule r ON r.metric = c.metric
  LEFT JOIN report_metric_order o ON o.metric = c.metric
  LEFT JOIN position_methods m ON m.position = c.position
  WHERE c.artefact = :artefact AND c.scale = :scale),
report_judged AS MATERIALIZED (
  SELECT *, CASE verdict WHEN 'within' THEN within
    WHEN 'other device' THEN CASE WHEN ours IS NULL THEN '–'
      ELSE printf('× %.2f on %s', ours / paper, coalesce(device, '?')) END
    WHEN 'noisy' THEN 'not judged: the machine was busy'
    ELSE verdict END AS phrase
  FROM report_compared)

-- @ counted_sql
-- All cells; beside each, how many have each verdict, and all of that in a sentence: a bound of
-- "within" is a verdict of its own.
SELECT *, count(paper) OVER () AS cells_n,
  nullif(sum(verdict = 'reproduced') OVER (), 0) AS reproduced_n,
  nullif(sum(verdict = 'within') OVER (), 0) AS within_n,
  nullif(sum(verdict = 'not reproduced') OVER (), 0) AS not_reproduced_n,
  nullif(sum(verdict = 'not run') OVER (), 0) AS not_run_n,
  nullif(sum(verdict = 'other device') OVER (), 0) AS other_device_n,
  nullif(sum(verdict = 'noisy') OVER (), 0) AS noisy_n,
  (SELECT printf('Verdicts on %d number%s of the paper: %s.', sum(n),
      CASE sum(n) WHEN 1 THEN '' ELSE 's' END, group_concat(n || ' ' || words, ', ')) FROM (
    SELECT count(*) AS n, words FROM (SELECT cell, CASE verdict WHEN 'within' THEN phrase
        WHEN 'other device' THEN 'on another device (ratio alone)'
        WHEN 'noisy' THEN 'measured on a busy machine (not judged)' ELSE verdict END AS words,
      CASE verdict WHEN 'reproduced' THEN 1 WHEN 'within' THEN 2 WHEN 'not reproduced' THEN 3
        WHEN 'other device' THEN 4 WHEN 'noisy' THEN 5 ELSE 6 END AS nth
      FROM report_judged WHERE verdict IS NOT NULL)
    GROUP BY nth, words ORDER BY nth, min(cell)) HAVING sum(n) > 0) AS sentence
FROM report_judged ORDER BY cell

-- @ matched_sql
-- The cell of each row: the one of its configuration, lengths and metric; where several devices
-- measured that, the one of the row's own.
report_matched AS MATERIALIZED (
  SELECT * FROM (
    SELECT n.row, j.*, row_number() OVER (PARTITION BY n.row
      ORDER BY j.device IS n.machine DESC, j.cell) AS pick
    FROM report_row n
    JOIN report_judged j ON j.config_id = n.config_id AND j.L_train IS n.L_train_nominal
      AND j.L_valid IS n.L_valid_nominal AND j.metric = coalesce(n.compared, :metric))
  WHERE pick = 1)

-- @ unmatched_sql
report_matched(row, phrase) AS (SELECT NULL, NULL WHERE 0)

-- @ beside_sql
-- After the columns of the answer in each row: those of its cell, and its number in the order.
m.metric AS compared, m.ours AS ours_mean, m.ours_std, m.seeds, m.paper, m.delta, m.phrase AS verdict,
  0 AS "#part", n."#row" AS "#order"
FROM report_numbered n LEFT JOIN report_matched m ON m.row = n."#row"
UNION ALL SELECT

-- @ alone_sql
-- The columns of beside_sql for the cells with a number of the paper that no row shows.
metric, ours, ours_std, seeds, paper, delta, phrase, 1, cell
FROM report_judged
WHERE paper IS NOT NULL AND EXISTS (SELECT 1 FROM report_numbered)
AND cell NOT IN (SELECT cell FROM report_matched)
ORDER BY "#part", "#order"

-- @ shown_sql
-- The rows that are in the table; grp, line and col are the first rows of its group, line, column.
report_shown AS MATERIALIZED (
  SELECT r.*, m.phrase AS verdict, min(r.row) OVER (PARTITION BY part) AS grp,
    min(r.row) OVER (PARTITION BY part, line0, line1, line2, line3) AS line,
    min(r.row) OVER (PARTITION BY part, head) AS col
  FROM report_row r LEFT JOIN report_matched m ON m.row = r.row
  WHERE :whole OR coalesce(line0, line1, line2, line3) IS NOT NULL),
-- A row a key of the first row of a group, line or column: its label, whether all of the group are
-- numbers, and the value that orders them: the number if so, else its first row.
report_key(key) AS (
  VALUES ('head'), ('line0'), ('line1'), ('line2'), ('line3'), ('group0'), ('group1'), ('group2'),
    ('group3')),
report_valued AS (
  SELECT key, row, grp, line, col, style, train_run_id,
    CASE key WHEN 'head' THEN head WHEN 'line0' THEN line0 WHEN 'line1' THEN line1
      WHEN 'line2' THEN line2 WHEN 'line3' THEN line3 WHEN 'group0' THEN group0
      WHEN 'group1' THEN group1 WHEN 'group2' THEN group2 ELSE group3 END AS own,
    CASE key WHEN 'head' THEN head_paper WHEN 'line0' THEN line0_paper
      WHEN 'line1' THEN line1_paper WHEN 'line2' THEN line2_paper WHEN 'line3' THEN line3_paper
      WHEN 'group0' THEN group0_paper WHEN 'group1' THEN group1_paper
      WHEN 'group2' THEN group2_paper ELSE group3_paper END AS paper
  FROM report_shown, report_key),
report_ranged AS (
  SELECT *, min(typeof(own) <> 'text') OVER (PARTITION BY grp, key) AS is_number,
    min(row) OVER same AS first, min(paper) OVER same AS low, max(paper) OVER same AS high
  FROM report_valued WINDOW same AS (PARTITION BY grp, key, own)),
report_label AS MATERIALIZED (
  SELECT *, CASE WHEN is_number THEN own ELSE first END AS order_of,
    CASE WHEN low IS NULL OR low = own AND high = own THEN own
      ELSE own || printf(CASE WHEN low = high THEN ' (%.0f)' ELSE ' (%.0f–%.0f)' END, low, high)
      END AS label
  FROM report_ranged WHERE row IN (grp, line, col))

-- @ tokenizers_sql
-- The first group with losses a token of several tokenizers: a number is one by the name of its
-- column, or because it is that of its run.
report_cut AS (
  SELECT s.grp, coalesce(v.tokenizer_sha256, '') AS id, min(s.row) AS row,
    coalesce(v.tokenizer || ' (' || substr(v.tokenizer_sha256, 1, 12) || '…, corpus ', 'dict.txt (corpus ')
      || r.corpus || ')' AS words
  FROM report_shown s
  JOIN results v ON v.run_id = s.run_id AND v.current = 1 AND v.kind = 'eval'
  JOIN runs r ON r.run_id = v.run_id
  WHERE s.number IS NOT NULL
  AND (:value IN ('perplexity', 'loss_nats') OR s.number IN (v.perplexity, v.loss_nats))
  GROUP BY s.grp, id)
SELECT group_concat(words, ' and ') FROM (SELECT * FROM report_cut ORDER BY grp, row)
GROUP BY grp HAVING count(*) > 1 ORDER BY grp LIMIT 1

-- @ groups_sql
-- Before the columns of the facts: report_run, a run asked for, and why neither the table nor the figure
-- has a number of it. Another run of it gives none either if its method is not defined there or its
-- training diverged.
report_run AS (
  SELECT grp, min(row), CASE WHEN count(number) + count(drawn) = 0 THEN coalesce(state, 'none') END AS lacks
  FROM report_shown GROUP BY grp, run),
report_runs AS (
  SELECT grp, count(*) AS all_n, sum(lacks = 'not defined') AS undefined_n,
    sum(lacks = 'diverged') AS diverged_n,
    sum(lacks NOT IN ('not defined', 'diverged')) AS missing_n FROM report_run GROUP BY grp),
report_title AS (
  SELECT grp, max(label) FILTER (WHERE key = 'group0') AS label0,
    max(label) FILTER (WHERE key = 'group1') AS label1,
    max(label) FILTER (WHERE key = 'group2') AS label2,
    max(label) FILTER (WHERE key = 'group3') AS label3
  FROM report_label WHERE row = grp GROUP BY grp),
report_group AS (
  SELECT grp, min(tokens) AS tokens_low, max(tokens) AS tokens_high,
    min(parameters) AS parameters_low, max(parameters) AS parameters_high,
    max(modified) AS modified, max(max(coalesce(noisy, 0), coalesce(alone_noisy, 0))) AS noisy,
    max(coalesce(head_paper <> head, 0) OR coalesce(L_train_nominal <> L_train, 0)) AS scaled,
    max(coalesce(x_paper <> x, 0)) AS x_scaled
  FROM report_shown GROUP BY grp),
-- The distinct values of each fact as "a, b": numbers in their order, texts in that of the answer.
report_values AS (
  SELECT grp, name, group_concat(v, ', ') AS list FROM (
    SELECT grp, name, v FROM report_fact WHERE v IS NOT NULL GROUP BY grp, name, v
    ORDER BY CASE typeof(v) WHEN 'text' THEN 0 ELSE v END, min(row))
  GROUP BY grp, name)
SELECT g.grp AS "group", g.*, t.*, r.*

-- @ cells_sql
-- Each run of a cell with its number, and the cells that have one.
report_run AS (
  SELECT line, col, run, min(row), config_id, number
  FROM report_shown WHERE number IS NOT NULL GROUP BY line, col, run),
report_centred AS (
  SELECT *, avg(number) OVER (PARTITION BY line, col ORDER BY run
    ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS mean
  FROM report_run),
report_mean AS (
  SELECT line, col, count(*) AS n, mean,
    CASE WHEN count(*) > 1 THEN sqrt(sum((number - mean) * (number - mean)) / (count(*) - 1))
      ELSE 0 END AS std,
    count(DISTINCT config_id) AS configs_n,
    replace(group_concat(DISTINCT config_id), ',', ', ') AS configs
  FROM (SELECT * FROM report_centred ORDER BY line, col, run) GROUP BY line, col),
-- The own numbers of a line, each the mean over its trainings.
report_extra AS (
  SELECT line, avg(extra0) AS extra0, avg(extra1) AS extra1, avg(extra2) AS extra2,
    avg(extra3) AS extra3
  FROM (
    SELECT line, training, max(extra0) AS extra0, max(extra1) AS extra1, max(extra2) AS extra2,
      max(extra3) AS extra3
    FROM report_shown GROUP BY line, training ORDER BY line, training)
  GROUP BY line),
report_line AS (
  SELECT line, style, train_run_id, max(label) FILTER (WHERE key = 'line0') AS label0,
    max(label) FILTER (WHERE key = 'line1') AS label1,
    max(label) FILTER (WHERE key = 'line2') AS label2,
    max(label) FILTER (WHERE key = 'line3') AS label3,
    max(is_number) FILTER (WHERE key = 'line0') AS right0,
    max(is_number) FILTER (WHERE key = 'line1') AS right1,
    max(is_number) FILTER (WHERE key = 'line2') AS right2,
    max(is_number) FILTER (WHERE key = 'line3') AS right3,
    max(order_of) FILTER (WHERE key = 'line0') AS order_of
  FROM report_label WHERE row = line GROUP BY line),
-- A value is traced by its first row in the cell.
report_traced AS (
  SELECT *, max(coalesce(head_paper, head)) OVER (PARTITION BY line, col) AS x_nominal,
    row_number() OVER (PARTITION BY line, col, run_id ORDER BY row) = 1 AS new_run,
    row_number() OVER (PARTITION BY line, col, device ORDER BY row) = 1 AS new_device,
    row_number() OVER (PARTITION BY line, col, machine ORDER BY row) = 1 AS new_machine,
    row_number() OVER (PARTITION BY line, col, code_id ORDER BY row) = 1 AS new_code,
    row_number() OVER (PARTITION BY line, col, source ORDER BY row) = 1 AS new_source
  FROM report_shown),
report_cell AS (
  SELECT grp, line, col, min(row), head AS x, x_nominal, metric, config_id,
    sum(noisy AND coalesce(metric, '') NOT LIKE 'memory%') > 0 AS noisy,
    group_concat(DISTINCT verdict) AS verdict, group_concat(DISTINCT state) AS why,
    group_concat(run_id, ', ') FILTER (WHERE new_run) AS runs,
    group_concat(device, ', ') FILTER (WHERE new_device) AS devices,
    group_concat(machine, ', ') FILTER (WHERE new_machine) AS machines,
    group_concat(code_id, ', ') FILTER (WHERE new_code) AS codes,
    group_concat(source, ', ') FILTER (WHERE new_source) AS sources
  FROM (SELECT * FROM report_traced ORDER BY row) GROUP BY line, col),
report_cells AS (
  SELECT c.grp AS "group", c.*, h.label, l.*, e.*, coalesce(m.n, 0) AS n, m.mean, m.std,
    m.configs_n, m.configs, coalesce(p.style, 5) AS style_n,
    dense_rank() OVER (PARTITION BY c.grp ORDER BY h.order_of, c.col) - 1 AS column_n,
    dense_rank() OVER (PARTITION BY c.grp
      ORDER BY CASE WHEN :lines_n = 1 THEN l.order_of END, c.line) - 1 AS line_n
  FROM report_cell c
  JOIN report_label h ON h.row = c.col AND h.key = 'head'
  JOIN report_line l USING (line)
  JOIN report_extra e USING (line)
  LEFT JOIN report_mean m USING (line, col)
  LEFT JOIN position_methods p ON p.position = l.style)

-- @ all_cells_sql
SELECT * FROM report_cells ORDER BY "group", column_n, line_n

-- @ curves_sql
-- Points are the lines of a data file; an empty one is where cells without a number are between
-- two of them. Curves of one style in a panel differ in shade.
, report_ordered AS (
  SELECT *, n > 0 AND typeof(x) IN ('integer', 'real') AND abs(x) < 9e999 AS is_point,
    row_number() OVER (PARTITION BY line ORDER BY column_n) AS at
  FROM report_cells),
report_point AS (
  SELECT *, at - lag(at) OVER (PARTITION BY line, is_point ORDER BY at) AS step
  FROM report_ordered),
report_curve AS (
  SELECT "group", line, line_n, label0, style_n, max(configs_n) AS configs_n,
    max(configs) FILTER (WHERE configs_n > 1) AS configs,
    count(*) FILTER (WHERE is_point) AS points_n, max(n) FILTER (WHERE is_point) AS seeds,
    min(x) FILTER (WHERE is_point) AS x_low, max(x) FILTER (WHERE is_point) AS x_high,
    min(mean - coalesce(std, 0)) FILTER (WHERE is_point) AS y_low,
    max(mean + coalesce(std, 0)) FILTER (WHERE is_point) AS y_high,
    group_concat(CASE WHEN step > 1 THEN char(10) ELSE '' END
      || printf('%.10g %.10g %.10g %d %.10g # %s', x, mean, coalesce(std, 0), n,
        coalesce(x_nominal, x), coalesce(runs, 'paper')), char(10))
      FILTER (WHERE is_point) AS points
  FROM (SELECT * FROM report_point ORDER BY line, at) GROUP BY line)
SELECT c.*, coalesce(c.label0, '') AS title, c.style_n AS style, g.label AS panel,
  g.is_number AS panel_is_number,
  CASE count(*) OVER same WHEN 1 THEN 1.0
    ELSE (row_number() OVER (same ORDER BY c.line_n) - 1.0) / (count(*) OVER same - 1) END AS shade
FROM report_curve c
JOIN report_label g ON g.row = c."group" AND g.key = 'group0'
WINDOW same AS (PARTITION BY c."group", c.style_n) ORDER BY c."group", c.line_n
