-- Rows of the table: a model and a statistic of its heads, or the perplexity of a stream. Rows of the figure: a head,
-- with the weight of the first key on one text. Parameters: :artefact, :scale.
WITH
asked AS (
    SELECT w.place, w.position, w.L_train, w.L_train_nominal, w.seed, w.scale, w.dataset, w.corpus, w.model, w.split, w.precision, w.tokens, w.parameters,
        w.modified, w.state, w.run_id, w.config_id, w.protocol AS cut, w.perplexity, w.attention_window AS window, w.attention_sinks AS sinks,
        w.method || CASE WHEN CAST(s.value AS REAL) >= 2 THEN ', 4 × the slopes' ELSE '' END AS name
    FROM wanted_evaluations w LEFT JOIN settings s ON s.run_id = w.train_run_id AND s.key = 'model.alibi_slopes'
    WHERE w.artefact = :artefact AND w.scale = :scale),
head AS (
    SELECT run_id, text, layer, head, first_weight, distance, row_number() OVER (PARTITION BY run_id, text ORDER BY layer, head) AS number
    FROM attention),
statistic(run_id, part, metric, statistic, value, number) AS (
    SELECT run_id, text || ' words', 'weight', 'first key, mean', avg(first_weight), 1 FROM head GROUP BY run_id, text
    UNION ALL SELECT run_id, text || ' words', 'weight', 'first key, most', max(first_weight), 2 FROM head GROUP BY run_id, text
    UNION ALL SELECT run_id, text || ' words', 'words', 'distance', avg(distance), 3 FROM head GROUP BY run_id, text
    UNION ALL
    SELECT run_id, 'a stream', 'perplexity', CASE WHEN cut = 'sliding' THEN 'windows computed again' WHEN sinks = 0 THEN 'no sinks' ELSE '4 sinks' END,
        perplexity, 4 + (cut <> 'sliding') + (sinks > 0) FROM asked WHERE cut = 'sliding' OR window > 0)
SELECT a.name AS arm, s.part, s.metric, s.statistic, s.value, NULL AS series, NULL AS text, s.number, NULL AS weight, a.*
FROM asked a JOIN statistic s ON s.run_id = a.run_id
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, a.name, h.text, h.number, h.first_weight, a.*
FROM asked a JOIN head h ON h.run_id = a.run_id
ORDER BY text, part, place, arm, number, series, seed;
