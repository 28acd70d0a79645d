/* attention_bwd_mma.cuh - what the two kernels of the backward pass on tensor cores share.
 *
 * 1. One kernel owns keys and reads the queries after them for dk and dv. The other owns queries
 *    and reads the keys before them for dq. No sum crosses blocks, so every sum has a fixed order.
 * 2. Both recompute p = exp(score - lse) and ds = p (dp factor - delta). An earlier kernel has
 *    written delta = dout . out.
 * 3. Skip bounds are tighter than in the forward pass: these kernels skip all pairs that it
 *    skipped, and others as small. */
#ifndef CUDA_ATTENTION_BWD_MMA_CUH
#define CUDA_ATTENTION_BWD_MMA_CUH

#include "attention_mma.cuh"
#include "attention_skip.cuh"

enum { QUERIES_OWNED = 128 /* by a block of queries_mma_k, and by one of the forward pass */ };

#define PAST_END 1e30f /* replaces lse past the end, where p must be 0 */

cudaError_t attention_bwd_keys(cudaStream_t stream, const struct attention *a,
                               const float *workspace, bool has_bounds);
cudaError_t attention_bwd_queries(cudaStream_t stream, const struct attention *a, float *workspace,
                                  bool has_bounds);

/* lse, in units of log 2, and delta of query i. */
__device__ inline float2 query_numbers(const struct attention &a, const float *deltas, int64_t item,
                                       int32_t i)
{
    if (i >= a.T) return make_float2(PAST_END, 0.0f);
    return make_float2(((const float *)a.lse.data)[item * a.lse.stride + i] * ATTENTION_LOG2E,
                       deltas[item * a.T + i]);
}

/* Rotates the gradients of a warp's 16M rows from `row` on back. One lane holds both numbers of a
 * pair. */
template <int D, int M>
__device__ inline void rows_rotate_back(float (&x)[M][D / 8][4], const struct attention &a,
                                        int32_t row)
{
    int lane = hide_from_compiler((int)threadIdx.x) % 32;
#pragma unroll
    for (int r = 0; r < 2 * M; r++) {
        int32_t i = row + lane / 4 + r * 8;
        if (i >= a.T) continue;
        const int m = r / 2, e = r % 2 * 2;
        const float *cosine = row_of<float>(a.rotary.cosine, i);
        const float *sine = row_of<float>(a.rotary.sine, i);
        if (a.rotary.layout == 0) {
#pragma unroll
            for (int c = 0; c < D / 8; c++) {
                int p = c * 4 + lane % 4;
                if (c * 8 < a.D) rotate_pair(&x[m][c][e], &x[m][c][e + 1], cosine[p], -sine[p]);
            }
        } else {
#pragma unroll
            for (int c = 0; c < D / 16; c++)
#pragma unroll
                for (int n = 0; n < 2; n++) {
                    int p = c * 8 + lane % 4 * 2 + n;
                    rotate_pair(&x[m][c][e + n], &x[m][c + D / 16][e + n], cosine[p], -sine[p]);
                }
        }
    }
}

/* Stores a warp's 16M rows from `row` on, times scale. */
template <int D, int M>
__device__ inline void rows_store(const struct tensor &t, const struct attention &a,
                                  const struct attention_tile &at, const float (&x)[M][D / 8][4],
                                  int32_t row, float scale)
{
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int r = 0; r < 2 * M; r++) {
        int32_t i = row + lane / 4 + r * 8;
        if (i >= a.T) continue;
        bf16 *to = head_row<bf16>(t, a, at.b, at.h, i) + lane % 4 * 2;
#pragma unroll
        for (int c = 0; c < D / 8; c++)
            if (c * 8 < a.D)
                store_pair(to + c * 8, x[r / 2][c][r % 2 * 2] * scale,
                           x[r / 2][c][r % 2 * 2 + 1] * scale);
    }
}

#endif
