/* oracle_update.c - NAG alone, clipping alone, and NAG behind fp16 gradients, all through
 * the backend's own update. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/oracle.h"
#include "ops/ops.h"

/* A parameter block on the backend: weights, momentum, gradient, and what an update reads. */
struct block {
    struct backend *b;
    int64_t n;
    void *own;
    float *theta, *momentum, *grad;
    double *squares;
    struct step_state *step;
};

static int block_open(struct block *k, struct backend *b, int64_t n, struct err *e)
{
    size_t bytes = ((size_t)n * sizeof(float) + 63) / 64 * 64;
    *k = (struct block){.b = b, .n = n};
    TRY(b->ops->alloc(b, &k->own, 3 * bytes + 128, e));
    TRY(b->ops->zero(b, k->own, 3 * bytes + 128, e));
    char *at = k->own;
    k->theta = (float *)(void *)at;
    k->momentum = (float *)(void *)(at + bytes);
    k->grad = (float *)(void *)(at + 2 * bytes);
    k->squares = (double *)(void *)(at + 3 * bytes);
    k->step = (struct step_state *)(void *)(at + 3 * bytes + 64);
    return 0;
}

static void block_close(struct block *k)
{
    if (k->own != NULL) k->b->ops->release(k->b, k->own);
}

/* One update of the block with a gradient of the host's. *norm: of gradient_scale * gradient. */
static int block_update(struct block *k, const float *grad, const struct step_state *step, float mu,
                        float decay, double *norm, struct err *e)
{
    const struct backend_ops *ops = k->b->ops;
    double squares = 0.0;
    TRY(ops->upload(k->b, k->grad, grad, (size_t)k->n * sizeof *grad, e));
    TRY(ops->upload(k->b, k->step, step, sizeof *step, e));
    TRY(ops_sum_squares(k->b, k->squares, k->grad, k->n, e));
    TRY(ops->download(k->b, &squares, k->squares, sizeof squares, e));
    if (norm != NULL) *norm = (double)step->gradient_scale * sqrt(squares);
    return ops_nag(k->b,
                   &(struct nag_args){.theta_dev = k->theta,
                                      .momentum_dev = k->momentum,
                                      .grad_dev = k->grad,
                                      .n = k->n,
                                      .mu = mu,
                                      .weight_decay = decay,
                                      .squares_dev = k->squares,
                                      .step_dev = k->step},
                   e);
}

static int block_read(struct block *k, const float *from, float *out, struct err *e)
{
    return k->b->ops->download(k->b, out, from, (size_t)k->n * sizeof *out, e);
}

int oracle_nag(struct oracle *o, struct err *e)
{
    int rc = 0;
    struct block k = {0};
    const struct safetensors_entry *param0 = NULL, *grads = NULL, *rate = NULL, *params = NULL,
                                   *buffer = NULL;
    double momentum = 0.0, decay = 0.0, rate_before = 0.0;
    TRY_OUT(rc, oracle_take(&param0, o, "F32", -1, e, "param0"));
    TRY_OUT(rc, oracle_take(&rate, o, "F32", -1, e, "lr"));
    int64_t n = param0->elements_n, steps = rate->elements_n;
    TRY_OUT(rc, oracle_take(&grads, o, "F32", steps * n, e, "grads"));
    TRY_OUT(rc, oracle_take(&params, o, "F32", steps * n, e, "params"));
    TRY_OUT(rc, oracle_take(&buffer, o, "F32", steps * n, e, "buffer"));
    TRY_OUT(rc, oracle_number(&momentum, o, e, "momentum"));
    TRY_OUT(rc, oracle_number(&decay, o, e, "weight_decay"));
    TRY_OUT(rc, oracle_number(&rate_before, o, e, "lr_old_initial"));
    TRY_OUT(rc, oracle_backend(o, e));
    TRY_OUT(rc, block_open(&k, o->backend_own, n, e));
    TRY_OUT(rc, k.b->ops->upload(k.b, k.theta, param0->data, (size_t)n * sizeof(float), e));
    float *got = arena_array(&o->arena, (size_t)(2 * steps * n), sizeof *got);
    for (int64_t i = 0; i < steps; i++) {
        const float *lr = (const float *)rate->data + i;
        struct step_state step = {.lr = *lr,
                                  .lr_previous = i == 0 ? (float)rate_before : lr[-1],
                                  .gradient_scale = 1.0f,
                                  .update = (uint32_t)i};
        TRY_OUT(rc, block_update(&k, (const float *)grads->data + i * n, &step, (float)momentum,
                                 (float)decay, NULL, e));
        TRY_OUT(rc, block_read(&k, k.theta, got + i * n, e));
        TRY_OUT(rc, block_read(&k, k.momentum, got + (steps + i) * n, e));
    }
    oracle_compare(o, ORACLE_UPDATE, "params", got, params->data, steps * n);
    oracle_compare(o, ORACLE_UPDATE, "buffer", got + steps * n, buffer->data, steps * n);
out:
    block_close(&k);
    return rc;
}

