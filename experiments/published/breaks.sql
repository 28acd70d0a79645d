WITH curve AS (
  SELECT position, L_train_nominal AS L, L_valid_nominal AS V, perplexity, seed FROM artefact_evaluations
  WHERE artefact IN ('figure1', 'abstract') AND scale = 'mini'
  UNION ALL SELECT position, L_train, coalesce(L_valid, x), value, 0 FROM paper_values WHERE artefact = 'figure1' AND metric = 'perplexity'),
first AS (
  SELECT c.position, c.L, c.seed, 1.0 * min(CASE WHEN c.perplexity > 1.05 * o.perplexity THEN c.V END) / c.L AS at, max(c.V) / c.L AS to_L
  FROM curve c JOIN curve o ON o.position = c.position AND o.L = c.L AND o.seed = c.seed AND o.V = o.L
  WHERE c.V >= c.L GROUP BY c.position, c.L, c.seed),
line AS (
  SELECT position, L, seed > 0 AS is_ours, CASE WHEN count(at) = 0 THEN CASE WHEN seed > 0 THEN printf('none up to %d L', min(to_L)) ELSE 'none' END
    WHEN printf('%.1f', min(at)) = printf('%.1f', max(at)) OR seed = 0 THEN printf(CASE WHEN seed > 0 THEN '%.1f L' ELSE '%.2f L' END, max(at))
    ELSE printf('%.1f to %.1f L', min(at), max(at)) END AS text
  FROM first GROUP BY position, L, seed > 0)
SELECT display AS "first input above 1.05 x perplexity at L", max(CASE WHEN L = 512 AND is_ours THEN text END) AS "L = 512",
  max(CASE WHEN L = 512 AND NOT is_ours THEN text END) AS "the paper", max(CASE WHEN L = 1024 AND is_ours THEN text END) AS "L = 1,024",
  max(CASE WHEN L = 1024 AND NOT is_ours THEN text END) AS "the paper"
FROM line JOIN position_methods USING (position) GROUP BY place HAVING max(is_ours) ORDER BY place
