-- Where Table 6 and the rest of the paper do not agree. Parameters: :artefact, :scale.
-- X claims are about the paper alone: "supported" means that its own numbers contradict its text (or
-- one another), as the view paper_values holds them; until those are there it is "not run".
WITH
both AS (
    SELECT t.position, t.value AS printed, a.value AS alone, b.value AS batched
    FROM paper_values t
    JOIN paper_values a ON a.artefact = 'table4' AND a.metric = 'eval_wps' AND a.position = t.position AND a.L_valid = 3072
    JOIN paper_values b ON b.artefact = 'table1' AND b.metric = 'eval_wps' AND b.position = t.position AND b.L_train = 3072
    WHERE t.artefact = 'table6' AND t.metric = 'eval_wps' AND t.L_train = 3072),
found(claim, place, seed, holds, said) AS (
    SELECT 'X5', 1, NULL, sum(abs(printed - alone) < abs(printed - batched)) >= 3,
           group_concat(printf('%s %.0f: Table 4 %.0f, Table 1 %.0f', position, printed, alone, batched), ', ')
    FROM both HAVING count(*) = 4),
statements(claim, statement, wanted_n) AS (
    SELECT 'X5', 'The paper against itself: the inference speeds of Table 6 are near those of one window at a time (Table 4), not the batched ones of Table 1; the table does not say so, and its T5 bias fits neither.',
           1),
ordered AS (
    SELECT s.claim, s.statement, s.wanted_n, f.claim AS case_of, f.seed, f.place, f.holds, f.said
    FROM statements s LEFT JOIN found f ON f.claim = s.claim ORDER BY s.claim, f.seed, f.place),
counted AS (
    SELECT claim, statement, wanted_n, count(case_of) AS n, min(holds) AS holds,
           group_concat(CASE WHEN seed IS NULL THEN said ELSE printf('seed %d, %s', seed, said) END, '; ') AS said
    FROM ordered GROUP BY claim)
SELECT claim, statement,
       CASE WHEN wanted_n = 0 OR n < wanted_n THEN 'not run' WHEN holds THEN 'supported' ELSE 'contradicted' END AS verdict,
       CASE WHEN wanted_n = 0 THEN 'nothing was run' WHEN n < wanted_n
            THEN printf('%d of %d cases have their numbers', n, wanted_n) || coalesce('; ' || said, '') ELSE said END AS evidence
FROM counted ORDER BY claim;