/* Tensors case<i>.<what>0, 1, … joined into one block; *n is its length. */
static int join_case(float **out, int64_t *n, struct oracle *o, int32_t i, const char *what,
                     struct err *e)
{
    const struct safetensors_entry *t = NULL;
    *n = 0;
    for (int32_t j = 0; oracle_has(o, "case%d.%s%d", i, what, j); j++) {
        TRY(oracle_take(&t, o, "F32", -1, e, "case%d.%s%d", i, what, j));
        *n += t->elements_n;
    }
    *out = arena_array(&o->arena, (size_t)*n + 1, sizeof **out);
    int64_t at = 0;
    for (int32_t j = 0; oracle_has(o, "case%d.%s%d", i, what, j); j++) {
        TRY(oracle_take(&t, o, "F32", -1, e, "case%d.%s%d", i, what, j));
        memcpy(*out + at, t->data, (size_t)t->elements_n * sizeof **out);
        at += t->elements_n;
    }
    return 0;
}

/* With momentum 0, rate 1 and weights 0, NAG turns a gradient into minus the clipped gradient. */
static int check_clip(struct oracle *o, int32_t i, double highest, struct err *e)
{
    int rc = 0;
    struct block k = {0};
    const struct safetensors_entry *want_norm = NULL;
    float *in = NULL, *want = NULL;
    int64_t n = 0, want_n = 0;
    double norm = 0.0;
    struct step_state step = {
        .lr = 1.0f, .lr_previous = 1.0f, .gradient_scale = 1.0f, .clip = (float)highest};
    TRY_OUT(rc, join_case(&in, &n, o, i, "in", e));
    TRY_OUT(rc, join_case(&want, &want_n, o, i, "out", e));
    TRY_OUT(rc, oracle_take(&want_norm, o, "F32", 1, e, "case%d.norm", i));
    if (n < 1 || n != want_n) {
        rc =
            ERR(e, ERR_DATA, "case%d has %" PRId64 " numbers in and %" PRId64 " out", i, n, want_n);
        goto out;
    }
    TRY_OUT(rc, block_open(&k, o->backend_own, n, e));
    TRY_OUT(rc, block_update(&k, in, &step, 0.0f, 0.0f, &norm, e));
    float *got = arena_array(&o->arena, (size_t)n, sizeof *got), got_norm = (float)norm;
    TRY_OUT(rc, block_read(&k, k.theta, got, e));
    for (int64_t j = 0; j < n; j++) got[j] = -got[j];
    char name[32];
    snprintf(name, sizeof name, "case%d.out", i);
    oracle_compare(o, ORACLE_UPDATE, name, got, want, n);
    oracle_compare(o, ORACLE_UPDATE, want_norm->name, &got_norm, want_norm->data, 1);
out:
    block_close(&k);
    return rc;
}

int oracle_clip(struct oracle *o, struct err *e)
{
    double highest = 0.0;
    TRY(oracle_number(&highest, o, e, "max_norm"));
    TRY(oracle_backend(o, e));
    for (int32_t i = 0; oracle_has(o, "case%d.in0", i); i++) TRY(check_clip(o, i, highest, e));
    return 0;
}

/* The nearest float16, halves to even. */
static float fp16_round(float x)
{
    int exponent = 0;
    double magnitude = fabs((double)x);
    frexp(magnitude, &exponent);
    /* Eleven significant bits; below 2^-14 the spacing stays that of the smallest normal. */
    double spacing = ldexp(1.0, (exponent < -13 ? -13 : exponent) - 11);
    double rounded = nearbyint(magnitude / spacing) * spacing;
    if (rounded > 65504.0) rounded = INFINITY;
    return (float)copysign(rounded, (double)x);
}

