/* op_rows_norm.c - rows of the op table: sums, dropout, ReLU, LayerNorm and their fusion. */
#include "harness/test.h"

#include <math.h>
#include <string.h>

#include "ops/op_bench.h"
#include "ops/op_reference.h"
#include "ops/ops.h"

static const int32_t shapes[][2] = {{1, 1},  {2, 3},   {17, 16},  {33, 65},  {12, 257}, {70, 64},
                                    {41, 8}, {41, 24}, {41, 100}, {41, 300}, {41, 512}};
enum { SHAPES_N = sizeof shapes / sizeof *shapes };

static const float chances[] = {0.0f, 0.1f, 0.5f};
enum { CHANCES_N = sizeof chances / sizeof *chances, UPDATE = 12345 };

/* A dropout in the middle of an update. */
static struct dropout make_dropout(struct op_bench *k, float p)
{
    struct step_state step = {.update = UPDATE};
    return (struct dropout){.p = p,
                            .key = 0x0123456789ABCDEFu,
                            .stream = dropout_stream(3, DROPOUT_RELU),
                            .step_dev = op_step(k, &step),
                            .first_row = 13,
                            .span = 13};
}

static void add(struct op_bench *k)
{
    struct err e = {0};
    for (int i = 0; i < SHAPES_N; i++) {
        int64_t N = shapes[i][0], C = shapes[i][1];
        struct op_matrix x = op_random(k, N, C, 2), r = op_random(k, N, C, 0);
        struct op_matrix y = op_random(k, N, C, 4);
        float *want = op_floats(k, N * C);
        for (int64_t j = 0; j < N * C; j++) want[j] = x.host[j] + r.host[j];
        op_ok(ops_add(k->b, &y.t, &x.t, &r.t, &e), &e);
        op_same("y", op_get(k, &y.t), want, N * C);
        op_ok(ops_add(k->b, &x.t, &x.t, &r.t, &e), &e);
        op_same("x", op_get(k, &x.t), want, N * C);
    }
}

/* y must be x times the factor: zero exactly where Philox drops, and one rounding elsewhere. */
static void check_mask(const float *y, const float *x, const float *factor, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        float want = x[i] * factor[i];
        if ((y[i] == 0.0f) != (want == 0.0f) ||
            !(y[i] >= want - 0x1p-23f && y[i] <= want + 0x1p-23f))
            fail_msg("element %d is %g, Philox gives %g", (int)i, (double)y[i], (double)want);
    }
}

static void dropout(struct op_bench *k)
{
    struct err e = {0};
    for (int i = 0; i < SHAPES_N; i++)
        for (int c = 0; c < CHANCES_N; c++) {
            op_bench_reset(k);
            int64_t N = shapes[i][0], C = shapes[i][1];
            struct op_matrix x = op_random(k, N, C, 0), y = op_random(k, N, C, 3);
            struct dropout d = make_dropout(k, chances[c]);
            const float *factor = op_factors(k, &d, NULL, UPDATE, N, C);
            op_ok(ops_dropout(k->b, &y.t, &x.t, &d, &e), &e);
            check_mask(op_get(k, &y.t), x.host, factor, N * C);
            op_ok(ops_dropout(k->b, &x.t, &x.t, &d, &e), &e);
            op_same("in place", op_get(k, &x.t), op_get(k, &y.t), N * C);
        }
}

static void dropout_of_listed_rows(struct op_bench *k)
{
    struct err e = {0};
    int64_t N = 29, C = 18;
    struct op_matrix x = op_random(k, N, C, 0), y = op_random(k, N, C, 0);
    const int32_t *rows = NULL;
    struct dropout d = make_dropout(k, 0.3f);
    d.rows_dev = op_list(k, &rows, N, 500, 0);
    d.first_row = 1000001;
    op_ok(ops_dropout(k->b, &y.t, &x.t, &d, &e), &e);
    check_mask(op_get(k, &y.t), x.host, op_factors(k, &d, rows, UPDATE, N, C), N * C);
}

/* Kept elements make up for dropped ones: of n draws with chance p, the mean strays by at most five
 * standard deviations sqrt(p / (1 - p) / n). */
