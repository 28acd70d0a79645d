/* test_artefacts_all.c - all grids of the paper: their runs at every scale, shared runs, and the
 * second and third text and the 1.3B model of the paper. */
#include "harness/test.h"

#include <stdio.h>
#include <string.h>

#include "plan/plan_fixture.h"
#include "prepare/prepare.h"

/* Numbers of trainings, evaluations and benchmarks of each, from the paper's captions and axes. */
static const struct {
    const char *name;
    int32_t trainings, evaluations, benchmarks;
} artefact_table[] = {
    {"abstract", 9, 130, 0}, {"figure1", 8, 280, 0}, {"figure11", 6, 20, 0},
    {"figure2", 0, 0, 24},   {"figure4", 10, 20, 0}, {"figure5", 4, 0, 0},
    {"figure6", 4, 120, 0},  {"figure7", 0, 0, 16},  {"position_loss", 8, 280, 0},
    {"figure8", 6, 6, 6},    {"figure9", 6, 9, 0},   {"table1", 0, 0, 24},
    {"table10", 3, 12, 0},   {"table11", 4, 4, 4},   {"table12", 6, 12, 6},
    {"table13", 3, 10, 0},   {"table14", 3, 10, 0},  {"table15", 3, 10, 0},
    {"table2", 4, 140, 8},   {"table3", 4, 140, 8},  {"table4", 4, 132, 8},
    {"table5", 22, 50, 0},   {"table6", 5, 10, 10},  {"table7", 5, 20, 0},
    {"table8", 6, 9, 0},     {"table9", 3, 6, 0},
};
enum { ARTEFACTS_N = sizeof artefact_table / sizeof *artefact_table };
static const char *const scales[] = {"mini", "small", "paper"};

static const struct plan *open_all(struct plan_fixture *f, const char *scale)
{
    const char *names[ARTEFACTS_N];

    for (int i = 0; i < ARTEFACTS_N; i++) names[i] = artefact_table[i].name;
    return plan_fixture_at(f, names, ARTEFACTS_N, scale);
}

static int32_t count_kind(const struct plan *p, enum spec_kind kind)
{
    int32_t n = 0;
    for (int32_t i = 0; i < p->runs_n; i++) n += p->run[i].spec.kind == kind;
    return n;
}

TEST_EACH(plan_fixture_setup, plan_fixture_teardown)

TEST_WITH(struct plan_fixture *f, every_artefact_of_the_paper_is_shipped)
{
    char **names;
    int32_t n;

    if (plan_list(&names, &n, &f->project, &f->arena, &f->err) < 0) fail_msg("%s", f->err.text);
    assert_int_equal(n, ARTEFACTS_N);
    for (int32_t i = 0; i < ARTEFACTS_N; i++) {
        int32_t k = 0;
        while (k < n && strcmp(names[k], artefact_table[i].name) != 0) k++;
        if (k == n) fail_msg("%s is not listed", artefact_table[i].name);
    }
}

TEST_WITH(struct plan_fixture *f, every_artefact_asks_for_what_the_paper_shows)
{
    for (int i = 0; i < ARTEFACTS_N; i++) {
        int32_t points[3] = {0};
        const struct plan *p = plan_fixture_at(f, &artefact_table[i].name, 1, "paper");
        for (int32_t k = 0; k < p->points_n; k++) points[p->run[p->point[k].run].spec.kind]++;
        if (points[SPEC_TRAIN] != artefact_table[i].trainings ||
            points[SPEC_EVAL] != artefact_table[i].evaluations ||
            points[SPEC_BENCH] != artefact_table[i].benchmarks)
            fail_msg("%s: %d trainings, %d evaluations, %d benchmarks", artefact_table[i].name,
                     points[SPEC_TRAIN], points[SPEC_EVAL], points[SPEC_BENCH]);
    }
}

