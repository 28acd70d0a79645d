/* elementwise.cu - sums, dropout, activations, clamps, and copies that change dtype or stride.
 *
 * In every kernel a thread owns eight neighbouring columns of one row (rows.cuh), a block of 256
 * threads whole rows or parts of one. Few registers and 16-byte loads keep the memory busy. Outputs
 * may be inputs, since a thread reads its elements before it writes them. */
#include "kernels.h"
#include "rows.cuh"

/* y = x + r. Reads 2 elements per element, writes 1. */
template <class T>
static __global__ void add_k(struct tensor y, struct tensor x, struct tensor r, bool wide)
{
    struct rows_columns at = rows_columns_of(y);
    if (at.n == 0) return;
    struct vec8 a = rows_load(row_of<T>(x, at.row) + at.column, at.n, wide, 0.0f);
    struct vec8 b = rows_load(row_of<T>(r, at.row) + at.column, at.n, wide, 0.0f);
#pragma unroll
    for (int i = 0; i < 8; i++) a.x[i] += b.x[i];
    rows_store(row_of<T>(y, at.row) + at.column, a, at.n, wide);
}

/* y = mask * x / (1 - p). Reads 1, writes 1; draws with about 25 integer operations per element. */
template <class T>
static __global__ void dropout_k(struct tensor y, struct tensor x, struct rows_draw d, bool wide)
{
    struct rows_columns at = rows_columns_of(y);
    if (at.n == 0) return;
    struct vec8 v = rows_load(row_of<T>(x, at.row) + at.column, at.n, wide, 0.0f);
    struct vec8 factor = rows_factors(d, at.row, at.column);
#pragma unroll
    for (int i = 0; i < 8; i++) v.x[i] *= factor.x[i];
    rows_store(row_of<T>(y, at.row) + at.column, v, at.n, wide);
}

/* The bits of the thread's eight columns are one byte of the mask. */
__device__ static uint8_t *mask_byte(const struct tensor &mask, const struct rows_columns &at)
{
    return (uint8_t *)row_of<uint32_t>(mask, at.row) + at.column / 8;
}

/* y = max(x, 0), then dropout, and the mask. Reads 1, writes 1 and a bit. A NaN stays one: the
 * comparison is false. */
template <class T>
static __global__ void relu_k(struct tensor y, struct tensor x, struct tensor mask,
                              struct rows_draw d, bool wide)
{
    struct rows_columns at = rows_columns_of(y);
    if (at.n == 0) return;
    struct vec8 v = rows_load(row_of<T>(x, at.row) + at.column, at.n, wide, 0.0f);
#pragma unroll
    for (int i = 0; i < 8; i++) v.x[i] = v.x[i] <= 0.0f ? 0.0f : v.x[i];
    if (d.keep_scale != 0.0f) {
        struct vec8 factor = rows_factors(d, at.row, at.column);
#pragma unroll
        for (int i = 0; i < 8; i++) v.x[i] *= factor.x[i];
    }
    T *to = row_of<T>(y, at.row) + at.column;
    rows_store(to, v, at.n, wide);
    if (!mask.data) return;
    unsigned bits = 0;
#pragma unroll
    for (int i = 0; i < 8; i++) bits |= (unsigned)(rows_rounded(to, v.x[i]) != 0.0f) << i;
    *mask_byte(mask, at) = (uint8_t)bits;
}

/* dx = dy * scale where y is not 0, else 0. Reads 2, or 1 and a bit; writes 1. */
template <class T> static __global__ void relu_bwd_k(struct relu_bwd_args a, float scale, bool wide)
{
    struct rows_columns at = rows_columns_of(a.dx);
    if (at.n == 0) return;
    struct vec8 v = rows_load(row_of<T>(a.dy, at.row) + at.column, at.n, wide, 0.0f);
    unsigned bits = 0;
    if (a.mask.data) {
        bits = *mask_byte(a.mask, at);
    } else {
        struct vec8 y = rows_load(row_of<T>(a.y, at.row) + at.column, at.n, wide, 0.0f);
#pragma unroll
        for (int i = 0; i < 8; i++) bits |= (unsigned)(y.x[i] != 0.0f) << i;
    }
#pragma unroll
    for (int i = 0; i < 8; i++) v.x[i] = bits >> i & 1 ? v.x[i] * scale : 0.0f;
    rows_store(row_of<T>(a.dx, at.row) + at.column, v, at.n, wide);
}

/* Without sums that cancel below 0: erfc for 1 + erf, and 1 / (1 + e^-2u) for (1 + tanh u) / 2. */
__device__ static float activated(float x, enum activation kind)
{
    const float root = 0.797884561f; /* of 2 / pi */
    if (kind == ACTIVATE_GELU_ERF) return 0.5f * x * erfcf(x * -0.707106781f);
    if (kind == ACTIVATE_GELU_TANH)
        return x / (1.0f + expf(-2.0f * root * (x + 0.044715f * (x * x * x))));
    if (kind == ACTIVATE_SILU) return x / (1.0f + expf(-x));
    return x <= 0.0f ? 0.0f : x; /* a NaN stays one */
}

