/* test_model.c - a model's memory, initial values, dropout sites, updates and errors. */
#include "harness/test.h"

#include <math.h>
#include <string.h>

#include "model/model_bench.h"
#include "model/model_struct.h"

enum { ROWS = 2, LENGTH = 24, TOKENS = ROWS * LENGTH, STREAMS_MAX = 64 };

TEST_EACH(NULL, model_bench_fini)

/* The calls of the backend's functions in the current test. */
static struct {
    const struct backend_ops *inner;
    struct backend_ops slots;
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

/* Replaces the functions of a bench's backend by counting ones. */
static void watch_backend(struct model_bench *k)
{
    memset(&seen, 0, sizeof seen);
    seen.inner = k->b->ops;
    seen.slots = *k->b->ops;
    seen.slots.alloc = seen_alloc;
    seen.slots.dropout = seen_dropout;
    seen.slots.relu = seen_relu;
    seen.slots.attention = seen_attention;
    seen.slots.residual_layernorm = NULL; /* composed, so that its dropout is seen */
    k->b->ops = &seen.slots;
}

TEST(there_are_seven_dropout_sites)
{
    struct spec s = model_bench_spec(SPEC_ALIBI, SPEC_ADAPTIVE);
    struct model_batch batch = model_bench_batch(NULL, ROWS, LENGTH, 6);
    model_bench_dropout(&s, 0.1);
    struct model_bench *k = model_bench_open(&s, ROWS, LENGTH, true);
    watch_backend(k);
    batch.first_row = 5;
    model_bench_loss(k, &batch, 0, 0);
    for (uint32_t stream = 0; stream < STREAMS_MAX; stream++) {
        uint32_t layer = stream / 8, site = stream % 8;
        bool once = site == DROPOUT_EMBEDDING || site == DROPOUT_HEAD_INPUT;
        bool expected = layer < (once ? 1u : 2u) && site <= DROPOUT_TAIL; /* 2 layers, 2 tails */
        assert_int_equal(seen.calls[stream] > 0, expected);
        if (!expected) continue;
        /* Tokens of the whole update; for attention, its rows. Tails count listed rows. */
        assert_int_equal(k->m->step.first_row, 5);
        assert_int_equal(seen.span[stream], site == DROPOUT_ATTENTION ? 1 : LENGTH);
        assert_int_equal(seen.listed[stream], site == DROPOUT_TAIL);
    }
}

TEST(nothing_is_dropped_while_scoring)
{
    struct spec s = model_bench_spec(SPEC_ALIBI, SPEC_ADAPTIVE);
    const struct model_batch batch = model_bench_batch(NULL, ROWS, LENGTH, 6);
    model_bench_dropout(&s, 0.5);
    struct model_bench *k = model_bench_open(&s, ROWS, LENGTH, true);
    watch_backend(k);
    model_bench_score(k, &batch, 0, 8);
    for (int i = 0; i < STREAMS_MAX; i++) assert_int_equal(seen.calls[i], 0);
}

TEST(nothing_is_allocated_after_open)
{
    struct spec s = model_bench_spec(SPEC_T5, SPEC_ADAPTIVE);
    const struct model_batch batch = model_bench_batch(NULL, ROWS, LENGTH, 6);
    struct model_bench *k = model_bench_open(&s, ROWS, LENGTH, true);
    watch_backend(k);
    for (uint32_t u = 0; u < 3; u++) {
        model_bench_loss(k, &batch, u, 0);
        model_bench_apply(k, u, 0.1, TOKENS);
        model_bench_score(k, &batch, 0, 4);
    }
    assert_int_equal(seen.allocations_n, 0);
}

/* Three allocations, whose sizes model_bytes adds up. */
TEST(a_model_is_three_allocations)
{
    struct spec s = model_bench_spec(SPEC_ALIBI, SPEC_ADAPTIVE);
    struct model_bench *k = model_bench_open(&s, ROWS, LENGTH, true);
    struct model *second = NULL;
    struct shape_capacity o = {.rows_max = ROWS, .length_max = LENGTH, .scored_max = TOKENS};
    watch_backend(k);
    assert_ok(model_open(&second, k->b, &s, &o, &e));
    assert_int_equal(seen.allocations_n, 3);
    int64_t values = model_params(second)->elements_n * (int64_t)sizeof(float);
    assert_true(model_bytes(second) > values);
    assert_true(model_bytes(k->m) > model_bytes(second) + 2 * values);
    model_close(second);
}

TEST(initial_values_have_their_distributions)
{
    struct spec s = model_bench_spec(SPEC_T5, SPEC_ADAPTIVE);
    struct model_bench *k = model_bench_open(&s, ROWS, LENGTH, false);
    for (int32_t i = 0; i < model_params(k->m)->tensors_n; i++) {
        const struct shape_tensor *t = &model_params(k->m)->tensor[i];
        const float *values = model_bench_read(k, MODEL_VALUES, i);
        double n = (double)model_bench_tensor_n(k, i), sum = 0.0, squares = 0.0;
        double expected = t->init_value;
        for (int64_t j = 0; j < (int64_t)n; j++) {
            sum += (double)values[j];
            squares += (double)values[j] * (double)values[j];
            if (t->init == SHAPE_UNIFORM) assert_true(fabs((double)values[j]) <= t->init_value);
        }
        double mean = sum / n, deviation = sqrt(squares / n - mean * mean);
        if (t->init == SHAPE_UNIFORM) expected = t->init_value / sqrt(3.0);
        if (t->init == SHAPE_ONES || t->init == SHAPE_ZEROS) expected = 0.0;
        /* Five standard errors, and the row that starts as zeros. */
        double slack = 5.0 * expected / sqrt(n) + (t->init_zero_row >= 0 ? 0.05 : 0.0);
        assert_true(fabs(mean - (t->init == SHAPE_ONES)) <= slack);
        assert_true(fabs(deviation - expected) <= slack);
        for (int32_t c = 0; t->init_zero_row >= 0 && c < t->cols; c++)
            assert_true(values[t->init_zero_row * t->cols + c] == 0.0f);
    }
}

TEST(methods_share_all_initial_values_but_their_own)
{
    struct spec alibi = model_bench_spec(SPEC_ALIBI, SPEC_ADAPTIVE);
    struct spec t5 = model_bench_spec(SPEC_T5, SPEC_ADAPTIVE);
    struct model_bench *a = model_bench_open(&alibi, ROWS, LENGTH, false);
    struct model_bench *b = model_bench_open(&t5, ROWS, LENGTH, false);
    assert_int_equal(model_params(a->m)->tensors_n + 1, model_params(b->m)->tensors_n);
    for (int32_t i = 0; i < model_params(a->m)->tensors_n; i++) {
        int32_t j = shape_find(model_params(b->m), model_params(a->m)->tensor[i].name);
        assert_true(j >= 0);
        assert_memory_equal(model_bench_read(a, MODEL_VALUES, i),
                            model_bench_read(b, MODEL_VALUES, j),
                            (size_t)model_bench_tensor_n(a, i) * sizeof(float));
    }
    assert_ok(model_init(b->m, 4, &e)); /* another seed */
    assert_memory_not_equal(model_bench_read(a, MODEL_VALUES, 0),
                            model_bench_read(b, MODEL_VALUES, 0), 16 * sizeof(float));
}

TEST(an_update_is_nag_on_the_mean_gradient)
{
    struct spec s = model_bench_spec(SPEC_ALIBI, SPEC_PLAIN);
    const struct model_batch batch = model_bench_batch(NULL, ROWS, LENGTH, 6);
    double norm = 0.0, squares = 0.0;
    s.train.clip = 0.1;
    struct model_bench *k = model_bench_open(&s, ROWS, LENGTH, true);
    int64_t n = model_bench_n(k);
    model_bench_loss(k, &batch, 0, 0);
    const float *before = model_bench_all(k, MODEL_VALUES);
    const float *grad = model_bench_all(k, MODEL_GRADIENTS);
    struct model_update u = {.lr = 0.5, .lr_previous = 1.0, .targets_n = TOKENS, .shards_n = 1};
    assert_ok(model_apply(k->m, &u, &norm, &e));
    const float *after = model_bench_all(k, MODEL_VALUES);
    const float *momentum = model_bench_all(k, MODEL_STATE_0);
    for (int64_t i = 0; i < n; i++) squares += (double)grad[i] * (double)grad[i];
    assert_true(fabs(norm - sqrt(squares) / TOKENS) < 1e-6 * norm);
    double scale = fmin(1.0, 0.1 / (norm + 1e-6)) / TOKENS;
    for (int64_t i = 0; i < n; i++) {
        double g = (double)grad[i] * scale;
        assert_true(fabs((double)after[i] - ((double)before[i] - 1.9 * 0.5 * g)) < 1e-6);
        assert_true(fabs((double)momentum[i] + 0.5 * g) < 1e-7);
    }
}

TEST(a_gradient_that_is_not_finite_changes_no_weight)
{
    struct spec s = model_bench_spec(SPEC_ALIBI, SPEC_ADAPTIVE);
    const struct model_batch batch = model_bench_batch(NULL, ROWS, LENGTH, 6);
    struct model_bench *k = model_bench_open(&s, ROWS, LENGTH, true);
    double norm = 0.0;
    model_bench_loss(k, &batch, 0, 0);
    const float *before = model_bench_all(k, MODEL_VALUES);
    float *gradient = model_bench_read(k, MODEL_GRADIENTS, 2);
    gradient[1] = NAN;
    assert_ok(model_write(k->m, MODEL_GRADIENTS, 2, gradient, &e));
    struct model_update u = {
        .update = 41, .lr = 0.5, .lr_previous = 0.5, .targets_n = TOKENS, .shards_n = 1};
    assert_fails(ERR_NUMBER, "update 41", model_apply(k->m, &u, &norm, &e));
    assert_memory_equal(before, model_bench_all(k, MODEL_VALUES),
                        (size_t)model_bench_n(k) * sizeof *before);
}

TEST(a_batch_that_does_not_fit_is_rejected)
{
    struct spec s = model_bench_spec(SPEC_ALIBI, SPEC_ADAPTIVE);
    struct model_bench *k = model_bench_open(&s, ROWS, LENGTH, false);
    int32_t *ids, position[2] = {3, 3};
    float logp[2];
    double loss = 0.0;
    const struct model_batch batch = model_bench_batch(&ids, ROWS, LENGTH, 6);
    struct model_batch large = batch;
    large.rows = ROWS + 1;
    assert_fails(ERR_INTERNAL, "exceeds the capacity",
                 model_score(k->m, &large, position, 1, logp, &e));
    assert_fails(ERR_INTERNAL, "rising", model_score(k->m, &batch, position, 2, logp, &e));
    assert_fails(ERR_INTERNAL, "for scoring", model_train_batch(k->m, &batch, 0, 0, &loss, &e));
    ids[10] = BENCH_VOCAB;
    assert_fails(ERR_DATA, "token 10 is 60", model_score(k->m, &batch, position, 1, logp, &e));
}
