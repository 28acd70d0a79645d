/* oracle_update.c - NAG alone, clipping alone, and NAG behind fp16 gradients, all through
 * the backend's own update. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "model/oracle.h"
#include "ops/ops.h"

/* A parameter array on the backend: weights, momentum, gradient, and what an update reads. */
struct array {
    struct oracle *o;
    struct backend *b;
    int64_t n;
    float mu, decay;
    float *theta, *momentum, *grad;
    double *squares;
    struct step_state *step;
};

static struct array array_make(struct oracle *o, int64_t n)
{
    size_t bytes = ((size_t)n * sizeof(float) + 63) / 64 * 64;
    char *at = oracle_memory(o, 3 * bytes + 128);
    return (struct array){.o = o,
                          .b = o->backend_own,
                          .n = n,
                          .theta = (float *)(void *)at,
                          .momentum = (float *)(void *)(at + bytes),
                          .grad = (float *)(void *)(at + 2 * bytes),
                          .squares = (double *)(void *)(at + 3 * bytes),
                          .step = (struct step_state *)(void *)(at + 3 * bytes + 64)};
}

static void upload(struct array *k, void *to_dev, const void *from, size_t bytes)
{
    oracle_must(k->o, k->b->ops->upload(k->b, to_dev, from, bytes, &k->o->e));
}

static void download(struct array *k, void *to, const void *from_dev, size_t bytes)
{
    oracle_must(k->o, k->b->ops->download(k->b, to, from_dev, bytes, &k->o->e));
}

/* One update with a gradient of the host's; theta gets the new weights. Returns the norm of
 * gradient_scale * gradient. */
static double array_update(struct array *k, float *theta, const float *grad,
                           const struct step_state *step)
{
    double squares = 0.0;
    size_t bytes = (size_t)k->n * sizeof *grad;
    const struct nag_args nag = {.theta_dev = k->theta,
                                 .momentum_dev = k->momentum,
                                 .grad_dev = k->grad,
                                 .n = k->n,
                                 .mu = k->mu,
                                 .weight_decay = k->decay,
                                 .squares_dev = k->squares,
                                 .step_dev = k->step};
    upload(k, k->grad, grad, bytes);
    upload(k, k->step, step, sizeof *step);
    oracle_must(
        k->o, OPS(k->b, sum_squares, &k->o->e, .out_dev = k->squares, .x_dev = k->grad, .n = k->n));
    download(k, &squares, k->squares, sizeof squares);
    oracle_must(k->o, ops_nag(k->b, &nag, &k->o->e));
    download(k, theta, k->theta, bytes);
    return (double)step->gradient_scale * sqrt(squares);
}

/* ---- NAG ---- */

/* Updates of param0 with the rates of lr and the rows of a tensor of gradients. */
struct course {
    int64_t n, steps;
    const float *grads;      /* (steps, n) */
    float *theta, *momentum; /* (steps, n) after each step */
};

static struct course course_take(struct oracle *o, const char *grads)
{
    struct course c = {.n = oracle_take(o, "F32", -1, "param0")->elements_n,
                       .steps = oracle_take(o, "F32", -1, "lr")->elements_n};
    c.grads = oracle_floats(o, c.steps * c.n, grads);
    c.theta = oracle_array(o, c.steps * c.n);
    c.momentum = oracle_array(o, c.steps * c.n);
    return c;
}

/* scale: of each step's gradient. */
static void course_run(struct oracle *o, struct course *c, const double *scale)
{
    struct array k = array_make(o, c->n);
    const float *rate = oracle_floats(o, c->steps, "lr");
    size_t bytes = (size_t)c->n * sizeof *rate;
    double rate_before = oracle_number(o, "lr_old_initial");
    k.mu = (float)oracle_number(o, "momentum");
    k.decay = (float)oracle_number(o, "weight_decay");
    upload(&k, k.theta, oracle_floats(o, c->n, "param0"), bytes);
    for (int64_t i = 0; i < c->steps; i++) {
        const struct step_state step = {.lr = rate[i],
                                        .lr_previous = i == 0 ? (float)rate_before : rate[i - 1],
                                        .gradient_scale = (float)scale[i],
                                        .update = (uint32_t)i};
        array_update(&k, c->theta + i * c->n, c->grads + i * c->n, &step);
        download(&k, c->momentum + i * c->n, k.momentum, bytes);
    }
}

