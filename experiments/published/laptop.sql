WITH p AS (
  SELECT split, 'seed ' || seed AS of, position || ' ' || (16 * L_train) || ' ' || (16 * L_valid) AS cell, perplexity AS p
  FROM evaluations WHERE scale = 'laptop' AND protocol = 'nonoverlapping' AND checkpoint = 'best'
  UNION ALL SELECT 'valid', 'the paper', position || ' ' || L_train || ' ' || L_valid, value FROM paper_values WHERE artefact = 'table5' AND metric = 'perplexity'),
cells AS (
  SELECT split, of, max(CASE cell WHEN 'sinusoidal 512 512' THEN p END) AS s512, max(CASE cell WHEN 'sinusoidal 3072 3072' THEN p END) AS s3072,
    max(CASE cell WHEN 'alibi 512 512' THEN p END) AS a512, max(CASE cell WHEN 'alibi 512 3072' THEN p END) AS a3072
  FROM p GROUP BY split, of),
ratios AS (SELECT *, s3072 / s512 AS long_rows, a512 / s512 AS at_L, a3072 / s3072 AS lead FROM cells),
line AS (
  SELECT split, of, printf('%.2f', s512) AS s512, printf('%.2f', s3072) AS s3072, printf('%.2f', a512) AS a512, printf('%.2f', a3072) AS a3072, long_rows, at_L, lead
  FROM ratios
  UNION ALL SELECT split, 'mean', '', '', '', '', avg(long_rows), avg(at_L), avg(lead) FROM ratios WHERE of <> 'the paper' GROUP BY split)
SELECT split || ', ' || of AS perplexity, s512 AS "sinusoidal 512 at 512", s3072 AS "sinusoidal 3,072 at 3,072", printf('%.3f', long_rows) AS ratio,
  a512 AS "ALiBi 512 at 512", a3072 AS "ALiBi 512 at 3,072", printf('%.3f', at_L) AS "ALiBi / sinusoidal at 512", printf('%.3f', lead) AS "ALiBi / sinusoidal at 3,072"
FROM line ORDER BY of = 'the paper', split DESC, of = 'mean', of
