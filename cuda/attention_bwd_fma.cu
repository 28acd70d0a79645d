/* attention_bwd_fma.cu - attention backward with products in fp32: one kernel for keys and values,
 * one for queries. Both recompute p = exp(score - lse) and ds = p (dp factor - delta). Each sum has
 * a fixed order. */
#include "attention_fma.cuh"

/* Turns scores into p, with dropout applied, and dp into ds. Element [r][n] has its query's lse (in
 * units of log 2) and delta at [r]; if `transposed`, at [n]. */
template <int N, int M>
__device__ inline void fma_gradients(float (&s)[4][N], float (&dp)[4][N], const float (&lse)[M],
                                     const float (&delta)[M], uint32_t kept, float factor,
                                     bool transposed)
{
#pragma unroll
    for (int e = 0; e < 4 * N; e++) {
        const int r = e / N, n = e % N;
        float p = exp2_flushed(s[r][n] - (transposed ? lse[n] : lse[r]));
        float f = kept >> e & 1 ? factor : 0.0f;
        dp[r][n] = p * (dp[r][n] * f - (transposed ? delta[n] : delta[r]));
        s[r][n] = p * f;
    }
}

/* Writes a thread's elements to the tile P. */
template <int N> __device__ inline void fma_put(float *P, const float (&x)[4][N])
{
    const int STRIDE = 16 * N + 4;
    float *to = P + threadIdx.x / 16 * 4 * STRIDE + threadIdx.x % 16;
#pragma unroll
    for (int e = 0; e < 4 * N; e++) to[e / N * STRIDE + e % N * 16] = x[e / N][e % N];
}

/* lse and delta of query i; past the end they make p 0. */
static __device__ inline void fma_query(float *lse, float *delta, const struct attention &a,
                                        const float *deltas, int64_t item, int32_t i)
{
    *lse = 1e30f;
    *delta = 0.0f;
    if (i >= a.T) return;
    *lse = ((const float *)a.lse.data)[item * a.lse.stride + i] * ATTENTION_LOG2E;
    *delta = deltas[item * a.T + i];
}

/* A block owns ROWS keys of one head and reads the queries from its diagonal on. Threads own
 * elements as in attention_fma.cuh, with keys as rows. Reads k and v once, q and dout once per ROWS
 * keys, writes dk and dv: 4 bytes an element. */
template <int D, int ROWS, class T>
static __global__ void __launch_bounds__(4 * ROWS, 1)
    keys_fma_k(struct attention a, struct attention_keep keep, const float *deltas, int32_t tiles_n)
{
    const int N = ROWS / 16;
    SHARED_DYNAMIC(float, memory);
    float *K = memory, *V = K + ROWS * (D + 4), *Q = V + ROWS * (D + 4);
    float *G = Q + ROWS * (D + 4), *P = G + ROWS * (D + 4);
    struct attention_place at = attention_place_of(a, tiles_n, false);
    struct head_bias bias = head_bias_of(a.bias, at.h, ATTENTION_LOG2E);
    int x = threadIdx.x % 16, y = threadIdx.x / 16;
    int32_t key = at.tile * ROWS + y * 4;
    float dk[4][D / 16], dv[4][D / 16];
    fma_clear<D>(dk);
    fma_clear<D>(dv);

    fma_load<D, ROWS, T>(K, a.k, a, at, at.tile * ROWS, attention_rotates(a));
    fma_load<D, ROWS, T>(V, a.v, a, at, at.tile * ROWS, false);
    for (int32_t query = at.tile * ROWS; query < a.T; query += ROWS) {
        if (!mask_sees_some(a.mask, query, at.tile * ROWS, ROWS)) break;
        float s[4][N], dp[4][N], lse[N], delta[N];
        uint32_t kept = 0xffffffffu;
        fma_load<D, ROWS, T>(Q, a.q, a, at, query, attention_rotates(a));
        fma_load<D, ROWS, T>(G, a.dout, a, at, query, false);
        __syncthreads();
        for (int n = 0; n < N; n++)
            fma_query(&lse[n], &delta[n], a, deltas, at.item, query + x + 16 * n);
        fma_rows<D>(s, K, Q);
        fma_rows<D>(dp, V, G);
        fma_scores<N, true>(s, a, bias, query + x - key, key);
        if (keep.scale != 0.0f)
            kept = fma_keep<N>(head_dropout_of(a, keep, at.item), key, query + x, true);
        fma_gradients(s, dp, lse, delta, kept, keep.factor, true);
        fma_put(P, s);
        __syncwarp(); /* half a warp writes a row of P and reads it */
        fma_columns<D, ROWS>(dv, P, G);
        __syncwarp();
        fma_put(P, dp);
        __syncwarp();
        fma_columns<D, ROWS>(dk, P, Q);
        __syncthreads();
    }
    if (attention_rotates(a))
        fma_store_rotated<D, ROWS, T>(K, a.dk, a, at, at.tile * ROWS, dk, a.scale);
#pragma unroll
    for (int r = 0; r < 4; r++) {
        if (key + r >= a.T) continue;
        if (!attention_rotates(a)) fma_store<D, T>(a.dk, a, at, key + r, dk[r], a.scale);
        fma_store<D, T>(a.dv, a, at, key + r, dv[r], 1.0f);
    }
}

/* Adds the sums of a tile of ds by distance to the block's bias sums. A thread owns the distances
 * congruent to its number modulo OWNERS; a tile has at most one of them. */
