-- Perplexity by position in the window. A row for each training and each range of positions, all
-- lengths of input pooled: the ranges do not depend on the length, and each length begins its
-- windows elsewhere in the text. Parameters: :artefact, :scale.
WITH asked AS ( -- lengths that a scale merges are one run
    SELECT DISTINCT trim(method || ' ' || settings) AS method, settings, place, position, L_train, L_train_nominal, seed, run_id, train_run_id, tokens,
        scale, dataset, corpus, model, split, protocol, precision, modified, state, parameters
    FROM wanted_evaluations WHERE artefact = :artefact AND scale = :scale),
pooled AS ( -- a mean only where every loss is finite
    SELECT a.*, l.first, max(l.last) AS last, sum(l.targets) AS targets,
        CASE WHEN count(l.nll) = count(*) THEN sum(l.nll) / sum(l.targets) END AS loss_nats
    FROM asked a LEFT JOIN position_loss l ON l.run_id = a.run_id
    GROUP BY a.train_run_id, a.settings, l.first)
SELECT CASE WHEN first IS NULL THEN 'not recorded' WHEN first = last THEN first ELSE first || '–' || last END AS positions,
    1.0 * last / L_train AS multiple, exp(loss_nats) AS perplexity, loss_nats, first, last, targets,
    method, position, L_train, L_train_nominal, seed, scale, dataset, corpus, model, split, protocol, precision,
    tokens, parameters, modified, state, train_run_id AS run_id,
    (SELECT config_id FROM run_list r WHERE r.run_id = train_run_id) AS config_id
FROM pooled ORDER BY place, L_train, seed, first;
