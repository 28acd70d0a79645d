-- claims.sql - claims judged and counted. "-- @ NAME" begins a part; claims.c puts them together.

-- @ cases_sql
-- report_claim has the rows of claim.sql, with its optional columns under other names (claims.c) or
-- what stands for one that it lacks. report_block: what a case's run loses against the other, in
-- nats, over the blocks of their targets, which must be the same. report_measured_case: the effect
-- of a case and its error; of two runs the ratio of their perplexities. Rows with a part are one
-- case with the others of their claim, split, item and seed; report_whole: its effect is that of
-- the part that is nearest to its bound, or farthest beyond it, divided by the bound (for a lower
-- bound the bound by the effect), so that 1 is the bound of the case. report_side: 1 if a case
-- holds, -1 if the opposite holds beyond its error, 0 if neither.
report_block AS MATERIALIZED (
  SELECT "#row" AS of_row,
    sqrt(max(0, avg(nats * nats) - avg(nats) * avg(nats)) / (count(*) - 1)) AS error
  FROM (SELECT c."#row", x.nll / x.targets - y.nll / y.targets AS nats
    FROM report_claim c
    JOIN results v ON v.run_id = c.run_of AND v.current = 1
    JOIN results w ON w.run_id = c.other_of AND w.current = 1
    JOIN runs r ON r.run_id = v.run_id
    JOIN runs o ON o.run_id = w.run_id AND o.corpus = r.corpus AND o.split = r.split
    JOIN group_losses x ON x.result_id = v.result_id AND x.grouping = 'block'
    LEFT JOIN group_losses y ON y.result_id = w.result_id AND y.grouping = 'block'
      AND y.first = x.first AND y.last = x.last)
  GROUP BY "#row" HAVING count(*) > 1 AND count(nats) = count(*)),
report_measured_case AS MATERIALIZED (
  SELECT c."#row", c.claim, c.statement, c.wanted, c.seed, c.holds AS held, c.said,
    c.split_of AS split, coalesce(c.item_of, '') AS item, c.is_counted, c.why_not, c.effect_of,
    c.threshold_of, c.method_of, c.realised_of AS realised, c.bound_of AS bound,
    c.direction_of AS direction, c.part_of AS part, c.run_of AS run, c.other_of AS other,
    c.runs_of AS more,
    coalesce(c.measured_of, v.perplexity / w.perplexity) AS measured,
    coalesce(c.error_of, v.perplexity / w.perplexity * b.error) AS error
  FROM report_claim c
  LEFT JOIN results v ON v.run_id = c.run_of AND v.current = 1
  LEFT JOIN results w ON w.run_id = c.other_of AND w.current = 1
  LEFT JOIN report_block b ON b.of_row = c."#row"),
report_of_bound AS (
  SELECT *, CASE WHEN direction IN ('at most', 'below') THEN measured / bound
      ELSE bound / measured END AS share FROM report_measured_case),
report_nearest AS (
  SELECT *, min("#row") OVER of_case AS head,
    row_number() OVER (of_case ORDER BY share DESC, "#row") AS nth
  FROM report_of_bound WINDOW of_case AS (PARTITION BY claim, split, item, seed)),
report_whole AS (
  SELECT CASE WHEN part IS NULL THEN "#row" ELSE head END AS "#row", claim, statement, wanted, seed,
    held, split, item, is_counted, why_not, effect_of, threshold_of, method_of, realised, run, other, more,
    CASE WHEN part IS NULL THEN said ELSE said || '; nearest to its bound: ' || part END AS said,
    CASE WHEN part IS NULL THEN measured ELSE share END AS measured,
    CASE WHEN part IS NULL THEN error ELSE share * error / measured END AS error,
    CASE WHEN part IS NULL THEN bound ELSE 1 END AS bound,
    CASE WHEN part IS NULL THEN direction
      ELSE CASE direction WHEN 'at least' THEN 'at most' WHEN 'above' THEN 'below'
        ELSE direction END END AS direction
  FROM report_nearest WHERE part IS NULL OR nth = 1),
