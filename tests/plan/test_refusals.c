/* test_refusals.c - errors in grids: each names file, line, column and remedy. */
#include "harness/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/plan_fixture.h"

#define TINY "base: tiny.yaml\n"
#define BLOCK "grid: [{ position: alibi, L_train: 16 }]\n"

struct refusal {
    const char *grid, *place, *word, *other;
};

static void refuse_all(void *f, const struct refusal *r, size_t n)
{
    for (size_t i = 0; i < n; i++)
        plan_fixture_refuses(f, r[i].grid, NULL, ERR_DATA, r[i].place, r[i].word, r[i].other, NULL);
}

TEST_EACH(plan_fixture_setup, plan_fixture_teardown)

TEST_WITH(struct plan_fixture *f, an_unknown_key_names_its_place_and_the_nearest)
{
    static const struct refusal list[] = {
        {TINY BLOCK "evalute: []\n", "g/grid.yaml:3:1:", "evalute", "did you mean 'evaluate'"},
        {TINY "grid:\n  - { position: alibi, L_trian: 16 }\n", "g/grid.yaml:3:24:", "L_trian",
         "did you mean 'L_train'"},
        {TINY "grid:\n  - { model.hads: 8 }\n", "g/grid.yaml:3:7:", "model.hads",
         "did you mean 'model.heads'"},
        {TINY BLOCK "set:\n  model:\n    hads: 8\n", "g/grid.yaml:5:5:", "model.hads",
         "did you mean 'model.heads'"},
        {TINY BLOCK "evaluate:\n  - { widow: sliding }\n", "g/grid.yaml:4:7:", "widow",
         "did you mean 'window'"},
        {TINY BLOCK "evaluate:\n  - { where: { positon: alibi } }\n",
         "g/grid.yaml:4:16:", "positon", "did you mean 'position'"},
        {TINY BLOCK "evaluate:\n  - { L_valid: { lst: [1] } }\n", "g/grid.yaml:4:18:", "lst",
         "did you mean 'list'"},
        {TINY BLOCK "skip: [{ positoin: t5, why: x }]\n", "g/grid.yaml:3:10:", "positoin",
         "position"},
    };
    refuse_all(f, list, sizeof list / sizeof *list);
}

