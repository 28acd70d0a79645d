/* test_grid.c - what grids and scales mean, and the errors in them.
 *
 * Most cases are in golden/NAME.txt, each a grid and its plan or error:
 *
 *   @@ PATH     a file of the project up to the next line that begins so
 *   == NAME     a case up to the next such line; `base: tiny.yaml` is added to a grid without base
 *   $ --set …   options of a call; the grid is planned once for each such line, else with none.
 *               The scale is none; `--scale own` is the grid's own or the default. Names are
 * shipped artefacts, planned instead of a grid. ? KEY…      keys to print of every point's run
 *   --          what follows is printed by the test; TEST_UPDATE=1 rewrites it
 *
 * A point's line: its number, run, kind, index of the config id, nominal lengths, `modified`, keys.
 */
#include "harness/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/str.h"
#include "plan/plan_fixture.h"
#include "plan/plan_internal.h"

#define TINY "base: tiny.yaml\n"
#define BLOCK "grid: [{ position: alibi, L_train: 16 }]\n"

/* --- cases of golden files -------------------------------------------------------------------- */

static void print_point(struct strbuf *out, const struct plan *p, const struct plan_point *t,
                        int32_t config, char *keys)
{
    const struct plan_run *r = &p->run[t->run];
    const struct spec_key *key = NULL;
    char *rest = NULL;

    strbuf_addf(out, "%d %s %d", t->point, spec_kind_name(r->spec.kind), t->L_train_nominal);
    if (t->L_valid_nominal) strbuf_addf(out, " on %d", t->L_valid_nominal);
    if (t->stride_nominal) strbuf_addf(out, " stride %d", t->stride_nominal);
    strbuf_addf(out, ": run %d", t->run);
    if (r->train >= 0) strbuf_addf(out, " of %d", r->train);
    strbuf_addf(out, ", config %d%s:", config, r->spec.modified ? ", modified" : "");
    for (char *name = strtok_r(keys, " ", &rest); name; name = strtok_r(NULL, " ", &rest)) {
        (void)settings_key(&key, name, NULL);
        assert_non_null(key);
        strbuf_addf(out, " %s", spec_get(&r->spec, key, out->arena));
    }
    strbuf_add(out, "\n");
}

/* An evaluation has its training's keys, for cost and display. */
static void check_run(const struct plan *p, int32_t i)
{
    const struct plan_run *r = &p->run[i], *t = &p->run[r->train];

    assert_true(r->cost.flops > 0);
    assert_true(r->train < i);
    if (r->spec.kind != SPEC_EVAL) return;
    assert_string_equal(r->spec.eval.train_run, t->run_id);
    assert_int_equal(r->spec.train.L, t->spec.train.L);
    assert_int_equal(r->spec.model.position, t->spec.model.position);
    assert_int_equal(r->cost.parameters_n, t->cost.parameters_n);
}

static void print_plan(struct strbuf *out, const struct plan *p, const char *keys)
{
    struct map configs;
    bool added;

    map_init(&configs, out->arena);
    for (int32_t i = 0; i < p->runs_n; i++) check_run(p, i);
    strbuf_addf(out, "%s, scale %s, %d runs\n", p->artefact[0].title, p->scale, p->runs_n);
    for (int32_t i = 0; i < p->points_n; i++) {
        const char *id = p->run[p->point[i].run].config_id;
        int32_t *config = map_put(&configs, id, strlen(id), &added);
        if (added) *config = (int32_t)configs.n - 1;
        print_point(out, p, &p->point[i], *config, arena_strdup(out->arena, keys));
    }
    for (int32_t i = 0; i < p->notes.n; i++) strbuf_addf(out, "note: %s\n", p->notes.item[i]);
}

