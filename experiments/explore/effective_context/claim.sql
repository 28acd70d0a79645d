-- Does a model use the longer input? Parameters: :artefact, :scale. Every effect is a difference on the
-- same targets: with 6 L and with L tokens before each, L being the shorter training length. Each must
-- hold for each method that it names and each seed; until all its numbers exist it is "not run".
WITH
threshold AS (SELECT
    0.25  AS little,  -- E15a: the share of what context beyond L is worth that ALiBi trained on L realises, at most
    0.995 AS used,    -- E15b: perplexity with 6 L over that with L, at most
    1.0   AS harmed,  -- E15c: the same, above
    0.75  AS near,    -- E15d: the share of ALiBi's gain beyond L that the next L tokens give, at least
    0.01  AS worth    -- E15a: nats that context beyond L is worth, at least, or there is nothing to realise
),
e AS (
    SELECT w.position || CASE WHEN CAST(s.value AS REAL) >= 2 THEN ' steep' ELSE '' END AS model, w.method || CASE WHEN CAST(s.value AS REAL) >= 2 THEN ' slopes=×4' ELSE '' END AS name,
        w.L_train_nominal AS trained, w.seed, w.L_valid_nominal AS context, w.run_id, w.train_run_id, w.loss_nats
    FROM wanted_evaluations w LEFT JOIN settings s ON s.run_id = w.train_run_id AND s.key = 'model.alibi_slopes'
    WHERE w.artefact = :artefact AND w.scale = :scale),
lengths AS (SELECT min(trained) AS L, max(trained) AS longest FROM e),
ends AS ( -- one row a training: its evaluations with L, 2 L and 6 L
    SELECT model, name, trained, seed, max(CASE WHEN context = L THEN run_id END) AS at_L,
        max(CASE WHEN context = 2 * L THEN run_id END) AS at_2L, max(CASE WHEN context = 6 * L THEN run_id END) AS at_6L
    FROM e, lengths GROUP BY train_run_id HAVING count(*) = count(loss_nats)),
gain AS ( -- by block of the targets: nats that the context from L to 2 L, and to 6 L, takes away
    SELECT g.trained, g.seed, a.first, a.loss_nats - c.loss_nats AS far, a.loss_nats - b.loss_nats AS near
    FROM ends g JOIN target_blocks a ON a.run_id = g.at_L
    JOIN target_blocks b ON b.run_id = g.at_2L AND b.first = a.first AND b.last = a.last
    JOIN target_blocks c ON c.run_id = g.at_6L AND c.first = a.first AND c.last = a.last
    WHERE g.model = 'alibi'),
part(claim, seed, first, gained, possible) AS (
    SELECT 'E15a', s.seed, s.first, s.far, l.far FROM lengths JOIN gain s ON s.trained = L JOIN gain l USING (seed, first) WHERE l.trained = longest
    UNION ALL SELECT 'E15d', seed, first, near, far FROM lengths JOIN gain ON trained = L),
total AS (
    SELECT claim, seed, avg(gained) AS gained, avg(possible) AS possible FROM part
    GROUP BY claim, seed HAVING count(gained) = count(*) AND count(possible) = count(*) AND count(*) > 1),
share AS ( -- the ratio of two means over the blocks, and its standard error to first order
    SELECT claim, seed, t.gained, t.possible, t.gained / t.possible AS share,
        sqrt(avg((p.gained - t.gained / t.possible * p.possible) * (p.gained - t.gained / t.possible * p.possible)) / (count(*) - 1)) / abs(t.possible) AS error
    FROM total t JOIN part p USING (claim, seed) GROUP BY claim, seed),
case_of(claim, model) AS (
    VALUES ('E15a', 'alibi'), ('E15b', 'alibi'), ('E15b', 'alibi steep'), ('E15b', 'alibi_learned'), ('E15b', 'kerple_log'),
        ('E15b', 'kerple_power'), ('E15b', 'sandwich'), ('E15b', 'bam'), ('E15b', 'forget_gate'),
        ('E15c', 'sinusoidal'), ('E15c', 'rotary'), ('E15c', 'none'), ('E15d', 'alibi')),
found(claim, seed, item, run, other, measured, error, bound, runs, said) AS (
    SELECT s.claim, s.seed, 'alibi', NULL, NULL, s.share, s.error, CASE s.claim WHEN 'E15a' THEN little ELSE near END,
        (SELECT group_concat(at_L || ' ' || at_2L || ' ' || at_6L, ' ') FROM ends g WHERE g.model = 'alibi' AND g.seed = s.seed),
        printf('%s (%.4f of %.4f nats, standard error of the share %.3f)', CASE s.claim WHEN 'E15a' THEN printf('realises %.0f %%', 100 * s.share)
            ELSE printf('%.0f %% from the next L', 100 * s.share) END, s.gained, s.possible, s.error)
    FROM share s, threshold
    UNION ALL
    SELECT c.claim, g.seed, c.model, g.at_6L, g.at_L, NULL, NULL, CASE c.claim WHEN 'E15b' THEN used ELSE harmed END, NULL,
        printf('%s: %.4f nats with L, %.4f with 6 L (%+.2f %%)', g.name, a.loss_nats, b.loss_nats, 100 * (exp(b.loss_nats - a.loss_nats) - 1))
    FROM threshold, lengths JOIN case_of c ON c.claim IN ('E15b', 'E15c') JOIN ends g ON g.model = c.model AND g.trained = L JOIN e a ON a.run_id = g.at_L JOIN e b ON b.run_id = g.at_6L),
wanted AS (
    SELECT claim, count(*) AS n FROM case_of JOIN (SELECT DISTINCT model, seed FROM e JOIN lengths ON trained = L) USING (model) GROUP BY claim),
statements(claim, direction, statement, unjudged) AS (
    SELECT 'E15a', 'at most', printf('The paper''s explanation: longer input gains ALiBi little but fewer early tokens. Trained on L = 512, it realises at most %.0f %% of what context from L to 6 L is worth to ALiBi trained on 6 L.', 100 * little),
        (SELECT printf('because context beyond L is worth %.4f nats to ALiBi trained on 6 L', min(possible)) FROM share WHERE claim = 'E15a' HAVING min(possible) < worth) FROM threshold
    UNION ALL SELECT 'E15b', 'at most', printf('A bias that falls with distance (ALiBi, fixed, steep and learned, both KERPLE, Sandwich, BAM, forget gate) uses context beyond L: with 6 L perplexity is at least %.1f %% below that with L.', 100 - 100 * used), NULL FROM threshold
    UNION ALL SELECT 'E15c', 'above', 'Without a penalty context beyond L harms: for sinusoidal, rotary and no positions perplexity with 6 L is above that with L.', NULL
    UNION ALL SELECT 'E15d', 'at least', printf('What ALiBi trained on L gains beyond L is near: context from L to 2 L gives at least %.0f %% of what context to 6 L gives.', 100 * near), NULL FROM threshold)
SELECT s.claim, s.statement, coalesce(w.n, 0) AS wanted, f.seed, NULL AS holds, f.said, s.unjudged, f.item, f.run, f.other, f.measured, f.error, f.bound, s.direction, f.runs
FROM statements s LEFT JOIN wanted w USING (claim) LEFT JOIN found f ON f.claim = s.claim ORDER BY s.claim, f.seed, f.item;
