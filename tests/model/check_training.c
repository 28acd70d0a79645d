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
#include <stdlib.h>
#include <string.h>

#include "model/model_bench.h"
#include "model/model_struct.h"

enum { UPDATES = 20, STOPPED_AFTER = 7, SHARDS = 2, ROWS = 4, LENGTH = 33, TOKENS = ROWS * LENGTH };

TEST_DEVICES(NULL)
TEST_GROUP(NULL, model_bench_fini) /* a case needs the results of the one before */

/* How a training differs from the CPU's, all relative. The limits are above the largest differences
 * that correct arithmetic makes, in parentheses. They were measured on the emulated GPU, which
 * rounds as the hardware may: 65 trainings in either precision, these models from five seeds, with
 * products summed in rising and in falling k, fused and not.
 *   fp32: a ReLU whose input is next to 0 opens on one side only. This is rare, but moves one
 *         update by far more than rounding, and the weights after it. The first gradient and the
 *         medians of twenty updates are sharp; single updates and what follows them are not.
 *   bf16: a number is off by up to 2^-9, and some ReLUs open on one side only in every pass. The
 *         gradient's limit is below what a dropout without its factor makes, 0.084. */
enum measure { LOSS, LOSS_MEDIAN, NORM, NORM_MEDIAN, GRADIENT, WEIGHTS, SCORES, MEASURES_N };
static const struct {
    const char *name;
    double fp32, bf16;
} measures[MEASURES_N] = {
    [LOSS] = {"loss", 5e-5, 1e-2},                /* (4.7e-6, 4.9e-3) */
    [LOSS_MEDIAN] = {"median loss", 3e-6, 4e-3},  /* (6.3e-7, 1.7e-3) */
    [NORM] = {"norm", 1e-3, 0.2},                 /* (1.2e-4, 9.1e-2) */
    [NORM_MEDIAN] = {"median norm", 3e-5, 0.02},  /* (7.5e-6, 7.9e-3) */
    [GRADIENT] = {"first gradients", 1e-5, 0.08}, /* (2.2e-6, 4.4e-2) */
    [WEIGHTS] = {"last weights", 4e-3, 0.08},     /* (4.5e-4, 3.8e-2) */
    [SCORES] = {"log p", 1e-3, 0.015},            /* (1.0e-4, 6.2e-3) */
};

/* Mistakes that the limits must find. */
enum mistake { NO_MISTAKE, DROPOUT_FACTOR, MASKS_OF_ANOTHER_SHARD, NO_MOMENTUM, MISTAKES_N };
static const char *const mistakes[] = {"none", "a gradient without dropout's factor",
                                       "dropout masks of another shard", "no momentum"};

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
    s.train.shards = SHARDS;
    /* As at the small scales: with features of any size the first logits are tens, and of those
     * bf16 keeps too few digits. */
    s.model.final_norm = true;
    return s;
}

/* The gradients of the feed-forward layers' inner weights as they would be without 1 / (1 - p). */
static void forget_dropout_factor(struct model_bench *k, double p)
{
    const struct shape_params *params = model_params(k->m);
    for (int32_t i = 0; i < params->tensors_n; i++) {
        if (!strstr(params->tensor[i].name, "fc1")) continue;
        float *gradient = model_bench_read(k, MODEL_GRADIENTS, i);
        for (int64_t j = 0; j < model_bench_tensor_n(k, i); j++) gradient[j] *= (float)(1.0 - p);
        assert_ok(model_write(k->m, MODEL_GRADIENTS, i, gradient, &e));
    }
}