/* Adds a text with the names of temporary and shipped folders replaced. */
static void print_fault(struct strbuf *out, const struct plan_fixture *f)
{
    const char *const names[][2] = {{project_path(&f->project, out->arena, "experiments/"), ""},
                                    {f->root, "PROJECT"},
                                    {f->project.share, "SHARE"}};
    const char *text = f->err.text;

    strbuf_addf(out, "%s: ", err_name(f->err.code));
    while (*text) {
        size_t i = 0, n = 0;
        while (i < 3 && strncmp(text, names[i][0], n = strlen(names[i][0])) != 0) i++;
        if (i < 3)
            strbuf_add(out, names[i][1]);
        else
            strbuf_add_n(out, text, n = 1);
        text += n;
    }
    strbuf_add(out, "\n");
}

/* With --only, points keep their numbers and runs. */
static void check_selection(struct plan_fixture *f, const struct plan *p, const char **names,
                            int32_t n, const struct plan_options *selected)
{
    struct plan_options all = *selected;
    int32_t k = 0;

    all.only = NULL;
    const struct plan *whole = plan_fixture_shipped(f, names, n, &all);
    for (const struct plan_point *t = p->point; t < p->point + p->points_n; t++, k++) {
        while (whole->point[k].point != t->point ||
               strcmp(whole->point[k].artefact, t->artefact) != 0)
            assert_true(++k < whole->points_n);
        assert_string_equal(p->run[t->run].run_id, whole->run[whole->point[k].run].run_id);
    }
}

/* Plans the artefacts of a line, else the grid, with the options of the line. */
static void run_case(struct plan_fixture *f, struct strbuf *out, const char *grid, char *options,
                     const char *keys)
{
    const char *set[8] = {NULL}, *only[8] = {NULL}, *names[8] = {"g"};
    struct plan_options o = {.scale = "none", .set = set, .only = only};
    int32_t sets = 0, onlys = 0, names_n = 0;
    struct plan p;

    for (char *word; (word = strsep(&options, " "));) {
        if (word[0] != '-') {
            names[names_n++] = word;
            continue;
        }
        char *value = strsep(&options, " ");
        if (!value) fail_msg("no value of %s", word);
        if (strcmp(word, "--scale") == 0)
            o.scale = strcmp(value, "own") == 0 ? NULL : value;
        else if (strcmp(word, "--seeds") == 0)
            o.seeds = atoi(value);
        else if (strcmp(word, "--set") == 0)
            set[sets++] = value;
        else
            only[onlys++] = value;
    }
    if (names_n == 0) {
        names_n = 1;
        plan_fixture_write(f, "experiments/g/grid.yaml",
                           strstr(grid, "base:") ? grid : arena_printf(&f->arena, "%s" TINY, grid));
    }
    if (plan_open(&p, &f->project, names, names_n, &o, &f->err) < 0) {
        print_fault(out, f);
        return;
    }
    print_plan(out, &p, keys);
    if (onlys) check_selection(f, &p, names, names_n, &o);
    plan_close(&p);
}

/* A case or a file, and what it becomes. */
struct section {
    char *head;
    char *options[32];
    int32_t options_n;
    const char *keys;
    struct strbuf text;
};

static void end_section(struct plan_fixture *f, struct strbuf *out, struct section *s)
{
    if (!s->head) {
        strbuf_add(out, s->text.text);
        return;
    }
    strbuf_addf(out, "%s\n", s->head);
    if (s->head[0] == '@') {
        plan_fixture_write(f, s->head + 3, s->text.text);
        strbuf_add(out, s->text.text);
        return;
    }
    for (int32_t i = 0; i < s->options_n; i++) strbuf_addf(out, "$ %s\n", s->options[i]);
    if (*s->keys) strbuf_addf(out, "? %s\n", s->keys);
    strbuf_addf(out, "%s--\n", s->text.text);
    if (s->options_n == 0) run_case(f, out, s->text.text, NULL, s->keys);
    for (int32_t i = 0; i < s->options_n; i++) {
        if (s->options_n > 1) strbuf_addf(out, "$ %s\n", s->options[i]);
        run_case(f, out, s->text.text, s->options[i], s->keys);
    }
    strbuf_add(out, "\n");
}

