-- Contradictions between Table 10 and the rest of the paper. Parameters: :artefact, :scale.
-- X claims are about the paper alone: "supported" means that its own numbers contradict its text (or
-- one another), as the view paper_values holds them; until those exist it is "not run".
WITH
pair AS (
    SELECT s.dataset, s.value AS sliding, n.value AS nonoverlapping
    FROM paper_values s JOIN paper_values n ON n.dataset = s.dataset AND n.position = s.position AND n.split = s.split
        AND n.L_train = s.L_train AND n.metric = 'perplexity' AND n.artefact IN ('table6', 'table9')
    WHERE s.artefact IN ('table7', 'table10') AND s.position = 'alibi' AND s.L_train = 512 AND s.split = 'valid'),
found(claim, place, seed, holds, said) AS (
    SELECT 'X8', 1, NULL, max(CASE dataset WHEN 'wikitext103' THEN sliding < nonoverlapping END) AND max(CASE dataset WHEN 'bookcorpus' THEN sliding > nonoverlapping END),
           group_concat(printf('%s: sliding %.2f, nonoverlapping %.2f', dataset, sliding, nonoverlapping), ', ')
    FROM pair HAVING count(*) = 2),
statements(claim, statement, wanted_n) AS (
    SELECT 'X8', 'The paper against itself: for ALiBi L=512 on 3,072 tokens a sliding window is better than nonoverlapping ones on WikiText-103 and worse on BookCorpus, though it gives every prediction more context.',
           1)
SELECT s.claim, s.statement, s.wanted_n AS wanted, f.seed, f.holds, f.said, 0 AS counted
FROM statements s LEFT JOIN found f ON f.claim = s.claim ORDER BY s.claim, f.seed, f.place;
