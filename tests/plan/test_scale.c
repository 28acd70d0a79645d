/* test_scale.c - scaling of the paper's lengths, and the notes and errors of scales. */
#include "harness/test.h"

#include <stdio.h>
#include <string.h>

#include "plan/plan_fixture.h"
#include "plan/plan_internal.h"

#define TINY "base: tiny.yaml\n"

static const char eighth[] =
    "divide: 8\nset: { train.updates: 5, eval.targets: 40 }\nwhere:\n"
    "  - { dataset: tinytext, set: { data.corpus: stand-in } }\n"
    "  - { position: t5, L_train: 64, set: { model.t5_max_distance: 24 } }\n"
    "  - { window: sliding, set: { eval.targets: 7 } }\n";

static const struct plan *open_at(struct plan_fixture *f, const char *grid, const char *scale)
{
    const struct plan_options o = {.scale = scale};
    return plan_fixture_open(f, grid, &o);
}

TEST_EACH(plan_fixture_setup, plan_fixture_teardown)

TEST(lengths_are_rounded_half_up_and_never_below_one)
{
    static const int32_t pairs[][2] = {{64, 8},   {3072, 384}, {512, 64},    {513, 64}, {516, 65},
                                       {532, 67}, {3, 1},      {4, 1},       {1, 1},    {12, 2},
                                       {11, 1},   {0, 0},      {16072, 2009}};
    const struct scale s = {.divide = 8}, odd = {.divide = 1.5};

    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        assert_int_equal(scale_length(&s, pairs[i][0]), pairs[i][1]);
    assert_int_equal(scale_length(&odd, 3), 2);
    assert_int_equal(scale_length(&odd, 4), 3);
}

TEST_WITH(struct plan_fixture *f, a_scale_divides_lengths_and_strides_above_one_only)
{
    plan_fixture_write(f, "configs/scale/eighth.yaml", eighth);
    const struct plan *p =
        open_at(f,
                TINY "grid: [{ position: alibi, L_train: 64 }]\n"
                     "evaluate: [{ window: sliding, stride: [1, 16], L_valid: 128 }]\n",
                "eighth");
    assert_string_equal(p->scale, "eighth");
    const struct spec *t = &p->run[0].spec, *one = &p->run[1].spec, *two = &p->run[2].spec;
    assert_string_equal(t->scale, "eighth");
    assert_int_equal(t->train.L, 8);
    assert_int_equal(t->train.shard_tokens, 4096); /* not divided */
    assert_int_equal(t->train.updates, 5);
    assert_string_equal(t->data.dataset, "tinytext");
    assert_string_equal(t->data.corpus, "stand-in");
    assert_int_equal(one->eval.L, 16);
    assert_int_equal(one->eval.stride, 1);
    assert_int_equal(two->eval.stride, 2);
    assert_int_equal(one->eval.targets, 7); /* the later entry wins */
    assert_int_equal(p->point[2].L_train_nominal, 64);
    assert_int_equal(p->point[2].L_valid_nominal, 128);
    assert_int_equal(p->point[2].stride_nominal, 16);
}

TEST_WITH(struct plan_fixture *f, conditions_are_in_nominal_values)
{
    plan_fixture_write(f, "configs/scale/eighth.yaml", eighth);
    const struct plan *p =
        open_at(f, TINY "grid: [{ position: [t5, alibi], L_train: [64, 128] }]\n", "eighth");
    assert_int_equal(p->run[0].spec.option.t5_max_distance, 24);
    assert_int_equal(p->run[1].spec.option.t5_max_distance, 128);
    assert_int_equal(p->run[2].spec.option.t5_max_distance, 128);
}

