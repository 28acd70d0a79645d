-- The paper's statements about Table 15 and appendix B, as verdicts. Parameters: :artefact, :scale.
-- Lengths are the paper's (nominal), so that one statement serves every scale. A claim must hold for
-- each case and for each seed the grid asks for; until all its numbers exist it is "not run". A case has
-- parts; alibi judges the part nearest to its bound.
WITH
threshold AS (SELECT
    0.03 AS flat, -- C6: sliding perplexity on a longer window differs from that at L by at most this share
    0.97 AS gains -- C6: nonoverlapping perplexity at the longest length over that at L, at most
),
judged(L) AS (VALUES (512), (1024)),
seeds AS (
    SELECT DISTINCT r.seed FROM points p JOIN runs r ON r.run_id = p.run_id
    WHERE p.artefact = :artefact AND p.scale = :scale),
e AS (
    SELECT position, L_train_nominal AS L, seed, L_valid_nominal AS V, perplexity AS p, run_id
    FROM artefact_evaluations
    WHERE artefact = :artefact AND scale = :scale AND perplexity IS NOT NULL),
n AS ( -- nonoverlapping windows of the same trainings: Table 5's
    SELECT L_train_nominal AS L, seed, L_valid_nominal AS V, perplexity AS p, run_id FROM artefact_evaluations
    WHERE artefact = 'table5' AND scale = :scale AND protocol = 'nonoverlapping' AND position = 'alibi' AND perplexity IS NOT NULL),

-- One row for each case: the four runs, the highest and the lowest sliding perplexity beyond L, and what both protocols gain.
beyond AS MATERIALIZED (
    SELECT j.L, a.seed, a.run_id AS a, z.run_id AS z, x.run_id AS x, y.run_id AS y, (y.p / x.p) / (z.p / a.p) AS ratio, 1 - z.p / a.p AS realised,
           (SELECT v.run_id FROM e v WHERE v.L = j.L AND v.V > j.L AND v.seed = a.seed ORDER BY v.p DESC LIMIT 1) AS highest,
           (SELECT v.run_id FROM e v WHERE v.L = j.L AND v.V > j.L AND v.seed = a.seed ORDER BY v.p LIMIT 1) AS lowest,
           printf('L=%d: sliding %.2f at L and %.2f to %.2f beyond, nonoverlapping %.2f at L and %.2f at 3072 (x %.3f, sliding x %.3f)',
                  j.L, a.p, min(v.p), max(v.p), x.p, y.p, y.p / x.p, z.p / a.p) AS said
    FROM judged j
    JOIN e a ON a.L = j.L AND a.V = j.L
    JOIN e v ON v.L = j.L AND v.V > j.L AND v.seed = a.seed
    JOIN e z ON z.L = j.L AND z.V = 3072 AND z.seed = a.seed
    JOIN n x ON x.L = j.L AND x.V = j.L AND x.seed = a.seed
    JOIN n y ON y.L = j.L AND y.V = 3072 AND y.seed = a.seed
    GROUP BY j.L, a.seed),
-- The two protocols have other targets, so that their errors are independent: the variance of each gain, in nats over its blocks.
gain(L, seed, run, other) AS (SELECT L, seed, y, x FROM beyond UNION ALL SELECT L, seed, z, a FROM beyond),
variance AS (
    SELECT g.L, g.seed, (avg(power(r.loss_nats - o.loss_nats, 2)) - power(avg(r.loss_nats - o.loss_nats), 2)) / (count(*) - 1) AS v
    FROM gain g JOIN target_blocks r ON r.run_id = g.run JOIN target_blocks o ON o.run_id = g.other AND o.first = r.first AND o.last = r.last
    GROUP BY g.L, g.seed, g.run),
error AS (SELECT L, seed, sqrt(max(0, sum(v))) AS nats FROM variance GROUP BY L, seed HAVING count(v) = 2),

-- One row for each part of a case: two runs of the same targets, whose ratio of perplexities has a bound, or another effect and its error.
part(part, bound, direction) AS (
    SELECT 'the highest sliding', 1 + flat, 'at most' FROM threshold UNION ALL SELECT 'the lowest sliding', 1 - flat, 'at least' FROM threshold
    UNION ALL SELECT 'nonoverlapping falls', gains, 'at most' FROM threshold UNION ALL SELECT 'more than sliding', 1, 'below'),
found AS (
    SELECT 'C6' AS claim, c.L AS place, c.seed, k.part, c.realised, c.said,
           CASE k.part WHEN 'the highest sliding' THEN c.highest WHEN 'the lowest sliding' THEN c.lowest WHEN 'nonoverlapping falls' THEN c.y END AS run,
           CASE k.part WHEN 'nonoverlapping falls' THEN c.x WHEN 'more than sliding' THEN NULL ELSE c.a END AS other,
           CASE k.part WHEN 'more than sliding' THEN c.ratio END AS measured, CASE k.part WHEN 'more than sliding' THEN c.ratio * e.nats END AS error,
           k.bound, k.direction, c.a || ' ' || c.z || ' ' || c.x || ' ' || c.y || ' ' || c.highest || ' ' || c.lowest AS runs
    FROM beyond c CROSS JOIN part k LEFT JOIN error e USING (L, seed)),
statements(claim, statement, wanted_n, effect, threshold) AS (
    SELECT 'C6', printf('What ALiBi gains on longer input is the early-token curse, lifted: with a sliding window of stride 1 perplexity stays within %.0f %% of that at L, with nonoverlapping windows (Table 5) it falls.', 100 * flat),
           (SELECT count(*) FROM judged) * (SELECT count(*) FROM seeds), 'context beyond L', flat FROM threshold)
SELECT s.claim, s.statement, s.wanted_n AS wanted, f.seed, NULL AS holds, f.said, s.effect, s.threshold, 'ALiBi' AS method, f.realised,
    'L=' || f.place AS item, f.part, f.run, f.other, f.measured, f.error, f.bound, f.direction, f.runs
FROM statements s LEFT JOIN found f ON f.claim = s.claim ORDER BY s.claim, f.seed, f.place;
