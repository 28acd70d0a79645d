/* test_artefacts.c - the shipped grids at every scale, against the paper. */
#include "harness/test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "plan/plan_fixture.h"
#include "prepare/prepare.h"

static const char *const all_three[] = {"table5", "figure1", "figure11"};
static const char *const scales[] = {"mini", "small", "laptop", "paper"};
enum { SCALES_N = sizeof scales / sizeof *scales };

static const struct plan *open_all(struct plan_fixture *f, const char *scale)
{
    const char *all = "all";
    return plan_fixture_at(f, &all, 1, scale);
}

/* --- what each artefact asks for -------------------------------------------------------------- */

static void print_counts(struct strbuf *out, const struct plan *p)
{
    int32_t n[3] = {0};

    for (int32_t i = 0; i < p->runs_n; i++) n[p->run[i].spec.kind]++;
    strbuf_addf(out, "scale %s: %d trainings, %d evaluations, %d benchmarks, %d points\n", p->scale,
                n[SPEC_TRAIN], n[SPEC_EVAL], n[SPEC_BENCH], p->points_n);
    for (int32_t i = 0; i < p->notes.n; i++) strbuf_addf(out, "note: %s\n", p->notes.item[i]);
}

static const char *protocol_text(const struct spec *s, const struct plan_point *t, struct arena *a)
{
    return arena_printf(a, "; %s %s%s%s%s", spec_get(s, spec_key_find("eval.split"), a),
                        spec_get(s, spec_key_find("eval.window"), a),
                        t->stride_nominal ? arena_printf(a, " stride %d", t->stride_nominal) : "",
                        s->eval.checkpoint == SPEC_LAST ? " of last" : "",
                        s->eval.targets ? " on part" : "");
}

/* A line for each training, with its evaluations, and each benchmark, in nominal lengths. */
static void print_points(struct strbuf *out, const struct plan *p)
{
    const char *protocol = "";
    int32_t training = -1; /* of the line */

    for (const struct plan_point *t = p->point; t < p->point + p->points_n; t++) {
        const struct plan_run *r = &p->run[t->run];
        const struct spec *s = &r->spec;
        int32_t own = s->kind == SPEC_EVAL ? r->train : t->run;
        assert_int_equal(t->point, t - p->point);
        if (own != training) {
            strbuf_addf(out, "\n%s %s %d", s->data.dataset, spec_position_name(s->model.position),
                        t->L_train_nominal);
            training = own;
            protocol = "";
        }
        if (s->kind == SPEC_BENCH)
            strbuf_addf(out, "; timed %s%s", s->bench_mode ? "eval" : "train",
                        s->bench_rows ? arena_printf(out->arena, " rows %d of", s->bench_rows)
                                      : "");
        if (s->kind == SPEC_EVAL && strcmp(protocol, protocol_text(s, t, out->arena)) != 0)
            strbuf_add(out, protocol = protocol_text(s, t, out->arena));
        if (t->L_valid_nominal) strbuf_addf(out, " %d", t->L_valid_nominal);
    }
    strbuf_add(out, "\n");
}

/* The counts, or why the scale cannot have them. */
static void print_scale(struct strbuf *out, struct plan_fixture *f, const char *name,
                        const char *scale)
{
    const struct plan_options o = {.scale = scale};
    struct plan p;

    if (plan_open(&p, &f->project, &name, 1, &o, &f->err) < 0) {
        strbuf_addf(out, "%s\n", strstr(f->err.text, "scale "));
        return;
    }
    print_counts(out, &p);
    plan_close(&p);
}

TEST_EACH(plan_fixture_setup, plan_fixture_teardown)

/* From the paper's tables, captions and axes. All: 22 trainings of Table 5, 6 of Table 8, 6 of
 * Table 12, 2 that Table 11 stops early; below scale paper lengths merge. */
