-- Two kinds of rows. With a series: a point of the figure, perplexity over the context, as a multiple of
-- that with L tokens. With a method: a number of the table. L is the shorter training length of a model.
-- n95: the context that gives 95 % of what the model gains at most over the shortest context, on a line
-- over the logarithm of the context. Share: the gain from L to 6 L over that of the same method trained
-- on longer input, in nats. Parameters: :artefact, :scale.
WITH
part_of(gain, worth) AS (VALUES (0.95, 0.01)), -- worth: nats; with less to gain there is no share
e AS (
    SELECT w.*, CASE WHEN w.seed > 0 THEN w.method || CASE WHEN CAST(s.value AS REAL) >= 2 THEN ' slopes=×4' ELSE '' END
            ELSE w.method || ': ' || w.model END AS name,
        min(w.L_train) OVER (PARTITION BY w.model) AS L, 1.0 * w.L_valid / min(w.L_train) OVER (PARTITION BY w.model) AS multiple,
        count(*) OVER t = count(w.loss_nats) OVER t AS whole, first_value(w.loss_nats) OVER (t ORDER BY w.L_valid) AS start,
        min(w.loss_nats) OVER t AS best, lag(w.loss_nats) OVER (t ORDER BY w.L_valid) AS loss_before, lag(w.L_valid) OVER (t ORDER BY w.L_valid) AS L_before
    FROM wanted_evaluations w LEFT JOIN settings s ON s.run_id = w.train_run_id AND s.key = 'model.alibi_slopes'
    WHERE w.artefact = :artefact AND w.scale = :scale WINDOW t AS (PARTITION BY w.train_run_id)),
model AS ( -- one row a training
    SELECT train_run_id, name, model, L_train, L, seed, min(whole) AS whole,
        (SELECT min(exp(ln(x.L_before) + (ln(x.L_valid) - ln(x.L_before)) * (x.loss_before - x.start + gain * (x.start - x.best)) / (x.loss_before - x.loss_nats)))
            FROM e x, part_of WHERE x.train_run_id = e.train_run_id AND x.loss_nats <= x.start - gain * (x.start - x.best) AND x.loss_before > x.start - gain * (x.start - x.best)) AS n95,
        max(CASE WHEN multiple = 1 THEN loss_nats END) - max(CASE WHEN multiple = 6 THEN loss_nats END) AS beyond
    FROM e GROUP BY train_run_id),
used AS (
    SELECT m.*, CASE WHEN m.beyond >= 0 AND l.beyond >= worth THEN m.beyond / l.beyond END AS share,
        CASE WHEN l.beyond < worth THEN 'nothing to gain' WHEN l.beyond IS NOT NULL AND m.beyond < 0 THEN 'loses' ELSE '' END AS why
    FROM part_of, model m LEFT JOIN model l ON l.name = m.name AND l.model = m.model AND l.seed = m.seed AND l.L_train > m.L_train),
part(part, place) AS (VALUES ('figure', 0), ('at L / 8', 1), ('at L', 2), ('at 2 L', 3), ('at 6 L', 4), ('n95, tokens', 5), ('beyond L, %', 6), ('share, %', 7)),
number(place, multiple) AS (VALUES (1, 0.125), (2, 1), (3, 2), (4, 6), (5, 1), (6, 1), (7, 1))
SELECT CASE part.place WHEN 0 THEN e.name END AS series, CASE part.place WHEN 0 THEN NULL ELSE e.name END AS method, CASE part.place WHEN 0 THEN NULL ELSE part END AS number,
    CASE WHEN NOT u.whole AND part.place > 4 THEN NULL WHEN part.place = 5 THEN u.n95 WHEN part.place = 6 THEN 100 * (exp(-u.beyond) - 1) WHEN part.place = 7 THEN 100 * u.share ELSE perplexity END AS value,
    CASE part.place WHEN 0 THEN perplexity / max(CASE WHEN e.multiple = 1 THEN perplexity END) OVER (PARTITION BY e.train_run_id, part.place) END AS relative, e.multiple,
    CASE WHEN part.place < 7 THEN state WHEN u.share IS NULL AND u.whole THEN u.why ELSE state END AS state,
    'trained on ' || CASE WHEN e.L_train = e.L THEN 'L' ELSE printf('%g L', 1.0 * e.L_train / e.L) END AS trained,
    position, e.L_train, L_train_nominal, L_valid, L_valid_nominal, e.seed, scale, dataset, corpus, e.model, split, protocol, stride, first_window, precision,
    tokens, parameters, modified, run_id, config_id
FROM e JOIN used u USING (train_run_id) JOIN part LEFT JOIN number n ON n.place = part.place
WHERE part.place = 0 OR e.multiple = n.multiple
ORDER BY part.place, e.L_train, e.place, e.name, e.multiple, e.seed;
