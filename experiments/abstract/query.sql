-- Two kinds of rows. With a series: a point of the figure, perplexity over the length of the input,
-- both as multiples of what they are at L_valid = L_train. With a number: a number of the table. Both
-- of ours and of the paper (its Tables 2, 3 and 5). Parameters: :artefact, :scale.
WITH ours AS (
    SELECT 'ours' AS side, place, method, position, L_train, L_train_nominal, L_valid, L_valid_nominal, perplexity,
        scale, dataset, corpus, model, split, protocol, precision, tokens, parameters, seed, modified, state, run_id, config_id,
        train_run_id AS training
    FROM wanted_evaluations WHERE artefact = :artefact AND scale = :scale),
paper AS (
    SELECT 'the paper', m.place, v.method, v.position, NULL, v.L_train, v.L_valid, v.L_valid, v.value,
        NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
        v.position || v.L_train
    FROM paper_values v JOIN position_methods m USING (position)
    WHERE v.metric = 'perplexity' AND (v.artefact IN ('table2', 'table3')
        OR v.artefact = 'table5' AND v.L_valid = 3072 AND (v.position = 'alibi' AND v.L_train = 512 OR v.position = 'sinusoidal'))),
both AS (
    SELECT *,
        max(L_train) OVER (PARTITION BY L_train_nominal) AS L,
        max(CASE WHEN L_valid_nominal = L_train_nominal THEN perplexity END) OVER (PARTITION BY side, training) AS at_L,
        max(CASE WHEN position = 'sinusoidal' AND L_train_nominal = 3072 THEN perplexity END) OVER (PARTITION BY side, seed) AS long
    FROM (SELECT * FROM ours UNION ALL SELECT * FROM paper)),
part(part) AS (VALUES ('figure'), ('longer'), ('headline'))
SELECT CASE part WHEN 'figure' THEN method || CASE side WHEN 'ours' THEN '' ELSE ' (paper)' END END AS series,
    CASE part WHEN 'longer' THEN method || ' trained on 512 tokens: perplexity at 1,512, times that at 512'
              WHEN 'headline' THEN method || ' trained on 512 tokens: perplexity at 3,072, times that of Sinusoidal trained on 3,072' END AS number,
    perplexity / CASE part WHEN 'headline' THEN long ELSE at_L END AS relative,
    1.0 * L_valid / CASE side WHEN 'ours' THEN L_train ELSE L_train_nominal END AS multiple,
    side, position, L AS L_train, L_train_nominal, seed, modified, state, run_id, config_id, scale, corpus, tokens, parameters,
    CASE part WHEN 'figure' THEN dataset END AS dataset, CASE part WHEN 'figure' THEN model END AS model,
    CASE part WHEN 'figure' THEN split END AS split, CASE part WHEN 'figure' THEN protocol END AS protocol,
    CASE part WHEN 'figure' THEN precision END AS precision
FROM both JOIN part ON CASE part
    WHEN 'figure' THEN L_train_nominal < 3072 AND L_valid_nominal <> 3072
    WHEN 'longer' THEN L_train_nominal = 512 AND L_valid_nominal = 1512
    ELSE L_train_nominal = 512 AND L_valid_nominal = 3072 END
WHERE L IS NOT NULL
ORDER BY part, side, place, L_train_nominal, multiple, seed;