template <int ROWS>
__device__ inline void bias_sums_add(float *bias_sums, const float *P, int32_t base,
                                     int32_t bias_table_n)
{
    const int32_t OWNERS = 2 * ROWS;
    int32_t least = base - (ROWS - 1);
    int32_t off = ((int32_t)threadIdx.x - least) & (OWNERS - 1), d = least + off;
    if (threadIdx.x >= OWNERS || off > 2 * (ROWS - 1) || d < 0 || d >= bias_table_n) return;
    int32_t more = d - base, first = more > 0 ? more : 0, end = more < 0 ? more : 0;
    float sum = 0.0f;
    for (int32_t r = first; r < ROWS + end; r++) sum += P[r * (ROWS + 4) + r - more];
    bias_sums[d] += sum;
}

/* A block owns ROWS queries of one head and reads the keys up to its diagonal. Threads own elements
 * as in attention_fma.cuh. Reads q and dout once, k and v once per ROWS queries, writes dq. */
template <int D, int ROWS, class T>
static __global__ void __launch_bounds__(4 * ROWS, 1)
    queries_fma_k(struct attention a, struct attention_keep keep, const float *deltas,
                  float *bias_sums, struct attention_parts parts, int32_t tiles_n)
{
    const int N = ROWS / 16;
    SHARED_DYNAMIC(float, memory);
    float *Q = memory, *G = Q + ROWS * (D + 4), *K = G + ROWS * (D + 4);
    float *V = K + ROWS * (D + 4), *P = V + ROWS * (D + 4);
    struct attention_place at = attention_place_of(a, tiles_n, true);
    struct head_bias bias = head_bias_of(a.bias, at.h, ATTENTION_LOG2E);
    int x = threadIdx.x % 16;
    int32_t first = at.tile * ROWS, query = first + (int32_t)threadIdx.x / 16 * 4;
    float dq[4][D / 16], lse[4], delta[4]; /* by row */
    fma_clear<D>(dq);
    for (int r = 0; r < 4; r++) fma_query(&lse[r], &delta[r], a, deltas, at.item, query + r);
    if (bias_sums) { /* clear the block's slots; only the first is used */
        int32_t end = first + ROWS < a.T ? first + ROWS : a.T;
        bias_sums += (at.item * parts.slots_n + first / parts.slot) * parts.bias_table_n;
        for (int32_t slot = 0; first + slot * parts.slot < end; slot++)
            for (int32_t d = threadIdx.x; threadIdx.x < 2 * ROWS && d < parts.bias_table_n;
                 d += 2 * ROWS)
                bias_sums[slot * parts.bias_table_n + d] = 0.0f;
    }

    fma_load<D, ROWS, T>(Q, a.q, a, at, first, attention_rotates(a));
    fma_load<D, ROWS, T>(G, a.dout, a, at, first, false);
    for (int32_t key = 0; key <= first; key += ROWS) {
        if (!mask_sees_some(a.mask, first, key, ROWS)) continue;
        float s[4][N], dp[4][N];
        uint32_t kept = 0xffffffffu;
        fma_load<D, ROWS, T>(K, a.k, a, at, key, attention_rotates(a));
        fma_load<D, ROWS, T>(V, a.v, a, at, key, false);
        __syncthreads();
        fma_rows<D>(s, Q, K);
        fma_rows<D>(dp, G, V);
        fma_scores<N, false>(s, a, bias, query - key - x, key + x);
        if (keep.scale != 0.0f)
            kept = fma_keep<N>(head_dropout_of(a, keep, at.item), query, key + x, false);
        fma_gradients(s, dp, lse, delta, kept, keep.factor, false);
        fma_put(P, dp);
        __syncthreads();
        if (bias_sums) bias_sums_add<ROWS>(bias_sums, P, first - key, parts.bias_table_n);
        fma_columns<D, ROWS>(dq, P, K);
        __syncthreads();
    }
    if (attention_rotates(a)) {
        fma_store_rotated<D, ROWS, T>(Q, a.dq, a, at, first, dq, a.scale);
        return;
    }
#pragma unroll
    for (int r = 0; r < 4; r++)
        if (query + r < a.T) fma_store<D, T>(a.dq, a, at, query + r, dq[r], a.scale);
}

template <int D, int ROWS, class T>
static cudaError_t bwd_launch(cudaStream_t stream, const struct attention *a, float *workspace)
{
    struct attention_parts parts = attention_parts_of(a);
    const float *deltas = workspace + parts.delta;
    float *bias_sums = a->bias.bias_table_grad_dev ? workspace + parts.bias_sums : NULL;
    int32_t tiles_n;
    dim3 grid = attention_grid(a, &tiles_n, ROWS);
    size_t bytes = fma_bytes(ROWS, D, 4);
    launch(keys_fma_k<D, ROWS, T>, grid, dim3(4 * ROWS), bytes, stream, *a, attention_keep_of(a),
           deltas, tiles_n);
    launch(queries_fma_k<D, ROWS, T>, grid, dim3(4 * ROWS), bytes, stream, *a, attention_keep_of(a),
           deltas, bias_sums, parts, tiles_n);
    return cudaGetLastError();
}

template <int D, class T>
static cudaError_t bwd_tiles(cudaStream_t stream, const struct attention *a, float *workspace)
{
    const int MANY = fma_rows_of<D>::MANY, FEW = fma_rows_of<D>::FEW;
    if (fma_bytes(MANY, D, 4) <= attention_shared_bytes())
        return bwd_launch<D, MANY, T>(stream, a, workspace);
    return bwd_launch<D, FEW, T>(stream, a, workspace);
}

cudaError_t attention_bwd_fma(cudaStream_t stream, const struct attention *a, float *workspace)
{
    bool is_bf16 = a->q.dtype == DTYPE_BF16;
    return attention_by_width<ATTENTION_WIDTH_MAX>(a->D, [&](auto width) {
        return is_bf16 ? bwd_tiles<width(), bf16>(stream, a, workspace)
                       : bwd_tiles<width(), float>(stream, a, workspace);
    });
}