static void dropout_keeps_the_mean(struct op_bench *k)
{
    struct err e = {0};
    int64_t N = 400, C = 250;
    struct op_matrix x = op_random(k, N, C, 0);
    for (int64_t i = 0; i < N * C; i++) x.host[i] = 1.0f;
    for (int c = 1; c < CHANCES_N; c++) {
        struct dropout d = make_dropout(k, chances[c]);
        double sum = 0.0, p = (double)chances[c];
        op_set(k, &x);
        op_ok(ops_dropout(k->b, &x.t, &x.t, &d, &e), &e);
        const float *y = op_get(k, &x.t);
        for (int64_t i = 0; i < N * C; i++) sum += (double)y[i];
        double mean = sum / (double)(N * C);
        assert_true(fabs(mean - 1.0) < 5.0 * sqrt(p / (1.0 - p) / (double)(N * C)));
    }
}

/* Where there is a mask, relu_bwd reads it and not y. */
static void relu(struct op_bench *k)
{
    struct err e = {0};
    for (int i = 0; i < SHAPES_N; i++)
        for (int c = 0; c < 2 * CHANCES_N; c++) {
            op_bench_reset(k);
            int64_t N = shapes[i][0], C = shapes[i][1];
            struct op_matrix x = op_random(k, N, C, 0), y = op_random(k, N, C, 2);
            struct op_matrix dy = op_random(k, N, C, 2), dx = op_random(k, N, C, 0);
            struct dropout d = make_dropout(k, chances[c / 2]);
            const float *factor = op_factors(k, &d, NULL, UPDATE, N, C);
            float *through = op_floats(k, N * C), *open = op_floats(k, N * C);
            for (int64_t j = 0; j < N * C; j++) {
                through[j] = x.host[j] > 0.0f ? x.host[j] : 0.0f;
                open[j] = x.host[j] > 0.0f ? factor[j] : 0.0f;
            }
            struct relu_args fwd = {.y = y.t, .x = x.t, .dropout = d};
            struct relu_bwd_args bwd = {.dx = dx.t, .dy = dy.t, .y = y.t, .dropout = d};
            if (c % 2) fwd.mask = bwd.mask = op_mask(k, N, C);
            op_ok(ops_relu(k->b, &fwd, &e), &e);
            check_mask(op_get(k, &y.t), through, factor, N * C);
            if (c % 2) op_check_mask(k, &fwd.mask, &y.t);
            if (c % 2) op_set(k, &y);
            op_ok(ops_relu_bwd(k->b, &bwd, &e), &e);
            check_mask(op_get(k, &dx.t), dy.host, open, N * C);
            bwd.dx = dy.t;
            op_ok(ops_relu_bwd(k->b, &bwd, &e), &e);
            op_same("in place", op_get(k, &dy.t), op_get(k, &dx.t), N * C);
        }
}

static void norm(struct op_bench *k)
{
    struct err e = {0};
    for (int i = 0; i < SHAPES_N; i++) {
        int64_t N = shapes[i][0], C = shapes[i][1];
        struct op_matrix x = op_random(k, N, C, 2 * (i % 2)), y = op_random(k, N, C, 0);
        struct op_matrix gain = op_random(k, 1, C, 0), bias = op_random(k, 1, C, 0);
        struct op_matrix stats = op_random(k, N, 2, 0);
        double *want = op_doubles(k, N * C), *want_stats = op_doubles(k, 2 * N);
        float *plain = op_floats(k, N * C), *plain_stats = op_floats(k, 2 * N);
        for (int64_t j = 0; j < N * C; j++) x.host[j] += 3.0f; /* a mean to take off */
        op_set(k, &x);
        op_layernorm_double(want, want_stats, x.host, gain.host, bias.host, N, C);
        op_layernorm_float(plain, plain_stats, x.host, gain.host, bias.host, N, C);
        op_ok(ops_layernorm(k->b, &y.t, &stats.t, &x.t, &gain.t, &bias.t, &e), &e);
        tol_check_tensor(k, "y", &y.t, want, plain, NULL);
        tol_check_tensor(k, "stats", &stats.t, want_stats, plain_stats, NULL);
    }
}