static void check_cases(struct plan_fixture *f, const char *name)
{
    char *text = test_read(arena_printf(&f->arena, "tests/%s", name)), *lines = text;
    struct strbuf out;
    struct section s = {.keys = ""};
    bool printed = false;

    strbuf_init(&out, &f->arena);
    strbuf_init(&s.text, &f->arena);
    for (char *line; (line = strsep(&lines, "\n")) && (*line || lines);) {
        if (strncmp(line, "== ", 3) == 0 || strncmp(line, "@@ ", 3) == 0) {
            end_section(f, &out, &s);
            s = (struct section){.head = line, .keys = ""};
            strbuf_init(&s.text, &f->arena);
            printed = false;
        } else if (strcmp(line, "--") == 0) {
            printed = true;
        } else if (!printed && strncmp(line, "$ ", 2) == 0) {
            s.options[s.options_n++] = line + 2;
        } else if (!printed && strncmp(line, "? ", 2) == 0) {
            s.keys = line + 2;
        } else if (!printed) {
            strbuf_addf(&s.text, "%s\n", line);
        }
    }
    end_section(f, &out, &s);
    assert_golden(name, out.text);
    free(text);
}

TEST_EACH(plan_fixture_setup, plan_fixture_teardown)

TEST_WITH(struct plan_fixture *f, grids_are_unions_of_products)
{
    check_cases(f, "plan/golden/grids.txt");
}

TEST_WITH(struct plan_fixture *f, scales_change_what_a_grid_asks_for)
{
    check_cases(f, "plan/golden/scales.txt");
}

TEST_WITH(struct plan_fixture *f, shipped_scales_change_what_an_artefact_asks_for)
{
    check_cases(f, "plan/golden/shipped.txt");
}

TEST_WITH(struct plan_fixture *f, errors_name_the_place_the_value_and_the_remedy)
{
    check_cases(f, "plan/golden/refusals.txt");
}

/* --- cases that need code --------------------------------------------------------------------- */

TEST_WITH(struct plan_fixture *f, the_order_of_keys_changes_no_id)
{
    const struct plan *p = plan_fixture_open(
        f,
        TINY "grid: [{ position: alibi, L_train: [16, 32], train.lr: 0.1 }]\n"
             "evaluate: [{ split: valid, window: sliding, stride: 2, L_valid: 32 }]\n",
        NULL);
    const struct plan *q =
        plan_fixture_open(f,
                          "evaluate: [{ L_valid: 32, stride: 2, window: sliding, split: valid }]\n"
                          "grid: [{ train.lr: 1e-1, L_train: [16, 32], position: alibi }]\n" TINY,
                          NULL);
    assert_int_equal(p->runs_n, q->runs_n);
    for (int32_t i = 0; i < p->runs_n; i++) {
        assert_string_equal(p->run[i].run_id, q->run[i].run_id);
        assert_string_equal(p->run[i].config_id, q->run[i].config_id);
    }
}

TEST_WITH(struct plan_fixture *f, what_set_changes_has_another_id_but_a_label_does_not)
{
    const struct plan_options changed = {.scale = "none",
                                         .set = (const char *[]){"train.lr=0.3", NULL}};
    const struct plan_options labelled = {.scale = "none",
                                          .set = (const char *[]){"model.name=mine", NULL}};
    const struct plan *p = plan_fixture_open(f, TINY BLOCK, NULL);
    const struct plan *q = plan_fixture_open(f, TINY BLOCK, &changed);
    const struct plan *r = plan_fixture_open(f, TINY BLOCK, &labelled);

    assert_string_not_equal(p->run[0].run_id, q->run[0].run_id);
    assert_string_equal(p->run[0].run_id, r->run[0].run_id);
}

/* Adds the numbers from first to last, as items of a YAML list. */
static void add_numbers(struct strbuf *grid, int first, int last)
{
    for (int i = first; i <= last; i++) strbuf_addf(grid, "%d,", i);
}