report_held AS (
  SELECT *, bound IS NOT NULL AND measured IS NOT NULL AS is_measured,
    CASE WHEN bound IS NULL OR measured IS NULL THEN coalesce(held, 0) <> 0
      ELSE CASE direction WHEN 'at most' THEN measured <= bound WHEN 'below' THEN measured < bound
        WHEN 'at least' THEN measured >= bound ELSE measured > bound END END AS holds
  FROM report_whole),
report_side AS MATERIALIZED (
  SELECT *, CASE WHEN holds THEN 1 WHEN NOT is_measured THEN -1
      WHEN abs(measured - bound) > 3 * coalesce(error, 0) THEN -1 ELSE 0 END AS side
  FROM report_held),

-- A row for each case over its seeds. low and high: the t interval of 95 % of the mean, from five
-- seeds on (report_t: its factor for so many, or for the next number of seeds here). across: the
-- interval is not on the side of the bound on which the case holds; back: nor on the other. margin:
-- how far the mean is from failing.
report_t(n, factor) AS (
  VALUES (5, 2.776445), (6, 2.570582), (7, 2.446912), (8, 2.364624), (9, 2.306004), (10, 2.262157),
    (11, 2.228139), (12, 2.200985), (16, 2.131450), (21, 2.085963), (31, 2.042272)),
report_mean AS (
  SELECT claim, split, item, direction, count(*) AS seeds, avg(measured) AS mean,
    max(bound) AS bound,
    CASE WHEN count(*) > 1 THEN sqrt(sum(off * off) / (count(*) - 1) / count(*)) ELSE max(error) END
      AS error
  FROM (SELECT *, measured - avg(measured) OVER (PARTITION BY claim, split, item) AS off
    FROM report_side WHERE is_measured AND said IS NOT NULL)
  GROUP BY claim, split, item),
report_factor AS (
  SELECT m.*, (SELECT factor FROM report_t WHERE n <= seeds ORDER BY n DESC LIMIT 1) AS factor
  FROM report_mean m),
report_over_seeds AS MATERIALIZED (
  SELECT *, mean - factor * error AS low, mean + factor * error AS high,
    CASE WHEN direction IN ('at most', 'below') THEN bound - mean ELSE mean - bound END AS margin,
    CASE WHEN direction IN ('at most', 'below') THEN mean + factor * error > bound
      ELSE mean - factor * error < bound END AS across,
    CASE WHEN direction IN ('at most', 'below') THEN mean - factor * error <= bound
      ELSE mean + factor * error >= bound END AS back
  FROM report_factor),
report_narrowest AS MATERIALIZED (
  SELECT * FROM (
    SELECT *, count(*) OVER of_claim AS items_n, max(across) OVER of_claim AS some_across,
      max(back) OVER of_claim AS some_back, row_number() OVER (of_claim ORDER BY margin, item) AS n
    FROM report_over_seeds WINDOW of_claim AS (PARTITION BY claim, split))
  WHERE n = 1),

-- A row for each claim and split, with its verdict there.
report_part AS (
  SELECT s.claim, s.split, min(s."#row") AS head, count(s.said) AS cases_n,
    sum(s.said IS NOT NULL AND s.side = 1) AS holding_n,
    sum(s.said IS NOT NULL AND s.side = -1) AS against_n, max(s.why_not) AS unjudged,
    count(DISTINCT CASE WHEN s.said IS NOT NULL THEN s.seed END) AS seeds
  FROM report_side s GROUP BY s.claim, s.split),
