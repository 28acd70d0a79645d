-- What layers that differ change. Parameters: :artefact, :scale. A statement must hold for each seed;
-- until the models of a case have finite numbers at L and at 6 L it is "not run".
WITH
threshold AS (SELECT
    0.05 AS gain, -- E14a, E14c: a difference at 6 L that counts, as a share of perplexity
    0.10 AS flat, -- E14b: perplexity at 6 L above that at L, at most
    0.01 AS cost, -- E14d: perplexity at L above that of the plain method, at most
    0.05 AS log_n -- E14e: what the log-n temperature takes from the perplexity at 6 L, at least
),
e AS (
    SELECT w.position || CASE WHEN n.value <> '' THEN ' nope' ELSE '' END || CASE WHEN s.value <> 'none' THEN ' windows' ELSE '' END AS model,
        w.seed, max(CASE WHEN w.L_valid = w.L_train THEN w.perplexity END) AS at_L,
        max(CASE WHEN w.L_valid = 6 * w.L_train AND t.value IS NULL THEN w.perplexity END) AS far,
        max(CASE WHEN w.L_valid = 6 * w.L_train AND t.value = 'log' THEN w.perplexity END) AS log_n_far,
        max(CASE WHEN w.L_valid = w.L_train THEN w.run_id END) AS run_L, max(CASE WHEN w.L_valid = 6 * w.L_train AND t.value IS NULL THEN w.run_id END) AS run_6L,
        max(CASE WHEN w.L_valid = 6 * w.L_train AND t.value = 'log' THEN w.run_id END) AS run_log_n
    FROM wanted_evaluations w
    LEFT JOIN settings n ON n.run_id = w.train_run_id AND n.key = 'model.position_layers'
    LEFT JOIN settings s ON s.run_id = w.train_run_id AND s.key = 'model.attention_window_layers'
    LEFT JOIN settings t ON t.run_id = w.run_id AND t.key = 'eval.temperature' AND t.value <> 'none'
    WHERE w.artefact = :artefact AND w.scale = :scale GROUP BY w.train_run_id),
beyond AS ( -- of rows of 6 L: perplexity beyond L over that in the last half of L
    SELECT run_id, exp(difference_nats) AS r, exp(difference_nats) * standard_error AS error FROM extrapolation),
case_of(claim, model, other, what) AS (VALUES
    ('E14a', 'rotary nope', 'rotary', 'rotary, every fourth layer without position'),
    ('E14b', 'rotary nope windows', 'rotary', 'rotary with windows, every fourth layer without position'),
    ('E14c', 'alibi nope', 'alibi', 'ALiBi, every fourth layer without position'),
    ('E14d', 'rotary nope', 'rotary', 'rotary, every fourth layer without position'),
    ('E14d', 'rotary windows', 'rotary', 'rotary, windows but for every fourth layer'),
    ('E14d', 'rotary nope windows', 'rotary', 'rotary with windows, every fourth layer without position'),
    ('E14d', 'alibi nope', 'alibi', 'ALiBi, every fourth layer without position'),
    ('E14e', 'none', 'none', 'NoPE'),
    ('E14e', 'rotary nope', 'rotary nope', 'rotary, every fourth layer without position')),
wanted AS (SELECT claim, count(*) AS n FROM case_of JOIN e USING (model) GROUP BY claim),
found(claim, seed, item, run, other, measured, error, bound, direction, runs, said) AS (
    SELECT claim, a.seed, what,
        CASE claim WHEN 'E14d' THEN a.run_L WHEN 'E14e' THEN a.run_log_n WHEN 'E14b' THEN NULL ELSE a.run_6L END,
        CASE claim WHEN 'E14d' THEN b.run_L WHEN 'E14e' THEN a.run_6L WHEN 'E14b' THEN NULL ELSE b.run_6L END,
        CASE claim WHEN 'E14b' THEN x.r END, CASE claim WHEN 'E14b' THEN x.error END,
        CASE claim WHEN 'E14a' THEN 1 - gain WHEN 'E14b' THEN 1 + flat WHEN 'E14c' THEN 1 + gain WHEN 'E14e' THEN 1 - log_n ELSE 1 + cost END,
        CASE claim WHEN 'E14c' THEN 'at least' ELSE 'at most' END, CASE claim WHEN 'E14b' THEN a.run_6L END,
        CASE claim
            WHEN 'E14b' THEN printf('%s: beyond L x %.3f the last half of L; %.2f at 6 L, %.2f at L', what, x.r, a.far, a.at_L)
            WHEN 'E14e' THEN printf('%s: %.2f at 6 L with the temperature, %.2f without (%+.1f %%)', what, a.log_n_far, a.far, 100 * (a.log_n_far / a.far - 1))
            WHEN 'E14d' THEN printf('%s: %.2f at L, plain %.2f (%+.1f %%)', what, a.at_L, b.at_L, 100 * (a.at_L / b.at_L - 1))
            ELSE printf('%s: %.2f at 6 L, plain %.2f (%+.1f %%)', what, a.far, b.far, 100 * (a.far / b.far - 1)) END
    FROM case_of JOIN e a USING (model) JOIN e b ON b.model = other AND b.seed = a.seed
    LEFT JOIN beyond x ON x.run_id = a.run_6L, threshold
    WHERE a.at_L IS NOT NULL AND a.far IS NOT NULL AND (claim <> 'E14e' OR a.log_n_far IS NOT NULL) AND b.at_L IS NOT NULL AND b.far IS NOT NULL
        AND (claim <> 'E14b' OR x.r IS NOT NULL)),
statements(claim, statement) AS (
    SELECT 'E14a', printf('A rotary model whose every fourth layer has no position has at least %.0f %% less perplexity at 6 L than one with rotary in all layers.', 100 * gain) FROM threshold
    UNION ALL SELECT 'E14b', printf('With windows on its rotary layers too, in rows of 6 L its perplexity beyond L is at most %.0f %% above that in the last half of L.', 100 * flat) FROM threshold
    UNION ALL SELECT 'E14c', printf('Layers without position cost ALiBi its extrapolation: at 6 L perplexity is at least %.0f %% above that of ALiBi in all layers.', 100 * gain) FROM threshold
    UNION ALL SELECT 'E14d', printf('At L no pattern costs more than %.0f %%.', 100 * cost) FROM threshold
    UNION ALL SELECT 'E14e', printf('At 6 L the log-n temperature takes at least %.0f %% from the perplexity of a model without positions, and of one without positions in every fourth layer.', 100 * log_n) FROM threshold)
SELECT s.claim, s.statement, coalesce(w.n, 0) AS wanted, f.seed, NULL AS holds, f.said, f.item, f.run, f.other, f.measured, f.error, f.bound, f.direction, f.runs
FROM statements s LEFT JOIN wanted w USING (claim) LEFT JOIN found f ON f.claim = s.claim ORDER BY s.claim, f.seed, f.said;
