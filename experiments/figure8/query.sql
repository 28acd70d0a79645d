-- Figure 8: perplexity on the longest length over training speed, a mark for each model.
-- A row for each evaluation the grid asks for, with a result or without.
-- Parameters: :artefact, :scale.
SELECT *, method || ' ' || trained_on AS series, alone_wps AS x, alone_device AS machine FROM wanted_evaluations
WHERE artefact = :artefact AND scale = :scale
ORDER BY place, L_train, L_valid, seed, point;
