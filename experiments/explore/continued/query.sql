-- Two kinds of rows. With an arm: a number of the table, at the arm's chosen rate. With a series: a
-- point of the figure, one for each rate. Parameters: :artefact, :scale.
WITH t AS MATERIALIZED ( -- what arms of trainings differ in
    SELECT run_id, max(CASE key WHEN 'train.lr' THEN CAST(value AS REAL) END) AS rate, max(CASE key WHEN 'model.heads' THEN value END) AS heads,
        max(CASE key WHEN 'model.rope_scaling' THEN value END) AS scaling, max(CASE key WHEN 'train.from' THEN value END) AS parent
    FROM settings WHERE key IN ('train.lr', 'model.heads', 'model.rope_scaling', 'train.from') GROUP BY run_id),
e AS ( -- an evaluation, the part and the arm of its training, and its role
    SELECT w.*, t.rate, t.heads, p.L_train AS from_L, coalesce(t.scaling, 'none') AS scaling,
        w.split = 'valid' AS chooses
    FROM wanted_evaluations w JOIN t ON t.run_id = w.train_run_id LEFT JOIN run_list p ON p.run_id = t.parent
    WHERE w.artefact = :artefact AND w.scale = :scale),
named AS (
    SELECT *,
        CASE position
            WHEN 'sinusoidal' THEN 'sinusoidal, ' || coalesce(from_L || ' then ', '') || L_train
            WHEN 'alibi' THEN 'ALiBi, ' || coalesce(from_L || ' then ', '') || L_train
            ELSE CASE WHEN from_L IS NULL AND position_scaling = 'none' THEN 'rotary, as trained'
                      WHEN from_L IS NULL THEN 'rotary, ' || position_scaling || ', not trained'
                      ELSE 'rotary, ' || CASE scaling WHEN 'none' THEN 'no scaling' ELSE scaling END || ', fine-tuned' END
        END AS arm
    FROM e),
chosen AS ( -- of each arm and seed the rate with the lowest perplexity on valid, at its last L_train; without one the lowest rate
    SELECT arm, heads, seed, rate AS chosen_rate FROM (
        SELECT arm, heads, seed, rate, row_number() OVER (PARTITION BY arm, heads, seed
            ORDER BY chooses AND perplexity IS NOT NULL DESC, CASE WHEN chooses THEN perplexity END, rate) AS n
        FROM named)
    WHERE n = 1),
part(part, place, text) AS (VALUES
    ('stages', 1, 'stages'),
    ('lengths', 2, 'two lengths'),
    ('scalings 8', 3, 'fine-tuned at 3072, heads of width 8'),
    ('scalings 2', 4, 'fine-tuned at 3072, heads of width 32')),
placed AS (
    SELECT n.*, p.part, p.place AS part_place, p.text AS part_text
    FROM named n JOIN part p ON CASE p.part
        WHEN 'stages' THEN n.protocol = 'sliding' OR n.chooses AND n.L_train_nominal IN (512, 3072) AND n.position IN ('sinusoidal', 'alibi')
        WHEN 'lengths' THEN n.position = 'alibi' AND n.protocol <> 'sliding'
        WHEN 'scalings 8' THEN n.position = 'rotary' AND n.heads = '8'
        ELSE n.position = 'rotary' AND n.heads = '2' END),
kind(kind) AS (VALUES ('table'), ('figure'))
SELECT p.part_text AS part, p.part_place,
    CASE kind WHEN 'table' THEN p.arm END AS arm,
    CASE kind WHEN 'figure' THEN p.arm END AS series,
    CASE WHEN p.chooses THEN 'valid, last L_train' WHEN p.protocol = 'sliding' THEN 'test, 3072, sliding'
         ELSE 'test, ' || p.L_valid_nominal END AS measure,
    p.perplexity, p.rate, p.position, p.L_train, p.seed, p.scale, p.dataset, p.corpus, p.model, p.precision, p.parameters, p.modified,
    p.state, p.run_id, p.config_id
FROM placed p JOIN chosen c USING (arm, heads, seed) JOIN kind ON CASE kind
    WHEN 'table' THEN p.rate = c.chosen_rate
    ELSE NOT p.chooses AND p.L_valid_nominal = 3072 AND p.part NOT IN ('lengths', 'scalings 8') AND (p.from_L IS NOT NULL OR p.position <> 'rotary') END
ORDER BY kind DESC, p.part_place, p.chooses DESC, p.L_valid_nominal, p.point, p.seed;
