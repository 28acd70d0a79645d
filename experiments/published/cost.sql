WITH took AS (
  SELECT code_id, device, state, (julianday(ended_at) - julianday(started_at)) * 24 AS hours,
    row_number() OVER (PARTITION BY dir, code_id, device ORDER BY run_id) AS in_folder FROM attempts)
SELECT code_id AS code, device, count(*) AS attempts, sum(state <> 'done') AS "without a result",
  printf('%.1f', sum(CASE in_folder WHEN 1 THEN hours END)) AS "hours of one core" FROM took GROUP BY code_id, device ORDER BY code_id, device
