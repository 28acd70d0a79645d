-- The evaluations of the grid under the name of their slopes; the figure has those that are the paper's
-- times a factor. Parameters: :artefact, :scale.
WITH
listed AS (
    SELECT w.*, coalesce(s.value, '0.5,0.00390625') AS list, coalesce(m.value, 'exp') AS form, b.value AS start
    FROM wanted_evaluations w
    LEFT JOIN settings s ON s.run_id = w.train_run_id AND s.key = 'model.alibi_slopes'
    LEFT JOIN settings m ON m.run_id = w.train_run_id AND m.key = 'model.alibi_parametrisation'
    LEFT JOIN settings b ON b.run_id = w.train_run_id AND b.key = 'model.alibi_start_slopes'
    WHERE w.artefact = :artefact AND w.scale = :scale),
ends AS ( -- the first and the last slope
    SELECT *, CAST(list AS REAL) AS high, CAST(replace(list, rtrim(list, replace(list, ',', '')), '') AS REAL) AS low FROM listed),
factor AS (
    SELECT *, CASE WHEN position = 'alibi' AND low > 0 AND abs(high / low / 128 - 1) < 1e-3 THEN high / 0.5 END AS c FROM ends)
SELECT *,
    CASE WHEN c IS NOT NULL THEN printf('the paper''s × %g', c)
        WHEN position = 'alibi_learned' THEN 'learned, ' || form || CASE WHEN start IS NULL OR start LIKE '%,0.0078125' THEN ', from the paper''s' ELSE ', from a forget gate''s' END
        WHEN list LIKE '%,0,0,0,0' THEN 'four heads without' WHEN low = 0 THEN 'the flattest head without'
        ELSE printf('exponents %.1f to %.1f in place of 1 to 8', 1 - ln(high) / ln(2), 1 - ln(low) / ln(2)) END AS slopes,
    CASE WHEN c IS NOT NULL AND split = 'test' THEN printf('ALiBi read=%gL', 1.0 * L_valid / L_train) END AS series
FROM factor ORDER BY split DESC, c IS NULL, c, point;
