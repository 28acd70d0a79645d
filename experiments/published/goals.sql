WITH at_L AS (
  SELECT position, seed, L_train_nominal AS L, perplexity AS p,
    lag(perplexity) OVER (PARTITION BY position, seed ORDER BY L_train_nominal) AS shorter
  FROM artefact_evaluations WHERE artefact = 'table5' AND scale = 'mini' AND L_valid_nominal = L_train_nominal),
ranked AS (
  SELECT seed, max(CASE position WHEN 'alibi' THEN p END) AS alibi, max(CASE position WHEN 't5' THEN p END) AS t5,
    max(CASE position WHEN 'rotary' THEN p END) AS rotary, max(CASE position WHEN 'sinusoidal' THEN p END) AS sinusoidal
  FROM at_L WHERE L = 3072 GROUP BY seed),
curve AS (
  SELECT position, L_train_nominal AS L, L_valid_nominal AS V, perplexity AS p, seed FROM artefact_evaluations
  WHERE artefact = 'figure1' AND scale = 'mini'
  UNION ALL SELECT position, L_train, coalesce(L_valid, x), value, 0 FROM paper_values WHERE artefact = 'figure1' AND metric = 'perplexity'),
breaks AS (
  SELECT c.position, c.L, c.seed, min(CASE WHEN c.p > 1.05 * o.p THEN c.V END) AS V, max(c.p / o.p) AS highest
  FROM curve c JOIN curve o ON o.position = c.position AND o.L = c.L AND o.seed = c.seed AND o.V = o.L
  WHERE c.V > c.L GROUP BY c.position, c.L, c.seed),
place AS (SELECT position, 1.0 * o.V / t.V AS times FROM breaks o JOIN breaks t USING (position, L) WHERE o.seed > 0 AND t.seed = 0)
SELECT 'perplexity at L falls as L grows, or stays level within 1 %' AS goal,
  printf('%d of %d steps; the largest rise is %.1f %%', sum(p <= 1.01 * shorter), count(shorter), 100 * max(p / shorter - 1)) AS result FROM at_L
UNION ALL
SELECT 'order at 3,072: ALiBi, T5 bias, rotary, sinusoidal, ties within 1 %',
  printf('%d of %d seeds; ALiBi over rotary %.3f to %.3f, T5 bias over rotary %.3f to %.3f, rotary over sinusoidal %.3f to %.3f',
    sum(alibi <= 1.01 * t5 AND t5 <= 1.01 * rotary AND rotary <= 1.01 * sinusoidal), count(*), min(alibi / rotary), max(alibi / rotary),
    min(t5 / rotary), max(t5 / rotary), min(rotary / sinusoidal), max(rotary / sinusoidal)) FROM ranked
UNION ALL
SELECT 'each method first exceeds 1.05 x where the paper''s does, in multiples of L, within a factor of two',
  (SELECT group_concat(text, ', ') FROM (
    SELECT printf('%s %.1f to %.1f', m.display, min(times), max(times)) AS text
    FROM place JOIN position_methods m USING (position) WHERE times > 0 GROUP BY m.place ORDER BY m.place)) || ' of the paper''s'
UNION ALL
SELECT 'ALiBi nowhere above its perplexity at L by more than 1 %', printf('at most %.1f %% above', 100 * max(highest - 1))
FROM breaks WHERE position = 'alibi' AND seed > 0