void oracle_nag(struct oracle *o)
{
    struct course c = course_take(o, "grads");
    double *scale = arena_array(&o->arena, (size_t)c.steps, sizeof *scale);
    for (int64_t i = 0; i < c.steps; i++) scale[i] = 1.0;
    course_run(o, &c, scale);
    oracle_check(o, ORACLE_UPDATE, c.theta, c.steps * c.n, "params");
    oracle_check(o, ORACLE_UPDATE, c.momentum, c.steps * c.n, "buffer");
}

/* ---- clipping ---- */

/* Tensors case<i>.<what>0, 1, … joined into one array; *n is its length. */
static float *join_case(struct oracle *o, int64_t *n, int32_t i, const char *what)
{
    float *out = NULL;
    for (int pass = 0; pass < 2; pass++) { /* measure, then copy */
        const char *name;
        if (pass) out = oracle_array(o, *n + 1);
        *n = 0;
        for (int j = 0; oracle_has(o, name = oracle_name(o, "case%d.%s%d", i, what, j)); j++) {
            const struct safetensors_entry *t = oracle_take(o, "F32", -1, name);
            if (pass) memcpy(out + *n, t->data, (size_t)t->elements_n * sizeof *out);
            *n += t->elements_n;
        }
    }
    return out;
}

/* With momentum 0, rate 1 and weights 0, NAG turns a gradient into minus the clipped gradient. */
static void check_clip(struct oracle *o, int32_t i, double highest)
{
    int64_t n = 0, want_n = 0;
    const struct step_state step = {
        .lr = 1.0f, .lr_previous = 1.0f, .gradient_scale = 1.0f, .clip = (float)highest};
    const float *in = join_case(o, &n, i, "in"), *want = join_case(o, &want_n, i, "out");
    if (n < 1 || n != want_n)
        oracle_reject(o, "case%d has %" PRId64 " numbers in and %" PRId64 " out", i, n, want_n);
    struct array k = array_make(o, n);
    float *got = oracle_array(o, n);
    float norm = (float)array_update(&k, got, in, &step);
    for (int64_t j = 0; j < n; j++) got[j] = -got[j];
    oracle_compare(o, ORACLE_UPDATE, oracle_name(o, "case%d.out", i), got, want, n);
    oracle_check(o, ORACLE_UPDATE, &norm, 1, oracle_name(o, "case%d.norm", i));
}

void oracle_clip(struct oracle *o)
{
    double highest = oracle_number(o, "max_norm");
    for (int32_t i = 0; oracle_has(o, oracle_name(o, "case%d.in0", i)); i++)
        check_clip(o, i, highest);
}

/* ---- fp16 ---- */

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
static void check_fp16(struct oracle *o, const float *master, int64_t n)
{
    const float *want_master = oracle_floats(o, n, "master");
    float *got = oracle_array(o, n);
    for (int64_t i = 0; i < n; i++) {
        got[i] = fp16_round(master[i]);
        double slack = 1e-6 * fabs((double)want_master[i]);
        bool tie = fp16_round((float)((double)master[i] - slack)) !=
                   fp16_round((float)((double)master[i] + slack));
        if (tie) got[i] = fp16_round(want_master[i]);
    }
    oracle_check(o, ORACLE_EXACT, got, n, "half");
}

/* The fp16 form of clipping has no 1e-6, so the factor is made here and the backend's own clipping
 * stays off. */
void oracle_half_master(struct oracle *o)
{
    struct course c = course_take(o, "scaled_grads");
    double loss_scale = oracle_number(o, "loss_scale"), highest = oracle_number(o, "clip_norm");
    double *scale = arena_array(&o->arena, (size_t)c.steps, sizeof *scale);
    float *norm = oracle_array(o, c.steps);
    const int32_t *size = oracle_ints(o, c.steps, "sample_size");
    for (int64_t i = 0; i < c.steps; i++) {
        const float *g = c.grads + i * c.n;
        double squares = 0.0;
        for (int64_t j = 0; j < c.n; j++) squares += (double)g[j] * (double)g[j];
        scale[i] = 1.0 / (loss_scale * size[i]);
        double unclipped = sqrt(squares) * scale[i];
        norm[i] = (float)unclipped;
        if (unclipped > highest) scale[i] *= highest / unclipped;
    }
    course_run(o, &c, scale);
    oracle_check(o, ORACLE_UPDATE, norm, c.steps, "grad_norm");
    oracle_compare_metadata(o, ORACLE_UPDATE, "grad_norm", norm, c.steps);
    oracle_check(o, ORACLE_UPDATE, c.theta, c.steps * c.n, "master");
    check_fp16(o, c.theta, c.steps * c.n);
}
