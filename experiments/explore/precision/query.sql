-- Perplexity by the length of the rows, a curve for each form and format of the bias, relative to slope x distance
-- in fp32 of the same model, rows and targets. Parameters: :artefact, :scale.
SELECT e.*, 100 * (perplexity / exact - 1) AS percent, CASE WHEN how <> 'distance, fp32' THEN how END AS curve,
    printf('trained on %d', L_train_nominal) AS trained,
    CASE how WHEN 'distance, bf16' THEN 'rotary' WHEN 'distance, fp16' THEN 't5' WHEN 'key, fp32' THEN 'none' WHEN 'key, bf16' THEN 'sinusoidal' ELSE 'alibi' END AS style
FROM (SELECT *, max(perplexity) FILTER (WHERE how = 'distance, fp32') OVER (PARTITION BY train_run_id, L_valid) AS exact
    FROM (SELECT w.*, coalesce(b.value, 'distance') || ', ' || coalesce(p.value, 'fp32') AS how
        FROM wanted_evaluations w LEFT JOIN settings b ON b.run_id = w.run_id AND b.key = 'eval.alibi_bias'
        LEFT JOIN settings p ON p.run_id = w.run_id AND p.key = 'eval.alibi_precision'
        WHERE w.artefact = :artefact AND w.scale = :scale)) AS e
ORDER BY L_train, how LIKE 'key%', how = 'distance, fp32' DESC, how = 'key, fp32' DESC, how, L_valid, seed;
