-- claims.sql - claims judged and counted. "-- @ NAME" begins a part; claims.c puts them together.

-- @ cases_sql
-- One row a case, each with what its claim comes to. head is the row at which the claim begins, note
-- what its evidence lacks, line the words of the case. report_claim has the rows of claim.sql, with
-- is_counted, why_not, effect_of and threshold_of (its columns counted, unjudged, effect and
-- threshold, or 1 and NULL).
report_case AS (
  SELECT "#row", claim, seed, coalesce(holds, 0) <> 0 AS holds,
    CASE WHEN seed IS NULL THEN '' ELSE 'seed ' || seed || ', ' END || said AS line,
    first_value(statement) OVER of_claim AS statement, first_value(wanted) OVER of_claim AS wanted,
    first_value(is_counted) OVER of_claim AS counted, max(why_not) OVER of_claim AS unjudged,
    max(effect_of) OVER of_claim AS effect, max(threshold_of) OVER of_claim AS threshold,
    first_value("#row") OVER of_claim AS head, count(said) OVER of_claim AS cases_n,
    min(said IS NULL OR coalesce(holds, 0) <> 0) OVER of_claim AS all_hold
  FROM report_claim WINDOW of_claim AS (PARTITION BY claim ORDER BY "#row"
    ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)),
report_judged AS (
  SELECT "#row", claim, seed, holds, CASE WHEN wanted <> 0 THEN line END AS line, statement, wanted,
    counted, head, effect, threshold,
    CASE WHEN unjudged IS NOT NULL THEN 'not judged'
      WHEN wanted = 0 OR cases_n < wanted THEN 'not run'
      WHEN all_hold THEN 'supported' ELSE 'contradicted' END AS verdict,
    CASE WHEN unjudged IS NOT NULL THEN 'not judged ' || unjudged
      WHEN wanted = 0 THEN 'nothing was run' WHEN cases_n < wanted
      THEN printf('%d of %d cases have their numbers', cases_n, wanted) END AS note
  FROM report_case)

-- @ verdicts_sql
-- Verdicts that claim.sql gives itself: each is one row, and its evidence the one line.
report_judged AS (
  SELECT "#row", claim, NULL AS seed, NULL AS holds, evidence AS line, statement, 0 AS wanted,
    is_counted AS counted, "#row" AS head, effect_of AS effect, threshold_of AS threshold,
    CASE WHEN why_not IS NULL THEN nullif(verdict, 'not judged') ELSE 'not judged' END AS verdict,
    'not judged ' || why_not AS note
  FROM report_claim)

-- @ judged_sql
-- report_measured has the rows of effects.tsv. report_possible: the largest share of each effect
-- that was measured on a text of the artefact at its scale, and where. weak: a claim holds, but no
-- model could have shown an effect as large as its threshold. A contradiction is never weak.
,
report_text AS MATERIALIZED (
  SELECT DISTINCT t.corpus, s.value AS fingerprint
  FROM (SELECT DISTINCT r.corpus, r.train_run_id FROM points p JOIN runs r ON r.run_id = p.run_id
    WHERE p.artefact = :artefact AND p.scale = :scale AND r.kind = 'eval') t
  LEFT JOIN run_settings s ON s.run_id = t.train_run_id AND s.key = 'data.fingerprint'),
report_possible AS MATERIALIZED (
  SELECT m.effect, max(m.share) AS possible, m.method || coalesce(CASE WHEN instr(m.seeds, ',')
      THEN ', seeds ' ELSE ', seed ' END || m.seeds, '') || coalesce(', code ' || m.code, '')
    || coalesce(', ' || m.source, '') AS measured
  FROM report_measured m JOIN report_text t ON t.corpus = m.corpus
    AND substr(coalesce(t.fingerprint, ''), 1, length(coalesce(m.fingerprint, '')))
      = coalesce(m.fingerprint, '')
  WHERE m.scale = :scale GROUP BY m.effect),
report_weighed AS (
  SELECT j.*, p.possible, verdict = 'supported' AND threshold IS NOT NULL
      AND coalesce(p.possible < threshold, 1) AS weak,
    CASE WHEN verdict IN ('supported', 'contradicted') THEN
        printf('the threshold is %.3g %%, and ', 100 * threshold)
        || CASE WHEN p.effect IS NULL THEN 'what ' || j.effect || ' is worth was not measured'
          ELSE printf('%s is worth at most %.3g %% (%s)', j.effect, 100 * possible, measured) END
      END AS power
  FROM report_judged j LEFT JOIN report_possible p ON p.effect = j.effect)
