-- Perplexity over the length of the input, a curve for each method.
-- A row for each evaluation the grid asks for, with a result or without.
-- Parameters: :artefact, :scale.
SELECT *, method AS series FROM wanted_evaluations
WHERE artefact = :artefact AND scale = :scale
ORDER BY place, L_train, L_valid, seed, point;