TEST_WITH(struct plan_fixture *f, equal_results_are_merged_and_told)
{
    plan_fixture_write(f, "configs/scale/eighth.yaml", eighth);
    const struct plan *p =
        open_at(f,
                TINY "grid: [{ position: alibi, L_train: [64, 66, 128] }]\n"
                     "evaluate: [{ L_valid: { from: L_train, add: [0, 1, 3, 8] } }]\n",
                "eighth");
    assert_int_equal(p->points_n, 15);
    assert_int_equal(p->runs_n, 2 + 2 + 2); /* 8: 8 9; 16: 16 17 */
    assert_int_equal(p->point[0].run, p->point[5].run);
    assert_int_equal(p->notes.n, 2);
    assert_string_equal(p->notes.item[0], "g: L_train 64, 66 are both 8 at scale eighth");
    assert_string_equal(p->notes.item[1],
                        "g: L_valid 64, 65, 66, 67 are all 8; 69, 72, 74 are all 9; "
                        "128, 129, 131 are all 16 at scale eighth");
}

TEST_WITH(struct plan_fixture *f, a_setting_of_the_grid_that_the_scale_overrides_is_told)
{
    static const char *const set = "train.updates=6";
    static const char grid[] = TINY "grid: [{ position: alibi, L_train: 64 }]\n"
                                    "set: { train.updates: 7, train.lr: 0.5 }\n";
    const struct plan_options literal = {.scale = "eighth", .set = (const char *[]){set, NULL}};
    const struct plan *p;

    plan_fixture_write(f, "configs/scale/eighth.yaml", eighth);
    p = open_at(f, grid, "eighth");
    assert_int_equal(p->notes.n, 1);
    assert_non_null(strstr(p->notes.item[0], "g: train.updates=7 in the grid has no effect"));
    p = plan_fixture_open(f, grid, &literal);
    assert_int_equal(p->run[0].spec.train.updates, 6);
    assert_int_equal(p->notes.n, 0);
}

TEST_WITH(struct plan_fixture *f, what_a_set_breaks_is_blamed_on_the_set)
{
    static const char *const set[] = {"train.lr=2", "model.heads=7", NULL};
    const struct plan_options o = {.scale = "none", .set = set};

    plan_fixture_refuses(f, TINY "grid: [{ position: alibi, L_train: 64 }]\n", &o, ERR_DATA,
                         "--set model.heads=7: model.heads", NULL);
}

TEST_WITH(struct plan_fixture *f, points_that_differ_in_what_the_scale_sets_are_reported)
{
    plan_fixture_write(f, "configs/scale/eighth.yaml", eighth);
    const struct plan *p = open_at(
        f, TINY "grid: [{ position: alibi, L_train: 64, train.updates: [1, 2, 3] }]\n", "eighth");
    assert_int_equal(p->runs_n, 1);
    assert_int_equal(p->points_n, 3);
    assert_int_equal(p->notes.n, 1);
    assert_non_null(strstr(p->notes.item[0], "2 points share runs with others, because they differ "
                                             "only in keys that scale eighth or --set"));
}

TEST_WITH(struct plan_fixture *f, set_is_literal_and_marks_what_it_changes)
{
    static const char grid[] = TINY "grid: [{ position: [t5, alibi], L_train: 64 }]\n"
                                    "evaluate: [{ L_valid: L_train }]\n";
    static const struct {
        const char *set;
        bool t5, alibi, evaluations; /* which are `modified` */
    } cases[] = {
        {"train.L=24", true, true, true},
        {"train.updates=5", false, false, false}, /* as it is */
        {"train.seed=3", false, false, false},    /* a seed does not change the artefact */
        {"model.name=mine", false, false, false}, /* a label */
        {"t5_max=9", false, false, false},
        {"model.t5_max_distance=99", true, false, false},
        {"eval.targets=11", false, false, true},
        {"L_valid=24", false, false, true},
    };
    plan_fixture_write(f, "configs/scale/eighth.yaml", eighth);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct plan_options o = {.scale = "eighth",
                                       .set = (const char *[]){cases[i].set, NULL}};
        if (strcmp(cases[i].set, "t5_max=9") == 0) {
            plan_fixture_refuses(f, grid, &o, ERR_USAGE, "unknown key", NULL);
            continue;
        }
        const struct plan *p = plan_fixture_open(f, grid, &o);
        assert_int_equal(p->run[0].spec.modified, cases[i].t5);
        assert_int_equal(p->run[1].spec.modified, cases[i].t5 || cases[i].evaluations);
        assert_int_equal(p->run[2].spec.modified, cases[i].alibi);
        assert_int_equal(p->run[3].spec.modified, cases[i].alibi || cases[i].evaluations);
        if (i == 0) assert_int_equal(p->run[0].spec.train.L, 24);
    }
}

