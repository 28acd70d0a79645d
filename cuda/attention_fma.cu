/* attention_fma.cu - attention forward with products in fp32 (attention.cuh, rule 1). Exact by row:
 * tiles of keys begin at multiples of their size, each sum has a fixed order, and a masked key adds
 * exactly 0. */
#include "attention_fma.cuh"

/* Does a step of the online softmax for a thread's 4 rows: turns s into probabilities, rescales
 * acc, sum. */
template <int D, int N>
__device__ inline void softmax_step(float (&s)[4][N], float (&acc)[4][D / 16], float (&top)[4],
                                    float (&sum)[4])
{
#pragma unroll
    for (int r = 0; r < 4; r++) {
        float high = s[r][0], part = 0.0f;
#pragma unroll
        for (int n = 1; n < N; n++) high = fmaxf(high, s[r][n]);
#pragma unroll
        for (int o = 8; o; o >>= 1) high = fmaxf(high, __shfl_xor_sync(0xffffffffu, high, o));
        high = fmaxf(high, top[r]);
        float shrink = exp2_flushed(top[r] - high);
        top[r] = high;
#pragma unroll
        for (int n = 0; n < N; n++) {
            s[r][n] = exp2_flushed(s[r][n] - high);
            part += s[r][n];
        }
#pragma unroll
        for (int o = 8; o; o >>= 1) part += __shfl_xor_sync(0xffffffffu, part, o);
        sum[r] = sum[r] * shrink + part;
#pragma unroll
        for (int c = 0; c < D / 16; c++) acc[r][c] *= shrink;
    }
}

/* A block owns ROWS queries of one head, a thread 4 of them and ROWS / 16 or D / 16 columns. With
 * 64 rows a step does 16 products for 8 loads. Reads q once, k and v once per ROWS queries, writes
 * out: 4 bytes an element. */
template <int D, int ROWS, class T>
static __global__ void __launch_bounds__(4 * ROWS, 1)
    attention_fma_k(struct attention a, struct attention_keep keep, int32_t tiles_n)
{
    const int N = ROWS / 16, STRIDE = ROWS + 4;
    SHARED_DYNAMIC(float, memory);
    float *Q = memory, *K = Q + ROWS * (D + 4), *V = K + ROWS * (D + 4), *P = V + ROWS * (D + 4);
    struct attention_tile at = attention_tile_of(a, tiles_n, true);
    struct head_bias bias = head_bias_of(a.bias, at.h, ATTENTION_LOG2E);
    struct attention_mask mask = mask_of(a, at.h);
    struct head_gates gates = head_gates_of(a, at.item);
    int x = threadIdx.x % 16, y = threadIdx.x / 16;
    int32_t query = at.tile * ROWS + y * 4;
    float acc[4][D / 16] = {}, sum[4] = {};
    float top[4] = {ATTENTION_MASKED, ATTENTION_MASKED, ATTENTION_MASKED, ATTENTION_MASKED};

    fma_load<D, ROWS, T>(Q, a.q, a, at, at.tile * ROWS, FMA_QUERIES);
    for (int32_t key = 0; key <= at.tile * ROWS; key += ROWS) {
        if (!mask_sees_some(mask, at.tile * ROWS, key, ROWS)) continue;
        float s[4][N];
        fma_load<D, ROWS, T>(K, a.k, a, at, key, FMA_KEYS);
        fma_load<D, ROWS, T>(V, a.v, a, at, key, FMA_VALUES);
        __syncthreads();
        fma_rows<D>(s, Q, K);
        fma_scores<N, false>(s, a, mask, bias, gates, query - key - x, key + x);
        softmax_step<D>(s, acc, top, sum);
        uint32_t kept = 0xffffffffu;
        if (keep.scale != 0.0f)
            kept = fma_keep<N>(head_dropout_of(a, keep, at.item), query, key + x, false);
#pragma unroll
        for (int e = 0; e < 4 * N; e++)
            P[(y * 4 + e / N) * STRIDE + x + e % N * 16] = kept >> e & 1 ? s[e / N][e % N] : 0.0f;
        __syncwarp(); /* half a warp writes a row of P and reads it */
        fma_columns<D, ROWS>(acc, P, V);
        __syncthreads();
    }
    float *lse = (float *)a.lse.data + at.item * a.lse.stride;
#pragma unroll
    for (int r = 0; r < 4; r++) {
        if (query + r >= a.T) continue;
        if (x == 0)
            lse[query + r] =
                (top[r] + log2f(sum[r])) * ATTENTION_LN2 + own_key_bias(a, at.h, query + r);
        fma_store<D, T>(a.out, a, at, query + r, acc[r], keep.factor / sum[r]);
    }
}

cudaError_t attention_fma(cudaStream_t stream, const struct attention *a)
{
    return fma_dispatch(a, 3, [&](auto width, auto rows, auto zero) {
        const int D = width(), ROWS = rows();
        int32_t tiles_n;
        dim3 grid = attention_grid(a, &tiles_n, ROWS);
        return launch(attention_fma_k<D, ROWS, decltype(zero)>, grid, dim3(4 * ROWS),
                      fma_bytes(ROWS, D, 3), stream, *a, attention_keep_of(a), tiles_n);
    });
}
