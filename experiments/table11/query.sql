-- Perplexity after training, with updates, memory and time.
-- A row for each evaluation the grid asks for, with a result or without.
-- Hours are those of one otherwise idle device, without validation.
-- Parameters: :artefact, :scale.
SELECT *, 'perplexity' AS metric, updates AS train_updates,
       1.0 * updates * tokens_per_update / alone_wps / 3600 AS train_hours
FROM wanted_evaluations
WHERE artefact = :artefact AND scale = :scale
ORDER BY L_valid, place, seed, point;
