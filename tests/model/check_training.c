/* check_training.c - trains tiny models on the backends named on the command line and on the CPU:
 * losses, gradient norms and weights agree update by update, and a backend repeats its bits, also
 * after resuming from a checkpoint.
 *
 *   check_training [--bf16] DEVICE…
 *
 * With --bf16 the devices compute in bf16 and the CPU still in fp32. Dropout is on at every site:
 * had one mask one other bit, losses would differ in the third digit. */
#include "harness/test.h"

#include <math.h>
#include <string.h>

#include "model/model_bench.h"
#include "model/model_internal.h"

enum { UPDATES = 20, STOPPED_AFTER = 7, SHARDS = 2, ROWS = 4, LENGTH = 33, TOKENS = ROWS * LENGTH };

TEST_DEVICES(NULL)
TEST_GROUP(NULL, model_bench_fini) /* a case needs the results of the one before */

/* The largest relative differences from the CPU that are allowed. fp32: rounding errors of sums in
 * another order, enlarged by twenty updates. bf16: for losses the project's goal. A number of bf16
 * is off by up to 2^-9 and a gradient has passed some twenty of them, 2^-7 as errors add up; a ReLU
 * that opens on one side only costs its channel far more, and the first updates are large. */
static const struct tolerance {
    double loss, norm, gradient, weights, scores;
} fp32 = {1e-5, 1e-5, 1e-5, 1e-5, 1e-5}, bf16 = {1e-3, 0x1p-3, 0x1p-3, 0x1p-5, 0x1p-5};

/* The results of a training. */
struct trace {
    double loss[UPDATES], norm[UPDATES];
    const float *logp, *gradients /* of the first shard */, *weights;
    int64_t weights_n;
    const char *choices;
};

/* A kind of training, and the results of one. */
static struct kind {
    const char *name;
    enum spec_position position;
    enum spec_softmax softmax;
    enum spec_optimizer optimizer;
    struct trace trace; /* on the device, for the case that follows */
} kinds[] = {
    {"sinusoidal, adaptive, nag", SPEC_SINUSOIDAL, SPEC_ADAPTIVE, SPEC_NAG, {.loss = {0}}},
    {"rotary, adaptive, nag", SPEC_ROTARY, SPEC_ADAPTIVE, SPEC_NAG, {.loss = {0}}},
    {"t5, adaptive, nag", SPEC_T5, SPEC_ADAPTIVE, SPEC_NAG, {.loss = {0}}},
    {"alibi, adaptive, nag", SPEC_ALIBI, SPEC_ADAPTIVE, SPEC_NAG, {.loss = {0}}},
    {"alibi, plain, adam", SPEC_ALIBI, SPEC_PLAIN, SPEC_ADAM, {.loss = {0}}},
};
enum { KINDS_N = sizeof kinds / sizeof *kinds };

static struct spec spec_of(const struct kind *k)
{
    struct spec s = model_bench_spec(k->position, k->softmax);
    model_bench_dropout(&s, 0.1);
    s.train.optimizer = k->optimizer;
    s.train.clip = 0.1;
    /* As at the small scales: with features of any size the first logits are tens, and of those
     * bf16 keeps too few digits. */
    s.model.final_norm = true;
    return s;
}

static void train_update(struct model_bench *k, const struct spec *s, struct trace *t,
                         uint32_t update)
{
    double lr = s->train.optimizer == SPEC_ADAM ? 0.003 : 0.5;
    struct model_update u = {.update = update,
                             .lr = lr * (1.0 + 0.01 * update),
                             .lr_previous = lr * (1.0 + 0.01 * (update > 0 ? update - 1.0 : 0.0)),
                             .targets_n = SHARDS * TOKENS};
    t->loss[update] = 0.0;
    for (int shard = 0; shard < SHARDS; shard++) {
        struct model_batch batch =
            model_bench_batch(NULL, ROWS, LENGTH, (uint64_t)(update * SHARDS + (uint32_t)shard));
        batch.first_row = (int64_t)shard * ROWS;
        t->loss[update] += model_bench_loss(k, &batch, update, shard);
        if (update + (uint32_t)shard == 0) t->gradients = model_bench_all(k, MODEL_GRADIENTS);
    }
    assert_ok(model_apply(k->m, &u, &t->norm[update], &e));
}

