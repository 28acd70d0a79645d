-- Contradictions between Table 7 and the rest of the paper. Parameters: :artefact, :scale.
-- X claims are about the paper alone: "supported" means that its own numbers contradict its text (or
-- one another), as the view paper_values holds them; until those exist it is "not run".
WITH
both AS (
    SELECT s.position, s.value AS stride_512, o.value AS stride_1
    FROM paper_values s JOIN paper_values o ON o.position = s.position AND o.L_train = 3072 AND o.L_valid = 3072
        AND o.artefact IN ('table13', 'table14', 'table15')
    WHERE s.artefact = 'table7' AND s.split = 'valid' AND s.L_train = 3072),
found(claim, place, seed, holds, said) AS (
    SELECT 'X4', 1, NULL, sum(stride_1 > stride_512) >= 1,
           group_concat(printf('%s %.2f with S=512 (Table 7), %.2f with S=1 (Tables 13 to 15)', position, stride_512, stride_1), ', ')
    FROM both HAVING count(*) = 3),
statements(claim, statement, wanted_n) AS (
    SELECT 'X4', 'The paper against itself: with S=1 every prediction has at least the context it has with S=512, yet the appendix gives some models a higher perplexity with S=1 (Tables 13 and 14) than Table 7 does with what it calls S=512.',
           1)
SELECT s.claim, s.statement, s.wanted_n AS wanted, f.seed, f.holds, f.said, 0 AS counted
FROM statements s LEFT JOIN found f ON f.claim = s.claim ORDER BY s.claim, f.seed, f.place;
