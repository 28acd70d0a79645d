-- Two kinds of rows. With a series: a point of the figure, perplexity over the length of the input,
-- both as multiples of what they are at L_valid = L_train. With a method: a number of the table.
-- Parameters: :artefact, :scale.
WITH
breaks_above(factor) AS (VALUES (1.05)),
e AS (
    SELECT w.*, w.method || CASE WHEN CAST(s.value AS REAL) >= 2 THEN ' slopes=×4' ELSE '' END AS name,
        1.0 * w.L_valid / w.L_train AS multiple,
        max(CASE WHEN w.L_valid = w.L_train THEN w.perplexity END) OVER (PARTITION BY w.train_run_id) AS at_L,
        count(*) OVER (PARTITION BY w.train_run_id) = count(w.perplexity) OVER (PARTITION BY w.train_run_id) AS whole,
        max(w.L_valid) OVER (PARTITION BY w.train_run_id) AS longest,
        max(CASE WHEN w.state = 'not defined' THEN w.state END) OVER (PARTITION BY w.train_run_id) AS bounded
    FROM wanted_evaluations w LEFT JOIN settings s ON s.run_id = w.train_run_id AND s.key = 'model.alibi_slopes'
    WHERE w.artefact = :artefact AND w.scale = :scale),
broken AS ( -- where a method first costs 5 % more than at L, in multiples of L
    SELECT train_run_id, min(CASE WHEN perplexity > factor * at_L THEN multiple END) AS breaks_at
    FROM e, breaks_above GROUP BY train_run_id),
part(part, place) AS (VALUES ('figure', 0), ('at L', 1), ('at 2 L', 2), ('at 6 L', 3), ('first L_valid / L above 1.05 ×', 4))
SELECT CASE part WHEN 'figure' THEN name END AS series, CASE part WHEN 'figure' THEN NULL ELSE name END AS method,
    CASE part WHEN 'figure' THEN NULL ELSE part END AS number,
    CASE WHEN part.place = 4 THEN CASE WHEN whole OR breaks_at IS NOT NULL THEN breaks_at END ELSE perplexity END AS value,
    CASE part WHEN 'figure' THEN perplexity / at_L END AS relative, multiple,
    CASE WHEN part.place = 4 AND whole AND breaks_at IS NULL THEN printf('none to %g', 1.0 * longest / L_train)
        WHEN part.place = 4 THEN coalesce(bounded, state) ELSE state END AS state,
    position, L_train, L_train_nominal, L_valid, L_valid_nominal, seed, scale, dataset, corpus, model, split, protocol, precision,
    tokens, parameters, modified, run_id, config_id
FROM e JOIN broken USING (train_run_id) JOIN part
    ON CASE part.place WHEN 0 THEN 1 WHEN 1 THEN multiple = 1 WHEN 2 THEN multiple = 2 WHEN 3 THEN multiple = 6 ELSE multiple = 1 END
ORDER BY part.place, L_train, e.place, name, multiple, seed;
