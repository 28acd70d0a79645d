/* simd_norm.c - LayerNorm and RMSNorm, alone or after a residual sum, and LayerNorm's gradient.
 *
 * Sums over a row have a fixed order that depends only on the width of the row. */
#include <math.h>

#include "cpu/simd.h"
#include "cpu/simd_dropout.h"
#include "cpu/simd_vector.h"

static float *norm_at(const struct tensor *t, int64_t row)
{
    return (float *)t->data + row * t->stride;
}

VECTOR_FN float norm_sum(const float *x, int64_t n)
{
    vector_f32 sum = {0};
    float rest = 0.0f;
    int64_t c = 0;
    for (; c + VECTOR_LANES <= n; c += VECTOR_LANES) sum += vector_load(x + c);
    for (; c < n; c++) rest += x[c];
    return vector_sum(sum) + rest;
}

VECTOR_FN float norm_squares(const float *x, float mean, int64_t n)
{
    vector_f32 sum = {0};
    float rest = 0.0f;
    int64_t c = 0;
    for (; c + VECTOR_LANES <= n; c += VECTOR_LANES) {
        vector_f32 d = vector_load(x + c) - mean;
        sum += d * d;
    }
    for (; c < n; c++) rest += (x[c] - mean) * (x[c] - mean);
    return vector_sum(sum) + rest;
}

enum { NORM_CHUNK = 256 };

/* s = x + dropout(r) for one row. */
static void norm_residual(float *s, const float *x, const float *r, const struct simd_dropout *d,
                          int64_t row, int64_t C)
{
    if (d->keep_scale == 0.0f) {
        for (int64_t c = 0; c < C; c++) s[c] = x[c] + r[c];
        return;
    }
    float factor[NORM_CHUNK];
    for (int64_t first = 0; first < C; first += NORM_CHUNK) {
        int64_t n = C - first < NORM_CHUNK ? C - first : NORM_CHUNK;
        dropout_factors(factor, d, dropout_row(d, row) + (uint64_t)first, n);
        for (int64_t c = 0; c < n; c++) s[first + c] = x[first + c] + r[first + c] * factor[c];
    }
}

/* Row i of y and its stats from a row of x. RMSNorm is LayerNorm with a mean of 0. */
VECTOR_FN void norm_row(const struct layernorm_args *a, int64_t i, const float *x)
{
    const float *gain = a->gain.data, *bias = a->bias.data;
    float *y = norm_at(&a->y, i), *stat = norm_at(&a->stats, i);
    int64_t C = a->y.cols;
    float mean = a->rms ? 0.0f : norm_sum(x, C) / (float)C;
    float deviation = 1.0f / sqrtf(norm_squares(x, mean, C) / (float)C + a->eps);
    if (bias)
        for (int64_t c = 0; c < C; c++) y[c] = (x[c] - mean) * deviation * gain[c] + bias[c];
    else
        for (int64_t c = 0; c < C; c++) y[c] = (x[c] - mean) * deviation * gain[c];
    stat[0] = mean;
    stat[1] = deviation;
}

SIMD_KERNEL(layernorm, rows)
{
    const struct layernorm_args *a = args;
    for (int64_t i = rows.begin; i < rows.end; i++) norm_row(a, i, norm_at(&a->x, i));
}

SIMD_KERNEL(residual_layernorm, rows)
{
    const struct residual_layernorm_args *a = args;
    const struct simd_dropout d = dropout_of(&a->dropout, a->y.cols);
    const struct layernorm_args norm = {.y = a->y,
                                        .stats = a->stats,
                                        .gain = a->gain,
                                        .bias = a->bias,
                                        .eps = a->eps,
                                        .rms = a->rms};
    for (int64_t i = rows.begin; i < rows.end; i++) {
        float *s = norm_at(&a->s, i);
        norm_residual(s, norm_at(&a->x, i), norm_at(&a->r, i), &d, i, a->y.cols);
        norm_row(&norm, i, s);
    }
}

/* The two means of the gradient's formula: of g dy and of g dy xhat. */
VECTOR_FN void norm_means(float out[2], const float *dy, const float *x, const float *gain,
                          float mean, float deviation, int64_t C)
{
    vector_f32 a = {0}, b = {0};
    float rest_a = 0.0f, rest_b = 0.0f;
    int64_t c = 0;
    for (; c + VECTOR_LANES <= C; c += VECTOR_LANES) {
        vector_f32 t = vector_load(dy + c) * vector_load(gain + c);
        a += t;
        b += t * ((vector_load(x + c) - mean) * deviation);
    }
    for (; c < C; c++) {
        float t = dy[c] * gain[c];
        rest_a += t;
        rest_b += t * ((x[c] - mean) * deviation);
    }
    out[0] = (vector_sum(a) + rest_a) / (float)C;
    out[1] = (vector_sum(b) + rest_b) / (float)C;
}

static void layernorm_bwd_row(float *restrict dx, float *restrict dgain, float *restrict dbias,
                              const float *restrict dy, const float *restrict x, const float *stat,
                              const float *restrict gain, int accumulate, int64_t C)
{
    float mean = stat[0], deviation = stat[1], means[2];
    norm_means(means, dy, x, gain, mean, deviation, C);
    for (int64_t c = 0; c < C; c++) {
        float hat = (x[c] - mean) * deviation;
        float d = deviation * (dy[c] * gain[c] - means[0] - hat * means[1]);
        dgain[c] += dy[c] * hat;
        dbias[c] += dy[c];
        dx[c] = accumulate ? dx[c] + d : d;
    }
}

SIMD_KERNEL(layernorm_bwd, rows)
{
    const struct layernorm_bwd_args *a = args;
    int64_t C = a->dx.cols;
    float *dgain_part = rows.scratch, *dbias_part = dgain_part + C;
    memset(dgain_part, 0, 2 * (size_t)C * sizeof *dgain_part);
    for (int64_t i = rows.begin; i < rows.end; i++)
        layernorm_bwd_row(norm_at(&a->dx, i), dgain_part, dbias_part, norm_at(&a->dy, i),
                          norm_at(&a->x, i), norm_at(&a->stats, i), a->gain.data, a->accumulate_dx,
                          C);
}
