-- The rows of a folder without a query.sql: the evaluations its grid asks for, with or without a
-- result. The settings that differ within the grid are part of the names: for a table those that do
-- not make a table of their own, for a figure all that differ within a panel.
SELECT w.*,
 w.method || ' ' || w.trained_on || CASE WHEN g.settings <> '' THEN ' ' || g.settings ELSE '' END
 || CASE WHEN min(w.checkpoint) OVER panel <> max(w.checkpoint) OVER panel
  THEN ' eval.checkpoint=' || w.checkpoint ELSE '' END
 || CASE WHEN min(w.targets) OVER panel <> max(w.targets) OVER panel
  THEN ' eval.targets=' || w.targets ELSE '' END
 || CASE WHEN min(w.dataset) OVER panel <> max(w.dataset) OVER panel
  THEN ' ' || w.dataset ELSE '' END
 || CASE WHEN min(w.split) OVER panel <> max(w.split) OVER panel
  THEN ' eval.split=' || w.split ELSE '' END
 || CASE WHEN min(w.stride) OVER panel <> max(w.stride) OVER panel
  THEN ' eval.stride=' || w.stride ELSE '' END
 || CASE WHEN min(w.precision) OVER panel <> max(w.precision) OVER panel
  THEN ' eval.precision=' || w.precision ELSE '' END
  AS series,
 w.method || CASE WHEN g.settings <> '' THEN ' ' || g.settings ELSE '' END
 || CASE WHEN min(w.checkpoint) OVER panel <> max(w.checkpoint) OVER panel
  THEN ' eval.checkpoint=' || w.checkpoint ELSE '' END
 || CASE WHEN min(w.targets) OVER panel <> max(w.targets) OVER panel
  THEN ' eval.targets=' || w.targets ELSE '' END
  AS configuration
FROM wanted_evaluations w
JOIN grid_settings g ON g.artefact = w.artefact AND g.scale = w.scale AND g.run_id = w.run_id
WHERE w.artefact = :artefact AND w.scale = :scale
WINDOW panel AS (PARTITION BY w.protocol)
ORDER BY w.point