static void train_update(struct model_bench *k, const struct spec *s, struct trace *t,
                         uint32_t update, enum mistake mistake)
{
    double lr = s->train.optimizer == SPEC_ADAM ? 0.003 : 0.5;
    struct model_update u = {.update = update,
                             .lr = lr * (1.0 + 0.01 * update),
                             .lr_previous = lr * (1.0 + 0.01 * (update > 0 ? update - 1.0 : 0.0)),
                             .targets_n = SHARDS * TOKENS,
                             .shards_n = SHARDS};
    t->loss[update] = 0.0;
    for (int shard = 0; shard < SHARDS; shard++) {
        struct model_batch batch =
            model_bench_batch(NULL, ROWS, LENGTH, (uint64_t)(update * SHARDS + (uint32_t)shard));
        batch.first_row = mistake == MASKS_OF_ANOTHER_SHARD ? 0 : (int64_t)shard * ROWS;
        t->loss[update] += model_bench_loss(k, &batch, update, shard);
        if (mistake == DROPOUT_FACTOR && shard + 1 == (update ? SHARDS : 1))
            forget_dropout_factor(k, s->model.dropout_relu);
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

/* How to train: the algorithms to choose, whether to stop and resume, and what to do wrong. */
struct way {
    const char *choices;
    bool stopped;
    enum mistake mistake;
};

static struct trace train(const struct kind *kind, const char *device, enum dtype dtype,
                          struct way way)
{
    struct spec s = spec_of(kind);
    if (way.mistake == NO_MOMENTUM) s.train.momentum = 0.0;
    struct model_bench *k = model_bench_open_on(device, dtype, &s, ROWS, LENGTH, true);
    struct trace t = {.weights_n = model_bench_n(k)};
    model_bench_restore_choices(k, way.choices);
    for (uint32_t update = 0; update < UPDATES; update++) {
        train_update(k, &s, &t, update, way.mistake);
        if (dtype == DTYPE_BF16) the_copy_is_the_rounded_weights(k, (int)update + 1);
        if (way.stopped && update + 1 == STOPPED_AFTER) k = open_again(k, &s);
    }
    const struct model_batch batch = model_bench_batch(NULL, ROWS, LENGTH, 99);
    t.logp = model_bench_score(k, &batch, 0, TOKENS);
    t.weights = model_bench_all(k, MODEL_VALUES);
    t.choices = model_bench_choices(k);
    model_bench_close(k);
    return t;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The largest of UPDATES relative differences, and their median. A NaN is infinitely different. */
static void differences(double *most, double *median, const double *got, const double *want)
{
    double off[UPDATES];
    for (int i = 0; i < UPDATES; i++) {
        off[i] = fabs(got[i] / want[i] - 1.0);
        if (isnan(off[i])) off[i] = INFINITY;
    }
    qsort(off, UPDATES, sizeof *off, compare_doubles);
    *most = off[UPDATES - 1];
    *median = off[UPDATES / 2];
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

static void measure(double out[MEASURES_N], const struct kind *kind, const struct trace *got,
                    const struct trace *want)
{
    differences(&out[LOSS], &out[LOSS_MEDIAN], got->loss, want->loss);
    differences(&out[NORM], &out[NORM_MEDIAN], got->norm, want->norm);
    out[GRADIENT] = gradient_difference(kind, got->gradients, want->gradients);
    out[WEIGHTS] = model_bench_difference(want->weights, got->weights, want->weights_n);
    /* The gradient of a key's bias is only rounding errors, which Adam scales up. */
    if (kind->optimizer == SPEC_ADAM) out[WEIGHTS] = 0.0;
    out[SCORES] = model_bench_difference(want->logp, got->logp, TOKENS);
}

static double limit_of(enum measure m)
{
    return test_dtype == DTYPE_BF16 ? measures[m].bf16 : measures[m].fp32;
}

/* How many measures are above their limits. */
static int exceeded(const double off[MEASURES_N])
{
    int n = 0;
    for (int m = 0; m < MEASURES_N; m++) n += !(off[m] <= limit_of(m));
    return n;
}

static void print_measures(const char *name, const double off[MEASURES_N])
{
    print_message("%s:", name);
    for (int m = 0; m < MEASURES_N; m++)
        print_message("%s %s %.1e%s", m ? "," : " relative differences:", measures[m].name, off[m],
                      off[m] <= limit_of(m) ? "" : " (above its limit)");
    print_message("\n");
}

static void twenty_updates_are_those_of_the_cpu(void **state)
{
    struct kind *kind = *state;
    double off[MEASURES_N];
    kind->trace = (struct trace){0};
    struct trace want = train(kind, "cpu", DTYPE_F32, (struct way){0});
    struct trace got = train(kind, test_device, test_dtype, (struct way){0});
    measure(off, kind, &got, &want);
    print_measures(kind->name, off);
    for (int m = 0; m < MEASURES_N; m++)
        if (!(off[m] <= limit_of(m)))
            fail_msg("%s differs by %.2g relative, at most %g", measures[m].name, off[m],
                     limit_of(m));
    kind->trace = got;
}

static void the_limits_find_mistakes(void **state)
{
    const struct kind *kind = *state;
    double off[MEASURES_N];
    struct trace want = train(kind, "cpu", DTYPE_F32, (struct way){0});
    for (enum mistake m = NO_MISTAKE; m < MISTAKES_N; m++) {
        struct trace got = train(kind, "cpu", DTYPE_F32, (struct way){.mistake = m});
        measure(off, kind, &got, &want);
        print_measures(mistakes[m], off);
        if ((exceeded(off) > 0) != (m != NO_MISTAKE)) fail_msg("%s is not found", mistakes[m]);
    }
}

static void a_training_that_was_stopped_has_the_same_bits(void **state)
{
    struct kind *kind = *state;
    struct trace *a = &kind->trace;
    /* With the choices of the first. */
    struct trace b =
        train(kind, test_device, test_dtype, (struct way){.choices = a->choices, .stopped = true});
    assert_int_equal(a->weights_n, b.weights_n); /* 0: the test before this one failed */
    assert_memory_equal(a->loss, b.loss, sizeof b.loss);
    assert_memory_equal(a->norm, b.norm, sizeof b.norm);
    assert_memory_equal(a->logp, b.logp, TOKENS * sizeof *b.logp);
    assert_memory_equal(a->weights, b.weights, (size_t)b.weights_n * sizeof *b.weights);
    *a = (struct trace){0};
}

TEST_CONSTRUCTOR(register_kinds)
{
    test_register("the limits find mistakes", the_limits_find_mistakes, &kinds[0]);
    for (int k = 0; k < KINDS_N; k++) {
        test_register(kinds[k].name, twenty_updates_are_those_of_the_cpu, &kinds[k]);
        if (kinds[k].position == SPEC_T5) /* it uses the most kernels */
            test_register("the same, stopped and resumed",
                          a_training_that_was_stopped_has_the_same_bits, &kinds[k]);
    }
}
