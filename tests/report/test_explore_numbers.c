/* test_explore_numbers.c - numbers of artefacts in explore that are more than a mean, beside ones
 * that are worked out by hand or counted window by window. */
#include "harness/test.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "data/windows.h"
#include "report/cells.h"
#include "report/paper_plant.h"
#include "store/statements.h"

static void run_sql(struct report_fixture *f, const char *sql)
{
    if (database_script(f->base->store, sql, &f->base->e) < 0)
        fail_msg("%s: %s", sql, f->base->e.text);
}

/* The shipped artefact at scale mini, each run done, without blocks of targets. */
static void plant(struct report_fixture *f, const char *artefact)
{
    paper_plant_collections(f);
    paper_plant_runs(f, "mini", &artefact, 1);
    assert_works(f->base, store_begin(f->base->store, &f->base->e));
    run_sql(f, "DELETE FROM group_losses");
}

/* A block of the targets of an evaluation, with its mean loss. */
static void add_block(struct report_fixture *f, const char *run, int64_t first, int64_t last,
                      double nats)
{
    run_sql(f, arena_printf(&f->arena,
                            "INSERT INTO group_losses(result_id,grouping,first,last,targets,nll)\n"
                            "SELECT result_id,'block',%lld,%lld,%lld,%.17g FROM results\n"
                            "WHERE current=1 AND run_id='%s'",
                            (long long)first, (long long)last, (long long)(last - first + 1),
                            nats * (double)(last - first + 1), run));
}

/* A claim's verdict and evidence as lines. */
static const char *claims(struct report_fixture *f, const char *artefact)
{
    struct report_folder folder;
    struct report_claims judged;
    struct strbuf out;

    strbuf_init(&out, &f->arena);
    report_fixture_open(f, &folder, artefact);
    assert_works(f->base, report_claims_judge(&judged, &f->arena, f->base->store, &folder, "mini",
                                              &f->base->e));
    for (int32_t i = 0; i < judged.rows.rows_n; i++)
        strbuf_addf(&out, "%s %s: %s\n", report_rows_get(&judged.rows, i, "claim"),
                    report_rows_get(&judged.rows, i, "verdict"),
                    report_rows_get(&judged.rows, i, "evidence"));
    return out.text;
}

/* --- explore/effective_context --------------------------------------------------------------- */

/* ALiBi's mean loss by tokens of context, in two blocks that differ by `apart`. */
static const struct context_loss {
    int32_t L_train, context;
    double nats, apart;
} context_losses[] = {
    {64, 8, 3.5, 0},    {64, 16, 3.3, 0},   {64, 32, 3.2, 0},   {64, 64, 3.1, 0},
    {64, 96, 3.05, 0},  {64, 128, 3.04, 0}, {64, 192, 3.02, 0}, {64, 256, 3.01, 0},
    {64, 384, 3, 0.02}, {384, 64, 3.1, 0},  {384, 128, 3, 0},   {384, 384, 2.9, 0},
};

TEST_EACH(report_fixture_setup, report_fixture_teardown)

TEST_WITH(struct report_fixture *f, n95_and_the_realised_share_are_those_worked_out_by_hand)
{
    const char *const artefact = "explore/effective_context";
    const struct report_options o = {.scale = "mini", .format = REPORT_TEXT};

    plant(f, artefact);
    for (size_t i = 0; i < sizeof context_losses / sizeof *context_losses; i++) {
        const struct context_loss *c = &context_losses[i];
        struct rows runs;
        run_sql(f, arena_printf(&f->arena,
                                "UPDATE results SET loss_nats=%.17g, perplexity=%.17g\n"
                                "WHERE run_id IN (SELECT run_id FROM runs WHERE kind='eval'\n"
                                " AND position='alibi' AND L_train=%d AND L_valid=%d)",
                                c->nats, exp(c->nats), c->L_train, c->context));
        const char *sql = arena_printf(&f->arena,
                                       "SELECT run_id FROM runs WHERE kind='eval'\n"
                                       "AND position='alibi' AND L_train=%d AND L_valid=%d",
                                       c->L_train, c->context);
        assert_works(f->base, report_rows_query(&runs, &f->arena, f->base->store, NULL, sql, NULL,
                                                0, REPORT_QUERY_LIMIT_S, &f->base->e));
        for (int32_t r = 0; r < runs.rows_n; r++) { /* mini's slopes, and steeper ones */
            const char *run = report_rows_get(&runs, r, "run_id");
            add_block(f, run, 1, 1024, c->nats - c->apart);
            add_block(f, run, 1025, 2048, c->nats + c->apart);
        }
    }
    /* The gain from 8 tokens on is 0.5 nats at most; 95 % of it leave 3.025, which is 3/4 of the
     * way from 128 tokens (3.04) to 192 (3.02): 128 * 1.5^0.75 = 173.49. Beyond L: exp(-0.1) - 1.
     * Share: 0.1 of 0.2 nats. */
    const char *row = strstr(report_fixture_report(f, artefact, &o), "\nALiBi ");
    char words[8][16];
    assert_non_null(row);
    assert_int_equal(sscanf(row, " ALiBi %15s %15s %15s %15s %15s %15s %15s", words[0], words[1],
                            words[2], words[3], words[4], words[5], words[6]),
                     7);
    assert_string_equal(words[4], "173.49");
    assert_string_equal(words[5], "-9.52");
    assert_string_equal(words[6], "50.00");
    /* By block the gains are 0.12 and 0.08 of 0.2 each: 0.02 / 0.2 on both sides of the share. The
     * next L tokens give 0.06 of 0.12 and of 0.08 nats: 0.6 * 0.02 / 0.1. */
    const char *verdicts = claims(f, artefact);
    assert_contains(verdicts,
                    "realises 50 % (0.1000 of 0.2000 nats, standard error of the share 0.100)");
    assert_contains(
        verdicts,
        "60 % from the next L (0.0600 of 0.1000 nats, standard error of the share 0.120)");
    store_rollback(f->base->store);
}

