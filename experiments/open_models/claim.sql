-- Statements about open models, as verdicts. Parameters: :artefact, :scale. Each must hold for each model of its kind that
-- is here; until all its numbers exist, finite, it is "not run".
WITH
threshold AS (SELECT
    0.01 AS level, -- O1: bits per byte at any length up to 4 L, above those at L by at most
    0.05 AS breaks -- O2: bits per byte at 2 L, above those at L by at least
),
e AS (
    SELECT w.model, w.position, coalesce(s.value, 'none') AS scaling, w.L_train AS L, 1.0 * w.L_valid / w.L_train AS multiple,
        w.bits_per_byte AS bits, w.state, w.train_run_id
    FROM wanted_evaluations w LEFT JOIN settings s ON s.run_id = w.train_run_id AND s.key = 'model.rope_scaling'
    WHERE w.artefact = :artefact AND w.scale = :scale),
model AS ( -- one a model: what the claims need of it, NULL where a number is missing
    SELECT model, position, scaling, L,
        max(bits) FILTER (WHERE multiple = 1) AS at_L, max(bits) FILTER (WHERE multiple = 2) AS at_2L,
        CASE WHEN count(*) FILTER (WHERE multiple > 1) = count(bits) FILTER (WHERE multiple > 1)
            THEN max(bits) FILTER (WHERE multiple > 1) END AS most,
        max(multiple) AS longest,
        count(*) FILTER (WHERE multiple > 1) AS beyond, count(*) FILTER (WHERE multiple > 1 AND state = 'not defined') AS ended
    FROM e GROUP BY train_run_id),
found(claim, holds, said) AS (
    SELECT 'O1', most <= (1 + level) * at_L,
        printf('%s: %.4f bits per byte at L = %d, at most %.4f beyond it, up to %.3g L (%+.2f %%)', model, at_L, L, most, longest, 100 * (most / at_L - 1))
    FROM model, threshold WHERE position = 'alibi' AND at_L + most IS NOT NULL
    UNION ALL
    SELECT 'O2', at_2L >= (1 + breaks) * at_L,
        printf('%s: %.4f bits per byte at L = %d, %.4f at 2 L (%+.2f %%)', model, at_L, L, at_2L, 100 * (at_2L / at_L - 1))
    FROM model, threshold WHERE position = 'rotary' AND scaling = 'none' AND at_L + at_2L IS NOT NULL
    UNION ALL
    SELECT 'O3', ended = beyond, printf('%s: %.4f bits per byte at L = %d, %d of %d longer inputs are not defined', model, at_L, L, ended, beyond)
    FROM model WHERE position = 'learned' AND at_L IS NOT NULL),
statements(claim, statement, wanted) AS (
    SELECT 'O1', printf('ALiBi models do not rise: beyond the training length bits per byte stay within %.0f %% of those at it.', 100 * level),
        (SELECT count(*) FROM model WHERE position = 'alibi' AND beyond > 0) FROM threshold
    UNION ALL SELECT 'O2', printf('Rotary models without scaling do: at twice the training length bits per byte are at least %.0f %% higher.', 100 * breaks),
        (SELECT count(*) FROM model WHERE position = 'rotary' AND scaling = 'none' AND beyond > 0) FROM threshold
    UNION ALL SELECT 'O3', 'Learned positions end: no longer input has a number.', (SELECT count(*) FROM model WHERE position = 'learned'))
SELECT s.claim, s.statement, s.wanted, NULL AS seed, f.holds, f.said
FROM statements s LEFT JOIN found f USING (claim) ORDER BY s.claim, f.said;
