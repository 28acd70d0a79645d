/* simd_rows.c - kernels on the rows of matrices: moving, adding, dropout, ReLU, rotary. */
#include "cpu/simd.h"
#include "cpu/simd_dropout.h"
#include "cpu/simd_vector.h"

enum { ROWS_CHUNK = 256 };

static float *rows_at(const struct tensor *t, int64_t row)
{
    return (float *)t->data + row * t->stride;
}

/* The first element of a row in the whole update. */
static uint64_t rows_element(const struct simd_dropout *d, int64_t row)
{
    int64_t place = d->first_row + (d->rows ? d->rows[row] : row);
    return (uint64_t)(place * d->cols);
}

static void rows_gather(const struct tensor *y, const struct tensor *x, const int32_t *index,
                        float scale, struct simd_range rows)
{
    for (int64_t i = rows.begin; i < rows.end; i++) {
        float *to = rows_at(y, i);
        if (index[i] < 0) {
            memset(to, 0, (size_t)y->cols * sizeof *to);
            continue;
        }
        const float *from = rows_at(x, index[i]);
        for (int64_t c = 0; c < y->cols; c++) to[c] = scale * from[c];
    }
}

static void rows_scatter(const struct tensor *y, const struct tensor *x, const int32_t *index,
                         float scale, int accumulate, struct simd_range cols)
{
    for (int64_t i = 0; i < x->rows; i++) {
        if (index[i] < 0) continue;
        float *to = rows_at(y, index[i]);
        const float *from = rows_at(x, i);
        if (accumulate)
            for (int64_t c = cols.begin; c < cols.end; c++) to[c] += scale * from[c];
        else
            for (int64_t c = cols.begin; c < cols.end; c++) to[c] = scale * from[c];
    }
}

static void rows_add_rows(const struct tensor *y, const struct tensor *x,
                          const struct tensor *table, const int32_t *index, struct simd_range rows)
{
    for (int64_t i = rows.begin; i < rows.end; i++) {
        float *to = rows_at(y, i);
        const float *from = rows_at(x, i);
        if (index[i] < 0) {
            if (to != from) memcpy(to, from, (size_t)y->cols * sizeof *to);
            continue;
        }
        const float *more = rows_at(table, index[i]);
        for (int64_t c = 0; c < y->cols; c++) to[c] = from[c] + more[c];
    }
}

static void rows_add(const struct tensor *y, const struct tensor *x, const struct tensor *r,
                     struct simd_range rows)
{
    for (int64_t i = rows.begin; i < rows.end; i++) {
        float *to = rows_at(y, i);
        const float *from = rows_at(x, i), *more = rows_at(r, i);
        for (int64_t c = 0; c < y->cols; c++) to[c] = from[c] + more[c];
    }
}

static void rows_add_vector(const struct tensor *y, const struct tensor *x, const float *vector,
                            struct simd_range rows)
{
    for (int64_t i = rows.begin; i < rows.end; i++) {
        float *to = rows_at(y, i);
        if (!x) {
            memcpy(to, vector, (size_t)y->cols * sizeof *to);
            continue;
        }
        const float *from = rows_at(x, i);
        for (int64_t c = 0; c < y->cols; c++) to[c] = from[c] + vector[c];
    }
}

/* Sums are taken in groups of 32 rows, so that rounding grows with the number of groups only. */
static void rows_column_sums(float *out, const struct tensor *x, int accumulate,
                             struct simd_range cols)
{
    for (int64_t first = cols.begin; first < cols.end; first += ROWS_CHUNK) {
        int64_t n = cols.end - first < ROWS_CHUNK ? cols.end - first : ROWS_CHUNK;
        float total[ROWS_CHUNK] = {0};
        for (int64_t group = 0; group < x->rows; group += 32) {
            int64_t end = group + 32 < x->rows ? group + 32 : x->rows;
            float part[ROWS_CHUNK] = {0};
            for (int64_t i = group; i < end; i++) {
                const float *from = rows_at(x, i) + first;
                for (int64_t c = 0; c < n; c++) part[c] += from[c];
            }
            for (int64_t c = 0; c < n; c++) total[c] += part[c];
        }
        for (int64_t c = 0; c < n; c++)
            out[first + c] = accumulate ? out[first + c] + total[c] : total[c];
    }
}

