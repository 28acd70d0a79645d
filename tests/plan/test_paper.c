/* test_paper.c - which runs at scale paper are the paper's: the listed ones, whatever folder needs
 * them; a changed grid with a shipped name has none of them. */
#include "harness/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/str.h"
#include "plan/plan_fixture.h"

static const struct plan_options paper = {.scale = "paper"};
static const char list[] = "experiments/paper_configs.txt";

/* A shipped file. */
static char *shipped(struct plan_fixture *f, const char *name)
{
    char *text, *path = arena_printf(&f->arena, "%s/%s", f->project.share, name);
    if (file_read(&f->arena, &text, NULL, path, 1 << 20, &f->err) < 0) fail_msg("%s", f->err.text);
    return text;
}

/* The text with one word of it, which must be there, replaced. */
static char *edited(struct plan_fixture *f, const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    if (!at) fail_msg("'%s' is not in\n%s", from, text);
    return arena_printf(&f->arena, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
}

/* The number of modified runs in the plan of an artefact, of *of runs. */
static int32_t modified(struct plan_fixture *f, const char *artefact, const struct plan_options *o,
                        int32_t *of)
{
    int32_t n = 0;

    const struct plan *p = plan_fixture_shipped(f, &artefact, 1, o);
    for (int32_t i = 0; i < p->runs_n; i++) n += p->run[i].spec.modified;
    *of = p->runs_n;
    return n;
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int32_t unique(char **text, int32_t n)
{
    int32_t kept = 0;

    qsort(text, (size_t)n, sizeof *text, compare_texts);
    for (int32_t i = 0; i < n; i++)
        if (kept == 0 || strcmp(text[kept - 1], text[i]) != 0) text[kept++] = text[i];
    return kept;
}

TEST_EACH(plan_fixture_setup, plan_fixture_teardown)

TEST_WITH(struct plan_fixture *f, the_list_is_what_the_shipped_grids_ask_for)
{
    char **names, **asked, **said, *text = shipped(f, list);
    int32_t n, asked_n = 0, said_n = 0;

    if (plan_list(&names, &n, &f->project, &f->arena, &f->err) < 0) fail_msg("%s", f->err.text);
    const struct plan *p = plan_fixture_shipped(f, (const char *const *)names, n, &paper);
    asked = arena_array(&f->arena, (size_t)p->runs_n, sizeof *asked);
    for (int32_t i = 0; i < p->runs_n; i++) asked[asked_n++] = p->run[i].paper_id;
    said = arena_array(&f->arena, strlen(text), sizeof *said);
    for (char *line; (line = strsep(&text, "\n"));)
        if (line[0] && line[0] != '#' && strncmp(line, "uncounted", 9) != 0)
            said[said_n++] = arena_strndup(&f->arena, line, SPEC_ID_BYTES - 1);
    asked_n = unique(asked, asked_n);
    assert_int_equal(unique(said, said_n), said_n); /* none twice */
    for (int32_t i = 0; i < asked_n || i < said_n; i++)
        if (i >= asked_n || i >= said_n || strcmp(asked[i], said[i]) != 0)
            fail_msg("%s is not what `alibi plan all --scale paper --configs` prints; where the "
                     "paper's specification was wrong, put that in place of its ids",
                     list);
    for (int32_t i = 0; i < p->runs_n; i++) assert_false(p->run[i].spec.modified);
    assert_true(asked_n > 500);
}

TEST_WITH(struct plan_fixture *f, an_unedited_copy_is_the_papers)
{
    const struct plan_options seeds = {.scale = "paper", .seeds = 2};
    int32_t n;

    plan_fixture_write(f, "experiments/mine/grid.yaml", shipped(f, "experiments/table5/grid.yaml"));
    plan_fixture_write(f, "configs/train/wikitext103.yaml",
                       shipped(f, "configs/train/wikitext103.yaml"));
    assert_int_equal(modified(f, "mine", &paper, &n), 0);
    assert_int_equal(n, 72);
    assert_int_equal(modified(f, "mine", &seeds, &n), 0);
    assert_int_equal(n, 144);
}

TEST_WITH(struct plan_fixture *f, an_edited_piece_modifies_trainings_and_their_evaluations)
{
    const char *name = "table5";
    int32_t n;
    char *recipe = shipped(f, "configs/train/wikitext103.yaml");

    plan_fixture_write(f, "configs/train/wikitext103.yaml",
                       edited(f, recipe, "  lr: 1", "  lr: 2"));
    assert_int_equal(modified(f, name, &paper, &n), 72);
    assert_int_equal(n, 72);
    const struct plan *p = plan_fixture_shipped(f, &name, 1, &paper);
    assert_int_equal(p->notes.n, 1);
    assert_non_null(strstr(p->notes.item[0], "72 of 72 runs are not the paper's"));
}

TEST_WITH(struct plan_fixture *f, an_edited_grid_modifies_what_it_changes)
{
    char *grid = shipped(f, "experiments/table5/grid.yaml");
    int32_t n;

    plan_fixture_write(
        f, "experiments/table5/grid.yaml",
        edited(f, grid, "{ position: alibi,", "{ position: alibi, model.dropout: 0.2,"));
    /* 8 trainings of ALiBi and what is evaluated of them: 8 + 7 + … + 1. */
    assert_int_equal(modified(f, "table5", &paper, &n), 8 + 36);
    assert_int_equal(n, 72);
}

TEST_WITH(struct plan_fixture *f, an_artefact_of_ones_own_answers_for_its_numbers)
{
    const char *set = "model.dropout=0.1";
    const struct plan_options other = {.scale = "paper", .set = (const char *[]){set, NULL}};
    char *grid = shipped(f, "experiments/table5/grid.yaml");
    int32_t n;

    plan_fixture_write(
        f, "experiments/mine/grid.yaml",
        edited(f, grid, "{ position: alibi,", "{ position: alibi, model.dropout: 0.2,"));
    assert_int_equal(modified(f, "mine", &paper, &n), 0);
    assert_int_equal(modified(f, "mine", &other, &n), 72);
}

TEST_WITH(struct plan_fixture *f, a_set_is_judged_by_what_comes_out)
{
    static const struct {
        const char *set;
        int32_t modified;
    } cases[] = {
        {"train.lr=2", 72},
        {"train.lr=1", 0},
        {"train.seed=7", 0},
        {"model.name=mine", 0},
        {"eval.targets=5", 50},
        {"data.corpus=elsewhere", 0},
        {"data.fingerprint=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", 0},
        {"data.valid_tokens=217000", 72},
    };
    int32_t n;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct plan_options o = {.scale = "paper",
                                       .set = (const char *[]){cases[i].set, NULL}};
        int32_t found = modified(f, "table5", &o, &n);
        if (found != cases[i].modified)
            fail_msg("%s: %d of %d, expected %d", cases[i].set, found, n, cases[i].modified);
    }
}

TEST_WITH(struct plan_fixture *f, any_copy_counts_of_a_text_that_the_paper_does_not_count)
{
    const char *set[] = {"data.vocab=29001", "data.train_tokens=690000001", "data.fingerprint=abcd",
                         "data.valid_tokens=12345", NULL};
    const struct plan_options o = {.scale = "paper", .set = set};
    int32_t n;

    assert_int_equal(modified(f, "table8", &o, &n), 0);
    assert_int_equal(modified(f, "table12", &o, &n), 0);
}

TEST_WITH(struct plan_fixture *f, a_line_in_the_projects_own_list_adds_a_configuration)
{
    const char *name = "table13";
    int32_t n;
    char *grid = shipped(f, "experiments/table13/grid.yaml");
    struct strbuf lines;

    plan_fixture_write(f, "experiments/table13/grid.yaml",
                       edited(f, grid, "grid:", "set: {train.clip: 1}\ngrid:"));
    assert_int_equal(modified(f, name, &paper, &n), 13);
    strbuf_init(&lines, &f->arena);
    const struct plan *p = plan_fixture_shipped(f, &name, 1, &paper);
    for (int32_t i = 0; i < p->runs_n; i++)
        strbuf_addf(&lines, "%s what it is\n", p->run[i].paper_id);
    plan_fixture_write(f, list, lines.text);
    assert_int_equal(modified(f, name, &paper, &n), 0);
    assert_int_equal(modified(f, "table14", &paper, &n), 0); /* the shipped list counts too */
}

TEST_WITH(struct plan_fixture *f, a_wrong_line_is_rejected_with_its_place)
{
    const char *name = "table5";
    struct plan p;

    plan_fixture_write(f, list, "# mine\n\na8cb8768c3db818b train\nA8CB8768C3DB818B train\n");
    assert_int_equal(plan_open(&p, &f->project, &name, 1, &paper, &f->err), ERR_DATA);
    assert_non_null(strstr(f->err.text, "experiments/paper_configs.txt:4: expected an id"));
    plan_fixture_write(f, list, "uncounted\n");
    assert_int_equal(plan_open(&p, &f->project, &name, 1, &paper, &f->err), ERR_DATA);
    assert_non_null(strstr(f->err.text, "paper_configs.txt:1: expected an id"));
}

TEST_WITH(struct plan_fixture *f, at_other_scales_only_set_modifies)
{
    const struct plan_options mini = {.scale = "mini"};
    int32_t n;
    char *grid = shipped(f, "experiments/table5/grid.yaml");

    plan_fixture_write(f, "experiments/mine/grid.yaml",
                       edited(f, grid, "position: alibi,", "position: alibi, train.clip: 1,"));
    assert_int_equal(modified(f, "mine", &mini, &n), 0);
}
