-- Contradictions between Table 9 and the rest of the paper. Parameters: :artefact, :scale.
-- X claims are about the paper alone: "supported" means that its own numbers contradict its text (or
-- one another), as the view paper_values holds them; until those exist it is "not run".
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
           1)
SELECT s.claim, s.statement, s.wanted_n AS wanted, f.seed, f.holds, f.said, 0 AS counted
FROM statements s LEFT JOIN found f ON f.claim = s.claim ORDER BY s.claim, f.seed, f.place;
