-- Contradictions between Table 6 and the rest of the paper. Parameters: :artefact, :scale.
-- X claims are about the paper alone: "supported" means that its own numbers contradict its text (or
-- one another), as the view paper_values holds them; until those exist it is "not run".
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
           1)
SELECT s.claim, s.statement, s.wanted_n AS wanted, f.seed, f.holds, f.said, 0 AS counted
FROM statements s LEFT JOIN found f ON f.claim = s.claim ORDER BY s.claim, f.seed, f.place;
