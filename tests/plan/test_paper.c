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

static int32_t modified(const struct plan *p)
{
    int32_t n = 0;

    for (int32_t i = 0; i < p->runs_n; i++) n += p->run[i].spec.modified;
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

/* The artefacts of `all`, and those in a folder of one of them, such as table5/authors. */
static char **every_artefact(struct plan_fixture *f, int32_t *n)
{
    struct {
        char **item;
        int32_t n, capacity;
    } every = {0};
    char **names;
    struct dir d;

    if (plan_list(&names, n, &f->project, &f->arena, &f->err) < 0) fail_msg("%s", f->err.text);
    for (int32_t i = 0; i < *n; i++) {
        const char *path = arena_printf(&f->arena, "%s/experiments/%s", f->project.share, names[i]);
        *vec_push(&f->arena, &every) = names[i];
        if (dir_open(&d, path, &f->err) < 0) fail_msg("%s", f->err.text);
        for (int32_t k = 0; k < d.n; k++)
            if (file_exists(arena_printf(&f->arena, "%s/%s/grid.yaml", path, d.name_own[k])))
                *vec_push(&f->arena, &every) =
                    arena_printf(&f->arena, "%s/%s", names[i], d.name_own[k]);
        dir_close(&d);
    }
    *n = every.n;
    return every.item;
}

TEST_EACH(plan_fixture_setup, plan_fixture_teardown)

TEST_WITH(struct plan_fixture *f, the_list_is_what_the_shipped_grids_ask_for)
{
    char **asked, **said, *text = shipped(f, list);
    int32_t n, asked_n = 0, said_n = 0;
    char **names = every_artefact(f, &n);

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

#define FINGERPRINT                                                                                \
    "data.fingerprint=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define COUNTS                                                                                     \
    "data.vocab=29001", "data.train_tokens=690000001", "data.fingerprint=abcd",                    \
        "data.valid_tokens=12345"

/* Each row in a project of its own. */
TEST(a_run_is_modified_unless_the_list_has_what_comes_out)
{
    static const char grid[] = "experiments/table5/grid.yaml",
                      mine[] = "experiments/mine/grid.yaml";
    static const char recipe[] = "configs/train/wikitext103.yaml";
    static const char alibi[] = "{ position: alibi,";
    static const char changed[] = "{ position: alibi, model.dropout: 0.2,";
    static const struct {
        const char *artefact, *scale, *set[5];
        int32_t seeds, modified, runs;
        const char *from, *at;  /* this shipped file is copied there, */
        const char *word, *now; /* with this word replaced */
    } rows[] = {
        {"mine", "paper", .runs = 72, .from = grid, .at = mine},
        {"mine", "paper", .seeds = 2, .runs = 144, .from = grid, .at = mine},
        {"table5", "paper", .runs = 72, .from = recipe, .at = recipe},
        {"table5", "paper", .modified = 72, .runs = 72, .from = recipe, .at = recipe,
         .word = "  lr: 1", .now = "  lr: 2"},
        /* 8 trainings of ALiBi and what is evaluated of them: 8 + 7 + … + 1. */
        {"table5", "paper", .modified = 8 + 36, .runs = 72, .from = grid, .at = grid, .word = alibi,
         .now = changed},
        /* An artefact of one's own has its own numbers; at other scales --set modifies, and an
         * axis that replaces a setting of the scale. */
        {"mine", "paper", .runs = 72, .from = grid, .at = mine, .word = alibi, .now = changed},
        {"mine",
         "paper",
         {"model.dropout=0.1"},
         .modified = 72,
         .runs = 72,
         .from = grid,
         .at = mine,
         .word = alibi,
         .now = changed},
        {"mine", "mini", .modified = 8 + 36, .runs = 72, .from = grid, .at = mine, .word = alibi,
         .now = changed},
        {"table5", "paper", {"train.lr=2"}, .modified = 72, .runs = 72},
        {"table5", "paper", {"train.lr=1"}, .runs = 72},
        {"table5", "paper", {"train.seed=7"}, .runs = 72},
        {"table5", "paper", {"model.name=mine"}, .runs = 72},
        {"table5", "paper", {"eval.targets=5"}, .modified = 50, .runs = 72},
        {"table5", "paper", {"data.corpus=elsewhere"}, .runs = 72},
        {"table5", "paper", {FINGERPRINT}, .runs = 72},
        {"table5", "paper", {"data.valid_tokens=217000"}, .modified = 72, .runs = 72},
        /* The paper does not count these texts: any copy is its text. */
        {"table8", "paper", {COUNTS}, .runs = 15},
        {"table12", "paper", {COUNTS}, .runs = 24},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct plan_options o = {
            .scale = rows[i].scale, .set = rows[i].set, .seeds = rows[i].seeds};
        void *state;
        assert_int_equal(plan_fixture_setup(&state), 0);
        struct plan_fixture *f = state;
        if (rows[i].from) {
            const char *text = shipped(f, rows[i].from);
            if (rows[i].word) text = edited(f, text, rows[i].word, rows[i].now);
            plan_fixture_write(f, rows[i].at, text);
        }
        const struct plan *p = plan_fixture_shipped(f, &rows[i].artefact, 1, &o);
        int32_t n = modified(p);
        if (n != rows[i].modified || p->runs_n != rows[i].runs)
            fail_msg("row %zu: %d of %d runs are modified, expected %d of %d", i, n, p->runs_n,
                     rows[i].modified, rows[i].runs);
        bool own = strcmp(rows[i].artefact, "mine") == 0;
        const char *note =
            own ? "mine: ignoring artefact: table5"
                : arena_printf(&f->arena, "%d of %d runs are not the paper's", n, p->runs_n);
        /* At scale mini a second one names the settings that the axis replaces. */
        assert_int_equal(p->notes.n, (own || n > 0) + (strcmp(rows[i].scale, "mini") == 0));
        if (p->notes.n) assert_non_null(strstr(p->notes.item[0], note));
        plan_fixture_teardown(&state);
    }
}

TEST_WITH(struct plan_fixture *f, a_line_in_the_projects_own_list_adds_a_configuration)
{
    const char *const names[] = {"table13", "table14"};
    char *grid = shipped(f, "experiments/table13/grid.yaml");
    struct strbuf lines;

    plan_fixture_write(f, "experiments/table13/grid.yaml",
                       edited(f, grid, "grid:", "set: {train.clip: 1}\ngrid:"));
    const struct plan *p = plan_fixture_shipped(f, names, 1, &paper);
    assert_int_equal(modified(p), 13);
    strbuf_init(&lines, &f->arena);
    for (int32_t i = 0; i < p->runs_n; i++)
        strbuf_addf(&lines, "%s what it is\n", p->run[i].paper_id);
    plan_fixture_write(f, list, lines.text);
    assert_int_equal(modified(plan_fixture_shipped(f, names, 1, &paper)), 0);
    /* The shipped list counts too. */
    assert_int_equal(modified(plan_fixture_shipped(f, &names[1], 1, &paper)), 0);
}

TEST_WITH(struct plan_fixture *f, a_wrong_line_is_rejected_with_its_place)
{
    const char *name = "table5";
    struct plan p;

    plan_fixture_write(f, list, "# mine\n\na8cb8768c3db818b train\nA8CB8768C3DB818B train\n");
    assert_fails(ERR_DATA, "experiments/paper_configs.txt:4: expected an id",
                 plan_open(&p, &f->project, &name, 1, &paper, &e));
    plan_fixture_write(f, list, "uncounted\n");
    assert_fails(ERR_DATA, "paper_configs.txt:1: expected an id",
                 plan_open(&p, &f->project, &name, 1, &paper, &e));
}
