-- Two kinds of rows, as in explore/methods: points of the figure, and numbers of the tables, one for each
-- protocol. Parameters: :artefact, :scale.
WITH
e AS (
    SELECT w.*, w.method || CASE WHEN h.value = '2' THEN ', 2 heads' ELSE '' END AS name,
        w.position_scaling AS scaling, 1.0 * w.L_valid / w.L_train AS multiple,
        max(CASE WHEN w.L_valid = w.L_train THEN w.perplexity END) OVER (PARTITION BY w.train_run_id, w.protocol) AS at_L
    FROM wanted_evaluations w LEFT JOIN settings h ON h.run_id = w.train_run_id AND h.key = 'model.heads'
    WHERE w.artefact = :artefact AND w.scale = :scale)
SELECT * FROM (
    SELECT name || CASE scaling WHEN 'none' THEN '' ELSE ' scaling=' || scaling END AS series, NULL AS row, NULL AS value, perplexity / at_L AS relative,
        CASE WHEN L_train_nominal = 512 THEN 'L = 512' ELSE 'L = 1024' END AS trained, e.*
    FROM e WHERE protocol = 'nonoverlapping'
    UNION ALL
    SELECT NULL, name || CASE scaling WHEN 'none' THEN '' ELSE ', ' || scaling END, perplexity, NULL, NULL, e.* FROM e)
ORDER BY series IS NULL, protocol, L_train, place, name, scaling = 'none' DESC, scaling, multiple, seed;
