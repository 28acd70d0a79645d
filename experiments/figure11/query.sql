-- Perplexity over the length of the input, a curve for each model; ALiBi's first.
-- A row for each evaluation the grid asks for, with a result or without.
-- Parameters: :artefact, :scale.
SELECT *, method || ' ' || trained_on AS series FROM wanted_evaluations
WHERE artefact = :artefact AND scale = :scale
ORDER BY position <> 'alibi', place, L_train, L_valid, seed, point;
