/* rows.cuh - how kernels on rows of matrices read, write and share work: embedding.cu,
 * elementwise.cu, layernorm.cu, softmax.cu and others.
 *
 * 1. A thread owns eight neighbouring columns, the first a multiple of eight. If every view of a
 *    call allows 16-byte accesses (`wide`, determined on the host), full groups of eight use them.
 *    Ragged ends and other views go element by element. Threads own the same columns either way, so
 *    the bits are the same.
 * 2. Arithmetic is in fp32 for every dtype. A value is rounded once, when it is stored.
 * 3. Dropout uses random number (first_row + row) * cols + column of the update, with rows_dev[row]
 *    instead of row if given: the same bits as on the CPU. */
#ifndef CUDA_ROWS_CUH
#define CUDA_ROWS_CUH

#include "gpu.cuh"
#include "vec.cuh"

#include "backend/backend.h"
#include "base/philox.h"

enum { ROWS_THREADS = 256 };

template <class T> __device__ inline T *row_of(const struct tensor &t, int64_t row)
{
    return (T *)t.data + row * t.stride;
}

/* ---- eights with ragged ends ---- */

__device__ inline float rows_widen(float x)
{
    return x;
}

__device__ inline float rows_widen(bf16 x)
{
    return __bfloat162float(x);
}

__device__ inline void rows_narrow(float *to, float x)
{
    *to = x;
}

__device__ inline void rows_narrow(bf16 *to, float x)
{
    *to = __float2bfloat16(x);
}

/* x rounded to T, as a store would round it. */
__device__ inline float rows_rounded(const float *, float x)
{
    return x;
}

__device__ inline float rows_rounded(const bf16 *, float x)
{
    return __bfloat162float(__float2bfloat16(x));
}

/* The first n of eight elements, `fill` for the others. */
template <class T>
__device__ inline struct vec8 rows_load(const T *from, int n, bool wide, float fill)
{
    if (wide && n == 8) return vec8_load(from);
    struct vec8 out;
#pragma unroll
    for (int i = 0; i < 8; i++) out.x[i] = i < n ? rows_widen(from[i]) : fill;
    return out;
}

template <class T> __device__ inline void rows_store(T *to, const struct vec8 &v, int n, bool wide)
{
    if (wide && n == 8) {
        vec8_store(to, v);
        return;
    }
#pragma unroll
    for (int i = 0; i < 8; i++)
        if (i < n) rows_narrow(to + i, v.x[i]);
}

/* Eight elements in their own dtype: in bf16 they take half the registers of struct vec8. */
template <class T> struct rows_raw {
    uint32_t word[2 * sizeof(T)];
};

/* The first n of eight elements, zeros for the others. */
template <class T>
__device__ inline struct rows_raw<T> rows_fetch(const T *from, int n, bool wide) {
    struct rows_raw<T> out;
    if (wide && n == 8) {
#pragma unroll
        for (int i = 0; i < (int)sizeof(T) / 2; i++) {
            uint4 v = ((const uint4 *)from)[i];
            out.word[4 * i] = v.x;
            out.word[4 * i + 1] = v.y;
            out.word[4 * i + 2] = v.z;
            out.word[4 * i + 3] = v.w;
        }
        return out;
    }
    struct vec8 v = rows_load(from, n, false, 0.0f);
#pragma unroll
    for (int i = 0; i < 2 * (int)sizeof(T); i++)
        out.word[i] = sizeof(T) == 4 ? __float_as_uint(v.x[i])
                                     : pack_bf16(v.x[2 * i & 7], v.x[(2 * i + 1) & 7]);
    return out;
}

template <class T>
__device__ inline struct vec8 rows_widen(const struct rows_raw<T> &raw)
{
    struct vec8 out;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        uint32_t word = raw.word[sizeof(T) == 4 ? i : i / 2];
        if (sizeof(T) == 2) word = i % 2 ? word & 0xffff0000u : word << 16;
        out.x[i] = __uint_as_float(word);
    }
    return out;
}

/* How many of the eight columns from `column` on exist. */
__device__ inline int rows_part(int64_t column, int64_t cols)
{
    int64_t left = cols - column;
    return left >= 8 ? 8 : left > 0 ? (int)left : 0;
}

/* True if every row of these views begins at a multiple of 16 bytes. */
template <class... T> static inline bool rows_are_wide(const struct tensor &t, const T &...others)
{
    int64_t stride_bytes = t.rows > 1 ? t.stride * (int64_t)dtype_bytes(t.dtype) : 0;
    bool wide = ((uintptr_t)t.data & 15) == 0 && stride_bytes % 16 == 0;
    if constexpr (sizeof...(others) > 0) return wide && rows_are_wide(others...);
    return wide;
}

/* ---- a thread for each group of eight columns ---- */

struct rows_columns {
    int64_t row, column;
    int n; /* columns of this thread; 0: none */
};

