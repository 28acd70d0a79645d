/* test_train.c - gradients, dropout and updates of whole models. */
#include "harness/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/model_bench.h"

enum { ROWS = 4, LENGTH = 24, TOKENS = ROWS * LENGTH };

/* A batch of random tokens: targets are the next ones. */
struct text {
    int32_t ids[TOKENS + 1];
    struct model_batch batch;
};

static void make_text(struct text *t, uint64_t seed)
{
    t->batch = model_bench_batch(t->ids, ROWS, LENGTH, seed);
}

/* Moves one tensor along its gradient: the loss must change by the gradient's norm times the step.
 */
static void check_tensor_slope(struct model_bench *k, const struct text *t, int32_t tensor)
{
    int64_t n = model_bench_tensor(k, tensor);
    double norm = 0.0, loss[2], step = 1e-2;
    float *moved = malloc((size_t)n * sizeof *moved);
    assert_non_null(moved);
    model_bench_loss(k, &t->batch, 0, 0);
    assert_ok(model_read(k->m, MODEL_GRADIENTS, tensor, k->gradients, &e));
    assert_ok(model_read(k->m, MODEL_VALUES, tensor, k->values, &e));
    for (int64_t i = 0; i < n; i++) norm += (double)k->gradients[i] * (double)k->gradients[i];
    norm = sqrt(norm);
    for (int side = 0; side < 2; side++) {
        double by = (side == 0 ? -step : step) / norm;
        for (int64_t i = 0; i < n; i++)
            moved[i] = (float)((double)k->values[i] + by * (double)k->gradients[i]);
        assert_ok(model_write(k->m, MODEL_VALUES, tensor, moved, &e));
        loss[side] = model_bench_loss(k, &t->batch, 0, 0);
    }
    assert_ok(model_write(k->m, MODEL_VALUES, tensor, k->values, &e));
    free(moved);
    /* Key biases have no gradient but rounding; a loss of hundreds of nats is known to 1e-4. */
    double slope = (loss[1] - loss[0]) / (2.0 * step);
    if (norm > 0.5 && fabs(slope - norm) > 0.03 * norm + 0.02)
        fail_msg("%s: difference %.6g, gradient's norm %.6g",
                 model_params(k->m)->tensor[tensor].name, slope, norm);
}

TEST(gradients_of_every_tensor_are_differences)
{
    for (int i = 0; i < BENCH_MODELS; i++) {
        struct spec s = model_bench_spec_number(i);
        struct model_bench k;
        struct text t;
        model_bench_dropout(
            &s, i / 2 % 2 ? 0.2 : 0.0); /* the masks of one update are fixed, so it is smooth */
        model_bench_open(&k, &s, ROWS, LENGTH, true);
        make_text(&t, (uint64_t)i);
        /* Row 1 of a tail's table starts as zeros, where LayerNorm is all but a straight line. */
        for (int j = 0; j <= TOKENS; j++) t.ids[j] += t.ids[j] == 21 || t.ids[j] == 41;
        for (int32_t j = 0; j < model_params(k.m)->tensors_n; j++) check_tensor_slope(&k, &t, j);
        model_bench_close(&k);
    }
}

/* Rows [first, first + n) of the text as a micro-batch of the same update. */
static struct model_batch part_of(const struct text *t, int32_t first, int32_t n)
{
    return (struct model_batch){.source = t->batch.source + first * LENGTH,
                                .target = t->batch.target + first * LENGTH,
                                .rows = n,
                                .length = LENGTH,
                                .first_row = first};
}

TEST(a_batch_in_two_parts_is_the_batch)
{
    for (int i = 0; i < BENCH_MODELS; i++) {
        struct spec s = model_bench_spec_number(i);
        struct model_bench k;
        struct text t;
        int64_t n = 0;
        model_bench_dropout(&s, 0.3);
        model_bench_open(&k, &s, ROWS, LENGTH, true);
        make_text(&t, 5);
        double whole = model_bench_loss(&k, &t.batch, 9, 0);
        float *want = model_bench_all(&k, MODEL_GRADIENTS, &n);
        struct model_batch first = part_of(&t, 0, 1), second = part_of(&t, 1, ROWS - 1);
        double parts = model_bench_loss(&k, &first, 9, 0) + model_bench_loss(&k, &second, 9, 1);
        float *got = model_bench_all(&k, MODEL_GRADIENTS, &n);
        assert_true(fabs(whole - parts) < 1e-6 * whole);
        assert_true(model_bench_difference(want, got, n) < 2e-6);
        free(want);
        free(got);
        model_bench_close(&k);
    }
}

TEST(gradients_of_shards_add_up)
{
    struct spec s = model_bench_spec(SPEC_T5, SPEC_ADAPTIVE);
    struct model_bench k;
    struct text t[2];
    int64_t n = 0;
    model_bench_open(&k, &s, ROWS, LENGTH, true);
    float *alone[2];
    for (int i = 0; i < 2; i++) {
        make_text(&t[i], (uint64_t)i);
        model_bench_loss(&k, &t[i].batch, 0, 0);
        alone[i] = model_bench_all(&k, MODEL_GRADIENTS, &n);
    }
    model_bench_loss(&k, &t[0].batch, 0, 0);
    model_bench_loss(&k, &t[1].batch, 0, 1);
    float *sum = model_bench_all(&k, MODEL_GRADIENTS, &n);
    for (int64_t i = 0; i < n; i++) alone[0][i] += alone[1][i];
    assert_true(model_bench_difference(sum, alone[0], n) < 2e-6);
    free(alone[0]);
    free(alone[1]);
    free(sum);
    model_bench_close(&k);
}

