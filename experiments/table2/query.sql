-- Perplexity and words per second over the length of the input.
-- A row for each evaluation the grid asks for, and one for each of its benchmarks, which read one window
-- at a time on an otherwise idle machine; with a result or without.
-- Parameters: :artefact, :scale.
SELECT artefact, scale, dataset, corpus, model, position, method, place, trained_on, L_train, L_train_nominal, L_valid, L_valid_nominal,
       split, protocol, stride, first_window, precision, seed, perplexity, loss_nats, tokens, nonfinite, eval_wps, state, modified,
       run_id, train_run_id, config_id, code_id, device, NULL AS machine, finished_at, point,
       'perplexity' AS metric, perplexity AS value, NULL AS noisy
FROM wanted_evaluations WHERE artefact = :artefact AND scale = :scale
UNION ALL
SELECT artefact, scale, dataset, corpus, model, position, method, place, trained_on, L_train, L_train_nominal, L_valid, L_valid_nominal,
       NULL, NULL, NULL, NULL, precision, seed, NULL, NULL, NULL, NULL, NULL, NULL, modified,
       run_id, NULL, config_id, code_id, machine, machine, finished_at, point, 'eval_wps', wps, noisy
FROM wanted_benchmarks WHERE artefact = :artefact AND scale = :scale
ORDER BY metric DESC, place, L_valid, seed, point;
