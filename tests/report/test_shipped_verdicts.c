/* test_shipped_verdicts.c - the shipped folders, with the paper's own numbers as results: each cell
 * of the paper that a run of ours answers has a rule, is judged by it, and reaches programs. */
#include "harness/test.h"

#include <jansson.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "report/cells.h"
#include "report/paper_plant.h"
#include "store/statements.h"

/* The verdicts of a shipped folder at scale paper. */
static void find_verdicts(struct rows *v, struct report_fixture *f, const char *name)
{
    struct report_folder folder;

    report_fixture_open(f, &folder, name);
    assert_works(f->base,
                 report_cells_judged(v, &f->arena, f->base->store, &folder, "paper", &f->base->e));
}

/* How many have a number of the paper. */
static int32_t cells(const struct rows *v)
{
    return (int32_t)report_rows_real(v, 0, "cells_n", 0);
}

/* Each number of the paper in the view has a rule in its folder, and its verdict follows the
 * changed results. No speed was measured on a V100. */
TEST_EACH(report_fixture_setup, report_fixture_teardown)

TEST_WITH(struct report_fixture *f, every_shipped_cell_gets_each_of_the_four_verdicts)
{
    static const struct {
        const char *bend;
        const char *perplexity, *speed;
    } cases[] = {
        {"SELECT 1", "reproduced", "other device"},
        {"UPDATE results SET perplexity=perplexity*1.03 WHERE kind='eval'", "within",
         "other device"},
        {"UPDATE results SET perplexity=perplexity*0.9 WHERE kind='eval'", "not reproduced",
         "other device"},
        {"UPDATE results SET current=0", "not run", "not run"},
    };
    int32_t cells_n = 0;

    paper_plant_all(f, "paper");
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        assert_works(f->base, store_begin(f->base->store, &f->base->e));
        assert_works(f->base, database_script(f->base->store, cases[k].bend, &f->base->e));
        for (int32_t i = 0; i < f->artefacts_n; i++) {
            struct rows v;
            find_verdicts(&v, f, f->artefact[i]);
            cells_n += cells(&v);
            for (int32_t c = 0; c < v.rows_n; c++) {
                const char *metric = report_rows_get(&v, c, "metric");
                const char *expected =
                    strcmp(metric, "perplexity") == 0 ? cases[k].perplexity : cases[k].speed;
                if (!report_rows_get(&v, c, "paper")) continue;
                const char *verdict = report_rows_get(&v, c, "verdict");
                if (!verdict || strcmp(verdict, expected) != 0)
                    fail_msg("%s, %s, %s: %s", f->artefact[i], metric, cases[k].bend,
                             verdict ? verdict : "none");
            }
        }
        store_rollback(f->base->store);
    }
    assert_int_equal(cells_n, 4 * 1018);
}

TEST_WITH(struct report_fixture *f, json_gives_every_shipped_cell_its_verdict)
{
    const struct report_options o = {.scale = "paper", .format = REPORT_JSON};

    paper_plant_all(f, "paper");
    for (int32_t i = 0; i < f->artefacts_n; i++) {
        struct rows v;
        int32_t judged_n = 0;
        find_verdicts(&v, f, f->artefact[i]);
        json_t *array = json_loads(report_fixture_report(f, f->artefact[i], &o), 0, NULL);
        for (size_t k = 0; k < json_array_size(array); k++)
            judged_n += json_is_string(json_object_get(json_array_get(array, k), "verdict"));
        if (judged_n != cells(&v))
            fail_msg("%s: %d of %d cells have a verdict", f->artefact[i], judged_n, cells(&v));
        json_decref(array);
    }
}

/* The recipe with a learning rate of 2, in the project's own configs/. */
static void write_other_recipe(struct report_fixture *f)
{
    char *text = test_read("configs/train/wikitext103.yaml"), *at = strstr(text, "lr: 1\n");

    assert_non_null(at);
    at[4] = '2';
    test_write(fixture_path(f->base, "configs/train/wikitext103.yaml"), text, strlen(text));
    free(text);
}

TEST_WITH(struct report_fixture *f, an_edited_recipe_is_marked_modified_and_not_compared)
{
    const struct report_options o = {.scale = "paper", .format = REPORT_TEXT};
    const char *name = "table5";
    struct rows v;

    paper_plant_numbers(f);
    write_other_recipe(f);
    paper_plant_runs(f, "paper", &name, 1);
    assert_cell(f->base, "SELECT count(ours)||' '||count(paper) FROM comparison", "50 0");
    find_verdicts(&v, f, name);
    assert_int_equal(cells(&v), 0);
    const char *text = report_fixture_report(f, name, &o);
    assert_contains(text, "Scale paper, modified");
    assert_lacks(text, "reproduced");
}