/* 22 of Table 5, 6 of Table 8, 6 of Table 12, 2 that Table 11 stops early. */
TEST_WITH(struct plan_fixture *f, the_whole_paper_is_36_trainings_at_every_scale)
{
    static const int32_t evaluations[] = {639, 639, 655}; /* lengths merge below scale paper */

    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++) {
        const struct plan *p = open_all(f, scales[i]);
        assert_int_equal(count_kind(p, SPEC_TRAIN), 36);
        assert_int_equal(count_kind(p, SPEC_EVAL), evaluations[i]);
        assert_int_equal(count_kind(p, SPEC_BENCH), 65);
    }
}

TEST_WITH(struct plan_fixture *f, every_length_fills_its_update)
{
    for (size_t i = 0; i < 2; i++) {
        const struct plan *p = open_all(f, scales[i]);
        for (int32_t k = 0; k < p->runs_n; k++) {
            const struct spec *s = &p->run[k].spec;
            assert_int_equal(s->train.shard_tokens % s->train.L, 0);
            if (s->kind == SPEC_EVAL && i == 0) assert_true(s->eval.targets > 0);
        }
    }
}

TEST_WITH(struct plan_fixture *f, benchmarks_time_one_shard)
{
    const struct plan *p = open_all(f, "paper");
    for (int32_t i = 0; i < p->runs_n; i++)
        if (p->run[i].spec.kind == SPEC_BENCH) assert_int_equal(p->run[i].spec.train.shards, 1);
}

/* Tables 2 to 4 and 6: as the paper timed them, apart from the batched ones of Table 1. */
TEST_WITH(struct plan_fixture *f, speeds_of_one_window_are_benchmarks_of_their_own)
{
    const char *const names[] = {"table4", "table6"};
    int32_t n[2] = {0};

    const struct plan *p = plan_fixture_at(f, names, 2, "mini");
    for (int32_t i = 0; i < p->points_n; i++) {
        const struct plan_point *q = &p->point[i];
        const struct spec *s = &p->run[q->run].spec;
        if (s->kind != SPEC_BENCH || s->bench_mode == 0) continue;
        n[strcmp(q->artefact, "table6") == 0]++;
        assert_int_equal(s->bench_rows, 1);
        assert_int_equal(s->bench_L, q->L_valid_nominal / 8);
        assert_true(q->L_valid_nominal == 3072 || q->L_valid_nominal == 13072);
    }
    assert_int_equal(n[0], 8);
    assert_int_equal(n[1], 5);
    assert_int_equal(count_kind(p, SPEC_BENCH), 8 + 5 + 5 - 4); /* four of them are one run */
}

TEST_WITH(struct plan_fixture *f, the_other_texts_have_models_of_the_papers_size)
{
    const struct plan *p = open_all(f, "paper");
    for (int32_t i = 0; i < p->runs_n; i++) {
        const struct spec *s = &p->run[i].spec;
        if (strcmp(s->data.dataset, "bookcorpus") == 0) {
            /* 16 layers, and a tied table of 29,000 x 1,024 instead of the adaptive one. */
            assert_int_equal(p->run[i].cost.parameters_n, 16 * 12596224 + 29000 * 1024);
        } else if (strcmp(s->data.dataset, "cc100") == 0) {
            assert_in_range(p->run[i].cost.parameters_n, 1300000000, 1400000000);
            assert_int_equal(s->model.layers, 25);
            assert_int_equal(s->model.heads, 16);
            assert_int_equal(s->model.dim, 2048);
            assert_int_equal(s->model.ffn, 8192);
            assert_int_equal(s->train.optimizer, SPEC_ADAM);
            if (s->kind == SPEC_TRAIN) assert_int_equal(p->run[i].cost.tokens_per_update, 2097152);
            if (s->kind == SPEC_EVAL) assert_int_equal(s->eval.checkpoint, SPEC_LAST);
        }
    }
}