TEST_WITH(struct plan_fixture *f, what_set_changes_has_another_id)
{
    static const char grid[] = TINY "grid: [{ position: alibi, L_train: 64 }]\n";
    const char *lr = "train.lr=0.3", *label = "model.name=mine";
    const struct plan_options plain = {.scale = "none"};
    const struct plan_options changed = {.scale = "none", .set = (const char *[]){lr, NULL}};
    const struct plan_options labelled = {.scale = "none", .set = (const char *[]){label, NULL}};

    const struct plan *p = plan_fixture_open(f, grid, &plain);
    const struct plan *q = plan_fixture_open(f, grid, &changed);
    const struct plan *r = plan_fixture_open(f, grid, &labelled);
    assert_string_not_equal(p->run[0].run_id, q->run[0].run_id);
    assert_string_equal(p->run[0].run_id, r->run[0].run_id);
}

TEST_WITH(struct plan_fixture *f, a_scale_rejects_a_dataset_it_does_not_know)
{
    static const char grid[] = TINY "grid:\n  - { position: alibi, L_train: 64 }\n";
    const struct plan_options mini = {.scale = "mini"}, by_default = {0};

    plan_fixture_refuses(f, grid, &mini, ERR_DATA, "g/grid.yaml:3:5:", "'tinytext'", "wikitext103",
                         "--scale none", NULL);
    plan_fixture_refuses(f, grid, &by_default, ERR_DATA, "mini", "--scale none", NULL);
    const struct plan *p = open_at(f, grid, "none");
    assert_int_equal(p->run[0].spec.train.L, 64);
}

TEST_WITH(struct plan_fixture *f, a_grid_may_name_its_own_scale)
{
    static const char grid[] = TINY "scale: none\ngrid: [{ position: alibi, L_train: 64 }]\n";
    const struct plan_options by_default = {0}, other = {.scale = "eighth"};
    const struct plan *p;

    plan_fixture_write(f, "configs/scale/eighth.yaml", eighth);
    p = plan_fixture_open(f, grid, &by_default);
    assert_string_equal(p->artefact[0].scale, "none");
    p = plan_fixture_open(f, grid, &other);
    assert_string_equal(p->artefact[0].scale, "eighth");
    plan_fixture_refuses(f, TINY "scale: nome\ngrid: [{ position: alibi, L_train: 64 }]\n",
                         &by_default, ERR_DATA, "g/grid.yaml:2:8:", "did you mean 'none'", NULL);
}

TEST_WITH(struct plan_fixture *f, a_damaged_scale_names_its_place)
{
    static const char grid[] = TINY "grid: [{ position: alibi, L_train: 64 }]\n";
    static const struct {
        const char *text, *place, *word;
    } list[] = {
        {"divide: 0\n", "bad.yaml:1:9:", "divide"},
        {"divide: 0.5\n", "bad.yaml:1:9:", "divide"},
        {"divide: x\n", "bad.yaml:1:9:", "divide"},
        {"devide: 8\n", "bad.yaml:1:1:", "did you mean 'divide'"},
        {"set: { train.lrr: 1 }\n", "bad.yaml:1:8:", "train.lr"},
        {"where: [{ position: t5 }]\n", "bad.yaml:1:9:", "set is missing"},
        {"where: [{ set: { train.lr: 1 } }]\n", "bad.yaml:1:9:", "no key"},
        {"where: { position: t5 }\n", "bad.yaml:1:8:", "a list"},
    };
    const struct plan_options o = {.scale = "bad"}, unknown = {.scale = "papr"},
                              path = {.scale = "../../x"};

    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        plan_fixture_write(f, "configs/scale/bad.yaml", list[i].text);
        plan_fixture_refuses(f, grid, &o, ERR_DATA, list[i].place, list[i].word, NULL);
    }
    plan_fixture_refuses(f, grid, &unknown, ERR_USAGE, "papr", "did you mean 'paper'", NULL);
    plan_fixture_refuses(f, grid, &path, ERR_USAGE, "../../x", NULL);
}
