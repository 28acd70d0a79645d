-- The rows of a folder without a query.sql: the evaluations its grid asks for, with or without a
-- result. The settings that differ within the grid are part of the names.
SELECT w.*,
 w.method || ' ' || w.trained_on || CASE WHEN g.settings <> '' THEN ' ' || g.settings ELSE '' END
  AS series,
 w.method || CASE WHEN g.settings <> '' THEN ' ' || g.settings ELSE '' END AS configuration
FROM wanted_evaluations w
JOIN grid_settings g ON g.artefact = w.artefact AND g.scale = w.scale AND g.run_id = w.run_id
WHERE w.artefact = :artefact AND w.scale = :scale
ORDER BY w.point