static void rows_dropout(const struct tensor *y, const struct tensor *x,
                         const struct simd_dropout *d, struct simd_range rows)
{
    float factor[ROWS_CHUNK];
    for (int64_t i = rows.begin; i < rows.end; i++) {
        float *to = rows_at(y, i);
        const float *from = rows_at(x, i);
        if (d->keep_scale == 0.0f) { /* p = 0: a copy */
            memcpy(to, from, (size_t)y->cols * sizeof *to);
            continue;
        }
        for (int64_t first = 0; first < y->cols; first += ROWS_CHUNK) {
            int64_t n = y->cols - first < ROWS_CHUNK ? y->cols - first : ROWS_CHUNK;
            dropout_factors(factor, d, rows_element(d, i) + (uint64_t)first, n);
            for (int64_t c = 0; c < n; c++) to[first + c] = from[first + c] * factor[c];
        }
    }
}

static void rows_relu(const struct tensor *y, const struct tensor *x, const struct simd_dropout *d,
                      struct simd_range rows)
{
    float factor[ROWS_CHUNK];
    for (int64_t i = rows.begin; i < rows.end; i++) {
        float *to = rows_at(y, i);
        const float *from = rows_at(x, i);
        /* A NaN must stay one: the comparison is false for it. */
        for (int64_t c = 0; c < y->cols; c++) to[c] = from[c] <= 0.0f ? 0.0f : from[c];
        if (d->keep_scale == 0.0f) continue;
        for (int64_t first = 0; first < y->cols; first += ROWS_CHUNK) {
            int64_t n = y->cols - first < ROWS_CHUNK ? y->cols - first : ROWS_CHUNK;
            dropout_factors(factor, d, rows_element(d, i) + (uint64_t)first, n);
            for (int64_t c = 0; c < n; c++) to[first + c] *= factor[c];
        }
    }
}

/* Where y is not 0 the element was kept: the mask need not be drawn again. */
static void rows_relu_bwd(const struct tensor *dx, const struct tensor *dy, const struct tensor *y,
                          const struct simd_dropout *d, struct simd_range rows)
{
    float scale = d->keep_scale == 0.0f ? 1.0f : d->keep_scale;
    for (int64_t i = rows.begin; i < rows.end; i++) {
        float *to = rows_at(dx, i);
        const float *from = rows_at(dy, i), *result = rows_at(y, i);
        for (int64_t c = 0; c < dx->cols; c++) to[c] = result[c] == 0.0f ? 0.0f : from[c] * scale;
    }
}

static void rows_turn(float *x, const float *cosine, const float *sine, int32_t D, int layout,
                      float sign)
{
    int32_t half = D / 2;
    if (layout == 0) {
        for (int32_t p = 0; p < half; p++) {
            float a = x[2 * p], b = x[2 * p + 1], s = sign * sine[p];
            x[2 * p] = a * cosine[p] - b * s;
            x[2 * p + 1] = b * cosine[p] + a * s;
        }
        return;
    }
    for (int32_t p = 0; p < half; p++) {
        float a = x[p], b = x[p + half], s = sign * sine[p];
        x[p] = a * cosine[p] - b * s;
        x[p + half] = b * cosine[p] + a * s;
    }
}

static void rows_rotary(const struct tensor *x, const struct tensor *cosine,
                        const struct tensor *sine, int32_t T, int32_t H, int layout, int inverse,
                        struct simd_range rows)
{
    int32_t D = (int32_t)(x->cols / H);
    float sign = inverse ? -1.0f : 1.0f;
    for (int64_t i = rows.begin; i < rows.end; i++) {
        float *row = rows_at(x, i);
        const float *c = rows_at(cosine, i % T), *s = rows_at(sine, i % T);
        for (int32_t h = 0; h < H; h++) rows_turn(row + (int64_t)h * D, c, s, D, layout, sign);
    }
}

const struct simd_rows SIMD_NAME(simd_rows) = {
    .gather = rows_gather,
    .scatter = rows_scatter,
    .add_rows = rows_add_rows,
    .add = rows_add,
    .add_vector = rows_add_vector,
    .column_sums = rows_column_sums,
    .dropout = rows_dropout,
    .relu = rows_relu,
    .relu_bwd = rows_relu_bwd,
    .rotary = rows_rotary,
};