static void check_layernorm_bwd(struct op_bench *k, int64_t N, int64_t C, int64_t spare,
                                int accumulate)
{
    struct err e = {0};
    op_bench_reset(k);
    struct op_matrix x = op_random(k, N, C, spare), dy = op_random(k, N, C, spare);
    struct op_matrix dx = op_random(k, N, C, 0), y = op_random(k, N, C, 0);
    struct op_matrix gain = op_random(k, 1, C, 0), bias = op_random(k, 1, C, 0);
    struct op_matrix dgain = op_random(k, 1, C, 0), dbias = op_random(k, 1, C, 0);
    struct op_matrix stats = op_random(k, N, 2, 0);
    double *want = op_doubles(k, N * C), *want_gain = op_doubles(k, C),
           *want_bias = op_doubles(k, C);
    float *plain = op_floats(k, N * C), *plain_gain = op_floats(k, C),
          *plain_bias = op_floats(k, C);
    op_layernorm_bwd_double(want, want_gain, want_bias, dy.host, x.host, gain.host, N, C);
    op_layernorm_bwd_float(plain, plain_gain, plain_bias, dy.host, x.host, gain.host, N, C);
    op_ok(ops_layernorm(k->b, &y.t, &stats.t, &x.t, &gain.t, &bias.t, &e), &e);
    op_ok(ops_layernorm_bwd(k->b,
                            &(struct layernorm_bwd_args){.dx = dx.t,
                                                         .dgain = dgain.t,
                                                         .dbias = dbias.t,
                                                         .dy = dy.t,
                                                         .x = x.t,
                                                         .stats = stats.t,
                                                         .gain = gain.t,
                                                         .accumulate_dx = accumulate},
                            &e),
          &e);
    tol_check_tensor(k, "dx", &dx.t, want, plain, accumulate ? dx.host : NULL);
    tol_check_tensor(k, "dgain", &dgain.t, want_gain, plain_gain, dgain.host);
    tol_check_tensor(k, "dbias", &dbias.t, want_bias, plain_bias, dbias.host);
}

static void layernorm_bwd(struct op_bench *k)
{
    for (int i = 1; i < SHAPES_N; i++)
        for (int accumulate = 0; accumulate < 2; accumulate++)
            check_layernorm_bwd(k, shapes[i][0], shapes[i][1], 2 * (i % 2), accumulate);
}

/* Fused or composed, it is dropout, add and norm one after the other. */
static void residual_layernorm(struct op_bench *k)
{
    struct err e = {0};
    for (int i = 0; i < SHAPES_N; i++)
        for (int form = 0; form < 4; form++) {
            op_bench_reset(k);
            int64_t N = shapes[i][0], C = shapes[i][1];
            struct op_matrix x = op_random(k, N, C, 0), r = op_random(k, N, C, 4);
            struct op_matrix s = op_random(k, N, C, 0), y = op_random(k, N, C, 0);
            struct op_matrix gain = op_random(k, 1, C, 0), bias = op_random(k, 1, C, 0);
            struct op_matrix stats = op_random(k, N, 2, 0);
            struct dropout d = make_dropout(k, form & 1 ? 0.4f : 0.0f);
            const float *factor = op_factors(k, &d, NULL, UPDATE, N, C);
            double *want = op_doubles(k, N * C), *want_stats = op_doubles(k, 2 * N);
            float *plain = op_floats(k, N * C), *plain_stats = op_floats(k, 2 * N);
            float *sum = op_floats(k, N * C);
            double *want_sum = op_doubles(k, N * C);
            for (int64_t j = 0; j < N * C; j++) {
                sum[j] = x.host[j] + r.host[j] * factor[j];
                want_sum[j] = (double)x.host[j] + (double)r.host[j] * (double)factor[j];
            }
            struct tensor *out = form >> 1 ? &x.t : &s.t;
            op_ok(ops_residual_layernorm(k->b,
                                         &(struct residual_layernorm_args){.s = *out,
                                                                           .y = y.t,
                                                                           .stats = stats.t,
                                                                           .x = x.t,
                                                                           .r = r.t,
                                                                           .dropout = d,
                                                                           .gain = gain.t,
                                                                           .bias = bias.t},
                                         &e),
                  &e);
            tol_check_tensor(k, "s", out, want_sum, sum, NULL);
            /* The layernorm is compared on the sum that the op computed. */
            const float *made = op_get(k, out);
            op_layernorm_double(want, want_stats, made, gain.host, bias.host, N, C);
            op_layernorm_float(plain, plain_stats, made, gain.host, bias.host, N, C);
            tol_check_tensor(k, "y", &y.t, want, plain, NULL);
            tol_check_tensor(k, "stats", &stats.t, want_stats, plain_stats, NULL);
        }
}

