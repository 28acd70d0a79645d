/* test_norm.c - LayerNorm, alone and after a residual sum, and its gradient. */
#include "harness/test.h"

#include <stddef.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/cpu_fixture.h"
#include "ops/ops.h"

enum { N = 41 };

struct norms {
    int64_t C;
    float *x, *r, *s, *y, *stats, *gain, *bias, *dy, *dx, *dgain, *dbias;
    struct tensor tx, tr, ts, ty, tstats, tgain, tbias, tdy, tdx, tdgain, tdbias;
};

static struct norms norms_make(int64_t C)
{
    struct norms t = {.C = C};
    float **data[] = {&t.x, &t.r, &t.s, &t.y, &t.dy, &t.dx, &t.gain, &t.bias, &t.dgain, &t.dbias};
    struct tensor *views[] = {&t.tx,  &t.tr,    &t.ts,    &t.ty,     &t.tdy,
                              &t.tdx, &t.tgain, &t.tbias, &t.tdgain, &t.tdbias};
    for (int i = 0; i < 10; i++) {
        int64_t rows = i < 6 ? N : 1;
        *data[i] = cpu_random_make(rows * C, 1.0f, (uint64_t)i + 1);
        *views[i] = tensor_make(*data[i], rows, C, DTYPE_F32);
    }
    t.stats = cpu_zeros(2 * N);
    t.tstats = tensor_make(t.stats, N, 2, DTYPE_F32);
    return t;
}

