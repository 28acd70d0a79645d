-- Where Table 9 and the rest of the paper do not agree. Parameters: :artefact, :scale.
-- X claims are about the paper alone: "supported" means that its own numbers contradict its text (or
-- one another), as the view paper_values holds them; until those are there it is "not run".
WITH
size(D, F, layers, V, words) AS (VALUES (1024, 4096, 16, 29000, '29K')),
found(claim, place, seed, holds, said) AS (
    SELECT 'X6', 1, NULL,
           v.params = '247M' AND layers * (4 * D * D + 4 * D + 2 * D * F + D + F + 4 * D) + V * D < 240000000,
           printf('printed %s, %d layers and a tied table of %s x %d have %.1fM', v.params, layers, words, D,
                  1e-6 * (layers * (4 * D * D + 4 * D + 2 * D * F + D + F + 4 * D) + V * D))
    FROM size, paper_values v
    WHERE v.artefact = 'table9' AND v.position = 'sinusoidal' AND v.split = 'valid'),
statements(claim, statement, wanted_n) AS (
    SELECT 'X6', 'The paper against itself: Tables 9 and 10 print 247M parameters for BookCorpus, the number of the adaptive model of WikiText-103; the model that the text describes has about 231M.',
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
