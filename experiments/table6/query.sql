-- Table 6: validation and test with nonoverlapping windows, and speeds.
-- A row for each evaluation the grid asks for, with a result or without.
-- Parameters: :artefact, :scale.
SELECT *, 'perplexity' AS metric FROM wanted_evaluations
WHERE artefact = :artefact AND scale = :scale
ORDER BY place, L_train, split DESC, seed, point;
