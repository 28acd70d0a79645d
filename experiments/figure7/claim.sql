-- Contradictions between Figure 7 and the rest of the paper. Parameters: :artefact, :scale.
-- X claims are about the paper alone: "supported" means that its own numbers contradict its text (or
-- one another), as the view paper_values holds them; until those exist it is "not run".
WITH
found(claim, place, seed, holds, said) AS (
    SELECT 'X3', 1, NULL, t.value = 15300 AND f.value >= 15350,
           printf('Table 1: %.0f, Figure 7: %.0f words/s (rounded %.1fk)', t.value, f.value, f.value / 1000)
    FROM paper_values t JOIN paper_values f ON f.artefact = 'figure7' AND f.position = 'sinusoidal' AND f.L_train = 3072
    WHERE t.artefact = 'table1' AND t.metric = 'train_wps' AND t.position = 'sinusoidal' AND t.L_train = 3072),
statements(claim, statement, wanted_n) AS (
    SELECT 'X3', 'The paper against itself: Table 1 prints 15.3k words/s for sinusoidal L=3072; the figures hold 15,376, which rounds to 15.4k (the 1.84 x of section 4.1 comes from it).',
           1)
SELECT s.claim, s.statement, s.wanted_n AS wanted, f.seed, f.holds, f.said, 0 AS counted
FROM statements s LEFT JOIN found f ON f.claim = s.claim ORDER BY s.claim, f.seed, f.place;
