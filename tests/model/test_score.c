/* test_score.c - scoring: exact by row, equal to the loss, and a distribution.
 *
 *   test_score [[--bf16] DEVICE…]      default: the CPU */
#include "harness/test.h"

#include <math.h>
#include <string.h>

#include "model/model_bench.h"

enum { SHORT = 16, LONG = 48, ROWS = 4 };

TEST_DEVICES("cpu")
TEST_EACH(NULL, model_bench_fini)

/* A window of 16 tokens alone, first of 4 windows, or the beginning of the third of 4 rows of 48:
 * the same bits. */
TEST(a_score_depends_on_its_prefix_only)
{
    for (int i = 0; i < BENCH_MODELS; i++) {
        struct spec s = model_bench_spec_number(i);
        struct model_bench *k =
            model_bench_open_on(test_device, test_dtype, &s, ROWS, LONG, i / 2 % 2);
        int32_t *text, source[ROWS * LONG], target[ROWS * LONG];
        struct model_batch one = model_bench_batch(&text, 1, LONG, 1);
        struct model_batch four = model_bench_batch(NULL, ROWS, LONG, 2);
        one.length = SHORT;
        const float *alone = model_bench_score(k, &one, 0, SHORT);

        memcpy(source, four.source, sizeof source);
        memcpy(target, four.target, sizeof target);
        memcpy(source + 2 * LONG, text, LONG * sizeof *text);
        memcpy(target + 2 * LONG, text + 1, LONG * sizeof *text);
        four.source = source;
        four.target = target;
        const float *inside = model_bench_score(k, &four, 2, LONG);

        memcpy(source, text, SHORT * sizeof *text);
        memcpy(target, text + 1, SHORT * sizeof *text);
        four.length = SHORT;
        const float *first = model_bench_score(k, &four, 0, SHORT);
        assert_memory_equal(alone, inside, SHORT * sizeof *alone);
        assert_memory_equal(alone, first, SHORT * sizeof *alone);
    }
}

/* Scored one by one, every third, or all at once: the same bits. */
TEST(a_score_does_not_depend_on_what_else_is_scored)
{
    struct spec s = model_bench_spec_number(2 * SPEC_ALIBI);
    struct model_bench *k = model_bench_open_on(test_device, test_dtype, &s, ROWS, LONG, false);
    const struct model_batch batch = model_bench_batch(NULL, ROWS, LONG, 7);
    const float *all = model_bench_score(k, &batch, 0, ROWS * LONG);
    int32_t third[ROWS * LONG / 3];
    float some[ROWS * LONG / 3], one = 0.0f;
    for (int32_t i = 0; i < ROWS * LONG / 3; i++) third[i] = 3 * i + 2;
    assert_ok(model_score(k->m, &batch, third, ROWS * LONG / 3, some, &e));
    for (int32_t i = 0; i < ROWS * LONG / 3; i++) {
        assert_true(some[i] == all[third[i]]);
        if (i % 16 != 0) continue;
        assert_ok(model_score(k->m, &batch, &third[i], 1, &one, &e));
        assert_true(one == some[i]);
    }
}

TEST(scores_add_up_to_the_loss)
{
    for (int i = 0; i < BENCH_MODELS; i++) {
        struct spec s = model_bench_spec_number(i);
        struct model_bench *k = model_bench_open_on(test_device, test_dtype, &s, 2, LONG, true);
        const struct model_batch batch = model_bench_batch(NULL, 2, LONG, 9);
        double loss = model_bench_loss(k, &batch, 0, 0), sum = 0.0;
        for (int32_t row = 0; row < 2; row++) {
            const float *logp = model_bench_score(k, &batch, row, LONG);
            for (int32_t t = 0; t < LONG; t++) sum -= (double)logp[t];
        }
        /* In bf16 a training rounds its logits, here of the size of ten, to half a 32nd. */
        assert_true(fabs(sum - loss) < (test_dtype == DTYPE_F32 ? 1e-6 : 1e-3) * loss);
    }
}

