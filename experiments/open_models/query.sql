-- One row an evaluation: bits per byte, which compare models of different tokenizers, for the table and the figure.
-- Parameters: :artefact, :scale.
SELECT 1.0 * w.L_valid / w.L_train AS multiple, w.method || ': ' || w.model AS series, w.*
FROM wanted_evaluations w WHERE w.artefact = :artefact AND w.scale = :scale
ORDER BY w.place, w.model, multiple;