/* The gradient of the stream increases by that of the layernorm, and passes through the branch's
 * dropout. */
static void check_residual_layernorm_bwd(struct op_bench *k, int64_t N, int64_t C, int64_t spare,
                                         float p)
{
    struct err e = {0};
    op_bench_reset(k);
    struct op_matrix x = op_random(k, N, C, spare), dy = op_random(k, N, C, 0);
    struct op_matrix ds = op_random(k, N, C, spare), dr = op_random(k, N, C, 0);
    struct op_matrix gain = op_random(k, 1, C, 0), bias = op_random(k, 1, C, 0);
    struct op_matrix dgain = op_random(k, 1, C, 0), dbias = op_random(k, 1, C, 0);
    struct op_matrix stats = op_random(k, N, 2, 0), y = op_random(k, N, C, 0);
    struct dropout d = make_dropout(k, p);
    double *want = op_doubles(k, N * C), *want_gain = op_doubles(k, C),
           *want_bias = op_doubles(k, C);
    float *plain = op_floats(k, N * C), *plain_gain = op_floats(k, C),
          *plain_bias = op_floats(k, C);
    op_layernorm_bwd_double(want, want_gain, want_bias, dy.host, x.host, gain.host, N, C);
    op_layernorm_bwd_float(plain, plain_gain, plain_bias, dy.host, x.host, gain.host, N, C);
    op_ok(ops_layernorm(k->b, &y.t, &stats.t, &x.t, &gain.t, &bias.t, &e), &e);
    op_ok(ops_residual_layernorm_bwd(
              k->b,
              &(struct residual_layernorm_bwd_args){.ds = ds.t,
                                                    .dr = p > 0.0f ? dr.t : (struct tensor){0},
                                                    .dgain = dgain.t,
                                                    .dbias = dbias.t,
                                                    .dy = dy.t,
                                                    .s = x.t,
                                                    .stats = stats.t,
                                                    .gain = gain.t,
                                                    .dropout = d},
              &e),
          &e);
    tol_check_tensor(k, "ds", &ds.t, want, plain, ds.host);
    tol_check_tensor(k, "dgain", &dgain.t, want_gain, plain_gain, dgain.host);
    tol_check_tensor(k, "dbias", &dbias.t, want_bias, plain_bias, dbias.host);
    if (p == 0.0f) return;
    float *made = op_get(k, &ds.t);
    const float *factor = op_factors(k, &d, NULL, UPDATE, N, C);
    for (int64_t i = 0; i < N * C; i++) made[i] *= factor[i];
    op_same("dr", op_get(k, &dr.t), made, N * C);
}

static void residual_layernorm_bwd(struct op_bench *k)
{
    for (int i = 1; i < SHAPES_N; i++)
        for (int c = 0; c < CHANCES_N; c++)
            check_residual_layernorm_bwd(k, shapes[i][0], shapes[i][1], 2 * (i % 2), chances[c]);
}

const struct op_row op_rows_norm[] = {
    {"add is a sum, also in place", add},
    {"dropout has the mask of Philox bit for bit", dropout},
    {"dropout keeps the mean", dropout_keeps_the_mean},
    {"dropout of a compacted tail counts the listed rows", dropout_of_listed_rows},
    {"relu and its gradient pass what is positive and kept", relu},
    {"norm has zero mean and biased variance", norm},
    {"layernorm_bwd is the gradient of norm", layernorm_bwd},
    {"residual_layernorm is dropout, sum and norm", residual_layernorm},
    {"residual_layernorm_bwd is layernorm_bwd on top of the stream, then dropout",
     residual_layernorm_bwd},
    {NULL, NULL},
};
