/* test_model.c - a model's memory, initial values, dropout sites, updates and errors. */
#include "harness/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/model_bench.h"
#include "model/model_internal.h"

enum { ROWS = 2, LENGTH = 24, TOKENS = ROWS * LENGTH, STREAMS_MAX = 64 };

/* The calls of the backend's functions in the current test. */
static struct {
    const struct backend_ops *inner;
    int32_t allocations_n;
    int32_t calls[STREAMS_MAX]; /* of dropout, by stream */
    int64_t span[STREAMS_MAX];
    bool listed[STREAMS_MAX];
} seen;

static int seen_alloc(struct backend *b, void **out, size_t bytes, struct err *e)
{
    seen.allocations_n++;
    return seen.inner->alloc(b, out, bytes, e);
}

static void note(const struct dropout *d)
{
    if (d->p == 0.0f) return;
    assert_true(d->stream < STREAMS_MAX);
    seen.calls[d->stream]++;
    assert_int_equal(d->first_row, 0);
    seen.span[d->stream] = d->span;
    seen.listed[d->stream] = d->rows_dev != NULL;
}

static int seen_dropout(struct backend *b, const struct dropout_args *a, struct err *e)
{
    note(&a->dropout);
    return seen.inner->dropout(b, a, e);
}

static int seen_relu(struct backend *b, const struct relu_args *a, struct err *e)
{
    note(&a->dropout);
    return seen.inner->relu(b, a, e);
}

static int seen_attention(struct backend *b, const struct attention *a, struct err *e)
{
    note(&a->dropout);
    return seen.inner->attention(b, a, e);
}

/* Replaces the functions of a bench's backend by counting ones; slots must outlive it. */
static void watch(struct model_bench *k, struct backend_ops *slots)
{
    memset(&seen, 0, sizeof seen);
    seen.inner = k->b->ops;
    *slots = *k->b->ops;
    slots->alloc = seen_alloc;
    slots->dropout = seen_dropout;
    slots->relu = seen_relu;
    slots->attention = seen_attention;
    slots->residual_layernorm = NULL; /* composed, so that its dropout is seen */
    k->b->ops = slots;
}

static struct model_batch make_batch(int32_t *ids, int64_t first_row)
{
    struct model_batch batch = model_bench_batch(ids, ROWS, LENGTH, 6);
    batch.first_row = first_row;
    return batch;
}

TEST(there_are_seven_dropout_sites)
{
    struct spec s = model_bench_spec(SPEC_ALIBI, SPEC_ADAPTIVE);
    struct model_bench k;
    struct backend_ops slots;
    int32_t ids[TOKENS + 1];
    model_bench_dropout(&s, 0.1);
    model_bench_open(&k, &s, ROWS, LENGTH, true);
    watch(&k, &slots);
    struct model_batch batch = make_batch(ids, 5);
    model_bench_loss(&k, &batch, 0, 0);
    for (uint32_t stream = 0; stream < STREAMS_MAX; stream++) {
        uint32_t layer = stream / 8, site = stream % 8;
        bool once = site == DROPOUT_EMBEDDING || site == DROPOUT_HEAD_INPUT;
        bool expected = layer < (once ? 1u : 2u) && site <= DROPOUT_TAIL; /* 2 layers, 2 tails */
        assert_int_equal(seen.calls[stream] > 0, expected);
        if (!expected) continue;
        /* Tokens of the whole update; for attention, its rows. Tails count listed rows. */
        assert_int_equal(k.m->step.first_row, 5);
        assert_int_equal(seen.span[stream], site == DROPOUT_ATTENTION ? 1 : LENGTH);
        assert_int_equal(seen.listed[stream], site == DROPOUT_TAIL);
    }
    model_bench_close(&k);
}

TEST(nothing_is_dropped_while_scoring)
{
    struct spec s = model_bench_spec(SPEC_ALIBI, SPEC_ADAPTIVE);
    struct model_bench k;
    struct backend_ops slots;
    int32_t ids[TOKENS + 1], position = 7;
    float logp = 0.0f;
    model_bench_dropout(&s, 0.5);
    model_bench_open(&k, &s, ROWS, LENGTH, true);
    watch(&k, &slots);
    struct model_batch batch = make_batch(ids, 0);
    assert_ok(model_score(k.m, &batch, &position, 1, &logp, &e));
    for (int i = 0; i < STREAMS_MAX; i++) assert_int_equal(seen.calls[i], 0);
    model_bench_close(&k);
}

