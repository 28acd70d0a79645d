/* test_artefacts.c - the shipped grids and scales against the paper. */
#include "harness/test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "plan/plan_fixture.h"

static const char *const all_three[] = {"table5", "figure1", "figure11"};
static const char *const scales[] = {"mini", "small", "paper", "none"};

TEST_EACH(plan_fixture_setup, plan_fixture_teardown)

TEST_WITH(struct plan_fixture *f, table_5_is_22_trainings_and_50_evaluations)
{
    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++) {
        const struct plan *p = plan_fixture_at(f, all_three, 1, scales[i]);
        assert_int_equal(plan_fixture_trainings(p), 22);
        assert_int_equal(p->runs_n, 72);
        assert_int_equal(p->points_n, 72);
        assert_int_equal(p->notes.n, 0);
    }
}

TEST_WITH(struct plan_fixture *f, table_5_has_the_cells_of_the_paper)
{
    static const int32_t lengths[] = {64, 128, 256, 512, 1024, 1536, 2048, 3072};
    int seen[4][8][8] = {0}; /* position, L_train, L_valid */

    const struct plan *p = plan_fixture_at(f, all_three, 1, "paper");
    for (int32_t i = 0; i < p->points_n; i++) {
        const struct plan_point *point = &p->point[i];
        const struct spec *s = &p->run[point->run].spec;
        int train = 0, valid = 0;
        if (s->kind == SPEC_TRAIN) continue;
        while (lengths[train] != point->L_train_nominal) assert_true(++train < 8);
        while (lengths[valid] != point->L_valid_nominal) assert_true(++valid < 8);
        seen[s->model.position][train][valid]++;
        assert_int_equal(s->eval.window, SPEC_NONOVERLAPPING);
        assert_int_equal(s->eval.split, SPEC_VALID);
        assert_int_equal(s->eval.targets, 0);
        assert_int_equal(s->eval.checkpoint, SPEC_BEST);
    }
    for (int train = 0; train < 8; train++) {
        for (int valid = 0; valid < 8; valid++) {
            bool three = lengths[train] == 512 || lengths[train] == 1024 || lengths[train] == 3072;
            assert_int_equal(seen[SPEC_ALIBI][train][valid], valid >= train);
            assert_int_equal(seen[SPEC_SINUSOIDAL][train][valid], valid == train);
            assert_int_equal(seen[SPEC_ROTARY][train][valid], valid == train && three);
            assert_int_equal(seen[SPEC_T5][train][valid], valid == train && three);
        }
    }
}

TEST_WITH(struct plan_fixture *f, the_paper_scale_is_the_authors_recipe)
{
    double flops = 0;

    const struct plan *p = plan_fixture_at(f, all_three, 1, "paper");
    for (int32_t i = 0; i < p->runs_n; i++) {
        const struct plan_run *r = &p->run[i];
        const struct spec *s = &r->spec;
        assert_string_equal(s->scale, "paper");
        assert_false(s->modified);
        assert_int_equal(r->cost.parameters_n,
                         246933504 + (s->model.position == SPEC_T5 ? 256 : 0));
        assert_int_equal(r->cost.tokens_per_update, s->train.L == 2048 ? 65536 : 73728);
        assert_int_equal(s->train.updates, s->train.warmup + s->train.period);
        assert_int_equal(s->train.updates, 286000);
        assert_int_equal(s->train.optimizer, SPEC_NAG);
        assert_true(s->train.momentum == 0.99 && s->train.lr == 1 && s->train.clip == 0.1);
        assert_true(s->train.lr_init == 1e-7 && s->train.lr_min == 1e-4);
        assert_true(s->model.dropout == 0.3 && s->model.dropout_attention == 0.1);
        assert_true(s->model.dropout_relu == 0.1 && s->model.dropout_softmax == 0.2);
        assert_int_equal(s->option.t5_max_distance, 128);
        assert_int_equal(s->train.seed, 1);
        flops += r->cost.flops;
    }
    /* 6.77e20 for the grid, computed by hand with full updates at every length. */
    assert_true(fabs(flops / 6.77e20 - 1) < 0.02);
}

TEST_WITH(struct plan_fixture *f, the_figures_add_no_training_to_table_5)
{
    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++) {
        const struct plan *table = plan_fixture_at(f, all_three, 1, scales[i]);
        const struct plan *all = plan_fixture_at(f, all_three, 3, scales[i]);
        assert_int_equal(plan_fixture_trainings(all), plan_fixture_trainings(table));
        for (int32_t k = 0; k < table->runs_n; k++)
            assert_string_equal(all->run[k].run_id, table->run[k].run_id);
    }
}

