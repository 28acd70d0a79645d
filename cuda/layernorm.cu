/* layernorm.cu - LayerNorm and RMSNorm, alone or after a residual sum with dropout. */
#include "kernels.h"
#include "layernorm.cuh"

enum { NORM_BLOCKS = 528 /* 4, which registers allow, for each of 132 SMs */ };

struct norm_forward {
    struct tensor y, stats, s, x, r, gain, bias;
    struct rows_draw draw;
    float eps;
    bool rms, wide;
};

/* Reads a row of x, or computes s = x + dropout(r), stores it and uses the stored value. */
template <class T, int EIGHTS, bool RESIDUAL>
__device__ static void norm_take(struct vec8 *v, const int *n, const struct norm_forward &f,
                                 int64_t row)
{
#pragma unroll
    for (int e = 0; e < EIGHTS; e++) {
        int column = norm_column(e), here = row < f.y.rows ? n[e] : 0;
        v[e] = rows_load(row_of<T>(f.x, row) + column, here, f.wide, 0.0f);
        if (!RESIDUAL || here == 0) continue;
        struct vec8 r = rows_load(row_of<T>(f.r, row) + column, here, f.wide, 0.0f);
        if (f.draw.keep_scale != 0.0f) {
            struct vec8 factor = rows_factors(f.draw, row, column);
#pragma unroll
            for (int i = 0; i < 8; i++) r.x[i] *= factor.x[i];
        }
        T *to = row_of<T>(f.s, row) + column;
#pragma unroll
        for (int i = 0; i < 8; i++) v[e].x[i] = rows_rounded(to, v[e].x[i] + r.x[i]);
        rows_store(to, v[e], here, f.wide);
    }
}

/* y = (x - mean) / deviation * gain + bias. RMSNorm is the same with a mean of 0. Threads as in
 * rule 1; a block visits ty rows at a time. Reads 1 element per element, writes 1; with a residual
 * sum 2 and 2. 256 threads are two rows of 1024 columns, with two barriers. */
template <class T, int EIGHTS, bool RESIDUAL>
static __global__ void __launch_bounds__(ROWS_THREADS) norm_k(struct norm_forward f)
{
    SHARED(float2, part, [2][NORM_WARPS]);
    struct vec8 gain[EIGHTS], bias[EIGHTS], v[EIGHTS];
    float share = 1.0f / (float)f.y.cols;
    int n[EIGHTS];
    norm_parts<EIGHTS>(n, f.y.cols);
#pragma unroll
    for (int e = 0; e < EIGHTS; e++) {
        gain[e] = rows_load((const float *)f.gain.data + norm_column(e), n[e], f.wide, 0.0f);
        bias[e] = {{0}};
        if (f.bias.data)
            bias[e] = rows_load((const float *)f.bias.data + norm_column(e), n[e], f.wide, 0.0f);
    }
    for (int64_t first = (int64_t)blockIdx.x * blockDim.y; first < f.y.rows;
         first += (int64_t)gridDim.x * blockDim.y) {
        int64_t row = first + threadIdx.y;
        norm_take<T, EIGHTS, RESIDUAL>(v, n, f, row);
        float sum = 0.0f, squares = 0.0f;
#pragma unroll
        for (int e = 0; e < EIGHTS; e++)
#pragma unroll
            for (int i = 0; i < 8; i++) sum += v[e].x[i];
        float mean = norm_row_sums(sum, 0.0f, part[0]).x * share;
        if (f.rms) mean = 0.0f;
#pragma unroll
        for (int e = 0; e < EIGHTS; e++)
#pragma unroll
            for (int i = 0; i < 8; i++) {
                float d = i < n[e] ? v[e].x[i] - mean : 0.0f;
                squares += d * d;
            }
        float variance = norm_row_sums(squares, 0.0f, part[1]).x * share;
        float deviation = 1.0f / sqrtf(variance + f.eps);
        if (row >= f.y.rows) continue;
#pragma unroll
        for (int e = 0; e < EIGHTS; e++) {
#pragma unroll
            for (int i = 0; i < 8; i++)
                v[e].x[i] = (v[e].x[i] - mean) * deviation * gain[e].x[i] + bias[e].x[i];
            rows_store(row_of<T>(f.y, row) + norm_column(e), v[e], n[e], f.wide);
        }
        if (threadIdx.x == 0) {
            row_of<float>(f.stats, row)[0] = mean;
            row_of<float>(f.stats, row)[1] = deviation;
        }
    }
}

template <bool RESIDUAL> static int norm_launch(void *stream, const struct norm_forward &f)
{
    int64_t cols = f.y.cols;
    bool is_long = norm_is_long(cols);
    if (cols > NORM_COLS_MAX) return cudaErrorInvalidValue;
    return launch_by_dtype(f.y, is_long ? norm_k<bf16, 4, RESIDUAL> : norm_k<bf16, 1, RESIDUAL>,
                           is_long ? norm_k<float, 4, RESIDUAL> : norm_k<float, 1, RESIDUAL>,
                           dim3(norm_blocks_n(f.y.rows, cols, NORM_BLOCKS)), norm_block(cols), 0,
                           stream, f);
}

template <class... T> static bool norm_is_wide(const struct tensor &bias, const T &...others)
{
    return rows_are_wide(others...) && (!bias.data || rows_are_wide(bias));
}

int cuda_layernorm(void *stream, const struct layernorm_args *a)
{
    struct norm_forward f = {a->y,
                             a->stats,
                             a->x,
                             a->x,
                             a->x,
                             a->gain,
                             a->bias,
                             rows_draw_of(NULL, a->y.cols),
                             a->eps,
                             a->rms,
                             norm_is_wide(a->bias, a->y, a->x, a->gain)};
    return norm_launch<false>(stream, f);
}

int cuda_residual_layernorm(void *stream, const struct residual_layernorm_args *a)
{
    struct norm_forward f = {a->y,
                             a->stats,
                             a->s,
                             a->x,
                             a->r,
                             a->gain,
                             a->bias,
                             rows_draw_of(&a->dropout, a->y.cols),
                             a->eps,
                             a->rms,
                             norm_is_wide(a->bias, a->y, a->s, a->x, a->r, a->gain)};
    return norm_launch<true>(stream, f);
}