TEST(nothing_is_allocated_after_open)
{
    struct spec s = model_bench_spec(SPEC_T5, SPEC_ADAPTIVE);
    struct model_bench k;
    struct backend_ops slots;
    int32_t ids[TOKENS + 1], position = 3;
    float logp = 0.0f;
    double norm = 0.0;
    model_bench_open(&k, &s, ROWS, LENGTH, true);
    watch(&k, &slots);
    for (uint32_t u = 0; u < 3; u++) {
        struct model_batch batch = make_batch(ids, 0);
        struct model_update update = {
            .update = u, .lr = 0.1, .lr_previous = 0.1, .targets_n = TOKENS};
        model_bench_loss(&k, &batch, u, 0);
        assert_ok(model_apply(k.m, &update, &norm, &e));
        assert_ok(model_score(k.m, &batch, &position, 1, &logp, &e));
    }
    assert_int_equal(seen.allocations_n, 0);
    model_bench_close(&k);
}

/* Three allocations, whose sizes model_bytes adds up. */
TEST(a_model_is_three_allocations)
{
    struct spec s = model_bench_spec(SPEC_ALIBI, SPEC_ADAPTIVE);
    struct model_bench k;
    struct backend_ops slots;
    struct model *second = NULL;
    struct model_options o = {.rows_max = ROWS, .length_max = LENGTH, .scored_max = TOKENS};
    model_bench_open(&k, &s, ROWS, LENGTH, true);
    watch(&k, &slots);
    assert_ok(model_open(&second, k.b, &s, &o, &e));
    assert_int_equal(seen.allocations_n, 3);
    int64_t values = model_params(second)->elements_n * (int64_t)sizeof(float);
    assert_true(model_bytes(second) > values);
    assert_true(model_bytes(k.m) > model_bytes(second) + 2 * values);
    model_close(second);
    model_bench_close(&k);
}

/* Mean and standard deviation of a tensor's values. */
static void moments(struct model_bench *k, int32_t tensor, double *mean, double *deviation)
{
    int64_t n = model_bench_tensor(k, tensor);
    double sum = 0.0, squares = 0.0;
    assert_ok(model_read(k->m, MODEL_VALUES, tensor, k->values, &e));
    for (int64_t i = 0; i < n; i++) {
        sum += (double)k->values[i];
        squares += (double)k->values[i] * (double)k->values[i];
    }
    *mean = sum / (double)n;
    *deviation = sqrt(squares / (double)n - *mean * *mean);
}

TEST(initial_values_have_their_distributions)
{
    struct spec s = model_bench_spec(SPEC_T5, SPEC_ADAPTIVE);
    struct model_bench k;
    model_bench_open(&k, &s, ROWS, LENGTH, false);
    for (int32_t i = 0; i < model_params(k.m)->tensors_n; i++) {
        const struct shape_tensor *t = &model_params(k.m)->tensor[i];
        int64_t n = model_bench_tensor(&k, i);
        double mean = 0.0, deviation = 0.0, expected = t->init_value;
        moments(&k, i, &mean, &deviation);
        if (t->init == SHAPE_UNIFORM) expected = t->init_value / sqrt(3.0);
        if (t->init == SHAPE_ONES || t->init == SHAPE_ZEROS) expected = 0.0;
        if (t->init == SHAPE_UNIFORM)
            for (int64_t j = 0; j < n; j++) assert_true(fabs((double)k.values[j]) <= t->init_value);
        /* Five standard errors, and the row that starts as zeros. */
        double slack = 5.0 * expected / sqrt((double)n) + (t->init_zero_row >= 0 ? 0.05 : 0.0);
        assert_true(fabs(mean - (t->init == SHAPE_ONES)) <= slack);
        assert_true(fabs(deviation - expected) <= slack);
        for (int32_t c = 0; t->init_zero_row >= 0 && c < t->cols; c++)
            assert_true(k.values[t->init_zero_row * t->cols + c] == 0.0f);
    }
    model_bench_close(&k);
}

TEST(methods_share_all_initial_values_but_their_own)
{
    struct spec alibi = model_bench_spec(SPEC_ALIBI, SPEC_ADAPTIVE);
    struct spec t5 = model_bench_spec(SPEC_T5, SPEC_ADAPTIVE);
    struct model_bench a, b;
    model_bench_open(&a, &alibi, ROWS, LENGTH, false);
    model_bench_open(&b, &t5, ROWS, LENGTH, false);
    assert_int_equal(model_params(a.m)->tensors_n + 1, model_params(b.m)->tensors_n);
    for (int32_t i = 0; i < model_params(a.m)->tensors_n; i++) {
        int32_t j = shape_find(model_params(b.m), model_params(a.m)->tensor[i].name);
        assert_true(j >= 0);
        assert_ok(model_read(a.m, MODEL_VALUES, i, a.values, &e));
        assert_ok(model_read(b.m, MODEL_VALUES, j, b.values, &e));
        assert_memory_equal(a.values, b.values,
                            (size_t)model_bench_tensor(&a, i) * sizeof *a.values);
    }
    assert_ok(model_init(b.m, 4, &e)); /* another seed */
    assert_ok(model_read(b.m, MODEL_VALUES, 0, b.values, &e));
    assert_ok(model_read(a.m, MODEL_VALUES, 0, a.values, &e));
    assert_memory_not_equal(a.values, b.values, 16 * sizeof *a.values);
    model_bench_close(&a);
    model_bench_close(&b);
}

