/* layernorm.cuh - how the kernels of LayerNorm share rows; layernorm.cu, layernorm_bwd.cu.
 *
 * 1. tx threads (a power of two) share a row, and ty rows share a block of 256 threads. A thread
 *    keeps EIGHTS groups of eight columns, tx groups apart, in registers, so that memory is read
 *    once. Rows of up to 8192 columns fit.
 * 2. Blocks visit rows with a fixed stride. Gain and bias, or the sums of their gradients, stay in
 *    registers. The number of blocks, and thus the bits, depend on shape and dtype alone. */
#ifndef CUDA_LAYERNORM_CUH
#define CUDA_LAYERNORM_CUH

#include "kernels.h"
#include "rows.cuh"

enum {
    NORM_WARPS = ROWS_THREADS / 32,
    NORM_COLS_MAX = 4 * 8 * ROWS_THREADS,
    NORM_VISITS_MIN = 2 /* rows of a thread, if there are enough */
};
static_assert((int)NORM_COLS_MAX == (int)CUDA_NORM_COLS_MAX, "the host rejects longer rows");

static __host__ __device__ inline int norm_is_long(int64_t cols)
{
    return cols > 8 * ROWS_THREADS;
}

/* Both sums over the threads of a row, with the same bits in each thread. `part` has an element for
 * each warp; consecutive calls need different ones. */
__device__ inline float2 norm_row_sums(float a, float b, float2 *part)
{
    int width = (int)blockDim.x, warps_n = width / 32;
    for (int other = min(width, 32) / 2; other; other >>= 1) {
        a += __shfl_xor_sync(0xffffffffu, a, other);
        b += __shfl_xor_sync(0xffffffffu, b, other);
    }
    if (warps_n <= 1) return make_float2(a, b);
    int thread = (int)(threadIdx.y * blockDim.x + threadIdx.x), warp = thread / 32;
    if (thread % 32 == 0) part[warp] = make_float2(a, b);
    __syncthreads();
    int first = warp / warps_n * warps_n;
    float2 sum = part[first];
    for (int w = 1; w < warps_n; w++) {
        sum.x += part[first + w].x;
        sum.y += part[first + w].y;
    }
    return sum;
}

__device__ inline int norm_column(int e)
{
    return (int)((e * blockDim.x + threadIdx.x) * 8);
}

/* How many columns this thread has in each of its groups. */
template <int EIGHTS> __device__ inline void norm_parts(int *n, int64_t cols)
{
#pragma unroll
    for (int e = 0; e < EIGHTS; e++) n[e] = rows_part(norm_column(e), cols);
}

static inline dim3 norm_block(int64_t cols)
{
    dim3 block = rows_block(cols);
    if (block.x < 8) block = dim3(8, ROWS_THREADS / 8);
    return block;
}

static inline unsigned norm_blocks_n(int64_t rows, int64_t cols, int64_t most)
{
    int64_t taken = norm_block(cols).y * NORM_VISITS_MIN, n = (rows + taken - 1) / taken;
    return (unsigned)(n < most ? n : most);
}

#endif
