-- Rows of the table: a model, a text and a statistic over its heads. Rows of the figure: a head, with
-- the weight of the first key on one text. Parameters: :artefact, :scale.
WITH
asked AS (
    SELECT DISTINCT w.method, w.place, w.position, w.L_train, w.L_train_nominal, w.L_valid, w.L_valid_nominal, w.seed, w.run_id,
           w.config_id, w.scale, w.dataset, w.model, w.split, w.protocol, w.precision, w.modified, w.state, s.value + 0 AS heads
    FROM wanted_evaluations w LEFT JOIN settings s ON s.run_id = w.train_run_id AND s.key = 'model.heads'
    WHERE w.artefact = :artefact AND w.scale = :scale),
steepest AS (SELECT run_id, max(slope) AS slope FROM attention GROUP BY run_id),
named AS ( -- c: slopes as a multiple of the paper's, whose first one is 2^(-8/H)
    SELECT a.*, a.method || CASE WHEN a.position = 'alibi' AND k.slope > 0 THEN printf(' c=%g', k.slope * pow(2, 8.0 / a.heads)) ELSE '' END AS arm
    FROM asked a LEFT JOIN steepest k ON k.run_id = a.run_id),
head AS (
    SELECT run_id, text, layer, head, first_weight, entropy, distance, row_number() OVER (PARTITION BY run_id, text ORDER BY layer, head) AS number
    FROM attention),
statistic(name, metric, value, run_id, text) AS (
    SELECT 'first key, mean', 'weight', avg(first_weight), run_id, text FROM head GROUP BY run_id, text
    UNION ALL SELECT 'first key, most', 'weight', max(first_weight), run_id, text FROM head GROUP BY run_id, text
    UNION ALL SELECT 'entropy', 'nats', avg(entropy), run_id, text FROM head GROUP BY run_id, text
    UNION ALL SELECT 'distance', 'words', avg(distance), run_id, text FROM head GROUP BY run_id, text)
SELECT n.arm, s.text, s.name AS statistic, s.metric, s.value, NULL AS series, NULL AS rows, NULL AS number, NULL AS weight, n.*
FROM named n LEFT JOIN statistic s ON s.run_id = n.run_id
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, n.arm, h.text, h.number, h.first_weight, n.*
FROM named n JOIN head h ON h.run_id = n.run_id
ORDER BY rows, place, arm, text, series, number;
