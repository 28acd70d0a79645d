WITH cell AS (
  SELECT position, L_train_nominal AS L, L_valid_nominal AS V,
    printf('%.2f', ours) || CASE WHEN seeds > 1 THEN printf(' ± %.2f', ours_std) ELSE '' END AS text
  FROM comparison WHERE artefact = 'table5' AND scale = 'mini' AND metric = 'perplexity' AND seeds > 0),
line AS (
  SELECT place, display AS name, L, text FROM cell JOIN position_methods USING (position) WHERE L = V
  UNION ALL SELECT 99, 'ALiBi, evaluated on 3,072', L, text FROM cell WHERE position = 'alibi' AND V = 3072)
SELECT name AS "perplexity at L_valid = L_train", max(CASE L WHEN 64 THEN text END) AS "64",
  max(CASE L WHEN 128 THEN text END) AS "128", max(CASE L WHEN 256 THEN text END) AS "256",
  max(CASE L WHEN 512 THEN text END) AS "512", max(CASE L WHEN 1024 THEN text END) AS "1,024",
  max(CASE L WHEN 1536 THEN text END) AS "1,536", max(CASE L WHEN 2048 THEN text END) AS "2,048",
  max(CASE L WHEN 3072 THEN text END) AS "3,072"
FROM line GROUP BY place, name ORDER BY place