static uint16_t to_bf16(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

/* The bf16 weights are the master weights rounded to nearest, bit for bit. */
static void the_copy_is_the_rounded_weights(struct model_bench *k, int32_t updates)
{
    const struct shape_params *p = model_params(k->m);
    uint16_t *copy = (void *)model_bench_array((p->elements_n + 1) / 2);
    assert_ok(k->b->ops->download(k->b, copy, k->m->bf16_dev_own,
                                  (size_t)p->elements_n * sizeof *copy, &e));
    for (int32_t i = 0; i < p->tensors_n; i++) {
        const struct shape_tensor *t = &p->tensor[i];
        const float *values = model_bench_read(k, MODEL_VALUES, i);
        for (int64_t j = 0; j < model_bench_tensor_n(k, i); j++)
            if (copy[t->offset + j] != to_bf16(values[j]))
                fail_msg("after %d updates element %lld of %s is %.9g and its copy %04x, expected "
                         "%04x",
                         updates, (long long)j, t->name, (double)values[j], copy[t->offset + j],
                         to_bf16(values[j]));
    }
}

/* Continues as another process does: the content of a checkpoint, in a new model on a newly opened
 * device. */
static struct model_bench *open_again(struct model_bench *k, const struct spec *s)
{
    struct model_bench *next = model_bench_open_on(test_device, test_dtype, s, ROWS, LENGTH, true);
    model_bench_restore_choices(next, model_bench_choices(k));
    model_bench_copy(next, k, MODEL_VALUES);
    model_bench_copy(next, k, MODEL_STATE_0);
    if (s->train.optimizer == SPEC_ADAM) model_bench_copy(next, k, MODEL_STATE_1);
    model_bench_close(k);
    return next;
}

static struct trace train(const struct kind *kind, const char *device, enum dtype dtype,
                          const char *choices, bool stopped)
{
    struct spec s = spec_of(kind);
    struct model_bench *k = model_bench_open_on(device, dtype, &s, ROWS, LENGTH, true);
    struct trace t = {.weights_n = model_bench_n(k)};
    model_bench_restore_choices(k, choices);
    for (uint32_t update = 0; update < UPDATES; update++) {
        train_update(k, &s, &t, update);
        if (dtype == DTYPE_BF16) the_copy_is_the_rounded_weights(k, (int)update + 1);
        if (stopped && update + 1 == STOPPED_AFTER) k = open_again(k, &s);
    }
    const struct model_batch batch = model_bench_batch(NULL, ROWS, LENGTH, 99);
    t.logp = model_bench_score(k, &batch, 0, TOKENS);
    t.weights = model_bench_all(k, MODEL_VALUES);
    t.choices = model_bench_choices(k);
    model_bench_close(k);
    return t;
}

static void agree(const char *what, uint32_t update, double got, double want, double tolerance)
{
    if (!(fabs(got - want) <= tolerance * fabs(want)))
        fail_msg("%s of update %u is %.9g, on the CPU %.9g: off by %.2g relative, at most %g", what,
                 update, got, want, fabs(got - want) / fabs(want), tolerance);
}

/* The gradient's error, as vectors, of the tensor where it is largest. Tensors whose gradient is
 * nothing but rounding errors, as a key's bias, count as their share of the whole. */
static double gradient_difference(const struct kind *kind, const float *got, const float *want)
{
    struct spec s = spec_of(kind);
    struct arena arena;
    struct shape_params params;
    double worst = 0.0, whole = 0.0;
    arena_init(&arena);
    shape_params(&params, &arena, &s);
    for (int64_t i = 0; i < params.parameters_n; i++) whole += (double)want[i] * (double)want[i];
    for (int32_t i = 0; i < params.tensors_n; i++) {
        int64_t n = (int64_t)params.tensor[i].rows * params.tensor[i].cols;
        double error = 0.0, size = 0.0;
        for (int64_t j = 0; j < n; j++, got++, want++) {
            error += ((double)*got - (double)*want) * ((double)*got - (double)*want);
            size += (double)*want * (double)*want;
        }
        size = fmax(size, whole * (double)n / (double)params.parameters_n);
        worst = fmax(worst, sqrt(error / size));
    }
    arena_fini(&arena);
    return worst;
}

static void twenty_updates_are_those_of_the_cpu(void **state)
{
    struct kind *kind = *state;
    const struct tolerance *most = test_dtype == DTYPE_BF16 ? &bf16 : &fp32;
    kind->trace = (struct trace){0};
    struct trace want = train(kind, "cpu", DTYPE_F32, NULL, false);
    struct trace got = train(kind, test_device, test_dtype, NULL, false);
    double loss = 0.0, norm = 0.0;
    for (uint32_t i = 0; i < UPDATES; i++) {
        agree("loss", i, got.loss[i], want.loss[i], most->loss);
        agree("gradient's norm", i, got.norm[i], want.norm[i], most->norm);
        loss = fmax(loss, fabs(got.loss[i] / want.loss[i] - 1.0));
        norm = fmax(norm, fabs(got.norm[i] / want.norm[i] - 1.0));
    }
    double gradient = gradient_difference(kind, got.gradients, want.gradients);
    double weights = model_bench_difference(want.weights, got.weights, want.weights_n);
    /* The gradient of a key's bias is only rounding errors, which Adam scales up. */
    if (kind->optimizer == SPEC_ADAM) weights = 0.0;
    double scores = model_bench_difference(want.logp, got.logp, TOKENS);
    print_message("%s: loss %.6f; largest relative differences: loss %.1e, norm %.1e, first "
                  "gradients %.1e, last weights %.1e, log p %.1e\n",
                  kind->name, got.loss[UPDATES - 1] / (SHARDS * TOKENS), loss, norm, gradient,
                  weights, scores);
    if (!(gradient <= most->gradient && weights <= most->weights && scores <= most->scores))
        fail_msg("at most %g, %g and %g of the last three", most->gradient, most->weights,
                 most->scores);
    kind->trace = got;
}

static void a_training_that_was_stopped_has_the_same_bits(void **state)
{
    struct kind *kind = *state;
    struct trace *a = &kind->trace;
    /* With the choices of the first. */
    struct trace b = train(kind, test_device, test_dtype, a->choices, true);
    assert_int_equal(a->weights_n, b.weights_n); /* 0: the test before this one failed */
    assert_memory_equal(a->loss, b.loss, sizeof b.loss);
    assert_memory_equal(a->norm, b.norm, sizeof b.norm);
    assert_memory_equal(a->logp, b.logp, TOKENS * sizeof *b.logp);
    assert_memory_equal(a->weights, b.weights, (size_t)b.weights_n * sizeof *b.weights);
    *a = (struct trace){0};
}

TEST_CONSTRUCTOR(register_kinds)
{
    for (int k = 0; k < KINDS_N; k++) {
        test_register(kinds[k].name, twenty_updates_are_those_of_the_cpu, &kinds[k]);
        if (kinds[k].position == SPEC_T5) /* it uses the most kernels */
            test_register("the same, stopped and resumed",
                          a_training_that_was_stopped_has_the_same_bits, &kinds[k]);
    }
}
