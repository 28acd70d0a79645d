-- Table 5: a curve for each ALiBi model; the other methods at their own length make one curve each.
-- A row for each evaluation the grid asks for, with a result or without.
-- Parameters: :artefact, :scale.
SELECT *, method || CASE position WHEN 'alibi' THEN ' ' || trained_on ELSE ', L = L_valid' END AS series
FROM wanted_evaluations
WHERE artefact = :artefact AND scale = :scale
ORDER BY position <> 'alibi', place, L_train, L_valid, seed, point;
