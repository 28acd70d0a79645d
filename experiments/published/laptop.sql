WITH p AS (
  SELECT DISTINCT split, seed, position || ' ' || L_train_nominal || ' ' || L_valid_nominal AS cell, perplexity AS p FROM artefact_evaluations
  WHERE artefact IN ('table5', 'test_split') AND scale = 'laptop'
  UNION ALL SELECT 'valid', NULL, position || ' ' || L_train || ' ' || L_valid, value FROM paper_values WHERE artefact = 'table5' AND metric = 'perplexity'),
line AS (
  SELECT split, seed, max(CASE cell WHEN 'sinusoidal 512 512' THEN p END) AS s512, max(CASE cell WHEN 'sinusoidal 3072 3072' THEN p END) AS s3072,
    max(CASE cell WHEN 'alibi 512 512' THEN p END) AS a512, max(CASE cell WHEN 'alibi 512 3072' THEN p END) AS a3072
  FROM p GROUP BY split, seed)
SELECT CASE WHEN seed IS NULL THEN 'the paper' ELSE split || ', seed ' || seed END AS "perplexity",
  printf('%.2f', s512) AS "sinusoidal 512 at 512", printf('%.2f', s3072) AS "sinusoidal 3,072 at 3,072", printf('%.3f', s3072 / s512) AS "ratio",
  printf('%.2f', a512) AS "ALiBi 512 at 512", printf('%.2f', a3072) AS "ALiBi 512 at 3,072", printf('%.3f', a512 / s512) AS "ALiBi / sinusoidal at 512",
  printf('%.3f', a3072 / s3072) AS "ALiBi / sinusoidal at 3,072"
FROM line WHERE s3072 > 0 ORDER BY seed IS NULL, split DESC, seed
