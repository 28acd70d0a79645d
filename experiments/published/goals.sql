WITH at_L AS (
  SELECT position, seed, L_train_nominal AS L, perplexity AS p,
    lag(perplexity) OVER (PARTITION BY position, seed ORDER BY L_train_nominal) AS shorter
  FROM artefact_evaluations WHERE artefact = 'table5' AND scale = 'mini' AND L_valid_nominal = L_train_nominal),
ranked AS (
  SELECT seed, max(CASE position WHEN 'alibi' THEN p END) AS alibi, max(CASE position WHEN 't5' THEN p END) AS t5,
    max(CASE position WHEN 'rotary' THEN p END) AS rotary, max(CASE position WHEN 'sinusoidal' THEN p END) AS sinusoidal
  FROM at_L WHERE L = 3072 GROUP BY seed)
SELECT 'perplexity at L falls as L grows, or stays level within 1 %' AS goal,
  printf('%d of %d steps; the largest rise is %.1f %%', sum(p <= 1.01 * shorter), count(shorter), 100 * max(p / shorter - 1)) AS result FROM at_L
UNION ALL
SELECT 'order at 3,072: ALiBi, T5 bias, rotary, sinusoidal, ties within 1 %',
  printf('%d of %d seeds; ALiBi over rotary %.3f to %.3f, T5 bias over rotary %.3f to %.3f, rotary over sinusoidal %.3f to %.3f',
    sum(alibi <= 1.01 * t5 AND t5 <= 1.01 * rotary AND rotary <= 1.01 * sinusoidal), count(*), min(alibi / rotary), max(alibi / rotary),
    min(t5 / rotary), max(t5 / rotary), min(rotary / sinusoidal), max(rotary / sinusoidal)) FROM ranked