TEST_WITH(struct plan_fixture *f, too_many_runs_are_rejected_before_they_are_made)
{
    static const struct plan_options none = {.scale = "none"};
    const char *name = "g";
    struct strbuf grid;
    struct plan p;

    strbuf_init(&grid, &f->arena);
    strbuf_add(&grid, TINY "grid:\n  - { position: alibi, L_train: 16 }\n"
                           "  - { position: alibi, L_train: 16, seed: [");
    add_numbers(&grid, 0, 999);
    strbuf_add(&grid, "], train.warmup: [");
    add_numbers(&grid, 0, 999);
    strbuf_add(&grid, "] }\n");
    plan_fixture_write(f, "experiments/g/grid.yaml", grid.text);
    assert_fails(ERR_DATA, "g/grid.yaml:4:5: the grid has more than 100000",
                 plan_open(&p, &f->project, &name, 1, &none, &e));

    /* A few trainings with very many evaluations each; the product alone would not fit 64 bits. */
    strbuf_init(&grid, &f->arena);
    strbuf_add(&grid, TINY BLOCK "evaluate:\n  - { split: [valid, test], targets: [");
    add_numbers(&grid, 0, 999);
    strbuf_add(&grid, "], L_valid: [");
    add_numbers(&grid, 1, 59);
    strbuf_add(&grid, "] }\n");
    plan_fixture_write(f, "experiments/g/grid.yaml", grid.text);
    assert_fails(ERR_DATA, "g/grid.yaml:2:8: the grid has more than 100000",
                 plan_open(&p, &f->project, &name, 1, &none, &e));
}

TEST_WITH(struct plan_fixture *f, artefacts_that_are_not_there_are_named)
{
    static const struct {
        const char *name, *word;
        int code;
    } list[] = {
        {"tabel5", "did you mean 'table5'", ERR_NOINPUT},
        {"../etc", "../etc", ERR_NOINPUT},
        {"./nowhere", "./nowhere", ERR_NOINPUT},
        {"src/", "no grid.yaml", ERR_NOINPUT},
        {".hidden", ".hidden", ERR_NOINPUT},
    };
    const struct plan_options o = {.scale = "none"};
    struct plan p;

    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        int rc = plan_open(&p, &f->project, &list[i].name, 1, &o, &f->err);
        assert_int_equal(rc, list[i].code);
        if (!strstr(f->err.text, list[i].word)) fail_msg("%s", f->err.text);
    }
    assert_int_equal(plan_open(&p, &f->project, NULL, 0, &o, &f->err), ERR_USAGE);
    assert_non_null(strstr(f->err.text, "no artefact given"));
}

TEST_WITH(struct plan_fixture *f, folders_by_path_become_artefacts_of_their_name)
{
    const struct plan_options o = {.scale = "none"};
    const char *twice[2], *bad;
    struct plan p;

    plan_fixture_write(f, "here/mine/grid.yaml", "artefact: other\n" TINY BLOCK);
    plan_fixture_write(f, "there/mine/grid.yaml", TINY BLOCK);
    plan_fixture_write(f, "here/-odd name/grid.yaml", TINY BLOCK);
    twice[0] = project_path(&f->project, &f->arena, "here/mine");
    twice[1] = project_path(&f->project, &f->arena, "here/../here/mine/");
    assert_int_equal(plan_open(&p, &f->project, twice, 2, &o, &f->err), 0);
    assert_int_equal(p.artefacts_n, 1);
    assert_string_equal(p.artefact[0].name, "mine");
    assert_string_equal(p.point[0].artefact, "mine");
    assert_non_null(strstr(p.notes.item[0], "artefact: other"));
    plan_close(&p);
    twice[1] = project_path(&f->project, &f->arena, "there/mine");
    assert_int_equal(plan_open(&p, &f->project, twice, 2, &o, &f->err), ERR_USAGE);
    assert_non_null(strstr(f->err.text, "both named mine"));
    bad = project_path(&f->project, &f->arena, "here/-odd name");
    assert_int_equal(plan_open(&p, &f->project, &bad, 1, &o, &f->err), ERR_USAGE);
    assert_non_null(strstr(f->err.text, "-odd name"));
}