/* The seven sites, as settings of the spec; sites that share one setting are distinguished by the
 * ops table's masks and by dropout_stream. */
TEST(every_setting_of_dropout_reaches_the_loss)
{
    struct text t;
    double loss[5] = {0};
    make_text(&t, 1);
    for (int i = 0; i < 5; i++) {
        struct spec s = model_bench_spec(SPEC_ALIBI, SPEC_ADAPTIVE);
        double *setting[] = {&s.model.dropout, &s.model.dropout_attention, &s.model.dropout_relu,
                             &s.model.dropout_softmax};
        struct model_bench k;
        if (i > 0) *setting[i - 1] = 0.3;
        model_bench_open(&k, &s, ROWS, LENGTH, true);
        loss[i] = model_bench_loss(&k, &t.batch, 0, 0);
        assert_true(loss[i] == model_bench_loss(&k, &t.batch, 0, 0));
        bool changes = loss[i] != model_bench_loss(&k, &t.batch, 1, 0);
        assert_true(changes == (i > 0));
        for (int j = 0; j < i; j++) assert_true(loss[i] != loss[j]);
        model_bench_close(&k);
    }
}

/* Kept values are scaled up: over many updates the loss stays where it is without dropout, but for
 * the second order of the noise. */
TEST(dropout_keeps_the_mean_loss)
{
    enum { UPDATES = 400 };
    struct spec s = model_bench_spec(SPEC_ALIBI, SPEC_PLAIN);
    struct model_bench k;
    struct text t;
    double plain = 0.0, mean = 0.0, squares = 0.0;
    make_text(&t, 2);
    for (int with = 0; with < 2; with++) {
        s.model.dropout_relu = with ? 0.1 : 0.0;
        model_bench_open(&k, &s, ROWS, LENGTH, true);
        for (uint32_t u = 0; u < (with ? UPDATES : 1); u++) {
            double loss = model_bench_loss(&k, &t.batch, u, 0);
            if (!with) plain = loss;
            mean += with ? loss / UPDATES : 0.0;
            squares += with ? loss * loss / UPDATES : 0.0;
        }
        model_bench_close(&k);
    }
    assert_true(squares > mean * mean);
    assert_true(fabs(mean - plain) < 0.01 * plain);
}

TEST(padding_on_the_right_changes_nothing)
{
    for (int i = 0; i < BENCH_MODELS; i++) {
        struct spec s = model_bench_spec_number(i);
        struct model_bench k;
        struct text t;
        enum { WIDE = LENGTH + 7 };
        int32_t source[ROWS * WIDE], target[ROWS * WIDE];
        int64_t n = 0;
        make_text(&t, 3);
        for (int row = 0; row < ROWS; row++)
            for (int j = 0; j < WIDE; j++) {
                source[row * WIDE + j] = j < LENGTH ? t.batch.source[row * LENGTH + j] : 1;
                target[row * WIDE + j] = j < LENGTH ? t.batch.target[row * LENGTH + j] : 1;
            }
        struct model_batch padded = {
            .source = source, .target = target, .rows = ROWS, .length = WIDE};
        model_bench_open(&k, &s, ROWS, WIDE, true);
        double want_loss = model_bench_loss(&k, &t.batch, 0, 0);
        float *want = model_bench_all(&k, MODEL_GRADIENTS, &n);
        double loss = model_bench_loss(&k, &padded, 0, 0);
        float *got = model_bench_all(&k, MODEL_GRADIENTS, &n);
        assert_true(fabs(loss - want_loss) < 1e-6 * want_loss);
        assert_true(model_bench_difference(want, got, n) < 2e-6);
        free(want);
        free(got);
        model_bench_close(&k);
    }
}

TEST(the_tail_quirk_leaves_out_class_one_of_a_tail)
{
    struct text t;
    double loss[2] = {0}, share = 0.0;
    make_text(&t, 4);
    /* Words 21 and 41 are class 1 of their tails; let only target 4 be one. */
    for (int i = 0; i <= TOKENS; i++) t.ids[i] += t.ids[i] == 21 || t.ids[i] == 41;
    t.ids[5] = 21;
    for (int quirk = 0; quirk < 2; quirk++) {
        struct spec s = model_bench_spec(SPEC_ALIBI, SPEC_ADAPTIVE);
        struct model_bench k;
        float all[BENCH_VOCAB];
        double tail = 0.0;
        s.train.tail_quirk = quirk;
        model_bench_open(&k, &s, ROWS, LENGTH, true);
        loss[quirk] = model_bench_loss(&k, &t.batch, 0, 0);
        assert_ok(model_distribution(k.m, &t.batch, 4, all, &e));
        for (int w = 20; w < 40; w++) tail += exp((double)all[w]);
        share = log(tail) - (double)all[21]; /* -log p within the tail */
        model_bench_close(&k);
    }
    assert_true(fabs(loss[0] - loss[1] - share) < 1e-4);
}
