/* test_grid.c - the syntax and meaning of grids. */
#include "harness/test.h"

#include <stdio.h>
#include <string.h>

#include "plan/plan_fixture.h"

#define TINY "base: tiny.yaml\n"

static const struct plan *open_grid(struct plan_fixture *f, const char *grid)
{
    return plan_fixture_open(f, grid, NULL);
}

TEST_EACH(plan_fixture_setup, plan_fixture_teardown)

TEST_WITH(struct plan_fixture *f, a_block_is_the_product_of_its_axes_in_order)
{
    static const int32_t lengths[] = {16, 32, 16, 32};

    const struct plan *p =
        open_grid(f, TINY "grid:\n  - { position: [t5, alibi], L_train: [16, 32] }\n");
    assert_int_equal(p->runs_n, 4);
    for (int32_t i = 0; i < 4; i++) {
        assert_int_equal(p->run[i].spec.model.position, i < 2 ? SPEC_T5 : SPEC_ALIBI);
        assert_int_equal(p->run[i].spec.train.L, lengths[i]);
        assert_int_equal(p->point[i].point, i);
        assert_int_equal(p->point[i].L_train_nominal, lengths[i]);
        assert_int_equal(p->point[i].L_valid_nominal, 0);
    }
    assert_string_equal(p->artefact[0].name, "g");
    assert_string_equal(p->scale, "none");
}

TEST_WITH(struct plan_fixture *f, blocks_are_a_union_and_a_shared_point_exists_once)
{
    const struct plan *p =
        open_grid(f, TINY "grid:\n  - { position: alibi, L_train: [16, 32] }\n"
                          "  - { position: [alibi, t5], L_train: 32 }\n"
                          "evaluate:\n  - { L_valid: L_train }\n  - { L_valid: [32, 64] }\n");
    assert_int_equal(plan_fixture_trainings(p), 3);
    assert_int_equal(p->runs_n, 3 + 3 + 2 + 2); /* 16: 16 32 64; 32: 32 64, twice */
    assert_int_equal(p->points_n, p->runs_n);
    assert_int_equal(p->notes.n, 0);
}

TEST_WITH(struct plan_fixture *f, trainings_come_before_their_evaluations)
{
    const struct plan *p =
        open_grid(f, TINY "grid:\n  - { position: [alibi, t5], L_train: [16, 32] }\n"
                          "evaluate:\n  - { L_valid: { from: L_train, add: [0, 5] } }\n");
    assert_int_equal(p->runs_n, 12);
    for (int32_t i = 0; i < p->runs_n; i++) {
        const struct plan_run *r = &p->run[i];
        assert_true(r->train < i);
        if (r->spec.kind != SPEC_EVAL) continue;
        const struct plan_run *t = &p->run[r->train];
        assert_string_equal(r->spec.eval.train_run, t->run_id);
        assert_int_equal(r->spec.train.L, t->spec.train.L); /* for cost and display */
        assert_int_equal(r->spec.model.position, t->spec.model.position);
        assert_int_equal(r->cost.parameters_n, t->cost.parameters_n);
        assert_true(r->cost.flops > 0 && t->cost.flops > 0);
    }
}

TEST_WITH(struct plan_fixture *f, lengths_take_every_form)
{
    static const struct {
        const char *form;
        int32_t lengths[5]; /* ended by 0 */
    } forms[] = {
        {"L_train", {32}},
        {"77", {77}},
        {"[8, L_train, 64]", {8, 32, 64}},
        {"{ list: [8, 16, 32, 64], at_least: L_train }", {32, 64}},
        {"{ list: [8, 16, 32, 64], at_least: 16 }", {16, 32, 64}},
        {"{ list: 99 }", {99}},
        {"{ from: L_train, add: [0, 1, 10] }", {32, 33, 42}},
        {"{ from: 100, add: 5 }", {105}},
        {"{ list: [8, 16], at_least: L_train }", {0}},
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        char grid[400];
        int32_t n = 0;
        snprintf(grid, sizeof grid,
                 TINY "grid: [{ position: alibi, L_train: 32 }]\n"
                      "evaluate: [{ split: test, L_valid: %s }]\n",
                 forms[i].form);
        const struct plan *p = open_grid(f, grid);
        for (int32_t k = 1; k < p->points_n; k++) {
            const struct spec *s = &p->run[p->point[k].run].spec;
            assert_int_equal(s->eval.L, forms[i].lengths[n++]);
            assert_int_equal(s->eval.split, SPEC_TEST);
            assert_int_equal(p->point[k].L_valid_nominal, s->eval.L);
        }
        assert_int_equal(forms[i].lengths[n], 0);
    }
}

