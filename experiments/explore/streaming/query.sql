-- A stream with a window, with and without sinks, beside windows that are computed again for each target.
-- All score the same targets. Parameters: :artefact, :scale.
WITH
e AS (
    SELECT w.*, w.method || CASE WHEN CAST(s.value AS REAL) >= 2 THEN ' slopes=×4' ELSE '' END AS name,
        CASE WHEN w.protocol = 'sliding' THEN w.L_valid ELSE w.attention_window END AS window,
        CASE WHEN w.protocol = 'sliding' THEN 'computed again' WHEN w.attention_window = 0 THEN 'dense on 6 L'
            ELSE printf('%d sink%s', w.attention_sinks, CASE w.attention_sinks WHEN 1 THEN '' ELSE 's' END)
                || CASE WHEN w.attention_sinks = 0 THEN '' WHEN w.settings LIKE '%eval.sink_positions=text%' THEN ', text' ELSE ', cache' END END AS how
    FROM wanted_evaluations w LEFT JOIN settings s ON s.run_id = w.train_run_id AND s.key = 'model.alibi_slopes'
    WHERE w.artefact = :artefact AND w.scale = :scale),
related AS (
    SELECT *, perplexity / max(CASE WHEN how = 'computed again' THEN perplexity END) OVER (PARTITION BY train_run_id, window) AS relative FROM e)
SELECT CASE WHEN window > 0 THEN window ELSE 'none' END AS window, name, how, perplexity, relative,
    CASE WHEN how IN ('0 sinks', '1 sink, cache', '4 sinks, cache') THEN name || ' sinks=' || attention_sinks END AS series,
    CASE WHEN window > 0 THEN 1.0 * window / L_train END AS multiple, CASE position WHEN 'none' THEN 'without positions' ELSE 'with positions' END AS kind, state, position, L_train, L_train_nominal, seed, scale, dataset, corpus, model, split, precision,
    tokens, parameters, modified, run_id, config_id
FROM related ORDER BY window = 0, window, kind, how = 'computed again' DESC, how, place, name, seed;