TEST_WITH(struct plan_fixture *f, a_figure_alone_asks_for_the_same_trainings)
{
    int32_t found = 0;

    const struct plan *table = plan_fixture_at(f, all_three, 1, "mini");
    const struct plan *figure = plan_fixture_at(f, &all_three[1], 1, "mini");
    for (int32_t i = 0; i < figure->runs_n; i++) {
        if (figure->run[i].spec.kind != SPEC_TRAIN) continue;
        for (int32_t k = 0; k < table->runs_n; k++)
            found += strcmp(figure->run[i].run_id, table->run[k].run_id) == 0;
    }
    assert_int_equal(plan_fixture_trainings(figure), 8);
    assert_int_equal(found, 8);
}

/* The lengths of Tables 2 and 3: L plus 35 offsets, four methods. */
TEST_WITH(struct plan_fixture *f, figure_1_has_the_papers_35_lengths)
{
    static const int32_t offsets[] = {0,    1,    10,    20,    30,    40,    50,    60,   70,
                                      80,   90,   100,   200,   300,   400,   500,   600,  700,
                                      800,  900,  1000,  2000,  3000,  4000,  5000,  6000, 7000,
                                      8000, 9000, 10000, 11000, 12000, 13000, 14000, 15000};

    const struct plan *p = plan_fixture_at(f, &all_three[1], 1, "paper");
    assert_int_equal(p->points_n, 8 * 36);
    for (int32_t i = 0; i < p->points_n; i++) {
        const struct plan_point *point = &p->point[i];
        const struct spec *s = &p->run[point->run].spec;
        assert_int_equal(point->point, i);
        if (i % 36 == 0) {
            assert_int_equal(s->kind, SPEC_TRAIN);
            continue;
        }
        assert_int_equal(point->L_valid_nominal - point->L_train_nominal, offsets[i % 36 - 1]);
        assert_int_equal(s->eval.L, point->L_valid_nominal);
    }
}

TEST_WITH(struct plan_fixture *f, merged_lengths_of_figure_1_are_told)
{
    const struct plan *p = plan_fixture_at(f, &all_three[1], 1, "mini");
    assert_int_equal(p->notes.n, 1);
    assert_string_equal(p->notes.item[0],
                        "figure1: L_valid 512, 513 are both 64; 1024, 1025 are both 128 at scale "
                        "mini");
    assert_int_equal(p->points_n - p->runs_n, 8);
}

TEST_WITH(struct plan_fixture *f, figure_11_has_the_cells_of_tables_13_and_15)
{
    static const int32_t cells[][2] = {{512, 512},   {512, 1024},  {512, 1536},  {512, 2048},
                                       {512, 3072},  {1024, 1024}, {1024, 1536}, {1024, 2048},
                                       {1024, 3072}, {3072, 3072}};
    int32_t n = 0;

    const struct plan *p = plan_fixture_at(f, &all_three[2], 1, "paper");
    for (int32_t i = 0; i < p->points_n; i++) {
        const struct plan_point *point = &p->point[i];
        const struct spec *s = &p->run[point->run].spec;
        if (s->kind == SPEC_TRAIN) continue;
        assert_int_equal(point->L_train_nominal, cells[n % 10][0]);
        assert_int_equal(point->L_valid_nominal, cells[n % 10][1]);
        assert_int_equal(s->eval.window, SPEC_SLIDING);
        assert_int_equal(s->eval.stride, 1);
        assert_int_equal(point->stride_nominal, 1);
        assert_int_equal(s->model.position, n < 10 ? SPEC_SINUSOIDAL : SPEC_ALIBI);
        n++;
    }
    assert_int_equal(n, 20);
}

TEST_WITH(struct plan_fixture *f, mini_lengths_are_an_eighth_and_fill_an_update)
{
    const struct plan *p = plan_fixture_at(f, all_three, 3, "mini");
    for (int32_t i = 0; i < p->runs_n; i++) {
        const struct spec *s = &p->run[i].spec;
        assert_int_equal(s->train.shards * s->train.shard_tokens % s->train.L, 0);
        assert_int_equal(s->train.warmup + s->train.period, s->train.updates);
        assert_string_equal(s->data.dataset, "wikitext103");
        assert_string_equal(s->scale, "mini");
        assert_int_equal(s->model.heads, 8); /* the paper's, as the next two */
        assert_false(s->model.final_norm);
        assert_true(s->train.clip == 0.1);
        if (s->kind == SPEC_EVAL) assert_true(s->eval.targets > 0);
        if (s->kind == SPEC_EVAL && s->eval.window == SPEC_SLIDING)
            assert_int_equal(s->eval.stride, 1);
    }
    for (int32_t i = 0; i < p->points_n; i++)
        assert_int_equal(p->run[p->point[i].run].spec.train.L * 8, p->point[i].L_train_nominal);
}

