WITH cell AS (
  SELECT position, L_train_nominal AS L, L_valid_nominal AS V,
    printf('%.2f', ours) || CASE WHEN seeds > 1 THEN printf(' ± %.2f', ours_std) ELSE '' END AS text
  FROM comparison WHERE artefact = 'figure11' AND scale = 'mini' AND metric = 'perplexity' AND seeds > 0)
SELECT display || ' trained on ' || L AS "the same 2,048 tokens, sliding window", max(CASE V WHEN 512 THEN text END) AS "512",
  max(CASE V WHEN 1024 THEN text END) AS "1,024", max(CASE V WHEN 1536 THEN text END) AS "1,536",
  max(CASE V WHEN 2048 THEN text END) AS "2,048", max(CASE V WHEN 3072 THEN text END) AS "3,072"
FROM cell JOIN position_methods USING (position) GROUP BY place, L ORDER BY place DESC, L
