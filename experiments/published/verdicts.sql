WITH RECURSIVE judged AS (
  SELECT * FROM claims WHERE artefact NOT LIKE '%/%' AND scale = 'mini' AND claim NOT LIKE 'X%' AND claim NOT LIKE 'E%' AND verdict <> 'not run'),
numbered(claim, artefact, i) AS (
  SELECT claim, artefact, 0 FROM judged
  UNION ALL SELECT claim, artefact, i + 1 FROM numbered JOIN judged j USING (claim, artefact) WHERE i + 1 < json_array_length(j.cases)),
counted AS (
  SELECT claim, artefact, sum(json_extract(j.cases, '$[' || i || '].holds')) || ' of ' || count(*) AS holding
  FROM numbered JOIN judged j USING (claim, artefact) WHERE json_extract(j.cases, '$[' || i || '].split') IS j.split GROUP BY claim, artefact)
SELECT artefact AS "in", claim, verdict, holding AS "cases that hold", nullif(seeds, 0) AS seeds, split,
  CASE WHEN effect IS NOT NULL THEN printf('%.3f', effect) END || CASE WHEN error IS NOT NULL THEN printf(' ± %.3f', error) ELSE '' END AS effect,
  CASE WHEN effect IS NOT NULL THEN printf('%.3g', coalesce(json_extract(cases, '$[0].threshold'), threshold)) END AS bound
FROM judged LEFT JOIN counted USING (claim, artefact)
ORDER BY substr(claim, 1, 1), CAST(substr(claim, 2) AS INTEGER), claim, artefact