TEST_WITH(struct plan_fixture *f, a_wrong_value_names_its_place_and_what_is_allowed)
{
    static const struct refusal list[] = {
        {TINY "grid: [{ position: alibbi }]\n", "g/grid.yaml:2:20:", "alibbi",
         "did you mean 'alibi'"},
        {TINY "grid: [{ position: [t5, no] }]\n", "g/grid.yaml:2:25:", "'no'", "sinusoidal"},
        {TINY "grid: [{ L_train: [16, 18446744073709551616] }]\n",
         "g/grid.yaml:2:24:", "18446744073709551616", "whole number"},
        {TINY "grid: [{ L_train: 1e3 }]\n", "g/grid.yaml:2:19:", "1e3", "whole number"},
        {TINY "grid: [{ L_train: 0 }]\n", "g/grid.yaml:2:19:", "outside", "train.L"},
        {TINY "grid: [{ L_train: -5 }]\n", "g/grid.yaml:2:19:", "outside", "train.L"},
        {TINY "grid: [{ L_train: 010 }]\n", "g/grid.yaml:2:19:", "010", "whole number"},
        {TINY "grid: [{ L_train: }]\n", "g/grid.yaml:2:", "whole number", "train.L"},
        {TINY BLOCK "set: { train.lr: 1e999 }\n", "g/grid.yaml:3:18:", "1e999", "train.lr"},
        {TINY BLOCK "set: { train.lr: nan }\n", "g/grid.yaml:3:18:", "nan", "not a number"},
        {TINY BLOCK "set: { train.lr: .inf }\n", "g/grid.yaml:3:18:", ".inf", "not a number"},
        {TINY BLOCK "set: { model.final_norm: yes }\n", "g/grid.yaml:3:26:", "yes", "true"},
        {TINY BLOCK "set: { model.dropout: 1.5 }\n", "g/grid.yaml:3:23:", "1.5", "outside"},
        {TINY BLOCK "set: { model.dropout: [0.1] }\n", "g/grid.yaml:3:23:", "model.dropout",
         "one value"},
        {TINY BLOCK "set: { train.seed: 9223372036854775808 }\n", "g/grid.yaml:3:20:", "train.seed",
         "9223372036854775808"},
        {TINY BLOCK "set: { model.cutoffs: [16, x] }\n", "g/grid.yaml:3:23:", "model.cutoffs",
         "list"},
        {TINY "seed: [1, two]\n" BLOCK, "g/grid.yaml:2:11:", "two", "train.seed"},
        {TINY "kind: benchmark\n" BLOCK, "g/grid.yaml:2:7:", "benchmark", "bench"},
        {TINY BLOCK "evaluate: [{ L_valid: [16, x] }]\n", "g/grid.yaml:3:28:", "eval.L", "x"},
        {TINY BLOCK "evaluate: [{ L_valid: { from: L_train, add: [-1] } }]\n",
         "g/grid.yaml:3:46:", "-1", "eval.L"},
        {TINY BLOCK "evaluate: [{ L_valid: { from: 100000000, add: [1] } }]\n",
         "g/grid.yaml:3:12:", "100000001", "eval.L"},
        {TINY BLOCK "evaluate: [{ L_valid: { from: 16 } }]\n", "g/grid.yaml:3:23:", "add", "list"},
        {TINY BLOCK "evaluate: [{ L_valid: { list: [1], add: [1] } }]\n",
         "g/grid.yaml:3:23:", "from", "list"},
        {TINY BLOCK "evaluate: [{ L_valid: [] }]\n", "g/grid.yaml:3:23:", "empty", "L_valid"},
        {TINY "grid: [{ L_train: [] }]\n", "g/grid.yaml:2:19:", "empty", "L_train"},
    };
    refuse_all(f, list, sizeof list / sizeof *list);
}

TEST_WITH(struct plan_fixture *f, a_value_of_the_wrong_kind_is_named)
{
    static const struct refusal list[] = {
        {TINY "title: [a]\n" BLOCK, "g/grid.yaml:2:8:", "title", "one value"},
        {TINY "grid: { position: alibi }\n", "g/grid.yaml:2:7:", "grid", "a list"},
        {TINY "grid: []\n", "g/grid.yaml:2:7:", "grid", "empty"},
        {TINY "grid: [alibi]\n", "g/grid.yaml:2:8:", "block", "mapping"},
        {TINY, "g/grid.yaml:1:1:", "grid is missing", "position"},
        {TINY BLOCK "evaluate: { split: valid }\n", "g/grid.yaml:3:11:", "evaluate", "a list"},
        {TINY BLOCK "evaluate: [{ where: [alibi] }]\n", "g/grid.yaml:3:21:", "where", "mapping"},
        {TINY BLOCK "skip: [{ position: t5 }]\n", "g/grid.yaml:3:8:", "why", "missing"},
        {TINY BLOCK "skip: [{ why: x }]\n", "g/grid.yaml:3:8:", "no key", "what to skip"},
        {"base: [[a]]\n" BLOCK, "g/grid.yaml:1:8:", "base", "one value"},
        {"base: { a: b }\n" BLOCK, "g/grid.yaml:1:7:", "base", "a list"},
    };
    refuse_all(f, list, sizeof list / sizeof *list);
}