__device__ inline struct rows_columns rows_columns_of(const struct tensor &t)
{
    struct rows_columns p;
    p.row = (int64_t)blockIdx.x * blockDim.y + threadIdx.y;
    p.column = ((int64_t)blockIdx.y * blockDim.x + threadIdx.x) * 8;
    p.n = p.row < t.rows ? rows_part(p.column, t.cols) : 0;
    return p;
}

/* Blocks of 256 threads, as wide as a row: neighbours in a warp read neighbouring columns. */
static inline dim3 rows_block(int64_t cols)
{
    unsigned width = 1;
    while (width < ROWS_THREADS && (int64_t)width * 8 < cols) width *= 2;
    return dim3(width, ROWS_THREADS / width);
}

static inline dim3 rows_grid(int64_t rows, int64_t cols, dim3 block)
{
    return dim3((unsigned)((rows + block.y - 1) / block.y),
                (unsigned)((cols + 8 * (int64_t)block.x - 1) / (8 * (int64_t)block.x)));
}

/* Starts one of two kernels, for the dtype of t. */
template <class... P, class... A>
[[nodiscard]] static inline cudaError_t launch_by_dtype(const struct tensor &t,
                                                        void (*in_bf16)(P...), void (*in_f32)(P...),
                                                        dim3 grid, dim3 block, size_t shared_bytes,
                                                        void *stream, A... args)
{
    if (t.dtype != DTYPE_BF16 && t.dtype != DTYPE_F32) return cudaErrorInvalidValue;
    return launch(t.dtype == DTYPE_BF16 ? in_bf16 : in_f32, grid, block, shared_bytes,
                  (cudaStream_t)stream, args...);
}

/* The same with a thread for each group of eight columns of y. */
template <class... P, class... A>
[[nodiscard]] static inline cudaError_t launch_rows(void *stream, const struct tensor &y,
                                                    void (*in_bf16)(P...), void (*in_f32)(P...),
                                                    A... args)
{
    dim3 block = rows_block(y.cols);
    return launch_by_dtype(y, in_bf16, in_f32, rows_grid(y.rows, y.cols, block), block, 0, stream,
                           args...);
}

/* rows_add_parts - out[c] (+)= the sum of the parts (parts_n, cols) in column c, in a fixed order;
 * columns from `split` on go to rest[c - split] (column_sums.cu). */
[[nodiscard]] cudaError_t rows_add_parts(void *stream, float *out, float *rest, int64_t split,
                                         const float *parts, int64_t parts_n, int64_t cols,
                                         int accumulate);

/* The sum over a block of THREADS, warps in order; each thread gets it. Once in a kernel. */
template <int THREADS> __device__ inline double rows_block_sum(double sum)
{
    SHARED(double, sums, [THREADS / 32]);
    sum = warp_sum(sum);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = 0.0;
    for (int w = 0; w < THREADS / 32; w++) sum += sums[w];
    return sum;
}

/* ---- dropout ---- */

/* A dropout as kernels take it; keep_scale is 0 without dropout. */
struct rows_draw {
    uint64_t key;
    const struct step_state *step_dev;
    const int32_t *rows_dev;
    int64_t first_row, span, cols;
    uint32_t stream, keep_below;
    float keep_scale;
};

static inline struct rows_draw rows_draw_of(const struct dropout *d, int64_t cols)
{
    if (!d || !(d->p > 0.0f)) return {0, NULL, NULL, 0, 0, cols, 0, 0, 0.0f};
    return {d->key,
            d->step_dev,
            d->rows_dev,
            d->first_row,
            d->span,
            cols,
            d->stream,
            philox_keep_below(d->p),
            1.0f / (1.0f - d->p)};
}

/* The factors, 0 or keep_scale, of eight elements from (row, column) on. Each block of random words
 * becomes bits before the next is drawn: twelve words would need too many registers. */
__device__ inline struct vec8 rows_factors(const struct rows_draw &d, int64_t row, int64_t column)
{
    int64_t update_row = d.first_row + (d.rows_dev ? d.rows_dev[row] : row);
    if (d.span) update_row += d.span * d.step_dev->first_row;
    uint64_t element = (uint64_t)(update_row * d.cols + column), block = element / 4;
    uint32_t step = d.step_dev ? d.step_dev->update : 0, skip = (uint32_t)(element % 4), kept = 0;
#pragma unroll 1
    for (int b = 0; b < (skip == 0 ? 2 : 3); b++) {
        struct philox_block out = philox_4x32(d.key, (uint32_t)(block + b),
                                              (uint32_t)((block + b) >> 32), step, d.stream);
#pragma unroll
        for (int w = 0; w < 4; w++) kept |= (uint32_t)(out.word[w] < d.keep_below) << (4 * b + w);
    }
    struct vec8 factor;
#pragma unroll
    for (int i = 0; i < 8; i++) factor.x[i] = kept >> (skip + i) & 1 ? d.keep_scale : 0.0f;
    return factor;
}

#endif
