-- The evaluations of the grid, each under the origin of its slopes. Parameters: :artefact, :scale.
SELECT w.*, CASE WHEN w.position = 'alibi_learned' THEN 'trained, from the paper''s'
                 WHEN s.value = 'exponential' THEN 'drawn, exponential' ELSE 'the paper''s' END AS slopes
FROM wanted_evaluations w LEFT JOIN settings s ON s.run_id = w.train_run_id AND s.key = 'model.alibi_slopes_source'
WHERE w.artefact = :artefact AND w.scale = :scale
ORDER BY w.point;
