-- One checkpoint under many protocols: a row is a number of the table, or with a series a point of the
-- figure. Parameters: :artefact, :scale.
-- Windows of stride 1 give each block of the targets its loss with c tokens of context, for many c (knots),
-- on a line over ln c between them. Windows of W tokens and stride S (W where they do not overlap) give
-- target t of the text, from 1, the context W - S + 1 + (t - 1) mod S; the predicted loss of a block is the
-- mean over its targets. Blocks before the end of the longest window, where contexts are shorter, are left out.
WITH RECURSIVE
e AS (SELECT w.*, max(w.L_valid) OVER () AS longest FROM wanted_evaluations w WHERE w.artefact = :artefact AND w.scale = :scale),
run AS MATERIALIZED (
    SELECT DISTINCT run_id, train_run_id, L_train, position_scaling AS scaling, L_valid AS W, coalesce(stride, L_valid) AS S, stride IS 1 AS knot
    FROM e WHERE protocol <> 'rolling'),
block AS MATERIALIZED (
    SELECT r.*, b.first, b.last, b.loss_nats AS nats FROM run r JOIN (SELECT run_id, first, last, loss_nats FROM target_blocks) b USING (run_id)
    WHERE b.first > (SELECT max(longest) FROM e)),
curve AS MATERIALIZED ( -- a knot of a model in a block; within L_train nothing is scaled
    SELECT train_run_id, scaling, W AS c, first, nats FROM block WHERE knot
    UNION ALL SELECT k.train_run_id, o.scaling, k.W, k.first, k.nats FROM block k JOIN (SELECT DISTINCT scaling FROM run WHERE scaling <> 'none') o
    WHERE k.knot AND k.scaling = 'none' AND k.W <= k.L_train),
knot AS (SELECT scaling, c, coalesce(lead(c) OVER (PARTITION BY scaling ORDER BY c), c) AS next FROM (SELECT DISTINCT scaling, c FROM curve)),
context(p) AS (SELECT 1 UNION ALL SELECT p + 1 FROM context WHERE p < (SELECT max(longest) FROM e)),
line AS MATERIALIZED ( -- the loss with p tokens: the share of the knot above it, the rest is of the one below
    SELECT scaling, p, c, next, CASE WHEN next > c THEN ln(1.0 * p / c) / ln(1.0 * next / c) ELSE 0 END AS above
    FROM knot JOIN context ON p >= c AND (p < next OR next = c)),
counted AS MATERIALIZED ( -- targets of a block that have p tokens
    SELECT q.scaling, W, S, first, p, (last - p + W) / S - (first - 1 - p + W) / S AS n
    FROM (SELECT DISTINCT scaling, W, S, first, last FROM block WHERE NOT knot) q JOIN context ON p > W - S AND p <= W),
share AS MATERIALIZED ( -- targets of a block between two knots, and what of them is the upper one's
    SELECT k.scaling, W, S, first, c, next, sum(n) AS n, sum(n * above) AS above
    FROM counted k JOIN line USING (scaling, p) GROUP BY k.scaling, W, S, first, c),
predicted AS (
    SELECT b.run_id, b.nats, sum((h.n - h.above) * l.nats + h.above * u.nats) / sum(h.n) AS predicted, count(l.nats + u.nats) = count(*) AS whole
    FROM block b JOIN share h USING (scaling, W, S, first)
    LEFT JOIN curve l ON l.train_run_id = b.train_run_id AND l.scaling = b.scaling AND l.c = h.c AND l.first = b.first
    LEFT JOIN curve u ON u.train_run_id = b.train_run_id AND u.scaling = b.scaling AND u.c = h.next AND u.first = b.first
    WHERE NOT b.knot GROUP BY b.run_id, b.first),
off AS ( -- predicted less measured, nats, with its standard error over the blocks
    SELECT run_id, avg(predicted - nats) AS nats,
        sqrt(max(0, avg((predicted - nats) * (predicted - nats)) - avg(predicted - nats) * avg(predicted - nats)) / (count(*) - 1)) AS error
    FROM predicted GROUP BY run_id HAVING min(whole) AND count(nats) = count(*) AND count(*) > 1),
part(part, place) AS (VALUES ('figure', 0), ('perplexity', 1), ('prediction off by, %', 2), ('standard error of that, %', 3), ('perplexity a word', 4), ('perplexity a byte', 5)),
source(source) AS (VALUES ('measured'), ('predicted')),
asked AS ( -- lengths that a scale merges are one run; strided: windows of this length slide by more than 1, too; predicts: by 1
    SELECT e.*, CASE protocol WHEN 'sliding' THEN p.stride_nominal END AS S_nominal, min(e.point) OVER (PARTITION BY run_id) AS first_point,
        max(stride > 1) OVER (PARTITION BY train_run_id, L_valid) AS strided, max(stride IS 1) OVER (PARTITION BY train_run_id) AS predicts
    FROM e JOIN (SELECT artefact, scale, point, stride_nominal FROM artefact_points) p USING (artefact, scale, point))
SELECT CASE part.place WHEN 0 THEN method || CASE position_scaling WHEN 'none' THEN '' ELSE ' slopes=by-row' END || CASE source WHEN 'predicted' THEN ', predicted' ELSE '' END END AS series,
    CASE protocol WHEN 'sliding' THEN 'stride 1: loss by context' ELSE 'windows that do not overlap' END AS panel,
    CASE WHEN part.place > 0 THEN part END AS number, CASE WHEN part.place > 0 THEN protocol END AS windows,
    CASE WHEN part.place > 0 THEN L_valid END AS W, CASE WHEN part.place > 0 THEN L_valid_nominal END AS W_nominal,
    CASE WHEN part.place > 0 THEN stride END AS S, CASE WHEN part.place > 0 AND stride > 1 THEN S_nominal ELSE stride END AS S_nominal,
    method || CASE position_scaling WHEN 'none' THEN '' ELSE ', slopes by row' END AS model_of,
    perplexity * CASE source WHEN 'predicted' THEN exp(f.nats) ELSE 1 END AS shown,
    CASE part.place WHEN 1 THEN perplexity WHEN 2 THEN 100 * (exp(f.nats) - 1) WHEN 3 THEN 100 * f.error WHEN 4 THEN word_perplexity WHEN 5 THEN byte_perplexity END AS value,
    L_valid, L_valid_nominal, position, L_train, L_train_nominal, seed, scale, dataset, corpus, model, split, precision, tokens, parameters, modified, state, tokenizer, run_id, config_id
FROM asked JOIN part JOIN source ON source = 'measured' OR part.place = 0 LEFT JOIN off f USING (run_id)
WHERE point = first_point AND CASE part.place WHEN 0 THEN (protocol = 'nonoverlapping' AND (source = 'measured' OR f.nats IS NOT NULL)) OR (stride IS 1 AND source = 'measured')
    WHEN 1 THEN stride IS NOT 1 OR strided WHEN 4 THEN word_perplexity IS NOT NULL WHEN 5 THEN byte_perplexity IS NOT NULL
    ELSE predicts AND stride IS NOT 1 AND protocol <> 'rolling' END
ORDER BY part.place, asked.place, position_scaling, protocol, L_valid, stride, source, seed;
