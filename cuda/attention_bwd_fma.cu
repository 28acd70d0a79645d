/* attention_bwd_fma.cu - attention backward with products in fp32: a kernel that owns keys, for dk
 * and dv, or queries, for dq. Both recompute p = exp(score - lse) and ds = p (dp factor - delta).
 * Each sum has a fixed order. */
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

/* Reads lse and delta of query i; past the end they make p 0. */
static __device__ inline void fma_query(float *lse, float *delta, const struct attention &a,
                                        const float *deltas, int64_t item, int32_t i)
{
    *lse = 1e30f;
    *delta = 0.0f;
    if (i >= a.T) return;
    *lse = ((const float *)a.lse.data)[item * a.lse.stride + i] * ATTENTION_LOG2E;
    *delta = deltas[item * a.T + i];
}

/* Adds the sums of a tile of ds by distance to the block's bias sums; with the temperature inside,
 * of ds times the factor of its query, from `first` on. A thread owns the distances congruent to
 * its number modulo OWNERS; a tile has at most one of them. */
template <int ROWS>
__device__ inline void bias_sums_add(float *bias_sums, const float *P, const struct attention &a,
                                     int32_t h, int32_t first_query, int32_t base,
                                     int32_t bias_table_n)
{
    const int32_t OWNERS = 2 * ROWS;
    int32_t least = base - (ROWS - 1);
    int32_t off = ((int32_t)threadIdx.x - least) & (OWNERS - 1), d = least + off;
    if (threadIdx.x >= OWNERS || off > 2 * (ROWS - 1) || d < 0 || d >= bias_table_n) return;
    int32_t more = d - base, first = more > 0 ? more : 0, end = more < 0 ? more : 0;
    float sum = 0.0f;
    for (int32_t r = first; r < ROWS + end; r++) {
        float factor = a.temperature.inside ? attention_factor(a, h, first_query + r) : 1.0f;
        sum = fmaf(P[r * (ROWS + 4) + r - more], factor, sum);
    }
    bias_sums[d] += sum;
}

/* Multiplies the gradients of a thread's four queries by their factors, and writes each query's
 * share in the gradient of temperature.head: dots is ds . bias, Q the block's queries. */
template <int D>
__device__ inline void fma_cool(float (&dq)[4][D / 16], const float (&dots)[4], const float *Q,
                                const struct attention &a, const struct attention_tile &at,
                                float *shares, int32_t row)
{
    Q += threadIdx.x / 16 * 4 * (D + 4) + threadIdx.x % 16;
#pragma unroll
    for (int r = 0; r < 4; r++) {
        float factor = attention_factor(a, at.h, row + r), dot = dots[r];
#pragma unroll
        for (int c = 0; c < D / 16; c++) {
            dot = fmaf(dq[r][c] * a.scale, Q[r * (D + 4) + 16 * c], dot);
            dq[r][c] *= factor;
        }
#pragma unroll
        for (int o = 8; o; o >>= 1) dot += __shfl_xor_sync(0xffffffffu, dot, o);
        if (shares && threadIdx.x % 16 == 0 && row + r < a.T)
            shares[at.item * a.T + row + r] = dot * a.temperature.query_dev[row + r];
    }
}

/* A block owns ROWS keys of one head (KEYS), or ROWS queries, and reads the tiles of the other
 * kind: the queries from its diagonal on, or the keys up to it. Threads own elements as in
 * attention_fma.cuh; the block's own are rows. Reads k and v, or q and dout, once, the others once
 * per ROWS rows; writes dk and dv, or dq: 4 bytes an element. */
