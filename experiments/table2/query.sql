-- Perplexity and words per second over the length of the input.
-- Two rows, one for each metric, for each evaluation the grid asks for, with a result or without.
-- Parameters: :artefact, :scale.
SELECT w.*, m.metric, CASE m.metric WHEN 'perplexity' THEN w.perplexity ELSE w.eval_wps END AS value
FROM (SELECT 1 AS place, 'perplexity' AS metric UNION ALL SELECT 2, 'eval_wps') m CROSS JOIN wanted_evaluations w
WHERE artefact = :artefact AND scale = :scale
ORDER BY m.place, w.place, w.L_valid, w.seed, w.point;