report_verdict AS (
  SELECT p.*, f.wanted, m.mean AS measured, m.error, m.low, m.high, m.bound, m.direction, m.item,
    m.items_n, m.seeds AS measured_n,
    CASE WHEN unjudged IS NOT NULL THEN 'not judged'
      WHEN f.wanted = 0 OR cases_n < f.wanted THEN 'not run'
      WHEN holding_n = cases_n AND NOT coalesce(some_across, 0) THEN 'supported'
      WHEN against_n = cases_n AND NOT coalesce(some_back, 0) THEN 'contradicted'
      ELSE 'mixed' END AS verdict,
    CASE WHEN unjudged IS NOT NULL THEN 'not judged ' || unjudged
      WHEN f.wanted = 0 THEN 'nothing was run' WHEN cases_n < f.wanted
      THEN printf('%d of %d cases have their numbers', cases_n, f.wanted) END AS lacks
  FROM report_part p JOIN report_side f ON f."#row" = p.head
  LEFT JOIN report_narrowest m ON m.claim = p.claim AND m.split IS p.split),
-- The test split, which no setting was chosen on, decides where it has its numbers.
report_decided AS MATERIALIZED (
  SELECT v.*, min(v.head) OVER (PARTITION BY v.claim) AS first_row,
    o.split AS other_split, o.verdict AS other_verdict, o.lacks AS other_lacks,
    v.cases_n > 0 AND coalesce(o.cases_n, 0) > 0 AS both,
    row_number() OVER (PARTITION BY v.claim ORDER BY v.verdict = 'not run',
      CASE v.verdict WHEN 'not run' THEN -v.cases_n ELSE coalesce(v.split, '') <> 'test' END,
      v.head) AS nth
  FROM report_verdict v LEFT JOIN report_verdict o ON o.claim = v.claim AND o.split IS NOT v.split),
report_said AS (
  SELECT *,
    CASE verdict WHEN 'mixed' THEN printf('%d of %d cases hold, %d fail', holding_n, cases_n,
        against_n) || CASE WHEN holding_n + against_n < cases_n
      THEN printf(', %d within the error of the bound', cases_n - holding_n - against_n)
      ELSE '' END END AS share,
    CASE WHEN verdict IN ('supported', 'contradicted', 'mixed') AND measured IS NOT NULL THEN
      CASE WHEN low IS NOT NULL THEN
          printf(CASE WHEN items_n > 1 THEN 'narrowest of %d cases, %s, ' ELSE '%.0s%.0s' END,
            items_n, item)
          || printf('%d seeds: mean %.4g, 95 %% interval %.4g to %.4g (t, %d degrees of freedom), '
            || 'bound: %s %.4g', measured_n, measured, low, high, measured_n - 1, direction, bound)
        WHEN measured_n = 1 THEN '1 seed, judged alone: an interval needs 5'
        ELSE printf('%d seeds, each judged alone: an interval needs 5', measured_n) END
      END AS seeds_said,
    CASE WHEN other_verdict IS NOT NULL AND other_verdict <> verdict THEN
      printf('on %s: %s', other_split, coalesce(other_lacks, other_verdict)) END AS elsewhere
  FROM report_decided WHERE nth = 1),
report_judged AS (
  SELECT s."#row", s.claim, s.seed, s.holds, s.side, f.statement, d.wanted, f.is_counted AS counted,
    d.first_row AS head, d.verdict, d.lacks, d.share, d.seeds_said, d.elsewhere,
    printf('%d of %d', d.holding_n, d.cases_n) AS holding, d.measured,
    d.error, d.low, d.high, d.seeds, d.split, d.bound, max(s.effect_of) OVER of_claim AS effect,
    max(s.threshold_of) OVER of_claim AS threshold, max(s.method_of) OVER of_claim AS method,
    s.realised, s.split AS case_split, s.item, s.measured AS case_measured, s.error AS case_error,
    s.bound AS case_bound, s.direction, s.said,
    trim(coalesce(s.run, '') || ' ' || coalesce(s.other, '') || ' ' || coalesce(s.more, '')) AS ids,
    CASE WHEN d.wanted <> 0 THEN CASE WHEN d.both THEN s.split || ', ' ELSE '' END
      || CASE WHEN s.seed IS NULL THEN '' ELSE 'seed ' || s.seed || ', ' END || s.said
      || CASE WHEN d.verdict = 'mixed' AND NOT s.holds THEN ' (does not hold)' ELSE '' END
      END AS line
  FROM report_side s JOIN report_said d ON d.claim = s.claim
  JOIN report_side f ON f."#row" = d.first_row
  WINDOW of_claim AS (PARTITION BY s.claim))

