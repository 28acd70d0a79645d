-- Figure 7: words per second in training over the input length.
-- A row for each benchmark the grid asks for, with a result or without.
-- Parameters: :artefact, :scale.
SELECT *, method AS series FROM wanted_benchmarks
WHERE artefact = :artefact AND scale = :scale
ORDER BY place, L_train, seed, point;
