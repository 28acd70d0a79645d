-- Contradictions between Figure 6 and the rest of the paper. Parameters: :artefact, :scale.
-- X claims are about the paper alone: "supported" means that its own numbers contradict its text (or
-- one another), as the view paper_values holds them; until those exist it is "not run".
WITH
lowest AS (
    SELECT L_train AS L, min(L_valid) AS at_least, max(L_valid) AS at_most, value AS p FROM paper_values f
    WHERE artefact = 'figure6' AND position = 'alibi'
      AND value = (SELECT min(value) FROM paper_values g WHERE g.artefact = f.artefact AND g.position = 'alibi' AND g.L_train = f.L_train)
    GROUP BY L_train),
words AS (
    SELECT min(L_valid) AS at, value AS p FROM paper_values
    WHERE artefact = 'table2' AND position = 'alibi' AND metric = 'perplexity'
      AND value = (SELECT min(value) FROM paper_values WHERE artefact = 'table2' AND position = 'alibi' AND metric = 'perplexity')),
found(claim, place, seed, holds, said) AS (
    SELECT 'X7', 1, NULL, max(abs(1.0 * (l.at_least + l.at_most) / 2 / l.L - 2)) < 0.25 AND w.at > 4 * 512,
           group_concat(printf('CC100 L=%d: best %.2f at %d to %d', l.L, l.p, l.at_least, l.at_most), ', ')
               || printf(', WikiText-103 L=512: best %.2f at %d', w.p, w.at)
    FROM lowest l, words w GROUP BY w.at HAVING count(*) = 2),
statements(claim, statement, wanted_n) AS (
    SELECT 'X7', 'The paper against itself: the introduction says that performance peaks at about 2L; that is so on CC100 + RoBERTa (Figure 6), but on WikiText-103 (Table 2) ALiBi L=512 gets better up to 12,512 tokens.',
           1)
SELECT s.claim, s.statement, s.wanted_n AS wanted, f.seed, f.holds, f.said, 0 AS counted
FROM statements s LEFT JOIN found f ON f.claim = s.claim ORDER BY s.claim, f.seed, f.place;