-- @ verdicts_sql
-- Verdicts that claim.sql gives itself: each is one row, and its evidence the one line.
report_judged AS (
  SELECT "#row", claim, NULL AS seed, NULL AS holds, NULL AS side, statement, 0 AS wanted,
    is_counted AS counted, "#row" AS head,
    CASE WHEN why_not IS NULL THEN nullif(verdict, 'not judged') ELSE 'not judged' END AS verdict,
    'not judged ' || why_not AS lacks, NULL AS share, NULL AS seeds_said, NULL AS elsewhere,
    NULL AS holding, measured_of AS measured, error_of AS error, NULL AS low, NULL AS high, NULL AS seeds,
    split_of AS split, bound_of AS bound, effect_of AS effect, threshold_of AS threshold,
    method_of AS method, realised_of AS realised, NULL AS case_split, item_of AS item,
    measured_of AS case_measured, error_of AS case_error, bound_of AS case_bound,
    direction_of AS direction, evidence AS said, trim(coalesce(run_of, '') || ' '
      || coalesce(other_of, '') || ' ' || coalesce(runs_of, '')) AS ids, evidence AS line
  FROM report_claim)

-- @ judged_sql
-- report_measured has the rows of effects.tsv. report_possible: what each effect can be worth on a
-- text of the artefact at its scale, to any model (method NULL: the largest share) and to those of
-- a method (possible: the smallest share measured; mean: of all). weak: a claim holds, but its
-- models could not have shown an effect as large as its threshold. Only "supported" is ever weak.
-- report_read: the runs that a claim reads, those that its cases name, else all of its artefact.
,
report_text AS MATERIALIZED (
  SELECT DISTINCT t.corpus, s.value AS fingerprint
  FROM (SELECT DISTINCT r.corpus, r.train_run_id FROM points p JOIN runs r ON r.run_id = p.run_id
    WHERE p.artefact = :artefact AND p.scale = :scale AND r.kind = 'eval') t
  LEFT JOIN run_settings s ON s.run_id = t.train_run_id AND s.key = 'data.fingerprint'),
report_known AS (
  SELECT m.effect, m.share, m.method, m.method || coalesce(CASE WHEN instr(m.seeds, ',')
      THEN ', seeds ' ELSE ', seed ' END || m.seeds, '') || coalesce(', code ' || m.code, '')
    || coalesce(', ' || m.source, '') AS measured
  FROM report_measured m JOIN report_text t ON t.corpus = m.corpus
    AND substr(coalesce(t.fingerprint, ''), 1, length(coalesce(m.fingerprint, '')))
      = coalesce(m.fingerprint, '')
  WHERE m.scale = :scale),
report_possible AS MATERIALIZED (
  SELECT effect, NULL AS method, possible, possible AS mean,
    printf('at most %.3g %% (%s)', 100 * possible, measured) AS worth
  FROM (SELECT effect, max(share) AS possible, measured FROM report_known GROUP BY effect)
  UNION ALL
  SELECT effect, method, min(share), avg(share),
    CASE count(*) WHEN 1 THEN printf('%.3g %% (%s)', 100 * min(share), max(measured))
      ELSE printf('%.3g to %.3g %% (%s, %d trainings)', 100 * min(share), 100 * max(share), method,
        count(*)) END
  FROM report_known GROUP BY effect, method),
report_weighed AS (
  SELECT j.*, p.possible, verdict = 'supported' AND threshold IS NOT NULL
      AND coalesce(p.possible < threshold, 1) AS weak,
    min(realised / p.mean) OVER of_claim AS least_realised,
    max(realised / p.mean) OVER of_claim AS most_realised,
    CASE WHEN verdict IN ('supported', 'contradicted', 'mixed') THEN
        printf('the threshold is %.3g %%, and ', 100 * threshold)
        || CASE WHEN p.effect IS NULL THEN 'what ' || j.effect || ' is worth'
            || coalesce(' to ' || j.method, '') || ' was not measured'
          ELSE printf('%s is worth %s', j.effect, worth) END
      END AS power
  FROM report_judged j
  LEFT JOIN report_possible p ON p.effect = j.effect AND p.method IS j.method
  WINDOW of_claim AS (PARTITION BY j.claim)),
