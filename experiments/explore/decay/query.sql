-- Rows of the table: a model, a head and a statistic. Rows of the figure: a distance from the last
-- word of a row, for the head whose slope is nearest to 1/4. Parameters: :artefact, :scale.
WITH RECURSIVE
asked AS (
    SELECT DISTINCT w.position, w.L_train, w.L_train_nominal, w.L_valid, w.L_valid_nominal, w.seed, w.run_id,
           w.config_id, w.scale, w.dataset, w.model, w.split, w.protocol, w.precision, w.modified, w.state, s.value + 0 AS layers_n
    FROM wanted_evaluations w LEFT JOIN settings s ON s.run_id = w.train_run_id AND s.key = 'model.layers'
    WHERE w.artefact = :artefact AND w.scale = :scale),
head AS (SELECT run_id, text, layer, head, logit_high - logit_low AS width, slope AS m FROM attention),
slope AS (SELECT DISTINCT run_id, head, m FROM head),
rolled AS (
    SELECT a.run_id, a.layers_n AS depth, r.text, r.head, k.m, r.distance AS x, r.weight
    FROM asked a JOIN attention_rollout r ON r.run_id = a.run_id AND r.layers = a.layers_n
    JOIN slope k ON k.run_id = a.run_id AND k.head = r.head),
choose(n, x, c) AS ( -- C(n-1+x, x), n layers
    SELECT 1, x, 1.0 FROM (SELECT DISTINCT x FROM rolled)
    UNION ALL SELECT n + 1, x, c * (n + x) / n FROM choose WHERE n < (SELECT max(depth) FROM rolled)),
curve AS (
    SELECT r.run_id, r.depth, 'theorem' AS text, r.head, r.m, r.x, c.c * exp(-r.m * r.x) * pow(1 - exp(-r.m), r.depth) AS weight
    FROM rolled r JOIN choose c ON c.n = r.depth AND c.x = r.x WHERE r.text = 'repeated'
    UNION ALL SELECT run_id, depth, text, head, m, x, weight FROM rolled),
statistic(name, value, run_id, head) AS (
    SELECT 'b - a', max(width), run_id, head FROM head WHERE text = 'natural' GROUP BY run_id, head
    UNION ALL SELECT '(b - a)/m', max(width / m), run_id, head FROM head WHERE text = 'natural' GROUP BY run_id, head
    UNION ALL SELECT 'peak, ' || text, x, run_id, head FROM (
        SELECT run_id, text, head, x, row_number() OVER (PARTITION BY run_id, text, head ORDER BY weight DESC) AS n FROM curve)
    WHERE n = 1 AND text <> 'random'),
drawn AS (SELECT run_id, head FROM (
    SELECT run_id, head, row_number() OVER (PARTITION BY run_id ORDER BY abs(m - 0.25)) AS n FROM slope) WHERE n = 1)
SELECT printf('%d layers', a.layers_n) AS layers, coalesce('m = ' || k.m, '–') AS head, s.name AS statistic, CASE s.name WHEN 'b - a' THEN 'nats' ELSE 'words' END AS metric, s.value,
       NULL AS depth, NULL AS series, 'alibi' AS style, NULL AS x, NULL AS weight, k.head AS number, a.*
FROM asked a LEFT JOIN slope k ON k.run_id = a.run_id LEFT JOIN statistic s ON s.run_id = k.run_id AND s.head = k.head
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, printf('%d layers, m = %g', a.layers_n, c.m),
       CASE c.text WHEN 'theorem' THEN 'theorem, equal logits' WHEN 'repeated' THEN 'one repeated word' ELSE c.text || ' text' END,
       CASE c.text WHEN 'theorem' THEN 'none' WHEN 'repeated' THEN 'rotary' WHEN 'natural' THEN 'alibi' ELSE 't5' END, c.x, c.weight, c.head, a.*
FROM asked a JOIN drawn d ON d.run_id = a.run_id JOIN curve c ON c.run_id = a.run_id AND c.head = d.head
ORDER BY layers_n, number, 9;
