/* test_collection_claims.c - the claims of the artefacts in collections: not run without numbers,
 * judged with them, and a number that is missing or not finite never turns a verdict into its
 * opposite. Folders and claims are those that are there; none is named here. */
#include "harness/test.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/cells.h"
#include "report/paper_plant.h"
#include "store/statements.h"

struct judging {
    struct report_fixture *f;
    struct report_folder folder;
    struct rows whole; /* the claims with every number */
    bool *falls;       /* those that some missing number makes "not run" */
};

static const char *verdict(const struct rows *claims, int32_t row)
{
    return report_rows_get(claims, row, "verdict");
}

static void judge(struct rows *claims, struct arena *a, struct judging *j)
{
    struct report_claims judged;

    assert_works(j->f->base, report_claims_judge(&judged, a, j->f->base->store, &j->folder, "mini",
                                                 &j->f->base->e));
    *claims = judged.rows;
}

static bool decides(const char *verdict)
{
    return strcmp(verdict, "supported") == 0 || strcmp(verdict, "contradicted") == 0;
}

/* Takes the numbers of some runs away, judges, and puts them back. */
static void without(struct judging *j, const char *which)
{
    struct store *s = j->f->base->store;
    struct arena a;
    struct rows now;

    arena_init(&a);
    assert_works(j->f->base, store_begin(s, &j->f->base->e));
    const char *sql = arena_printf(&a,
                                   "UPDATE results SET perplexity=NULL,loss_nats=NULL,nonfinite=1"
                                   " WHERE run_id IN"
                                   "(SELECT run_id FROM runs WHERE kind='eval' AND %s)",
                                   which);
    if (database_script(s, sql, &j->f->base->e) < 0) fail_msg("%s: %s", sql, j->f->base->e.text);
    judge(&now, &a, j);
    for (int32_t c = 0; c < now.rows_n; c++) {
        const char *was = verdict(&j->whole, c), *is = verdict(&now, c);
        j->falls[c] |= !decides(is);
        if (decides(was) && decides(is) && strcmp(was, is) != 0)
            fail_msg("%s %s is %s, and %s without the numbers of %s", j->folder.artefact,
                     report_rows_get(&now, c, "claim"), was, is, which);
    }
    arena_fini(&a);
    store_rollback(s);
}

/* Takes away the numbers of each training, and those of each length and protocol. Trainings play a
 * few roles in a claim: without LONG=1 about ROUNDS of an artefact's are taken, evenly spread. */
static void without_each(struct judging *j)
{
    enum { BY_LENGTH = 1, ROUNDS = 7 };
    static const char *const sets[] = {
        "SELECT DISTINCT 'train_run_id=''' || train_run_id || ''''",
        [BY_LENGTH] =
            "SELECT DISTINCT 'L_valid=' || L_valid || ' AND protocol=''' || protocol || ''''",
        "SELECT DISTINCT 'run_id=''' || min(run_id) || ''''"};
    struct report_fixture *f = j->f;
    struct rows rows;

    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        const char *sql =
            arena_printf(&f->arena,
                         "%s AS which FROM runs r JOIN points p USING(run_id) WHERE "
                         "p.artefact='%s' AND r.kind='eval'%s",
                         sets[i], j->folder.artefact, i == 2 ? " GROUP BY train_run_id" : "");
        assert_works(f->base, report_rows_query(&rows, &f->arena, f->base->store, NULL, sql, NULL,
                                                0, REPORT_QUERY_LIMIT_S, &f->base->e));
        assert_true(rows.rows_n > 0);
        int32_t step = i == BY_LENGTH || getenv("LONG") ? 1 : 1 + rows.rows_n / ROUNDS;
        for (int32_t k = 0; k < rows.rows_n; k += step)
            without(j, report_rows_get(&rows, k, "which"));
    }
}

TEST_EACH(report_fixture_setup, report_fixture_teardown)

TEST_WITH(struct report_fixture *f, a_missing_number_leaves_a_verdict_or_takes_it_away)
{
    int32_t judged_n = 0;

    paper_plant_collections(f);
    for (int32_t i = 0; i < f->artefacts_n; i++) {
        struct judging j = {.f = f};
        const char *name = f->artefact[i];
        report_fixture_open(f, &j.folder, name);
        if (!j.folder.claims) continue;
        judge(&j.whole, &f->arena, &j);
        for (int32_t c = 0; c < j.whole.rows_n; c++)
            if (decides(verdict(&j.whole, c)))
                fail_msg("%s %s is judged without a number", name,
                         report_rows_get(&j.whole, c, "claim"));
        paper_plant_runs(f, "mini", &name, 1);
        judge(&j.whole, &f->arena, &j);
        j.falls = arena_array(&f->arena, (size_t)j.whole.rows_n, sizeof *j.falls);
        without_each(&j);
        for (int32_t c = 0; c < j.whole.rows_n; c++) {
            bool decided = decides(verdict(&j.whole, c));
            judged_n += decided;
            if (decided && !j.falls[c])
                fail_msg("%s %s is judged without any number that it needs", name,
                         report_rows_get(&j.whole, c, "claim"));
        }
    }
    assert_true(judged_n > 0);
}
