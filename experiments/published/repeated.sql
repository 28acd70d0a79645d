WITH again AS (
  SELECT r.position, r.L_valid > r.L_train AS beyond, abs(o.perplexity / v.perplexity - 1) AS off
  FROM results v JOIN runs r USING (run_id) JOIN run_attempts a USING (attempt_id)
  JOIN results o ON o.run_id = v.run_id AND NOT o.current
  JOIN run_attempts b ON b.attempt_id = o.attempt_id AND b.device <> a.device
  WHERE v.current AND v.kind = 'eval' AND v.perplexity > 0 AND o.perplexity > 0),
ordered AS (
  SELECT *, count(*) OVER part AS n, row_number() OVER (part ORDER BY off) AS nth
  FROM again WINDOW part AS (PARTITION BY position, beyond)),
summed AS (
  SELECT position, sum(NOT beyond) AS near_n, sum(beyond) AS far_n,
    avg(off) FILTER (WHERE NOT beyond AND nth IN ((n + 1) / 2, (n + 2) / 2)) AS near_median,
    max(off) FILTER (WHERE NOT beyond) AS near_most,
    avg(off) FILTER (WHERE beyond AND nth IN ((n + 1) / 2, (n + 2) / 2)) AS far_median,
    max(off) FILTER (WHERE beyond) AS far_most FROM ordered GROUP BY position)
SELECT m.display AS method, near_n AS "up to L", printf('%.1f %%', 100 * near_median) AS median,
  printf('%.1f %%', 100 * near_most) AS largest, far_n AS "beyond L",
  CASE WHEN far_n THEN printf('%.1f %%', 100 * far_median) END AS "median beyond",
  CASE WHEN far_n THEN printf('%.1f %%', 100 * far_most) END AS "largest beyond"
FROM summed JOIN position_methods m USING (position) ORDER BY far_most DESC, position