template <bool KEYS, int D, int ROWS, class T>
static __global__ void __launch_bounds__(4 * ROWS, 1)
    bwd_fma_k(struct attention a, struct attention_keep keep, const float *deltas, float *bias_sums,
              float *shares, struct attention_parts parts, int32_t tiles_n)
{
    const int N = ROWS / 16;
    SHARED_DYNAMIC(float, memory);
    float *X = memory, *Y = X + ROWS * (D + 4); /* own: k, v or q, dout */
    float *OTHER_X = Y + ROWS * (D + 4), *OTHER_Y = OTHER_X + ROWS * (D + 4);
    float *P = OTHER_Y + ROWS * (D + 4);
    struct attention_tile at = attention_tile_of(a, tiles_n, !KEYS);
    struct head_bias bias = head_bias_of(a.bias, at.h, ATTENTION_LOG2E);
    struct attention_mask mask = mask_of(a, at.h);
    struct head_gates gates = head_gates_of(a, at.item);
    int x = threadIdx.x % 16;
    int32_t first = at.tile * ROWS, row = first + (int32_t)threadIdx.x / 16 * 4;
    float dx[4][D / 16] = {}, dv[4][D / 16] = {}, columns[4] = {}; /* of ds, by key */
    float lse[KEYS ? N : 4], delta[KEYS ? N : 4];                  /* of queries */
    float dots[4] = {}; /* ds . bias of the block's queries */
    for (int r = 0; r < 4 && !KEYS; r++) fma_query(&lse[r], &delta[r], a, deltas, at.item, row + r);
    if (bias_sums) { /* clear the block's slots; only the first is used */
        int32_t end = first + ROWS < a.T ? first + ROWS : a.T;
        bias_sums += (at.item * parts.slots_n + first / parts.slot) * parts.bias_table_n;
        for (int32_t slot = 0; first + slot * parts.slot < end; slot++)
            for (int32_t d = threadIdx.x; threadIdx.x < 2 * ROWS && d < parts.bias_table_n;
                 d += 2 * ROWS)
                bias_sums[slot * parts.bias_table_n + d] = 0.0f;
    }

    fma_load<D, ROWS, T>(X, KEYS ? a.k : a.q, a, at, first, KEYS ? FMA_KEYS : FMA_QUERIES);
    fma_load<D, ROWS, T>(Y, KEYS ? a.v : a.dout, a, at, first, FMA_VALUES);
    for (int32_t other = KEYS ? first : 0; KEYS ? other < a.T : other <= first; other += ROWS) {
        if (!mask_sees_some(mask, KEYS ? other : first, KEYS ? first : other, ROWS)) continue;
        int32_t col = other + x;
        float s[4][N], dp[4][N];
        uint32_t kept = 0xffffffffu;
        fma_load<D, ROWS, T>(OTHER_X, KEYS ? a.q : a.k, a, at, other,
                             KEYS ? FMA_QUERIES : FMA_KEYS);
        fma_load<D, ROWS, T>(OTHER_Y, KEYS ? a.dout : a.v, a, at, other, FMA_VALUES);
        __syncthreads();
        for (int n = 0; n < N && KEYS; n++)
            fma_query(&lse[n], &delta[n], a, deltas, at.item, col + 16 * n);
        fma_rows<D>(s, X, OTHER_X);
        fma_rows<D>(dp, Y, OTHER_Y);
        fma_scores<N, KEYS>(s, a, mask, bias, gates, KEYS ? col - row : row - col,
                            KEYS ? row : col);
        if (keep.scale != 0.0f)
            kept = fma_keep<N>(head_dropout_of(a, keep, at.item), row, col, KEYS);
        fma_gradients(s, dp, lse, delta, kept, keep.factor, KEYS);
        if (KEYS) {
            for (int e = 0; e < 4 * N; e++) columns[e / N] += dp[e / N][e % N];
            fma_put(P, s);
            __syncwarp(); /* half a warp writes a row of P and reads it */
            fma_columns<D, ROWS>(dv, P, OTHER_Y);
            __syncwarp();
        }
        if (!KEYS && a.temperature.inside) {
            const float *table = bias_table_of(bias);
#pragma unroll
            for (int e = 0; e < 4 * N; e++) /* ds of a masked pair is 0 */
                dots[e / N] += dp[e / N][e % N] *
                               bias_at(bias, table, row + e / N - col - e % N * 16) * ATTENTION_LN2;
        }
        for (int e = 0; e < 4 * N && KEYS && a.temperature.query_dev; e++)
            dp[e / N][e % N] *= attention_factor(a, at.h, col + e % N * 16);
        fma_put(P, dp);
        __syncthreads();
        if (bias_sums)
            bias_sums_add<ROWS>(bias_sums, P, a, at.h, first, first - other, parts.bias_table_n);
        fma_columns<D, ROWS>(dx, P, OTHER_X);
        __syncthreads();
    }
    for (int r = 0; KEYS && a.gates.dsums.data && r < 4; r++) {
        for (int o = 8; o; o >>= 1) columns[r] += __shfl_xor_sync(0xffffffffu, columns[r], o);
        if (x == 0 && row + r < a.T) row_of<float>(a.gates.dsums, at.item)[row + r] = -columns[r];
    }
    const struct tensor &out = KEYS ? a.dk : a.dq;
    if (!KEYS && a.temperature.query_dev) {
        fma_cool<D>(dx, dots, X, a, at, shares, row);
        __syncthreads(); /* X becomes scratch */
    }
    if (attention_rotates(a))
        fma_store_rotated<D, ROWS, T>(X, out, a, at, KEYS ? FMA_KEYS : FMA_QUERIES, first, dx,
                                      a.scale);
#pragma unroll
    for (int r = 0; r < 4; r++) {
        if (row + r >= a.T) continue;
        if (!attention_rotates(a)) fma_store<D, T>(out, a, at, row + r, dx[r], a.scale);
        if (KEYS) fma_store<D, T>(a.dv, a, at, row + r, dv[r], 1.0f);
    }
}

cudaError_t attention_bwd_fma(cudaStream_t stream, const struct attention *a, float *workspace)
{
    struct attention_parts parts = attention_parts_of(a);
    const float *deltas = workspace + parts.delta;
    float *bias_sums = a->bias.bias_table_grad_dev ? workspace + parts.bias_sums : NULL;
    float *shares = a->temperature.head_grad_dev ? workspace + parts.warmth : NULL;
    return fma_dispatch(a, 4, [&](auto width, auto rows, auto zero) {
        const int D = width(), ROWS = rows();
        int32_t tiles_n;
        dim3 grid = attention_grid(a, &tiles_n, ROWS);
        cudaError_t rc = launch(bwd_fma_k<true, D, ROWS, decltype(zero)>, grid, dim3(4 * ROWS),
                                fma_bytes(ROWS, D, 4), stream, *a, attention_keep_of(a), deltas,
                                (float *)NULL, (float *)NULL, parts, tiles_n);
        if (rc != cudaSuccess) return rc;
        return launch(bwd_fma_k<false, D, ROWS, decltype(zero)>, grid, dim3(4 * ROWS),
                      fma_bytes(ROWS, D, 4), stream, *a, attention_keep_of(a), deltas, bias_sums,
                      shares, parts, tiles_n);
    });
}