TEST_WITH(struct plan_fixture *f, a_rule_without_a_length_uses_the_training_length)
{
    const struct plan *p = open_grid(
        f, TINY "grid: [{ position: alibi, L_train: 48 }]\nevaluate: [{ split: valid }]\n");
    assert_int_equal(p->run[1].spec.eval.L, 48);
}

TEST_WITH(struct plan_fixture *f, where_chooses_trainings_by_any_key)
{
    const struct plan *p = open_grid(
        f, TINY "grid:\n  - { position: [t5, alibi], L_train: [16, 32], train.lr: [0.1, 1e-2] }\n"
                "evaluate:\n"
                "  - { where: { position: t5, L_train: [32, 64], train.lr: 0.010 } }\n");
    assert_int_equal(plan_fixture_trainings(p), 8);
    assert_int_equal(p->runs_n, 9);
    const struct spec *s = NULL;
    for (int32_t i = 0; i < p->runs_n; i++)
        if (p->run[i].spec.kind == SPEC_EVAL) s = &p->run[i].spec;
    assert_int_equal(s->model.position, SPEC_T5);
    assert_int_equal(s->train.L, 32);
    assert_true(s->train.lr == 0.01);
}

TEST_WITH(struct plan_fixture *f, a_rule_is_a_product_too)
{
    const struct plan *p = open_grid(
        f, TINY "grid: [{ position: alibi, L_train: 32 }]\nevaluate:\n"
                "  - { split: [valid, test], window: sliding, stride: [1, 8], targets: 50,\n"
                "      checkpoint: last, L_valid: [32, 64] }\n");
    assert_int_equal(p->runs_n, 9);
    for (int32_t i = 1; i < 9; i++) {
        const struct spec *s = &p->run[i].spec;
        assert_int_equal(s->eval.window, SPEC_SLIDING);
        assert_int_equal(s->eval.checkpoint, SPEC_LAST);
        assert_int_equal(s->eval.targets, 50);
        assert_int_equal(p->point[i].stride_nominal, s->eval.stride);
    }
}

TEST_WITH(struct plan_fixture *f, skip_leaves_out_and_says_why)
{
    const struct plan *p =
        open_grid(f, TINY "grid: [{ position: [t5, alibi], L_train: [16, 32] }]\n"
                          "evaluate: [{ L_valid: [32, 64] }]\n"
                          "skip:\n"
                          "  - { position: t5, L_train: 32, why: \"out of memory\" }\n"
                          "  - { where: { position: alibi }, L_valid: 64, why: \"too slow\" }\n"
                          "  - { L_train: 999, why: \"never\" }\n");
    assert_int_equal(plan_fixture_trainings(p), 3);
    assert_int_equal(p->runs_n, 3 + 2 + 1 + 1);
    assert_int_equal(p->notes.n, 3);
    assert_string_equal(p->notes.item[0], "g: left out position=t5, L_train=32: out of memory");
    assert_string_equal(p->notes.item[1], "g: left out position=alibi, L_valid=64: too slow");
    assert_non_null(strstr(p->notes.item[2], "line 7 matches nothing"));
}

TEST_WITH(struct plan_fixture *f, seeds_come_from_the_top_a_block_or_the_command_line)
{
    static const char grid[] = TINY "seed: [1, 2, 3]\ngrid:\n"
                                    "  - { position: alibi, L_train: 16 }\n"
                                    "  - { position: t5, L_train: 16, seed: 7 }\n";
    const struct plan_options two = {.scale = "none", .seeds = 2};
    const struct plan *p;

    p = open_grid(f, grid);
    assert_int_equal(p->runs_n, 4);
    assert_int_equal(p->run[2].spec.train.seed, 3);
    assert_int_equal(p->run[3].spec.train.seed, 7);
    assert_string_equal(p->run[0].config_id, p->run[2].config_id);
    assert_string_not_equal(p->run[0].run_id, p->run[2].run_id);
    assert_string_not_equal(p->run[0].config_id, p->run[3].config_id);
    p = plan_fixture_open(f, grid, &two);
    assert_int_equal(p->runs_n, 4);
    assert_int_equal(p->run[3].spec.train.seed, 2);
}

TEST_WITH(struct plan_fixture *f, evaluations_of_seeds_share_a_config)
{
    const struct plan *p =
        open_grid(f, TINY "grid: [{ position: alibi, L_train: 16, seed: [1, 2] }]\n"
                          "evaluate: [{ L_valid: [16, 32] }]\n");
    assert_int_equal(p->runs_n, 6);
    assert_string_equal(p->run[1].config_id, p->run[4].config_id);
    assert_string_not_equal(p->run[1].run_id, p->run[4].run_id);
    assert_string_not_equal(p->run[1].config_id, p->run[2].config_id);
}