/* y = act(x) * factor. Reads 2, or 1 without a factor; writes 1. */
template <class T> static __global__ void activate_k(struct activate_args a, bool wide)
{
    struct rows_columns at = rows_columns_of(a.y);
    if (at.n == 0) return;
    struct vec8 v = rows_load(row_of<T>(a.x, at.row) + at.column, at.n, wide, 0.0f);
#pragma unroll
    for (int i = 0; i < 8; i++) v.x[i] = activated(v.x[i], a.kind);
    if (a.factor.data) {
        struct vec8 f = rows_load(row_of<T>(a.factor, at.row) + at.column, at.n, wide, 0.0f);
#pragma unroll
        for (int i = 0; i < 8; i++) v.x[i] *= f.x[i];
    }
    rows_store(row_of<T>(a.y, at.row) + at.column, v, at.n, wide);
}

/* y = x within the limits; the comparisons are false for a NaN, which stays one. Reads 1, writes
 * 1. */
template <class T> static __global__ void clamp_k(struct clamp_args a, bool wide)
{
    struct rows_columns at = rows_columns_of(a.y);
    if (at.n == 0) return;
    struct vec8 v = rows_load(row_of<T>(a.x, at.row) + at.column, at.n, wide, 0.0f);
#pragma unroll
    for (int i = 0; i < 8; i++) {
        float low = v.x[i] < -a.limit ? -a.limit : v.x[i];
        v.x[i] = low > a.limit ? a.limit : low;
    }
    rows_store(row_of<T>(a.y, at.row) + at.column, v, at.n, wide);
}

/* y = x, each with its dtype and stride. Reads 1, writes 1. */
template <class Y, class X>
static __global__ void cast_k(struct tensor y, struct tensor x, bool wide)
{
    struct rows_columns at = rows_columns_of(y);
    if (at.n == 0) return;
    struct vec8 v = rows_load(row_of<X>(x, at.row) + at.column, at.n, wide, 0.0f);
    rows_store(row_of<Y>(y, at.row) + at.column, v, at.n, wide);
}

int cuda_add(void *stream, const struct add_args *a)
{
    bool wide = rows_are_wide(a->y, a->x, a->r);
    return launch_rows(stream, a->y, add_k<bf16>, add_k<float>, a->y, a->x, a->r, wide);
}

int cuda_cast(void *stream, const struct cast_args *a)
{
    bool wide = rows_are_wide(a->y, a->x);
    if (a->x.dtype == DTYPE_BF16)
        return launch_rows(stream, a->y, cast_k<bf16, bf16>, cast_k<float, bf16>, a->y, a->x, wide);
    return launch_rows(stream, a->y, cast_k<bf16, float>, cast_k<float, float>, a->y, a->x, wide);
}

int cuda_dropout(void *stream, const struct dropout_args *a)
{
    struct rows_draw draw = rows_draw_of(&a->dropout, a->y.cols);
    struct cast_args copy = {a->y, a->x};
    bool wide = rows_are_wide(a->y, a->x);
    if (draw.keep_scale == 0.0f && a->y.data == a->x.data) return cudaSuccess;
    if (draw.keep_scale == 0.0f) return cuda_cast(stream, &copy);
    return launch_rows(stream, a->y, dropout_k<bf16>, dropout_k<float>, a->y, a->x, draw, wide);
}

int cuda_relu(void *stream, const struct relu_args *a)
{
    struct rows_draw draw = rows_draw_of(&a->dropout, a->y.cols);
    bool wide = rows_are_wide(a->y, a->x);
    return launch_rows(stream, a->y, relu_k<bf16>, relu_k<float>, a->y, a->x, a->mask, draw, wide);
}

int cuda_relu_bwd(void *stream, const struct relu_bwd_args *a)
{
    float p = a->dropout.p, scale = p > 0.0f ? 1.0f / (1.0f - p) : 1.0f;
    bool wide = rows_are_wide(a->dx, a->dy) && (a->mask.data || rows_are_wide(a->y));
    return launch_rows(stream, a->dx, relu_bwd_k<bf16>, relu_bwd_k<float>, *a, scale, wide);
}

int cuda_activate(void *stream, const struct activate_args *a)
{
    bool wide = rows_are_wide(a->y, a->x) && (!a->factor.data || rows_are_wide(a->factor));
    return launch_rows(stream, a->y, activate_k<bf16>, activate_k<float>, *a, wide);
}

int cuda_clamp(void *stream, const struct clamp_args *a)
{
    return launch_rows(stream, a->y, clamp_k<bf16>, clamp_k<float>, *a, rows_are_wide(a->y, a->x));
}