report_named AS (
  SELECT claim, trim(group_concat(ids, ' ')) AS ids FROM report_judged GROUP BY claim),
report_read AS MATERIALIZED (
  SELECT n.claim, v.run_id, v.attempt_id, r.train_run_id
  FROM report_named n
  JOIN results v ON v.current = 1 AND v.kind <> 'train' AND CASE WHEN n.ids <> ''
    THEN instr(' ' || n.ids || ' ', ' ' || v.run_id || ' ') > 0
    ELSE v.run_id IN (SELECT run_id FROM points WHERE artefact = :artefact AND scale = :scale) END
  JOIN runs r ON r.run_id = v.run_id),
report_made AS (
  SELECT claim, group_concat(DISTINCT code_id) AS codes FROM (
    SELECT q.claim, a.code_id FROM report_read q
    JOIN results v ON v.current = 1 AND v.run_id IN (q.run_id, q.train_run_id)
    JOIN run_attempts a ON a.attempt_id = v.attempt_id ORDER BY a.code_id)
  GROUP BY claim),
report_runs AS (
  SELECT claim, group_concat(run_id, ' ') AS runs
  FROM (SELECT * FROM report_read ORDER BY claim, run_id) GROUP BY claim),
report_words AS (
  SELECT *, CASE WHEN weak THEN 'not judged' ELSE verdict END AS final,
    CASE WHEN lacks IS NULL THEN trim(coalesce(share || '; ', '') || coalesce(elsewhere || '; ', '')
      || coalesce(CASE WHEN weak THEN 'not judged at this scale: ' ELSE '' END || power || '; ', '')
      || CASE WHEN power IS NULL OR least_realised IS NULL THEN ''
        WHEN least_realised = most_realised
          THEN printf('%.0f %% of it shows; ', 100 * least_realised)
        ELSE printf('%.0f to %.0f %% of it shows; ', 100 * least_realised, 100 * most_realised) END
      || coalesce(seeds_said, ''), '; ')
      ELSE lacks END AS words
  FROM report_weighed)
SELECT :artefact AS artefact, :scale AS scale, w.claim, statement, final AS verdict,
  coalesce(nullif(words, '') || coalesce('; ' || lines, ''), lines) AS evidence,
  coalesce(w.threshold, bound) AS threshold, possible, counted, wanted, head,
  nullif(words, '') AS note, seed, holds, line, "#row" = head AS first,
  (w.effect IS NULL) <> (w.threshold IS NULL) AS half_denied,
  CASE WHEN final NOT IN ('not run', 'not judged') THEN holding END AS "cases that hold",
  w.measured AS effect, error, low, high, seeds, split, r.runs, replace(m.codes, ',', ' ') AS codes,
  nullif(item, '') AS item, case_split, side = -1 AS opposite, case_measured, case_error, case_bound,
  direction, said
