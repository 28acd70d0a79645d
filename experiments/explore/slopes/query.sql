-- Two kinds of rows: perplexity under the name of the set of slopes, and the slope of each head after
-- training, of an evaluation that records what heads do. The figure has the slopes of the scale's set and of
-- the learned ones. Parameters: :artefact, :scale.
WITH
listed AS (
    SELECT w.*, coalesce(s.value, '0.5,0.00390625') AS list, coalesce(m.value, 'exp') AS form, b.value AS start, min(w.point) OVER () AS first_point,
        coalesce(a.value, '0') <> '0' AS of_heads
    FROM wanted_evaluations w
    LEFT JOIN settings s ON s.run_id = w.train_run_id AND s.key = 'model.alibi_slopes'
    LEFT JOIN settings m ON m.run_id = w.train_run_id AND m.key = 'model.alibi_parametrisation'
    LEFT JOIN settings b ON b.run_id = w.train_run_id AND b.key = 'model.alibi_start_slopes'
    LEFT JOIN settings a ON a.run_id = w.run_id AND a.key = 'eval.attention_rows'
    WHERE w.artefact = :artefact AND w.scale = :scale),
ends AS ( -- the first and the last slope
    SELECT *, CAST(list AS REAL) AS high, CAST(replace(list, rtrim(list, replace(list, ',', '')), '') AS REAL) AS low,
        position = 'alibi' AND list = (SELECT list FROM listed WHERE point = first_point) AS is_own FROM listed),
named AS (
    SELECT *, CASE WHEN is_own THEN 'the scale''s set'
        WHEN position = 'alibi_learned' THEN 'learned, ' || form || CASE WHEN start IS NULL OR start LIKE '%,0.0078125' THEN ', from the scale''s set' ELSE ', from a forget gate''s' END
        WHEN list LIKE '%,0,0,0,0' THEN 'four heads without' WHEN low = 0 THEN 'the flattest head without'
        ELSE printf('exponents %.1f to %.1f in place of 1 to 8', 1 - ln(high) / ln(2), 1 - ln(low) / ln(2)) END AS slopes
    FROM ends)
SELECT 'perplexity' AS part, slopes, CASE WHEN L_valid = L_train THEN 'at L' ELSE printf('at %g L', 1.0 * L_valid / L_train) END AS cell, perplexity AS number,
    'perplexity' AS metric, NULL AS series, NULL AS head, NULL AS slope, named.*
FROM named WHERE NOT of_heads
UNION ALL
SELECT 'slope of each head after training', slopes, CASE WHEN h.head IS NULL THEN 'head 1' ELSE 'head ' || h.head END, h.slope, 'slope',
    CASE WHEN is_own OR named.position = 'alibi_learned' THEN slopes END, h.head, h.slope, named.*
FROM named LEFT JOIN attention h ON h.run_id = named.run_id AND h.text = 'natural' AND h.layer = 1 WHERE of_heads
ORDER BY part, point, head, seed;