TEST_WITH(struct plan_fixture *f, a_key_in_the_wrong_part_is_sent_to_the_right_one)
{
    static const struct refusal list[] = {
        {TINY "grid: [{ L_train: 16, L_valid: 32 }]\n", "g/grid.yaml:2:23:", "L_valid",
         "under evaluate"},
        {TINY "grid: [{ L_train: 16, mode: eval }]\n", "g/grid.yaml:2:23:", "mode", "kind: bench"},
        {TINY BLOCK "evaluate: [{ position: t5 }]\n", "g/grid.yaml:3:14:", "position", "where"},
        {TINY BLOCK "evaluate: [{ where: { split: test } }]\n", "g/grid.yaml:3:23:", "split",
         "beside where"},
        {TINY BLOCK "evaluate: [{ stride: 4 }]\n", "g/grid.yaml:3:14:", "stride",
         "window: sliding"},
        {TINY BLOCK "set: { kind: eval }\n", "g/grid.yaml:3:8:", "kind", "cannot be set"},
        {TINY BLOCK "set: { scale: paper }\n", "g/grid.yaml:3:8:", "scale", "--scale"},
        {TINY BLOCK "set: { eval.train_run: abc }\n", "g/grid.yaml:3:8:", "eval.train_run",
         "cannot be set"},
    };
    refuse_all(f, list, sizeof list / sizeof *list);
}

TEST_WITH(struct plan_fixture *f, a_key_given_twice_in_two_forms_names_both_places)
{
    static const struct refusal list[] = {
        {TINY BLOCK "set:\n  model: { layers: 2 }\n  model.layers: 3\n",
         "g/grid.yaml:5:3:", "model.layers", "line 4, column 12"},
        {TINY BLOCK "set:\n  L_train: 2\n  train.L: 3\n", "g/grid.yaml:5:3:", "train.L",
         "line 4, column 3"},
        {TINY "grid: [{ position: t5, model.position: alibi }]\n",
         "g/grid.yaml:2:24:", "model.position", "line 2, column 10"},
        {TINY BLOCK "evaluate: [{ L_valid: 1, eval.L: 2 }]\n", "g/grid.yaml:3:26:", "eval.L",
         "already"},
        {TINY BLOCK "base: x\n", "g/grid.yaml:3:1:", "'base'", "line 1, column 1"},
    };
    refuse_all(f, list, sizeof list / sizeof *list);
}

TEST_WITH(struct plan_fixture *f, rules_between_keys_name_the_block_or_the_rule)
{
    static const struct refusal list[] = {
        {TINY "grid:\n  - { position: alibi, L_train: [16, 5000] }\n",
         "g/grid.yaml:3:5:", "train.shard_tokens", "5000"},
        {TINY "grid:\n  - { position: t5, L_train: 16, model.heads: 3 }\n",
         "g/grid.yaml:3:5:", "model.heads", "3"},
        {TINY "set: { model.softmax: adaptive }\ngrid:\n"
              "  - { position: alibi, L_train: 16, model.cutoffs: [32, 64] }\n",
         "g/grid.yaml:4:5:", "model.cutoffs", "data.vocab = 64"},
        {TINY BLOCK "evaluate:\n  - { window: sliding, stride: 64, L_valid: 32 }\n",
         "g/grid.yaml:4:5:", "eval.stride", "64"},
        {TINY BLOCK "evaluate:\n  - { window: sliding, L_valid: 32 }\n",
         "g/grid.yaml:4:5:", "eval.stride is not set", "base"},
    };
    refuse_all(f, list, sizeof list / sizeof *list);
}

TEST_WITH(struct plan_fixture *f, a_key_that_nobody_set_is_named)
{
    static const struct refusal list[] = {
        {BLOCK, "g/grid.yaml:1:8:", "model.layers is not set", "--set"},
        {TINY "grid: [{ L_train: 16 }]\n", "g/grid.yaml:2:8:", "model.position is not set", "base"},
        {TINY "grid: [{ position: t5 }]\n", "g/grid.yaml:2:8:", "train.L is not set", "base"},
    };
    refuse_all(f, list, sizeof list / sizeof *list);
}

