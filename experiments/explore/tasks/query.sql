-- Copied letters by their place in the copy, and words by the distance to their last mention, for each
-- training and each evaluation. A row is a class of targets whose source is in the context of all of them.
-- Parameters: :artefact, :scale.
WITH
parts(dataset, name, number, place_in_text, needs) AS (VALUES -- needs: tokens of context
    ('copy', 'short-1', 1, 'short, letter 1', 28), ('copy', 'short-2', 2, 'short, 2 to 9', 28), ('copy', 'short-10', 3, 'short, 10 to 27', 28),
    ('copy', 'long-1', 4, 'long, letter 1', 190), ('copy', 'long-2', 5, 'long, 2 to 28', 190), ('copy', 'long-29', 6, 'long, 29 to 64', 190),
    ('copy', 'long-65', 7, 'long, 65 to 128', 190), ('copy', 'long-129', 8, 'long, 129 to 189', 190),
    ('mentions', 'other', 9, 'other words', 0), ('mentions', 'first', 10, 'first mention', 0), ('mentions', 'again-1', 11, 'again after 1', 0),
    ('mentions', 'again-16', 12, '16', 0), ('mentions', 'again-64', 13, '64', 0), ('mentions', 'again-192', 14, '192', 0),
    ('mentions', 'again-384', 15, '384 tokens', 0)),
asked AS (SELECT DISTINCT * FROM wanted_evaluations WHERE artefact = :artefact AND scale = :scale)
SELECT p.place_in_text, p.number, method, CASE WHEN a.dataset = 'copy' THEN 'right letters' ELSE 'nats' END AS metric,
    CASE WHEN a.dataset = 'copy' THEN g.accuracy ELSE g.loss_nats END AS shown,
    CASE WHEN a.dataset = 'copy' AND a.L_valid = max(a.L_valid) OVER () THEN method END AS curve, -- the figure has the longest windows
    g.accuracy, g.hits, g.targets AS scored, g.loss_nats, a.position, a.place, a.L_train, a.L_train_nominal, a.L_valid, a.L_valid_nominal,
    a.scale, a.dataset, a.corpus, a.model, a.split, a.protocol, a.stride, a.first_window, a.precision, a.seed, a.tokens, a.parameters,
    a.modified, a.state, a.run_id, a.config_id
FROM asked a JOIN parts p ON p.dataset = a.dataset AND p.needs <= a.L_valid - a.stride
LEFT JOIN target_groups g ON g.run_id = a.run_id AND g.name = p.name
ORDER BY a.dataset, a.L_valid, a.place, a.seed, p.number;