SELECT :artefact AS artefact, :scale AS scale, claim, statement, verdict,
  coalesce(note || coalesce('; ' || lines, ''), lines) AS evidence, threshold, possible, counted,
  wanted, head, note, seed, holds, line, effect, "#row" = head AS first
FROM (SELECT "#row", claim, statement, CASE WHEN weak THEN 'not judged' ELSE verdict END AS verdict,
    threshold, possible, counted, wanted, head, seed, holds, line, effect,
    coalesce(note, CASE WHEN weak THEN 'not judged at this scale: ' ELSE '' END || power) AS note,
    group_concat(line, '; ') OVER (PARTITION BY head ORDER BY "#row"
      ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS lines
  FROM report_weighed)
ORDER BY head, "#row"

-- @ shared_sql
-- Over the claims of several artefacts. shared: a claim that several folders share, in the same words
-- and at one scale, is one: place; rank, its verdict in a folder. Names of artefacts are letters,
-- digits, dots, dashes and underscores. once: a row each, contradicted if a folder contradicts it,
-- else supported if one supports it; share says in how many, where they are not all. own: about runs
-- of ours.
,
shared AS (
  SELECT *, min("#row") OVER same AS place, count(*) OVER same AS all_n,
    '<a href="#a-' || artefact || '">' || artefact || '</a>' AS folder,
    CASE verdict WHEN 'contradicted' THEN 1 WHEN 'not run' THEN 2 WHEN 'not judged' THEN 3
      ELSE 4 END AS rank
  FROM report_numbered WINDOW same AS (PARTITION BY claim, statement, scale)),
once AS (
  SELECT place, claim, counted <> 0 AS own,
    CASE WHEN min(rank) = 1 THEN 'contradicted' WHEN max(rank) = 4 THEN 'supported'
      WHEN min(rank) = 2 THEN 'not run' ELSE 'not judged' END AS verdict,
    CASE WHEN min(rank) > 1 AND max(rank) = 4 AND min(rank) < 4
      THEN printf(' in %d of %d tables', sum(rank = 4), all_n) ELSE '' END AS share
  FROM shared GROUP BY place ORDER BY place)

-- @ count_sql
,
counts AS (
  SELECT coalesce(sum(own AND verdict = 'supported'), 0) AS supported_n,
    sum(own AND verdict = 'contradicted') AS contradicted_n,
    sum(own AND verdict = 'not run') AS not_run_n, sum(own AND verdict = 'not judged') AS not_judged_n,
    group_concat(claim || share, ', ') FILTER (WHERE own AND verdict = 'supported') AS supported,
    group_concat(claim || share, ', ') FILTER (WHERE own AND share <> '') AS partial,
    group_concat(claim, ', ') FILTER (WHERE own AND verdict = 'contradicted') AS contradicted,
    group_concat(claim, ', ') FILTER (WHERE own AND verdict = 'not run') AS not_run,
    group_concat(claim, ', ') FILTER (WHERE own AND verdict = 'not judged') AS not_judged,
    sum(own) AS own_n, sum(own AND verdict IN ('supported', 'contradicted')) AS judged_n,
    nullif(sum(NOT own), 0) AS paper_n, sum(NOT own AND verdict = 'supported') AS held_n
  FROM once),
paper AS (
  SELECT CASE WHEN paper_n THEN printf('About the paper''s own numbers alone: %d of %d '
    || 'statement%s supported.', held_n, paper_n, CASE paper_n WHEN 1 THEN '' ELSE 's' END)
    END AS of_paper FROM counts)
SELECT *, CASE WHEN judged_n THEN printf('%d of %d', supported_n, own_n) END AS share,
  printf('%d supported%s, %d contradicted, %d not run', supported_n,
    coalesce(' (' || partial || ')', ''), contradicted_n, not_run_n)
    || CASE WHEN not_judged_n THEN printf(', %d not judged', not_judged_n) ELSE '' END || '.'
    || coalesce(' ' || of_paper, '') AS sum,
  CASE WHEN own_n THEN CASE :scale WHEN 'paper' THEN 'Claims: ' ELSE 'Shape: ' END
    || trim(CASE WHEN judged_n THEN printf('%d of %d claim%s supported', supported_n, own_n,
        CASE own_n WHEN 1 THEN '' ELSE 's' END) || coalesce(' (' || supported || ')', '') ELSE '' END
      || coalesce('; ' || contradicted || ' contradicted', '')
      || coalesce('; ' || not_run || ' not run', '')
      || coalesce('; ' || not_judged || ' not judged', ''), '; ') || '.' END AS sentence
FROM counts, paper
