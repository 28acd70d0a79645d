/* test_artefacts.c - the shipped folders: their files are read, the paper's numbers are all there,
 * and each figure is drawn from planted results at scale mini and at scale paper. */
#include "harness/test.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "report/folder.h"
#include "report/report_fixture.h"

static const struct {
    const char *name;
    int32_t cells; /* numbers the paper gives */
} artefact_table[] = {{"table5", 50}, {"figure1", 222}, {"figure11", 13}};
enum { ARTEFACTS_N = sizeof artefact_table / sizeof *artefact_table };

static void folder_path(char out[64], const char *name)
{
    snprintf(out, 64, "experiments/%s", name);
}

TEST_EACH(report_fixture_setup, report_fixture_teardown)

TEST_WITH(struct report_fixture *f, every_folder_holds_the_papers_numbers)
{
    char path[96], sql[512], expected[16], dir[64];

    for (int i = 0; i < ARTEFACTS_N; i++) {
        folder_path(dir, artefact_table[i].name);
        snprintf(path, sizeof path, "%s/paper.tsv", dir);
        if (store_set_paper(f->base->store, artefact_table[i].name, path, &f->base->e) < 0)
            fail_msg("%s", f->base->e.text);
        snprintf(sql, sizeof sql,
                 "SELECT count(*) FROM paper_values WHERE artefact='%s' AND value>0 AND "
                 "dataset='wikitext103' AND L_train>0 AND L_valid>=L_train AND split='valid' AND "
                 "position IN ('sinusoidal','rotary','t5','alibi') AND metric='perplexity' AND "
                 "source LIKE 'arXiv:2108.12409v2 p.%%'",
                 artefact_table[i].name);
        snprintf(expected, sizeof expected, "%d", artefact_table[i].cells);
        assert_cell(f->base, sql, expected);
    }
}

TEST_WITH(struct report_fixture *f, some_of_the_papers_numbers_are_read_right)
{
    char path[96], dir[64];

    for (int i = 0; i < ARTEFACTS_N; i++) {
        folder_path(dir, artefact_table[i].name);
        snprintf(path, sizeof path, "%s/paper.tsv", dir);
        assert_int_equal(store_set_paper(f->base->store, artefact_table[i].name, path, &f->base->e),
                         0);
    }
    assert_cell(f->base,
                "SELECT value FROM paper_values WHERE artefact='table5' AND position='alibi' AND "
                "L_train=512 AND L_valid=3072",
                "18.4"); /* page 19 */
    assert_cell(f->base,
                "SELECT value FROM paper_values WHERE artefact='figure1' AND position='sinusoidal'"
                " AND L_train=1024 AND L_valid=2024",
                "51.09"); /* page 2, equal to Table 3 */
    assert_cell(f->base,
                "SELECT value FROM paper_values WHERE artefact='figure11' AND position='alibi' AND "
                "L_train=3072 AND protocol='sliding' AND stride=1",
                "16.96"); /* page 24, equal to Table 15 */
}

TEST_WITH(struct report_fixture *f, every_folder_is_read_and_reported_when_nothing_was_run)
{
    char dir[64];
    int rc;
    const struct report_options o = {.scale = "mini", .draw = true};

    for (int i = 0; i < ARTEFACTS_N; i++) {
        folder_path(dir, artefact_table[i].name);
        char *text = report_fixture_report(f, artefact_table[i].name, dir, &o, &rc);
        if (rc < 0) fail_msg("%s", f->base->e.text);
        assert_contains(text, "There are no results of");
        assert_contains(text, "The paper's numbers (not comparable with scale mini)");
        assert_contains(text, ": not run");
        free(text);
    }
}

/* Two training lengths, two methods, three lengths (Table 5 has sinusoidal at L only). */
static void plant_figure(struct report_fixture *f, const char *artefact, const char *scale,
                         int32_t divide, int32_t stride)
{
    static const enum spec_position positions[] = {SPEC_ALIBI, SPEC_SINUSOIDAL};
    struct report_plant plants[16];
    int32_t n = 0;

    for (int32_t L = 512; L <= 1024; L *= 2)
        for (int32_t p = 0; p < 2; p++)
            for (int32_t V = L; V <= (p && strcmp(artefact, "table5") == 0 ? L : 4 * L); V *= 2)
                plants[n++] =
                    (struct report_plant){scale, positions[p], L / divide, V / divide,  L,
                                          V,     stride,       1,          40 + 10 * p, false};
    report_fixture_plant(f, artefact, plants, n);
}

static void every_figure_is_drawn(void **state, const char *scale, int32_t divide)
{
    struct report_fixture *f = *state;
    char dir[64], name[64], path[256];
    int rc;
    const struct report_options o = {.scale = scale, .draw = true};

    f->project.share = "."; /* so that plot.gp is a shipped file */
    for (int i = 0; i < ARTEFACTS_N; i++) {
        folder_path(dir, artefact_table[i].name);
        plant_figure(f, artefact_table[i].name, scale, divide,
                     strcmp(artefact_table[i].name, "figure11") == 0);
        char *text = report_fixture_report(f, artefact_table[i].name, dir, &o, &rc);
        if (rc < 0) fail_msg("%s", f->base->e.text);
        snprintf(name, sizeof name, "plots/%s-%s", artefact_table[i].name, scale);
        assert_contains(text, "\nFigure: ");
        assert_contains(text, name);
        free(text);
        snprintf(path, sizeof path, "%s/%s.png", f->base->dir, name);
        assert_true(file_exists(path));
    }
}

TEST_WITH(void *fixture_of_case, every_figure_is_drawn_at_scale_mini)
{
    void **state = &fixture_of_case;
    every_figure_is_drawn(state, "mini", 8);
}

TEST_WITH(struct report_fixture *f, every_figure_is_drawn_at_scale_paper_with_the_papers_curves)
{
    struct arena a;
    char path[256], *text;

    every_figure_is_drawn((void **)&f, "paper", 1);
    arena_init(&a);
    snprintf(path, sizeof path, "%s/plots/figure1-paper.svg", f->base->dir);
    assert_int_equal(file_read(&a, &text, NULL, path, 1 << 22, &f->base->e), 0);
    assert_contains(text, "the paper");
    arena_fini(&a);
}

TEST_WITH(struct report_fixture *f, a_training_that_diverged_is_called_so_in_its_cell)
{
    char train_id[SPEC_ID_BYTES];
    int rc;
    const struct report_options o = {.scale = "mini"};
    const struct report_plant plants[] = {
        {"mini", SPEC_ALIBI, 64, 64, 512, 512, 0, 1, 44, false},
        {"mini", SPEC_SINUSOIDAL, 64, 64, 512, 512, 0, 1, 0, false},
        {"mini", SPEC_ROTARY, 64, 64, 512, 512, 0, 1, 0, false}};
    struct spec train = fixture_train(SPEC_SINUSOIDAL, 64, 1);

    report_fixture_plant(f, "table5", plants, 3);
    fixture_add(f->base, &train, train_id);
    fixture_end(f->base, fixture_start(f->base, train_id), STORE_DIVERGED);
    char *text = report_fixture_report(f, "table5", "experiments/table5", &o, &rc);
    if (rc < 0) fail_msg("%s", f->base->e.text);
    assert_contains(text, "ALiBi       64 (512)     44.00           1000       0.0\n"
                          "Sinusoidal  64 (512)  diverged              –         –\n"
                          "Rotary      64 (512)         –              –         –\n");
    assert_contains(text, "2 of 3 results are missing");
    free(text);
}