TEST_WITH(struct plan_fixture *f, every_artefact_asks_for_what_the_paper_shows)
{
    struct strbuf out;
    char **names;
    int32_t n;

    strbuf_init(&out, &f->arena);
    assert_ok(plan_list(&names, &n, &f->project, &f->arena, &e));
    for (int32_t i = 0; i < n; i++) {
        const char *name = names[i];
        strbuf_addf(&out, "== %s\n", name);
        for (int k = 0; k < SCALES_N; k++) print_scale(&out, f, name, scales[k]);
        print_points(&out, plan_fixture_at(f, &name, 1, "paper"));
        strbuf_add(&out, "\n");
    }
    strbuf_add(&out, "== all\n");
    for (int k = 0; k < SCALES_N; k++) print_counts(&out, open_all(f, scales[k]));
    strbuf_add(&out, "\n== table5 figure1 figure11\n"); /* the figures add no training */
    for (int k = 0; k < SCALES_N; k++)
        print_counts(&out, plan_fixture_at(f, all_three, 3, scales[k]));
    assert_golden("plan/golden/artefacts.txt", out.text);
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

/* Lengths are divided, and every one fills its update. */
static void check_small_scale(struct plan_fixture *f, const char *scale, int32_t divisor)
{
    const struct plan *p = plan_fixture_at(f, all_three, 3, scale);
    for (int32_t i = 0; i < p->runs_n; i++) {
        const struct spec *s = &p->run[i].spec;
        assert_int_equal(s->train.shards * s->train.shard_tokens % s->train.L, 0);
        assert_int_equal(s->train.warmup + s->train.period, s->train.updates);
        assert_string_equal(s->data.dataset, "wikitext103");
        assert_string_equal(s->scale, scale);
        assert_int_equal(s->model.heads, 8); /* the paper's, as the next two */
        assert_false(s->model.final_norm);
        assert_true(s->train.clip == 0.1);
        if (s->kind == SPEC_EVAL) assert_true(s->eval.targets > 0);
        if (s->kind == SPEC_EVAL && s->eval.window == SPEC_SLIDING)
            assert_int_equal(s->eval.stride, 1);
    }
    for (int32_t i = 0; i < p->points_n; i++)
        assert_int_equal(p->run[p->point[i].run].spec.train.L * divisor,
                         p->point[i].L_train_nominal);
}

TEST_WITH(struct plan_fixture *f, lengths_of_mini_and_laptop_are_divided_and_fill_an_update)
{
    check_small_scale(f, "mini", 8);
    check_small_scale(f, "laptop", 16);
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

TEST_WITH(struct plan_fixture *f, every_length_fills_its_update)
{
    for (size_t i = 0; i < SCALES_N - 1; i++) { /* without scale paper */
        const struct plan *p = open_all(f, scales[i]);
        for (int32_t k = 0; k < p->runs_n; k++) {
            const struct spec *s = &p->run[k].spec;
            assert_int_equal(s->train.shard_tokens % s->train.L, 0);
            if (s->kind == SPEC_EVAL && strcmp(scales[i], "small") != 0)
                assert_true(s->eval.targets > 0);
        }
    }
}

TEST_WITH(struct plan_fixture *f, benchmarks_time_one_shard)
{
    const struct plan *p = open_all(f, "paper");
    for (int32_t i = 0; i < p->runs_n; i++)
        if (p->run[i].spec.kind == SPEC_BENCH) assert_int_equal(p->run[i].spec.train.shards, 1);
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

TEST_WITH(struct plan_fixture *f, mini_pins_the_corpora_that_the_program_makes)
{
    static const struct {
        const char *artefact, *corpus, *piece;
    } pinned_table[] = {
        {"table5", "synthetic-wikitext103-mini2", "data/synthetic-wikitext103-mini2.yaml"},
        {"explore/training", "synthetic-wikitext103-mini2-long",
         "data/synthetic-wikitext103-mini2-long.yaml"},
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

TEST_WITH(struct plan_fixture *f, every_artefact_of_a_collection_asks_for_what_its_readme_says)
{
    struct strbuf out;
    char **names;
    int32_t n;

    strbuf_init(&out, &f->arena);
    assert_ok(plan_list_collections(&names, &n, &f->project, &f->arena, &e));
    assert_true(n > 0);
    for (int32_t i = 0; i < n; i++) {
        const char *name = names[i];
        const struct plan *p = plan_fixture_at(f, &name, 1, "mini");
        strbuf_addf(&out, "== %s\n", name);
        assert_string_equal(p->artefact[0].name, name);
        print_counts(&out, p);
        print_points(&out, p);
        strbuf_add(&out, "\n");
    }
    assert_golden("plan/golden/explore.txt", out.text);
}

/* The names of the artefacts that a word asks for, from the folder of the project. */
static const char *asked_for(struct plan_fixture *f, const char *word)
{
    const struct plan_options o = {.scale = "none", .artefacts_only = true};
    struct plan p;
    struct strbuf b;

    strbuf_init(&b, &f->arena);
    if (plan_open(&p, &f->project, &word, 1, &o, &f->err) < 0) return f->err.text;
    for (int32_t i = 0; i < p.artefacts_n; i++)
        strbuf_addf(&b, "%s%s", i ? " " : "", p.artefact[i].name);
    plan_close(&p);
    return b.text;
}

TEST_WITH(struct plan_fixture *f, a_folder_without_a_grid_names_the_artefacts_in_it)
{
    static const char grid[] = "base: [tiny.yaml]\ngrid: [{ position: alibi, L_train: 64 }]\n";
    static const char *const files[] = {
        "experiments/mine/a10/grid.yaml",   "experiments/mine/a9/grid.yaml",
        "experiments/mine/README.md",       "experiments/lone/grid.yaml",
        "experiments/lone/inner/grid.yaml", "elsewhere/slopes/grid.yaml"};
    const char *root = f->project.root;
    const struct {
        const char *word, *names;
    } rows[] = {{"mine", "mine/a9 mine/a10"},
                {"mine/a9", "mine/a9"},
                {arena_printf(&f->arena, "%s/experiments/mine/a9/", root), "mine/a9"},
                {arena_printf(&f->arena, "%s/experiments/mine/a9/grid.yaml", root), "mine/a9"},
                {"lone", "lone"},
                {"lone/inner", "inner"}, /* its parent is an artefact, not a collection */
                {arena_printf(&f->arena, "%s/elsewhere/slopes", root), "slopes"},
                {"explore/slopes", "explore/slopes"}, /* another one than slopes */
                {"mine/a8", "mine/a8: No such file or directory; did you mean 'mine/a9'?"},
                {"nothing",
                 "unknown artefact 'nothing' (`alibi list` lists them; a path must contain a "
                 "slash)"}};

    for (size_t i = 0; i < sizeof files / sizeof *files; i++) plan_fixture_write(f, files[i], grid);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_string_equal(asked_for(f, rows[i].word), rows[i].names);
    assert_null(strstr(asked_for(f, "all"), "mine"));
    assert_null(strstr(asked_for(f, "all"), "explore"));
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