TEST(an_update_is_nag_on_the_mean_gradient)
{
    struct spec s = model_bench_spec(SPEC_ALIBI, SPEC_PLAIN);
    struct model_bench k;
    int32_t ids[TOKENS + 1];
    int64_t n = 0;
    double norm = 0.0, squares = 0.0;
    s.train.clip = 0.1;
    model_bench_open(&k, &s, ROWS, LENGTH, true);
    struct model_batch batch = make_batch(ids, 0);
    model_bench_loss(&k, &batch, 0, 0);
    float *before = model_bench_all(&k, MODEL_VALUES, &n);
    float *grad = model_bench_all(&k, MODEL_GRADIENTS, &n);
    struct model_update u = {.lr = 0.5, .lr_previous = 1.0, .targets_n = TOKENS};
    assert_ok(model_apply(k.m, &u, &norm, &e));
    float *after = model_bench_all(&k, MODEL_VALUES, &n);
    float *momentum = model_bench_all(&k, MODEL_STATE_0, &n);
    for (int64_t i = 0; i < n; i++) squares += (double)grad[i] * (double)grad[i];
    assert_true(fabs(norm - sqrt(squares) / TOKENS) < 1e-6 * norm);
    double scale = fmin(1.0, 0.1 / (norm + 1e-6)) / TOKENS;
    for (int64_t i = 0; i < n; i++) {
        double g = (double)grad[i] * scale;
        assert_true(fabs((double)after[i] - ((double)before[i] - 1.9 * 0.5 * g)) < 1e-6);
        assert_true(fabs((double)momentum[i] + 0.5 * g) < 1e-7);
    }
    free(before);
    free(grad);
    free(after);
    free(momentum);
    model_bench_close(&k);
}

TEST(a_gradient_that_is_not_finite_changes_no_weight)
{
    struct spec s = model_bench_spec(SPEC_ALIBI, SPEC_ADAPTIVE);
    struct model_bench k;
    int32_t ids[TOKENS + 1];
    int64_t n = 0;
    double norm = 0.0;
    model_bench_open(&k, &s, ROWS, LENGTH, true);
    struct model_batch batch = make_batch(ids, 0);
    model_bench_loss(&k, &batch, 0, 0);
    float *before = model_bench_all(&k, MODEL_VALUES, &n);
    assert_ok(model_read(k.m, MODEL_GRADIENTS, 2, k.gradients, &e));
    k.gradients[1] = NAN;
    assert_ok(model_write(k.m, MODEL_GRADIENTS, 2, k.gradients, &e));
    struct model_update u = {.update = 41, .lr = 0.5, .lr_previous = 0.5, .targets_n = TOKENS};
    assert_fails(ERR_NUMBER, "update 41", model_apply(k.m, &u, &norm, &e));
    float *after = model_bench_all(&k, MODEL_VALUES, &n);
    assert_memory_equal(before, after, (size_t)n * sizeof *after);
    free(before);
    free(after);
    model_bench_close(&k);
}

TEST(a_batch_that_does_not_fit_is_rejected)
{
    struct spec s = model_bench_spec(SPEC_ALIBI, SPEC_ADAPTIVE);
    struct model_bench k;
    int32_t ids[TOKENS + 1], position[2] = {3, 3};
    float logp[2];
    double loss = 0.0;
    model_bench_open(&k, &s, ROWS, LENGTH, false);
    struct model_batch batch = make_batch(ids, 0), large = batch;
    large.rows = ROWS + 1;
    assert_fails(ERR_INTERNAL, "exceeds the capacity",
                 model_score(k.m, &large, position, 1, logp, &e));
    assert_fails(ERR_INTERNAL, "rising", model_score(k.m, &batch, position, 2, logp, &e));
    assert_fails(ERR_INTERNAL, "for scoring", model_train_batch(k.m, &batch, 0, 0, &loss, &e));
    ids[10] = BENCH_VOCAB;
    assert_fails(ERR_DATA, "token 10 is 60", model_score(k.m, &batch, position, 1, logp, &e));
    model_bench_close(&k);
}
