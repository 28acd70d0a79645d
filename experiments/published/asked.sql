SELECT artefact, group_concat(DISTINCT seed) AS seeds, sum(state = 'done') AS results, count(*) AS "asked for"
FROM artefact_points JOIN run_list USING (run_id) WHERE kind <> 'train' AND artefact NOT LIKE '% (earlier)' GROUP BY artefact ORDER BY artefact
