-- Our models beside the published ones that the paper cites: validation and test, at each stride.
-- A row for each evaluation the grid asks for, with a result or without.
-- Parameters: :artefact, :scale.
SELECT *, 'ours' AS series, printf('%.3gM', 1e-6 * parameters) AS params FROM wanted_evaluations
WHERE artefact = :artefact AND scale = :scale
ORDER BY place, L_train, split DESC, stride DESC, seed, point;
