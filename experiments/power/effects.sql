-- The lines of effects.tsv: what context beyond L is worth to each method, by seed, and in the paper.
SELECT b.scale, b.corpus, substr(f.value, 1, 12) AS fingerprint, 'context beyond L' AS effect, round(1 - b.perplexity / a.perplexity, 3) AS share,
       b.method, b.seed AS seeds, b.code_id AS code, NULL AS source
FROM wanted_evaluations a
JOIN wanted_evaluations b ON b.train_run_id = a.train_run_id AND b.artefact = a.artefact AND b.scale = a.scale AND b.L_valid_nominal = 3072
JOIN settings f ON f.run_id = a.train_run_id AND f.key = 'data.fingerprint'
JOIN position_methods m ON m.position = a.position
WHERE a.artefact = 'power' AND a.scale <> 'paper' AND a.L_valid_nominal = 512 AND b.perplexity IS NOT NULL
UNION ALL SELECT 'paper', 'wikitext103', NULL, 'context beyond L', 0.057, 'ALiBi', NULL, NULL,
       'Table 15 (page 25): 17.98 trained and evaluated on 512 tokens; 16.96 on 3072'
ORDER BY 1, 2, 6, 7