FROM (SELECT *, group_concat(line, '; ') OVER (PARTITION BY head ORDER BY "#row"
      ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS lines
  FROM report_words) w
LEFT JOIN report_runs r ON r.claim = w.claim
LEFT JOIN report_made m ON m.claim = w.claim
ORDER BY head, "#row"

-- @ shared_sql
-- Over the claims of several artefacts. shared: a claim that several folders share, in the same words
-- and at one scale, is one: first_row; verdict_n, its verdict in a folder. Names of artefacts are
-- letters, digits, dots, dashes and underscores. once: a row each, mixed if it is in a folder or if
-- folders support and contradict it; share says in how many it is supported, where they are not all.
-- own: about runs of ours.
,
shared AS (
  SELECT *, min("#row") OVER same AS first_row, count(*) OVER same AS all_n,
    '<a href="#a-' || artefact || '">' || artefact || '</a>' AS folder,
    CASE verdict WHEN 'contradicted' THEN 1 WHEN 'not run' THEN 2 WHEN 'not judged' THEN 3
      WHEN 'mixed' THEN 5 ELSE 4 END AS verdict_n
  FROM report_numbered WINDOW same AS (PARTITION BY claim, statement, scale)),
once AS (
  SELECT first_row, claim, counted <> 0 AS own,
    CASE WHEN max(verdict_n) = 5 OR (min(verdict_n) = 1 AND max(verdict_n) = 4) THEN 'mixed'
      WHEN min(verdict_n) = 1 THEN 'contradicted' WHEN max(verdict_n) = 4 THEN 'supported'
      WHEN min(verdict_n) = 2 THEN 'not run' ELSE 'not judged' END AS verdict,
    CASE WHEN min(verdict_n) > 1 AND max(verdict_n) = 4 AND min(verdict_n) < 4
      THEN printf(' in %d of %d tables', sum(verdict_n = 4), all_n) ELSE '' END AS share
  FROM shared GROUP BY first_row ORDER BY first_row)

-- @ count_sql
,
counts AS (
  SELECT coalesce(sum(own AND verdict = 'supported'), 0) AS supported_n,
    sum(own AND verdict = 'contradicted') AS contradicted_n,
    sum(own AND verdict = 'mixed') AS mixed_n,
    sum(own AND verdict = 'not run') AS not_run_n, sum(own AND verdict = 'not judged') AS not_judged_n,
    group_concat(claim || share, ', ') FILTER (WHERE own AND verdict = 'supported') AS supported,
    group_concat(claim || share, ', ') FILTER (WHERE own AND share <> '') AS partial,
    group_concat(claim, ', ') FILTER (WHERE own AND verdict = 'contradicted') AS contradicted,
    group_concat(claim, ', ') FILTER (WHERE own AND verdict = 'mixed') AS mixed,
    group_concat(claim, ', ') FILTER (WHERE own AND verdict = 'not run') AS not_run,
    group_concat(claim, ', ') FILTER (WHERE own AND verdict = 'not judged') AS not_judged,
    sum(own) AS own_n, sum(own AND verdict IN ('supported', 'contradicted', 'mixed')) AS judged_n,
    nullif(sum(NOT own), 0) AS paper_n, sum(NOT own AND verdict = 'supported') AS held_n
  FROM once),
paper AS (
  SELECT CASE WHEN paper_n THEN printf('About the paper''s own numbers alone: %d of %d '
    || 'statement%s supported.', held_n, paper_n, CASE paper_n WHEN 1 THEN '' ELSE 's' END)
    END AS of_paper FROM counts)
SELECT *, CASE WHEN judged_n THEN printf('%d of %d', supported_n, own_n) END AS share,
  printf('%d supported%s, %s%d contradicted, %d not run', supported_n,
    coalesce(' (' || partial || ')', ''),
    CASE mixed_n WHEN 0 THEN '' ELSE printf('%d mixed, ', mixed_n) END, contradicted_n, not_run_n)
    || CASE WHEN not_judged_n THEN printf(', %d not judged', not_judged_n) ELSE '' END || '.'
    || coalesce(' ' || of_paper, '') AS sum,
  CASE WHEN own_n THEN CASE :scale WHEN 'paper' THEN 'Claims: ' ELSE 'Shape: ' END
    || trim(CASE WHEN judged_n THEN printf('%d of %d claim%s supported', supported_n, own_n,
        CASE own_n WHEN 1 THEN '' ELSE 's' END) || coalesce(' (' || supported || ')', '') ELSE '' END
      || coalesce('; ' || mixed || ' mixed', '')
      || coalesce('; ' || contradicted || ' contradicted', '')
      || coalesce('; ' || not_run || ' not run', '')
      || coalesce('; ' || not_judged || ' not judged', ''), '; ') || '.' END AS sentence
FROM counts, paper
