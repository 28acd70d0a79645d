/* test_score.c - scoring: exact by row, equal to the loss, and a distribution.
 *
 *   test_score [[--bf16] DEVICE…]      default: the CPU */
#include "harness/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/model_bench.h"

enum { SHORT = 16, LONG = 48, ROWS = 4 };

TEST_DEVICES("cpu")

/* A window of 16 tokens alone, first of 4 windows, or the beginning of the third of 4 rows of 48:
 * the same bits. */
TEST(a_score_depends_on_its_prefix_only)
{
    for (int i = 0; i < BENCH_MODELS; i++) {
        struct spec s = model_bench_spec_number(i);
        struct model_bench k;
        int32_t text[LONG + 1], others[ROWS * LONG + 1], source[ROWS * LONG], target[ROWS * LONG];
        float alone[SHORT], inside[LONG], first[SHORT];
        model_bench_open_on(&k, test_device, test_dtype, &s, ROWS, LONG, i / 2 % 2);
        model_bench_tokens(text, LONG + 1, 1);
        model_bench_tokens(others, ROWS * LONG + 1, 2);
        struct model_batch one = {.source = text, .target = text + 1, .rows = 1, .length = SHORT};
        model_bench_score(&k, &one, 0, SHORT, alone);

        memcpy(source, others, sizeof source);
        memcpy(target, others + 1, sizeof target);
        memcpy(source + 2 * LONG, text, LONG * sizeof *text);
        memcpy(target + 2 * LONG, text + 1, LONG * sizeof *text);
        struct model_batch four = {
            .source = source, .target = target, .rows = ROWS, .length = LONG};
        model_bench_score(&k, &four, 2, LONG, inside);

        memcpy(source, text, SHORT * sizeof *text);
        memcpy(target, text + 1, SHORT * sizeof *text);
        struct model_batch windows = {
            .source = source, .target = target, .rows = ROWS, .length = SHORT};
        model_bench_score(&k, &windows, 0, SHORT, first);
        assert_memory_equal(alone, inside, sizeof alone);
        assert_memory_equal(alone, first, sizeof alone);
        model_bench_close(&k);
    }
}

/* Scored one by one, every third, or all at once: the same bits. */
TEST(a_score_does_not_depend_on_what_else_is_scored)
{
    struct spec s = model_bench_spec_number(2 * SPEC_ALIBI);
    struct model_bench k;
    int32_t text[ROWS * LONG + 1], third[ROWS * LONG / 3];
    float all[ROWS * LONG], some[ROWS * LONG / 3], one = 0.0f;
    model_bench_open_on(&k, test_device, test_dtype, &s, ROWS, LONG, false);
    struct model_batch batch = model_bench_batch(text, ROWS, LONG, 7);
    int32_t every[ROWS * LONG];
    for (int32_t i = 0; i < ROWS * LONG; i++) every[i] = i;
    for (int32_t i = 0; i < ROWS * LONG / 3; i++) third[i] = 3 * i + 2;
    assert_ok(model_score(k.m, &batch, every, ROWS * LONG, all, &e));
    assert_ok(model_score(k.m, &batch, third, ROWS * LONG / 3, some, &e));
    for (int32_t i = 0; i < ROWS * LONG / 3; i++) {
        assert_true(some[i] == all[third[i]]);
        if (i % 16 != 0) continue;
        assert_ok(model_score(k.m, &batch, &third[i], 1, &one, &e));
        assert_true(one == some[i]);
    }
    model_bench_close(&k);
}

TEST(scores_add_up_to_the_loss)
{
    for (int i = 0; i < BENCH_MODELS; i++) {
        struct spec s = model_bench_spec_number(i);
        struct model_bench k;
        int32_t text[2 * LONG + 1];
        float logp[LONG];
        double sum = 0.0;
        model_bench_open_on(&k, test_device, test_dtype, &s, 2, LONG, true);
        struct model_batch batch = model_bench_batch(text, 2, LONG, 9);
        double loss = model_bench_loss(&k, &batch, 0, 0);
        for (int32_t row = 0; row < 2; row++) {
            model_bench_score(&k, &batch, row, LONG, logp);
            for (int32_t t = 0; t < LONG; t++) sum -= (double)logp[t];
        }
        /* In bf16 a training rounds its logits, here of the size of ten, to half a 32nd. */
        assert_true(fabs(sum - loss) < (test_dtype == DTYPE_F32 ? 1e-6 : 1e-3) * loss);
        model_bench_close(&k);
    }
}

TEST(a_distribution_sums_to_one_and_holds_the_score)
{
    for (int i = 0; i < BENCH_MODELS; i++) {
        struct spec s = model_bench_spec_number(i);
        struct model_bench k;
        int32_t text[LONG + 1];
        float logp[LONG], all[BENCH_VOCAB];
        model_bench_open_on(&k, test_device, test_dtype, &s, 1, LONG, false);
        struct model_batch batch = model_bench_batch(text, 1, LONG, 9);
        model_bench_score(&k, &batch, 0, LONG, logp);
        for (int32_t t = 0; t < LONG; t += 13) {
            double sum = 0.0;
            assert_ok(model_distribution(k.m, &batch, t, all, &e));
            for (int w = 0; w < BENCH_VOCAB; w++) sum += exp((double)all[w]);
            assert_true(fabs(sum - 1.0) < 1e-5);
            assert_true(fabs((double)(all[text[t + 1]] - logp[t])) < 1e-5);
        }
        model_bench_close(&k);
    }
}

/* Training afterwards changes scores: the transposed projections follow the weights. */
TEST(scores_follow_an_update)
{
    struct spec s = model_bench_spec_number(2 * SPEC_ALIBI);
    struct model_bench k, again;
    int32_t text[LONG + 1];
    float before[LONG], after[LONG], fresh[LONG];
    double norm = 0.0;
    model_bench_open_on(&k, test_device, test_dtype, &s, 1, LONG, true);
    model_bench_open_on(&again, test_device, test_dtype, &s, 1, LONG, false);
    struct model_batch batch = model_bench_batch(text, 1, LONG, 9);
    model_bench_score(&k, &batch, 0, LONG, before);
    model_bench_loss(&k, &batch, 0, 0);
    struct model_update u = {.lr = 0.1, .lr_previous = 0.1, .targets_n = LONG};
    assert_ok(model_apply(k.m, &u, &norm, &e));
    model_bench_score(&k, &batch, 0, LONG, after);
    assert_memory_not_equal(before, after, sizeof before);
    char *choices = model_bench_choices(&k);
    model_bench_restore_choices(&again, choices);
    free(choices);
    model_bench_copy(&again, &k, MODEL_VALUES);
    model_bench_score(&again, &batch, 0, LONG, fresh);
    assert_memory_equal(after, fresh, sizeof after);
    model_bench_close(&k);
    model_bench_close(&again);
}