TEST_WITH(struct plan_fixture *f, benchmarks_vary_what_is_timed)
{
    const struct plan *p =
        open_grid(f, TINY "kind: bench\ngrid:\n"
                          "  - { position: alibi, L_train: [16, 32], mode: [train, eval] }\n"
                          "  - { kind: train, position: alibi, L_train: 16 }\n");
    assert_int_equal(p->runs_n, 5);
    assert_int_equal(p->run[0].spec.kind, SPEC_BENCH);
    assert_int_equal(p->run[1].spec.bench_mode, 1);
    assert_int_equal(p->run[4].spec.kind, SPEC_TRAIN);
}

TEST_WITH(struct plan_fixture *f, a_list_of_cut_offs_is_one_value_and_a_list_of_lists_an_axis)
{
    const struct plan *p = open_grid(
        f, TINY "set: { model.softmax: adaptive }\ngrid:\n"
                "  - { position: alibi, L_train: 16, model.cutoffs: [16, 32] }\n"
                "  - { position: alibi, L_train: 16, model.cutoffs: [[8], [8, 24], \"30,40\"] }\n");
    assert_int_equal(p->runs_n, 4);
    assert_int_equal(p->run[0].spec.model.cutoffs_n, 2);
    assert_int_equal(p->run[1].spec.model.cutoffs_n, 1);
    assert_int_equal(p->run[2].spec.model.cutoffs[1], 24);
    assert_int_equal(p->run[3].spec.model.cutoffs[0], 30);
}

TEST_WITH(struct plan_fixture *f, later_pieces_and_set_override)
{
    plan_fixture_write(f, "configs/more.yaml", "train.lr: 0.2\nmodel: { dropout: 0.25 }\n");
    const struct plan *p =
        open_grid(f, "base: [tiny.yaml, more.yaml]\nset: { model: { dropout: 0.5 } }\n"
                     "grid: [{ position: alibi, L_train: 16 }]\n");
    assert_true(p->run[0].spec.train.lr == 0.2);
    assert_true(p->run[0].spec.model.dropout == 0.5);
    assert_false(p->run[0].spec.modified);
}

TEST_WITH(struct plan_fixture *f, pieces_are_looked_for_from_near_to_far)
{
    static const char grid[] = "base: [tiny.yaml, data/own.yaml]\n"
                               "grid: [{ position: alibi, L_train: 16 }]\n";
    const struct plan *p;

    plan_fixture_refuses(f, grid, NULL, ERR_DATA, "grid.yaml:1:19:", "data/own.yaml", "prepare",
                         NULL);
    plan_fixture_write(f, "data/own.yaml", "data: { dataset: own, corpus: own }\n");
    p = open_grid(f, grid);
    assert_string_equal(p->run[0].spec.data.corpus, "own");
    plan_fixture_write(f, "configs/data/own.yaml", "data.corpus: configs\n");
    p = open_grid(f, grid);
    assert_string_equal(p->run[0].spec.data.corpus, "configs");
    plan_fixture_write(f, "experiments/g/data/own.yaml", "data.corpus: beside\n");
    p = open_grid(f, grid);
    assert_string_equal(p->run[0].spec.data.corpus, "beside");
    p = open_grid(f, /* and shipped pieces */
                  "base: [tiny.yaml, model/wt103_247m.yaml]\nset: { train.shard_tokens: 64 }\n"
                  "grid: [{ position: alibi, L_train: 16, model.cutoffs: [[20, 30]] }]\n");
    assert_int_equal(p->run[0].spec.model.dim, 1024);
}

TEST_WITH(struct plan_fixture *f, the_order_of_keys_changes_no_id)
{
    const struct plan *p = open_grid(
        f, TINY "grid: [{ position: alibi, L_train: [16, 32], train.lr: 0.1 }]\n"
                "evaluate: [{ split: valid, window: sliding, stride: 2, L_valid: 32 }]\n");
    const struct plan *q =
        open_grid(f, "evaluate: [{ L_valid: 32, stride: 2, window: sliding, split: valid }]\n"
                     "grid: [{ train.lr: 1e-1, L_train: [16, 32], position: alibi }]\n" TINY);
    assert_int_equal(p->runs_n, q->runs_n);
    for (int32_t i = 0; i < p->runs_n; i++) {
        assert_string_equal(p->run[i].run_id, q->run[i].run_id);
        assert_string_equal(p->run[i].config_id, q->run[i].config_id);
    }
}
