/* simd_rows.c - kernels on the rows of matrices: gather, scatter, add, dropout, activations,
 * rotary. */
#include "cpu/simd.h"
#include "cpu/simd_dropout.h"
#include "cpu/simd_vector.h"

enum { ROWS_CHUNK = 256 };

static float *rows_at(const struct tensor *t, int64_t row)
{
    return (float *)t->data + row * t->stride;
}

SIMD_KERNEL(gather_rows, rows)
{
    const struct gather_rows_args *a = args;
    const struct tensor *y = &a->y;
    const int32_t *index = a->index_dev;
    float scale = a->scale;
    for (int64_t i = rows.begin; i < rows.end; i++) {
        float *to = rows_at(y, i);
        if (index[i] < 0) {
            memset(to, 0, (size_t)y->cols * sizeof *to);
            continue;
        }
        const float *from = rows_at(&a->x, index[i]);
        for (int64_t c = 0; c < y->cols; c++) to[c] = scale * from[c];
    }
}

SIMD_KERNEL(scatter_rows, cols)
{
    const struct scatter_rows_args *a = args;
    const int32_t *index = a->index_dev;
    float scale = a->scale;
    for (int64_t i = 0; i < a->x.rows; i++) {
        if (index[i] < 0) continue;
        float *to = rows_at(&a->y, index[i]);
        const float *from = rows_at(&a->x, i);
        if (a->accumulate)
            for (int64_t c = cols.begin; c < cols.end; c++) to[c] += scale * from[c];
        else
            for (int64_t c = cols.begin; c < cols.end; c++) to[c] = scale * from[c];
    }
}

SIMD_KERNEL(add_rows, rows)
{
    const struct add_rows_args *a = args;
    const struct tensor *y = &a->y;
    const int32_t *index = a->index_dev;
    for (int64_t i = rows.begin; i < rows.end; i++) {
        float *to = rows_at(y, i);
        const float *from = rows_at(&a->x, i);
        if (index[i] < 0) {
            if (to != from) memcpy(to, from, (size_t)y->cols * sizeof *to);
            continue;
        }
        const float *more = rows_at(&a->table, index[i]);
        for (int64_t c = 0; c < y->cols; c++) to[c] = from[c] + more[c];
    }
}

/* This backend has a single dtype, so a cast is a copy. */
SIMD_KERNEL(cast, rows)
{
    const struct cast_args *a = args;
    for (int64_t i = rows.begin; i < rows.end; i++)
        memcpy(rows_at(&a->y, i), rows_at(&a->x, i), (size_t)a->x.cols * sizeof(float));
}

SIMD_KERNEL(add, rows)
{
    const struct add_args *a = args;
    const struct tensor *y = &a->y;
    for (int64_t i = rows.begin; i < rows.end; i++) {
        float *to = rows_at(y, i);
        const float *from = rows_at(&a->x, i), *more = rows_at(&a->r, i);
        for (int64_t c = 0; c < y->cols; c++) to[c] = from[c] + more[c];
    }
}