TEST(a_distribution_sums_to_one_and_holds_the_score)
{
    for (int i = 0; i < BENCH_MODELS; i++) {
        struct spec s = model_bench_spec_number(i);
        struct model_bench *k = model_bench_open_on(test_device, test_dtype, &s, 1, LONG, false);
        const struct model_batch batch = model_bench_batch(NULL, 1, LONG, 9);
        const float *logp = model_bench_score(k, &batch, 0, LONG);
        float all[BENCH_VOCAB];
        for (int32_t t = 0; t < LONG; t += 13) {
            double sum = 0.0;
            assert_ok(model_distribution(k->m, &batch, t, all, &e));
            for (int w = 0; w < BENCH_VOCAB; w++) sum += exp((double)all[w]);
            assert_true(fabs(sum - 1.0) < 1e-5);
            assert_true(fabs((double)(all[batch.target[t]] - logp[t])) < 1e-5);
        }
    }
}

/* Training afterwards changes scores: the transposed projections follow the weights. */
TEST(scores_follow_an_update)
{
    struct spec s = model_bench_spec_number(2 * SPEC_ALIBI);
    struct model_bench *k = model_bench_open_on(test_device, test_dtype, &s, 1, LONG, true);
    struct model_bench *again = model_bench_open_on(test_device, test_dtype, &s, 1, LONG, false);
    const struct model_batch batch = model_bench_batch(NULL, 1, LONG, 9);
    const float *before = model_bench_score(k, &batch, 0, LONG);
    model_bench_loss(k, &batch, 0, 0);
    model_bench_apply(k, 0, 0.1, LONG);
    const float *after = model_bench_score(k, &batch, 0, LONG);
    assert_memory_not_equal(before, after, LONG * sizeof *after);
    model_bench_restore_choices(again, model_bench_choices(k));
    model_bench_copy(again, k, MODEL_VALUES);
    assert_memory_equal(after, model_bench_score(again, &batch, 0, LONG), LONG * sizeof *after);
}

/* Scores keep their bits when hits are asked for; a hit is the best of the whole distribution. */
TEST(a_hit_is_the_most_probable_word_of_the_distribution)
{
    int32_t tails_n = 0, heads_n = 0;
    for (int i = 0; i < BENCH_MODELS; i++) {
        struct spec s = model_bench_spec_number(i);
        struct model_bench *plain =
            model_bench_open_on(test_device, test_dtype, &s, ROWS, LONG, false);
        struct model_bench *k = model_bench_open_for_hits(test_device, test_dtype, &s, ROWS, LONG);
        struct model_batch batch = model_bench_batch(NULL, ROWS, LONG, 9);
        int32_t target[ROWS * LONG], at[ROWS * LONG];
        float all[BENCH_VOCAB], logp[ROWS * LONG], want[ROWS * LONG];
        memcpy(target, batch.target, sizeof target);
        batch.target = target;
        for (int32_t t = 0; t < ROWS * LONG; t++) at[t] = t;
        assert_null(model_hits(plain->m));
        bool want_hit[ROWS * LONG];
        for (int32_t t = 0; t < ROWS * LONG; t++) { /* every other target becomes the best */
            const struct model_batch row = {.source = batch.source + t / LONG * LONG,
                                            .target = target + t / LONG * LONG,
                                            .rows = 1,
                                            .length = LONG};
            assert_ok(model_distribution(plain->m, &row, t % LONG, all, &e));
            int32_t best = 0;
            for (int32_t w = 1; w < BENCH_VOCAB; w++)
                if (all[w] > all[best]) best = w;
            if (t % 2 == 0) target[t] = best;
            want_hit[t] = target[t] == best;
            tails_n += s.model.softmax == SPEC_ADAPTIVE && best >= s.model.cutoffs[0];
            heads_n += s.model.softmax == SPEC_ADAPTIVE && best < s.model.cutoffs[0];
        }
        assert_ok(model_score(plain->m, &batch, at, ROWS * LONG, want, &e));
        model_bench_restore_choices(k, model_bench_choices(plain));
        assert_ok(model_score(k->m, &batch, at, ROWS * LONG, logp, &e));
        assert_memory_equal(logp, want, sizeof logp);
        assert_memory_equal(model_hits(k->m), want_hit, sizeof want_hit);
    }
    assert_true(tails_n > 0 && heads_n > 0);
}
