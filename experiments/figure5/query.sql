-- Figure 5: perplexity on the validation text while a model trains, over the time of one device.
-- One row for each validation that was made; one without a number for a training that has none yet.
-- Time is the tokens seen so far over the training's words per second, in hours at scale paper and
-- in minutes at the others, which x_name says; validations are not counted, and a training by several
-- processes has no such time. Each panel has one length of evaluation: the sinusoidal model's own,
-- twice ALiBi's. Parameters: :artefact, :scale.
WITH trained AS (
    SELECT p.artefact, p.L_train_nominal, r.*, m.display, m.place,
           CASE r.position WHEN 'alibi' THEN 2 ELSE 1 END AS multiple
    FROM points p
    JOIN runs r ON r.run_id = p.run_id AND r.kind = 'train'
    JOIN position_methods m ON m.position = r.position
    WHERE p.artefact = :artefact AND p.scale = :scale),
unit(x_name, seconds) AS (SELECT 'hours', 3600 WHERE :scale = 'paper' UNION ALL SELECT 'minutes', 60 WHERE :scale <> 'paper')
SELECT r.artefact, r.scale, r.dataset, r.corpus, r.model, r.position, r.display AS method,
       r.display || ' L=' || r.L_train || CASE WHEN r.L_train = r.L_train_nominal THEN '' ELSE ' (' || r.L_train_nominal || ')' END AS series,
       CASE r.L_train_nominal * multiple WHEN 1024 THEN 'left L_valid=1024' ELSE 'right L_valid=2048' END AS panel,
       r.L_train, r.L_train_nominal, r.L_train * multiple AS L_valid, r.L_train_nominal * multiple AS L_valid_nominal,
       'valid' AS split, 'nonoverlapping' AS protocol, r.precision, r.seed,
       x_name, c.step, round(c.step * t.tokens_per_update / t.train_wps / seconds, 4) AS x,
       'perplexity' AS metric, c.perplexity, c.loss_nats, t.train_wps, t.updates,
       CASE WHEN (SELECT a.state FROM attempts a WHERE a.run_id = r.run_id
                  ORDER BY a.attempt DESC LIMIT 1) = 'diverged' THEN 'diverged' END AS state,
       r.modified, r.run_id, r.config_id, r.parameters
FROM trained r
JOIN unit
LEFT JOIN trainings t ON t.run_id = r.run_id AND t.ranks = 1
LEFT JOIN curves c ON c.run_id = r.run_id AND c.split = 'valid' AND t.run_id IS NOT NULL
ORDER BY panel, r.place, r.seed, c.step;
