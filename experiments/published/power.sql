WITH seed_cell AS (
  SELECT position, method, place, L_valid_nominal AS V, seed, perplexity FROM wanted_evaluations
  WHERE artefact = 'power' AND scale = 'mini' AND perplexity IS NOT NULL),
fall AS (
  SELECT a.position, group_concat(printf('%.1f', 100 * (1 - b.perplexity / a.perplexity)), ', ') AS by_seed,
    100 * (1 - avg(b.perplexity) / avg(a.perplexity)) AS share
  FROM (SELECT * FROM seed_cell WHERE V = 512 ORDER BY seed) a JOIN seed_cell b USING (position, seed) WHERE b.V = 3072 GROUP BY a.position)
SELECT method, printf('%.2f', avg(CASE V WHEN 64 THEN perplexity END)) AS "64", printf('%.2f', avg(CASE V WHEN 128 THEN perplexity END)) AS "128",
  printf('%.2f', avg(CASE V WHEN 256 THEN perplexity END)) AS "256", printf('%.2f', avg(CASE V WHEN 512 THEN perplexity END)) AS "512",
  printf('%.2f', avg(CASE V WHEN 768 THEN perplexity END)) AS "768", printf('%.2f', avg(CASE V WHEN 1024 THEN perplexity END)) AS "1,024",
  printf('%.2f', avg(CASE V WHEN 1536 THEN perplexity END)) AS "1,536", printf('%.2f', avg(CASE V WHEN 3072 THEN perplexity END)) AS "3,072",
  printf('−%.1f %% (%s)', share, by_seed) AS "512 to 3,072 (by seed)"
FROM seed_cell JOIN fall USING (position) GROUP BY position ORDER BY place DESC