/* Table 11: 46.7k and 44.2k of 50k updates, on an unchanged schedule. */
TEST_WITH(struct plan_fixture *f, stopped_trainings_keep_their_schedule)
{
    static const int32_t updates[][3] = {
        {2400, 2242, 2122}, {3000, 2802, 2652}, {50000, 46700, 44200}};
    const char *name = "table11";

    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++) {
        const struct plan *p = plan_fixture_at(f, &name, 1, scales[i]);
        for (int32_t k = 0; k < p->points_n; k++) {
            const struct spec *s = &p->run[p->point[k].run].spec;
            bool alibi = s->model.position == SPEC_ALIBI;
            bool at_1024 = p->point[k].L_train_nominal == 1024;
            if (s->kind != SPEC_TRAIN) continue;
            assert_int_equal(s->train.updates, updates[i][alibi ? 0 : at_1024 ? 1 : 2]);
            assert_int_equal(s->train.warmup + s->train.period, updates[i][0]);
        }
    }
}

/* Figure 5 validates ALiBi on twice its training length; a scale divides that length too. */
TEST_WITH(struct plan_fixture *f, validations_of_figure_5_are_on_the_lengths_of_its_panels)
{
    const char *name = "figure5";

    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++) {
        const struct plan *p = plan_fixture_at(f, &name, 1, scales[i]);
        assert_int_equal(p->runs_n, 4);
        for (int32_t k = 0; k < p->runs_n; k++) {
            const struct spec *s = &p->run[k].spec;
            bool alibi = s->model.position == SPEC_ALIBI;
            assert_int_equal(s->train.validate_L, alibi ? 2 * s->train.L : 0);
            assert_true(s->train.updates / s->train.validate_every >= 10);
        }
    }
}

TEST_WITH(struct plan_fixture *f, a_stride_of_512_is_divided_and_a_stride_of_1_is_kept)
{
    static const int32_t divide[] = {8, 4, 1};
    const char *names[] = {"table7", "table10"};

    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++) {
        int32_t ones = 0, wide = 0;
        const struct plan *p = plan_fixture_at(f, names, 2, scales[i]);
        for (int32_t k = 0; k < p->points_n; k++) {
            const struct spec *s = &p->run[p->point[k].run].spec;
            if (s->kind != SPEC_EVAL) continue;
            ones += p->point[k].stride_nominal == 1 && s->eval.stride == 1;
            wide += p->point[k].stride_nominal == 512 && s->eval.stride == 512 / divide[i];
        }
        assert_int_equal(ones, 16);
        assert_int_equal(wide, 16);
    }
}

TEST_WITH(struct plan_fixture *f, mini_pins_the_corpora_that_the_program_makes)
{
    static const struct {
        const char *artefact, *corpus, *piece;
    } pinned_table[] = {
        {"table5", "synthetic-wikitext103-mini", "data/synthetic-wikitext103-mini.yaml"},
        {"table8", "synthetic-bookcorpus-mini", "data/synthetic-bookcorpus-mini.yaml"},
        {"table12", "synthetic-cc100-mini", "data/synthetic-cc100-mini.yaml"}};
    for (size_t i = 0; i < sizeof pinned_table / sizeof *pinned_table; i++) {
        const struct prepare_options prepare = {.name = pinned_table[i].corpus};
        char grid[256];
        if (prepare_corpus(&f->project, &prepare, &f->err) < 0) fail_msg("%s", f->err.text);
        const struct plan *pinned = plan_fixture_at(f, &pinned_table[i].artefact, 1, "mini");
        snprintf(grid, sizeof grid,
                 "base: [tiny.yaml, %s]\ngrid: [{ position: alibi, L_train: 64 }]\n",
                 pinned_table[i].piece);
        const struct plan *made = plan_fixture_open(f, grid, NULL);
        const struct spec_data *a = &pinned->run[0].spec.data, *b = &made->run[0].spec.data;
        assert_string_equal(a->corpus, b->corpus);
        assert_string_equal(a->fingerprint, b->fingerprint);
        assert_int_equal(a->vocab, b->vocab);
        assert_int_equal(a->train_tokens, b->train_tokens);
        assert_int_equal(a->valid_tokens, b->valid_tokens);
        assert_int_equal(a->test_tokens, b->test_tokens);
    }
}