TEST_WITH(struct plan_fixture *f, small_has_about_20_million_parameters)
{
    const struct plan *p = plan_fixture_at(f, all_three, 3, "small");
    for (int32_t i = 0; i < p->runs_n; i++) {
        const struct spec *s = &p->run[i].spec;
        assert_in_range(p->run[i].cost.parameters_n, 19000000, 21000000);
        assert_int_equal(s->train.shards * s->train.shard_tokens % s->train.L, 0);
    }
}

/* The grid of a user with their own text, outside the tree. */
TEST_WITH(struct plan_fixture *f, a_grid_of_the_users_own_needs_only_its_corpus)
{
    const struct plan_options o = {0};

    plan_fixture_write(f, "data/wt2.yaml",
                       "data:\n  dataset: \"wt2\"\n  corpus: \"wt2\"\n  vocab: 33280\n"
                       "  train_tokens: 2088628\n  valid_tokens: 217646\n  test_tokens: 245569\n"
                       "  fingerprint: \"0123456789abcdef\"\n");
    const struct plan *p =
        plan_fixture_open(f,
                          "scale: none\n"
                          "base: [model/words_small.yaml, data/wt2.yaml, train/short.yaml]\n"
                          "grid:\n  - { position: [alibi, sinusoidal], L_train: 64 }\n"
                          "evaluate:\n  - { L_valid: [64, 128, 256, 512], targets: 32768 }\n",
                          &o);
    assert_int_equal(p->runs_n, 10);
    assert_string_equal(p->scale, "none");
    assert_int_equal(p->run[4].spec.eval.L, 512);
}

/* An id must change only if the run's numbers change: raise SPEC_MEANING, or find the key without a
 * neutral value. */
TEST_WITH(struct plan_fixture *f, runs_of_the_paper_keep_their_ids)
{
    static const struct {
        int32_t point;
        const char *id;
    } frozen[] = {{0, "85b928ef1d791c5c"},  {1, "403e49d1f5d6ef8b"},  {44, "be0db16d737a2a9b"},
                  {60, "b432412165d4c31c"}, {66, "45b881792b44aa2f"}, {71, "a0b7a1bbed65e7d1"}};

    const struct plan *p = plan_fixture_at(f, all_three, 1, "paper");
    for (size_t i = 0; i < sizeof frozen / sizeof *frozen; i++)
        assert_string_equal(p->run[p->point[frozen[i].point].run].run_id, frozen[i].id);
}

TEST_WITH(struct plan_fixture *f, only_chooses_by_nominal_values_and_keeps_numbers)
{
    static const char *const one[] = {"position=alibi", "L_train=512", NULL};
    static const char *const cells[] = {"L_valid=3072|64", NULL};
    const struct plan_options o = {.scale = "mini", .only = one};
    const struct plan_options cell = {.scale = "mini", .only = cells};
    const struct plan *p;

    const struct plan *all = plan_fixture_at(f, all_three, 1, "mini");
    p = plan_fixture_shipped(f, all_three, 1, &o);
    assert_int_equal(p->runs_n, 6);
    for (int32_t i = 0; i < p->points_n; i++) {
        const struct plan_point *point = &p->point[i];
        const struct plan_point *same = &all->point[point->point];
        assert_int_equal(same->point, point->point);
        assert_string_equal(p->run[point->run].run_id, all->run[same->run].run_id);
        assert_int_equal(point->L_train_nominal, 512);
        assert_int_equal(p->run[point->run].spec.train.L, 64);
    }
    p = plan_fixture_shipped(f, all_three, 1, &cell); /* and the trainings they need */
    for (int32_t i = 0, evaluations = 0; i < p->runs_n; i++) {
        evaluations += p->run[i].spec.kind == SPEC_EVAL;
        if (i == p->runs_n - 1) assert_int_equal(evaluations, 8 + 1 + 1 + 1 + 1 + 1);
    }
}

TEST_WITH(struct plan_fixture *f, shipped_artefacts_are_listed_by_name)
{
    char **names;
    int32_t n, found = 0;

    plan_fixture_write(f, "experiments/zebra/grid.yaml", "x: y\n");
    plan_fixture_write(f, "experiments/no-grid/README.md", "text\n");
    plan_fixture_write(f, "experiments/table5/grid.yaml", "x: y\n"); /* the user's own copy */
    assert_int_equal(plan_list(&names, &n, &f->project, &f->arena, &f->err), 0);
    for (int32_t i = 0; i < n; i++) {
        if (i) assert_true(strverscmp(names[i - 1], names[i]) < 0);
        assert_string_not_equal(names[i], "no-grid");
        for (size_t k = 0; k < 3; k++) found += strcmp(names[i], all_three[k]) == 0;
        found += strcmp(names[i], "zebra") == 0;
    }
    assert_int_equal(found, 4);
}