/* The fp16 copy must be the rounded master; where the master differs by float rounding and is at
 * a tie, the neighbour that the stored master rounds to is accepted. */
static void compare_fp16(struct oracle *o, const float *master, const float *want_master,
                         const float *want, int64_t n)
{
    float *got = arena_array(&o->arena, (size_t)n, sizeof *got);
    for (int64_t i = 0; i < n; i++) {
        got[i] = fp16_round(master[i]);
        double slack = 1e-6 * fabs((double)want_master[i]);
        bool tie = fp16_round((float)((double)master[i] - slack)) !=
                   fp16_round((float)((double)master[i] + slack));
        if (tie) got[i] = fp16_round(want_master[i]);
    }
    oracle_compare(o, ORACLE_EXACT, "half", got, want, n);
}

int oracle_half_master(struct oracle *o, struct err *e)
{
    int rc = 0;
    struct block k = {0};
    const struct safetensors_entry *param0 = NULL, *grads = NULL, *rate = NULL, *size = NULL,
                                   *norms = NULL, *master = NULL, *half = NULL;
    double scale = 0.0, highest = 0.0, momentum = 0.0, decay = 0.0, rate_before = 0.0;
    TRY_OUT(rc, oracle_take(&param0, o, "F32", -1, e, "param0"));
    TRY_OUT(rc, oracle_take(&rate, o, "F32", -1, e, "lr"));
    int64_t n = param0->elements_n, steps = rate->elements_n;
    TRY_OUT(rc, oracle_take(&grads, o, "F32", steps * n, e, "scaled_grads"));
    TRY_OUT(rc, oracle_take(&size, o, "I32", steps, e, "sample_size"));
    TRY_OUT(rc, oracle_take(&norms, o, "F32", steps, e, "grad_norm"));
    TRY_OUT(rc, oracle_take(&master, o, "F32", steps * n, e, "master"));
    TRY_OUT(rc, oracle_take(&half, o, "F32", steps * n, e, "half"));
    TRY_OUT(rc, oracle_number(&scale, o, e, "loss_scale"));
    TRY_OUT(rc, oracle_number(&highest, o, e, "clip_norm"));
    TRY_OUT(rc, oracle_number(&momentum, o, e, "momentum"));
    TRY_OUT(rc, oracle_number(&decay, o, e, "weight_decay"));
    TRY_OUT(rc, oracle_number(&rate_before, o, e, "lr_old_initial"));
    TRY_OUT(rc, oracle_backend(o, e));
    TRY_OUT(rc, block_open(&k, o->backend_own, n, e));
    TRY_OUT(rc, k.b->ops->upload(k.b, k.theta, param0->data, (size_t)n * sizeof(float), e));
    float *got = arena_array(&o->arena, (size_t)(steps * n), sizeof *got);
    float *norm = arena_array(&o->arena, (size_t)steps, sizeof *norm);
    for (int64_t i = 0; i < steps; i++) {
        const float *lr = (const float *)rate->data + i, *g = (const float *)grads->data + i * n;
        double squares = 0.0, by = 1.0 / (scale * ((const int32_t *)size->data)[i]);
        for (int64_t j = 0; j < n; j++) squares += (double)g[j] * (double)g[j];
        norm[i] = (float)(sqrt(squares) * by);
        /* The fp16 form of clipping has no 1e-6, so the factor is made here and the
         * backend's own clipping stays off. */
        if (sqrt(squares) * by > highest) by *= highest / (sqrt(squares) * by);
        struct step_state step = {.lr = *lr,
                                  .lr_previous = i == 0 ? (float)rate_before : lr[-1],
                                  .gradient_scale = (float)by,
                                  .update = (uint32_t)i};
        TRY_OUT(rc, block_update(&k, g, &step, (float)momentum, (float)decay, NULL, e));
        TRY_OUT(rc, block_read(&k, k.theta, got + i * n, e));
    }
    oracle_compare(o, ORACLE_UPDATE, "grad_norm", norm, norms->data, steps);
    TRY_OUT(rc, oracle_compare_metadata(o, ORACLE_UPDATE, "grad_norm", norm, steps, e));
    oracle_compare(o, ORACLE_UPDATE, "master", got, master->data, steps * n);
    compare_fp16(o, got, master->data, half->data, steps * n);
out:
    block_close(&k);
    return rc;
}
