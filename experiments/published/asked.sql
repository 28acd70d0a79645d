WITH took AS (
  SELECT run_id, ranks * wall_seconds AS seconds FROM trainings
  UNION ALL SELECT run_id, wall_seconds FROM evaluations
  UNION ALL SELECT run_id, wall_seconds FROM benchmarks)
SELECT artefact, CASE WHEN min(seed) = max(seed) THEN min(seed) ELSE min(seed) || ' to ' || max(seed) END AS seeds, sum(state = 'done') AS done, count(*) AS "asked for",
  printf('%.0f', sum(seconds) FILTER (WHERE seed = 1)) AS "core seconds of seed 1"
FROM (SELECT DISTINCT artefact, run_id FROM artefact_points WHERE artefact NOT LIKE '% (earlier)')
  JOIN run_list USING (run_id) LEFT JOIN took USING (run_id)
GROUP BY artefact ORDER BY artefact