static void norms_free(struct norms *t)
{
    float *all[] = {t->x,    t->r,  t->s,  t->y,     t->stats, t->gain,
                    t->bias, t->dy, t->dx, t->dgain, t->dbias};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

/* Mean and reciprocal deviation of a row in double. */
static void row_moments(double out[2], const float *x, int64_t C)
{
    double sum = 0.0, squares = 0.0;
    for (int64_t c = 0; c < C; c++) sum += (double)x[c];
    out[0] = sum / (double)C;
    for (int64_t c = 0; c < C; c++) squares += ((double)x[c] - out[0]) * ((double)x[c] - out[0]);
    out[1] = 1.0 / sqrt(squares / (double)C + 1e-5);
}

static void check_layernorm(const struct norms *t, const float *x)
{
    for (int64_t i = 0; i < N; i++) {
        double m[2];
        row_moments(m, x + i * t->C, t->C);
        cpu_check("stats", t->stats + 2 * i, m, 2, 1.0, 8.0 + sqrt((double)t->C));
        for (int64_t c = 0; c < t->C; c++) {
            double y =
                ((double)x[i * t->C + c] - m[0]) * m[1] * (double)t->gain[c] + (double)t->bias[c];
            cpu_check("y", t->y + i * t->C + c, &y, 1, 2.0, 16.0 + sqrt((double)t->C));
        }
    }
}

TEST(rows_are_normalised_whatever_their_width)
{
    static const int64_t widths[] = {1, 8, 24, 64, 100, 512};
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
        for (int variant = 0; variant < CPU_VARIANTS; variant++) {
            struct backend *b = cpu_variant_open(variant);
            e = (struct err){0};
            if (!b) continue;
            struct norms t = norms_make(widths[w]);
            assert_int_equal(ops_layernorm(b, &t.ty, &t.tstats, &t.tx, &t.tgain, &t.tbias, &e), 0);
            check_layernorm(&t, t.x);
            norms_free(&t);
            backend_close(b);
        }
}

/* The fused slot gives the bits of the plain ones. */
TEST(a_residual_layernorm_equals_dropout_then_add_then_norm)
{
    static const struct step_state step = {.update = 2};
    for (int variant = 0; variant < CPU_VARIANTS; variant++)
        for (int with = 0; with < 2; with++) {
            struct backend *b = cpu_variant_open(variant);
            e = (struct err){0};
            if (!b) continue;
            struct norms t = norms_make(300);
            struct dropout d = {.p = with ? 0.1f : 0.0f, .key = 5, .stream = 6, .step_dev = &step};
            assert_int_equal(
                ops_residual_layernorm(b,
                                       &(struct residual_layernorm_args){.s = t.ts,
                                                                         .y = t.ty,
                                                                         .stats = t.tstats,
                                                                         .x = t.tx,
                                                                         .r = t.tr,
                                                                         .dropout = d,
                                                                         .gain = t.tgain,
                                                                         .bias = t.tbias},
                                       &e),
                0);
            check_layernorm(&t, t.s);
            struct tensor sum = t.tdx;
            assert_int_equal(ops_dropout(b, &t.tr, &t.tr, &d, &e), 0);
            assert_int_equal(ops_add(b, &sum, &t.tx, &t.tr, &e), 0);
            for (int64_t i = 0; i < N * t.C; i++)
                assert_true(fabsf(t.s[i] - t.dx[i]) <= 0x1p-23f * 2.0f);
            norms_free(&t);
            backend_close(b);
        }
}

static void check_gradient(const struct norms *t, const struct norms *before, int accumulate)
{
    double *dgain = calloc((size_t)t->C, sizeof *dgain),
           *dbias = calloc((size_t)t->C, sizeof *dbias);
    for (int64_t c = 0; c < t->C; c++) {
        dgain[c] = (double)before->dgain[c];
        dbias[c] = (double)before->dbias[c];
    }
    for (int64_t i = 0; i < N; i++) {
        const float *x = t->x + i * t->C, *dy = t->dy + i * t->C;
        double m[2], a = 0.0, b = 0.0, n = (double)t->C;
        row_moments(m, x, t->C);
        for (int64_t c = 0; c < t->C; c++) {
            double hat = ((double)x[c] - m[0]) * m[1], g = (double)dy[c] * (double)t->gain[c];
            a += g / n;
            b += g * hat / n;
            dgain[c] += (double)dy[c] * hat;
            dbias[c] += (double)dy[c];
        }
        for (int64_t c = 0; c < t->C; c++) {
            double hat = ((double)x[c] - m[0]) * m[1];
            double dx = m[1] * ((double)dy[c] * (double)t->gain[c] - a - hat * b);
            if (accumulate) dx += (double)before->dx[i * t->C + c];
            cpu_check("dx", t->dx + i * t->C + c, &dx, 1, 4.0, 24.0 + sqrt(n));
        }
    }
    cpu_check("dgain", t->dgain, dgain, t->C, 1.0, 2.0 * N);
    cpu_check("dbias", t->dbias, dbias, t->C, 1.0, 2.0 * N);
    free(dgain);
    free(dbias);
}

TEST(the_gradient_agrees_with_its_formula)
{
    static const int64_t widths[] = {8, 24, 100, 512};
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
        for (int variant = 0; variant < 2 * CPU_VARIANTS; variant++) {
            struct backend *b = cpu_variant_open(variant / 2);
            e = (struct err){0};
            if (!b) continue;
            struct norms t = norms_make(widths[w]), before = norms_make(widths[w]);
            assert_int_equal(ops_layernorm(b, &t.ty, &t.tstats, &t.tx, &t.tgain, &t.tbias, &e), 0);
            assert_int_equal(
                ops_layernorm_bwd(b,
                                  &(struct layernorm_bwd_args){.dx = t.tdx,
                                                               .dgain = t.tdgain,
                                                               .dbias = t.tdbias,
                                                               .dy = t.tdy,
                                                               .x = t.tx,
                                                               .stats = t.tstats,
                                                               .gain = t.tgain,
                                                               .accumulate_dx = variant % 2},
                                  &e),
                0);
            check_gradient(&t, &before, variant % 2);
            norms_free(&t);
            norms_free(&before);
            backend_close(b);
        }
}

static double objective(struct backend *b, struct norms *t)
{
    struct err e = {0};
    double sum = 0.0;
    assert_int_equal(ops_layernorm(b, &t->ty, &t->tstats, &t->tx, &t->tgain, &t->tbias, &e), 0);
    for (int64_t i = 0; i < N * t->C; i++) sum += (double)t->y[i] * (double)t->dy[i];
    return sum;
}

TEST(the_gradient_agrees_with_finite_differences)
{
    const float step = 0x1p-7f;
    struct backend *b = cpu_variant_best(1);
    struct norms t = norms_make(16);
    objective(b, &t);
    assert_int_equal(ops_layernorm_bwd(b,
                                       &(struct layernorm_bwd_args){.dx = t.tdx,
                                                                    .dgain = t.tdgain,
                                                                    .dbias = t.tdbias,
                                                                    .dy = t.tdy,
                                                                    .x = t.tx,
                                                                    .stats = t.tstats,
                                                                    .gain = t.tgain},
                                       &e),
                     0);
    for (int64_t i = 0; i < N * t.C; i += 7) {
        float kept = t.x[i];
        t.x[i] = kept + step;
        double above = objective(b, &t);
        t.x[i] = kept - step;
        double below = objective(b, &t);
        t.x[i] = kept;
        assert_true(fabs((above - below) / (2.0 * (double)step) - (double)t.dx[i]) < 3e-3);
    }
    norms_free(&t);
    backend_close(b);
}