/* Sums are in groups of 32 rows, so that rounding grows only with the number of groups. */
SIMD_KERNEL(column_sums, cols)
{
    const struct simd_sums *a = args;
    const struct tensor *x = a->x;
    bool accumulate = a->accumulate;
    float *out = a->out;
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

/* Row i of an op whose dropout is d: to = from times the factors; to may be from. */
static void drop_row(float *to, const float *from, const struct simd_dropout *d, int64_t i,
                     int64_t cols)
{
    float factor[ROWS_CHUNK];
    for (int64_t first = 0; first < cols; first += ROWS_CHUNK) {
        int64_t n = cols - first < ROWS_CHUNK ? cols - first : ROWS_CHUNK;
        dropout_factors(factor, d, dropout_row(d, i) + (uint64_t)first, n);
        for (int64_t c = 0; c < n; c++) to[first + c] = from[first + c] * factor[c];
    }
}

SIMD_KERNEL(dropout, rows)
{
    const struct dropout_args *a = args;
    const struct tensor *y = &a->y;
    const struct simd_dropout d = dropout_of(&a->dropout, y->cols);
    if (d.keep_scale == 0.0f && y->data == a->x.data) return;
    for (int64_t i = rows.begin; i < rows.end; i++) {
        if (d.keep_scale == 0.0f) /* p = 0: a copy */
            memcpy(rows_at(y, i), rows_at(&a->x, i), (size_t)y->cols * sizeof(float));
        else
            drop_row(rows_at(y, i), rows_at(&a->x, i), &d, i, y->cols);
    }
}

/* The bits of a row. Only models in bf16 have masks, which this backend does not compute: not fast.
 */
static void mask_row(const struct tensor *mask, int64_t i, const float *y, int64_t cols)
{
    uint32_t *word = (uint32_t *)mask->data + i * mask->stride;
    memset(word, 0, (size_t)mask->cols * sizeof *word);
    for (int64_t c = 0; c < cols; c++) word[c / 32] |= (uint32_t)(y[c] != 0.0f) << c % 32;
}

SIMD_KERNEL(relu, rows)
{
    const struct relu_args *a = args;
    const struct tensor *y = &a->y;
    const struct simd_dropout d = dropout_of(&a->dropout, y->cols);
    for (int64_t i = rows.begin; i < rows.end; i++) {
        float *to = rows_at(y, i);
        const float *from = rows_at(&a->x, i);
        /* The comparison is false for NaN, which must stay NaN. */
        for (int64_t c = 0; c < y->cols; c++) to[c] = from[c] <= 0.0f ? 0.0f : from[c];
        if (d.keep_scale > 0.0f) drop_row(to, to, &d, i, y->cols);
        if (a->mask.data) mask_row(&a->mask, i, to, y->cols);
    }
}

static void masked_row(float *to, const float *from, const uint32_t *word, float scale,
                       int64_t cols)
{
    for (int64_t c = 0; c < cols; c++) to[c] = word[c / 32] >> c % 32 & 1 ? from[c] * scale : 0.0f;
}

/* Without branches, which random signs would mispredict. */
static void passed_row(float *to, const float *from, const float *result, float scale, int64_t cols)
{
    int64_t c = 0;
    for (; c + VECTOR_LANES <= cols; c += VECTOR_LANES) {
        vector_i32 zero = vector_load(result + c) == 0.0f;
        vector_f32 passed = vector_load(from + c) * scale;
        vector_store(to + c, vector_from_bits(vector_bits(passed) & ~zero));
    }
    for (; c < cols; c++) to[c] = result[c] == 0.0f ? 0.0f : from[c] * scale;
}

/* If y is not 0, the element was kept, so that the mask need not be drawn again. */
SIMD_KERNEL(relu_bwd, rows)
{
    const struct relu_bwd_args *a = args;
    const struct tensor *dx = &a->dx;
    float scale = a->dropout.p > 0.0f ? 1.0f / (1.0f - a->dropout.p) : 1.0f;
    for (int64_t i = rows.begin; i < rows.end; i++) {
        float *to = rows_at(dx, i);
        const float *from = rows_at(&a->dy, i), *result = rows_at(&a->y, i);
        if (a->mask.data) {
            masked_row(to, from, (const uint32_t *)a->mask.data + i * a->mask.stride, scale,
                       dx->cols);
            continue;
        }
        passed_row(to, from, result, scale, dx->cols);
    }
}

/* The first n of a vector's elements, or all of them; the others are zeros. */
VECTOR_FN vector_f32 some_load(const float *from, int64_t n)
{
    float some[VECTOR_LANES] = {0};
    if (n >= VECTOR_LANES) return vector_load(from);
    memcpy(some, from, (size_t)n * sizeof *some);
    return vector_load(some);
}

VECTOR_FN vector_f32 activated(vector_f32 x, enum activation kind)
{
    const float root = 0.797884561f; /* of 2 / pi */
    if (kind == ACTIVATE_GELU_ERF) return x * vector_normal(x);
    /* (1 + tanh(u)) / 2 is the sigmoid of 2 u. */
    if (kind == ACTIVATE_GELU_TANH)
        return x * vector_sigmoid(2.0f * root * (x + 0.044715f * (x * x * x)));
    if (kind == ACTIVATE_SILU) return x * vector_sigmoid(x);
    return vector_max(vector_set(0.0f), x);
}

/* A ragged end takes the same operations as whole vectors: bits do not depend on its length. */
VECTOR_FN void activate_row(const struct activate_args *a, int64_t i, enum activation kind)
{
    const float *x = rows_at(&a->x, i), *factor = a->factor.data ? rows_at(&a->factor, i) : NULL;
    float *y = rows_at(&a->y, i);
    for (int64_t c = 0; c < a->y.cols; c += VECTOR_LANES) {
        int64_t n = a->y.cols - c;
        vector_f32 v = activated(some_load(x + c, n), kind);
        if (factor) v *= some_load(factor + c, n);
        if (n >= VECTOR_LANES)
            vector_store(y + c, v);
        else
            memcpy(y + c, &v, (size_t)n * sizeof *y);
    }
}

SIMD_KERNEL(activate, rows)
{
    const struct activate_args *a = args;
    for (int64_t i = rows.begin; i < rows.end; i++) switch (a->kind) {
        case ACTIVATE_RELU:
            activate_row(a, i, ACTIVATE_RELU);
            break;
        case ACTIVATE_GELU_ERF:
            activate_row(a, i, ACTIVATE_GELU_ERF);
            break;
        case ACTIVATE_GELU_TANH:
            activate_row(a, i, ACTIVATE_GELU_TANH);
            break;
        case ACTIVATE_SILU:
            activate_row(a, i, ACTIVATE_SILU);
            break;
        }
}

/* The comparisons are false for NaN, which stays NaN. */
SIMD_KERNEL(clamp, rows)
{
    const struct clamp_args *a = args;
    for (int64_t i = rows.begin; i < rows.end; i++) {
        float *to = rows_at(&a->y, i);
        const float *from = rows_at(&a->x, i);
        for (int64_t c = 0; c < a->y.cols; c++) {
            float low = from[c] < -a->limit ? -a->limit : from[c];
            to[c] = low > a->limit ? a->limit : low;
        }
    }
}

static void rows_rotate(float *x, const float *cosine, const float *sine, int64_t pairs, int layout,
                        float sign)
{
    if (layout == 0) {
        for (int64_t p = 0; p < pairs; p++) {
            float a = x[2 * p], b = x[2 * p + 1], s = sign * sine[p];
            x[2 * p] = a * cosine[p] - b * s;
            x[2 * p + 1] = b * cosine[p] + a * s;
        }
        return;
    }
    for (int64_t p = 0; p < pairs; p++) {
        float a = x[p], b = x[p + pairs], s = sign * sine[p];
        x[p] = a * cosine[p] - b * s;
        x[p + pairs] = b * cosine[p] + a * s;
    }
}

SIMD_KERNEL(rotary, rows)
{
    const struct rotary_args *a = args;
    int32_t D = (int32_t)(a->x.cols / a->H);
    float sign = a->inverse ? -1.0f : 1.0f;
    for (int64_t i = rows.begin; i < rows.end; i++) {
        float *row = rows_at(&a->x, i);
        const float *c = rows_at(&a->cosine, i % a->T), *s = rows_at(&a->sine, i % a->T);
        for (int32_t h = 0; h < a->H; h++)
            rows_rotate(row + (int64_t)h * D, c, s, a->cosine.cols, a->layout, sign);
    }
}
