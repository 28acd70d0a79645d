-- Figure 5: perplexity on the validation text while a model trains, over hours of one device.
-- One row for each validation that was made; one without a number for a training that has none yet.
-- Hours are the tokens seen so far over the training's words per second; validations are not
-- counted. Each panel has one length of evaluation: the sinusoidal model's own, twice ALiBi's.
-- Parameters: :artefact, :scale.
SELECT p.artefact, r.scale, r.dataset, r.corpus, r.model, r.position,
       CASE r.position WHEN 'sinusoidal' THEN 'Sinusoidal' WHEN 'rotary' THEN 'Rotary'
                       WHEN 't5' THEN 'T5 Bias' WHEN 'alibi' THEN 'ALiBi' ELSE r.position END AS method,
       CASE r.position WHEN 'sinusoidal' THEN 'Sinusoidal' WHEN 'rotary' THEN 'Rotary'
                       WHEN 't5' THEN 'T5 Bias' WHEN 'alibi' THEN 'ALiBi' ELSE r.position END
           || ' L=' || r.L_train || CASE WHEN r.L_train = p.L_train_nominal THEN '' ELSE ' (' || p.L_train_nominal || ')' END AS series,
       CASE p.L_train_nominal * CASE r.position WHEN 'alibi' THEN 2 ELSE 1 END
            WHEN 1024 THEN 'left L_valid=1024' ELSE 'right L_valid=2048' END AS panel,
       r.L_train, p.L_train_nominal,
       r.L_train * CASE r.position WHEN 'alibi' THEN 2 ELSE 1 END AS L_valid,
       p.L_train_nominal * CASE r.position WHEN 'alibi' THEN 2 ELSE 1 END AS L_valid_nominal,
       'valid' AS split, 'nonoverlapping' AS protocol, r.precision, r.seed,
       c.step, round(c.step * t.tokens_per_update / t.train_wps / 3600, 6) AS x,
       'perplexity' AS metric, c.perplexity, c.loss_nats, t.train_wps, t.updates,
       CASE WHEN (SELECT a.state FROM attempts a WHERE a.run_id = r.run_id
                  ORDER BY a.attempt DESC LIMIT 1) = 'diverged' THEN 'diverged' END AS state,
       r.modified, r.run_id, r.config_id
FROM points p
JOIN runs r ON r.run_id = p.run_id AND r.kind = 'train'
LEFT JOIN trainings t ON t.run_id = r.run_id
LEFT JOIN curves c ON c.run_id = r.run_id AND c.split = 'valid' AND t.run_id IS NOT NULL
WHERE p.artefact = :artefact AND p.scale = :scale
ORDER BY panel, CASE r.position WHEN 'sinusoidal' THEN 1 WHEN 'rotary' THEN 2 WHEN 't5' THEN 3 WHEN 'alibi' THEN 4 END, r.seed, c.step;
