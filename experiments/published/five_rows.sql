SELECT method, printf('%d (%d)', L_train, L_train_nominal) AS L_train, max(CASE L_valid WHEN 64 THEN ppl END) AS "64 (512)",
  max(CASE L_valid WHEN 128 THEN ppl END) AS "128 (1024)", max(CASE L_valid WHEN 192 THEN ppl END) AS "192 (1536)",
  max(CASE L_valid WHEN 256 THEN ppl END) AS "256 (2048)", max(CASE L_valid WHEN 384 THEN ppl END) AS "384 (3072)"
FROM (SELECT *, printf('%.2f', perplexity) AS ppl FROM wanted_evaluations WHERE artefact = 'table5' AND scale = 'mini' AND seed = 1)
WHERE position IN ('alibi', 'sinusoidal') AND L_train IN (64, 128, 384) AND (position = 'alibi' OR L_train <> 128)
GROUP BY method, L_train_nominal ORDER BY place DESC, L_train_nominal