/* --- explore/protocols ----------------------------------------------------------------------- */

enum { BLOCKS_N = 2, TARGETS_N = 1300 };
static const int64_t block_first[BLOCKS_N] = {385, 701}, block_last[BLOCKS_N] = {700, TARGETS_N};

/* The loss of a target of a block with p tokens of context, on a line over ln p. */
static double loss_with(int b, int64_t p)
{
    return b == 0 ? 4 - 0.1 * log((double)p) : 4.2 - 0.2 * log((double)p);
}

/* The mean loss of a block in windows of the evaluation program. */
static double loss_in_windows(struct report_fixture *f, int b, int32_t L, int32_t stride)
{
    const struct tokens text = {.n = TARGETS_N};
    struct windows windows;
    struct window w;
    double sum = 0;

    assert_works(f->base, windows_make(&windows, &text, WINDOWS_STRIDE, L, stride, 0, &f->base->e));
    while (windows_next(&windows, &w))
        for (int32_t i = w.scored_from; i < w.length; i++) {
            int64_t target = w.first + i + 1;
            if (target >= block_first[b] && target <= block_last[b]) sum += loss_with(b, i + 1);
        }
    return sum / (double)(block_last[b] - block_first[b] + 1);
}

TEST_WITH(struct report_fixture *f, each_protocol_is_predicted_from_the_loss_by_context)
{
    const char *const artefact = "explore/protocols";
    const struct report_options o = {.scale = "mini", .format = REPORT_CSV};
    static const double off[BLOCKS_N] = {0.001, 0.003}; /* nats that the measured loss has more */
    struct rows runs;

    plant(f, artefact);
    assert_works(f->base, report_rows_query(
                              &runs, &f->arena, f->base->store, NULL,
                              "SELECT run_id, L_valid, coalesce(stride, L_valid) AS stride,\n"
                              " stride IS 1 AS knot FROM runs\n"
                              "WHERE kind='eval' AND protocol<>'rolling' AND position='rotary'",
                              NULL, 0, REPORT_QUERY_LIMIT_S, &f->base->e));
    assert_true(runs.rows_n > 30);
    for (int32_t r = 0; r < runs.rows_n; r++)
        for (int b = 0; b < BLOCKS_N; b++) {
            bool knot = report_rows_real(&runs, r, "knot", 0) != 0;
            int32_t L = (int32_t)report_rows_real(&runs, r, "L_valid", 0);
            int32_t stride = (int32_t)report_rows_real(&runs, r, "stride", 0);
            add_block(f, report_rows_get(&runs, r, "run_id"), block_first[b], block_last[b],
                      loss_in_windows(f, b, L, stride) + (knot ? 0 : off[b]));
        }
    /* Each protocol is off by the mean of both, 0.002 nats, with the standard error 0.001. */
    assert_contains(claims(f, artefact), "prediction off by -0.20 % (standard error 0.10)");
    char *text = report_fixture_report(f, artefact, &o);
    int32_t off_n = 0;
    for (const char *at = text; (at = strstr(at, "-0.1998")) != NULL; at++) off_n++;
    assert_int_equal(off_n, 15);
    store_rollback(f->base->store);
}

/* --- explore/methods -------------------------------------------------------------------------- */
/* From 50 at L sinusoidal is at 80 and more on every longer input, and rises on; rotary is so
 * beyond 2 L. The lines cross 52.5 at 1 + 0.125 * 2.5 / 30.72 and at 2 + 2.5 / 31.92. */
TEST_WITH(struct report_fixture *f, a_method_breaks_where_its_curve_first_crosses_the_bound)
{
    plant(f, "explore/methods");
    run_sql(f, "UPDATE results SET perplexity=(SELECT CASE WHEN r.L_valid=r.L_train THEN 50"
               " WHEN r.position='sinusoidal' THEN 80+0.01*r.L_valid"
               " WHEN r.position='rotary' THEN iif(r.L_valid>2*r.L_train,80+0.01*r.L_valid,50)"
               " ELSE 49 END FROM runs r WHERE r.run_id=results.run_id AND r.kind='eval')"
               " WHERE perplexity IS NOT NULL");
    const char *said = claims(f, "explore/methods");
    assert_contains(said, "E1a supported: ");
    assert_contains(said, "L=512: alibi does not break up to 6 L, sinusoidal breaks at 1.01 L, "
                          "rotary breaks at 2.08 L");
}