TEST_WITH(struct plan_fixture *f, a_fault_in_a_piece_is_placed_in_the_piece)
{
    plan_fixture_write(f, "configs/bad.yaml", "model:\n  layers: 2\n  dims: 3\n");
    plan_fixture_refuses(f, "base: [tiny.yaml, bad.yaml]\n" BLOCK, NULL, ERR_DATA,
                         "configs/bad.yaml:3:3:", "model.dims", "model.dim", NULL);
    plan_fixture_write(f, "configs/bad.yaml", "model: { layers: many }\n");
    plan_fixture_refuses(f, "base: [tiny.yaml, bad.yaml]\n" BLOCK, NULL, ERR_DATA,
                         "configs/bad.yaml:1:18:", "many", NULL);
    plan_fixture_refuses(f, "base: absent.yaml\n" BLOCK, NULL, ERR_DATA,
                         "grid.yaml:1:7:", "absent.yaml", "configs", NULL);
}

TEST_WITH(struct plan_fixture *f, too_many_runs_are_rejected_before_they_are_made)
{
    char *grid = calloc(1, 40000);
    size_t n = 0;

    n += (size_t)snprintf(grid + n, 40000 - n,
                          TINY "grid:\n  - { position: alibi, L_train: 16 }\n"
                               "  - { position: alibi, L_train: 16, seed: [");
    for (int i = 0; i < 1000; i++) n += (size_t)snprintf(grid + n, 40000 - n, "%d,", i);
    n += (size_t)snprintf(grid + n, 40000 - n, "], train.warmup: [");
    for (int i = 0; i < 1000; i++) n += (size_t)snprintf(grid + n, 40000 - n, "%d,", i);
    snprintf(grid + n, 40000 - n, "] }\n");
    plan_fixture_refuses(f, grid, NULL, ERR_DATA, "g/grid.yaml:4:5:", "100000", NULL);

    /* A few trainings with very many evaluations each; the product alone would not fit 64 bits. */
    n = (size_t)snprintf(grid, 40000,
                         TINY BLOCK "evaluate:\n  - { split: [valid, test], targets: [");
    for (int i = 0; i < 1000; i++) n += (size_t)snprintf(grid + n, 40000 - n, "%d,", i);
    n += (size_t)snprintf(grid + n, 40000 - n, "], L_valid: [");
    for (int i = 1; i < 60; i++) n += (size_t)snprintf(grid + n, 40000 - n, "%d,", i);
    snprintf(grid + n, 40000 - n, "] }\n");
    plan_fixture_refuses(f, grid, NULL, ERR_DATA, "g/grid.yaml:2:8:", "100000", NULL);
    free(grid);
}

TEST_WITH(struct plan_fixture *f, options_of_the_command_line_are_checked)
{
    static const char grid[] = TINY BLOCK;
    static const struct {
        const char *set, *only, *word;
        int32_t seeds;
    } list[] = {
        {.set = "train.updates", .word = "key=value"},
        {.set = "train.updats=5", .word = "train.updates"},
        {.set = "train.updates=many", .word = "--set train.updates=many"},
        {.set = "scale=paper", .word = "--scale"},
        {.set = "updates=5", .word = "did you mean 'train.updates'"},
        {.set = "pos=alibi", .word = "did you mean 'position'"},
        {.only = "position", .word = "key=value"},
        {.only = "positon=alibi", .word = "did you mean 'position'"},
        {.only = "L_train=17", .word = "no run matches; L_train must be one of"},
        {.set = "train.updates=5",
         .only = "train.updates=5", /* --only reads the grid's values */
         .word = "no run matches; train.updates must be one of 10"},
        {.only = "", .word = "key=value"},
        {.seeds = -1, .word = "--seeds"},
        {.seeds = 100001, .word = "--seeds"},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        struct plan_options o = {.scale = "none",
                                 .set = (const char *[]){list[i].set, NULL},
                                 .only = (const char *[]){list[i].only, NULL},
                                 .seeds = list[i].seeds};
        plan_fixture_refuses(f, grid, &o, ERR_USAGE, list[i].word, NULL);
    }
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
