/* attention_mma.cu - attention forward on tensor cores, bf16 tensors.
 *
 * 1. A block owns 128 queries of one head, a warp 32 of them. Tiles of KEYS keys and values stream
 *    through two stages in shared memory, from the diagonal to the past. The width determines KEYS:
 *    as many as registers hold; half as many for extended scores.
 * 2. Scores start as the bias divided by the scale, so a bias costs nothing. The softmax is online,
 *    in base 2.
 * 3. A row ignores a tile that its skip bounds exclude (attention_skip.cuh), and a tile that no
 *    row needs is not read. The rule looks at the row alone: the other rows of a block do not
 *    change its bits. */
#include "attention_mma.cuh"
#include "attention_skip.cuh"

enum { FORWARD_THREADS = 128, FORWARD_QUERIES = 128 };

/* A lane's part of its warp's 32 rows: rows 16m + l/4 + 8r. */
template <int D> struct forward_rows {
    float acc[2][D / 8][4] = {}, sum[2][2] = {};
    float top[2][2] = {{ATTENTION_MASKED, ATTENTION_MASKED}, {ATTENTION_MASKED, ATTENTION_MASKED}};
};

/* Turns scores into probabilities relative to the row's new maximum; rescales sums and results. */
template <int D, int N>
__device__ inline void forward_softmax(struct forward_rows<D> &rows, float (&s)[2][N][4],
                                       float unit)
{
#pragma unroll
    for (int row = 0; row < 4; row++) {
        const int m = row / 2, r = row % 2;
        float top = rows.top[m][r];
#pragma unroll
        for (int n = 0; n < N; n++) top = fmaxf(top, fmaxf(s[m][n][2 * r], s[m][n][2 * r + 1]));
        top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 1));
        top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 2));
        /* Subtract first: the factor is exactly 1 if the maximum stays, and nothing is rescaled. */
        float shift = -top * unit, shrink = exp2_flushed((rows.top[m][r] - top) * unit);
        rows.top[m][r] = top;
        float sum = rows.sum[m][r] * shrink;
#pragma unroll
        for (int n = 0; n < N; n++)
#pragma unroll
            for (int i = 2 * r; i < 2 * r + 2; i++) {
                s[m][n][i] = exp2_flushed(fmaf(s[m][n][i], unit, shift));
                sum += s[m][n][i];
            }
        rows.sum[m][r] = sum;
        if (!__any_sync(0xffffffffu, shrink != 1.0f)) continue;
#pragma unroll
        for (int c = 0; c < D / 8; c++) {
            rows.acc[m][c][2 * r] *= shrink;
            rows.acc[m][c][2 * r + 1] *= shrink;
        }
    }
}

/* Writes out = acc * keep_scale / sum, and the log of the softmax sum. */
template <int D, bool EXTENDED>
__device__ inline void forward_store(const struct attention &a, struct forward_rows<D> &rows,
                                     const struct attention_tile &at, float keep_scale)
{
    int lane = threadIdx.x % 32;
    int32_t first = at.tile * FORWARD_QUERIES + (int32_t)threadIdx.x / 32 * 32 + lane / 4;
    float *lse = (float *)a.lse.data + at.item * a.lse.stride;
#pragma unroll
    for (int row = 0; row < 4; row++) {
        const int m = row / 2, r = row % 2;
        int32_t i = first + m * 16 + r * 8;
        float sum = rows.sum[m][r];
        sum += __shfl_xor_sync(0xffffffffu, sum, 1);
        sum += __shfl_xor_sync(0xffffffffu, sum, 2);
        if (i >= a.T) continue;
        bf16 *out = head_row<bf16>(a.out, a, at.b, at.h, i) + lane % 4 * 2;
        float share = keep_scale / sum, unit = a.scale * ATTENTION_LOG2E;
#pragma unroll
        for (int c = 0; c < D / 8; c++)
            if (c * 8 < a.D)
                store_pair(out + c * 8, rows.acc[m][c][2 * r] * share,
                           rows.acc[m][c][2 * r + 1] * share);
        if (lane % 4 != 0) continue;
        lse[i] = (rows.top[m][r] * unit + log2f(sum)) * ATTENTION_LN2;
        if (EXTENDED) lse[i] += own_key_bias(a, at.h, i);
    }
}

struct forward_warp {
    struct head_bias bias;
    struct attention_mask mask;
    float unit;          /* scores * unit are exponents of 2 */
    int32_t query, item; /* the warp's first query; b * H + h */
};

/* Processes one tile of keys for one warp; alive: bits of the rows that need it, not 0. */
template <int D, int KEYS, bool EXTENDED>
__device__ inline void forward_tile(struct forward_rows<D> &rows, const struct forward_warp &w,
                                    const struct attention &a, const struct attention_keep &keep,
                                    uint32_t alive, bf16 *Q, bf16 *K, bf16 *V, int32_t key)
{
    const int N = KEYS / 8;
    int lane = threadIdx.x % 32;
    int32_t j = key + lane % 4 * 2, d = w.query + lane / 4 - j;
    bool linear = w.query - key - (KEYS - 1) >= w.bias.bias_table_n &&
                  mask_sees_all(w.mask, w.query + 31, key, KEYS);
    float s[2][N][4] = {};
    if (!EXTENDED) {
        bias_fragments<N, 1>(s[0], w.bias, w.mask, d, j, linear);
        bias_fragments<N, 1>(s[1], w.bias, w.mask, d + 16, j, linear);
        skip_rows(s, alive);
    }
    product_with_rows<D, 2, N>(s, Q, threadIdx.x / 32 * 32, K);
    if (EXTENDED)
        extended_pairs<2, N>(a, w.bias, w.mask, w.item, w.query, key,
                             [&](int m, int n, int e, const struct extended_pair &p) {
                                 s[m][n][e] = extended_score(p, s[m][n][e]);
                             });
    forward_softmax<D, N>(rows, s, w.unit);
    if (keep.scale != 0.0f) {
        struct head_dropout dropout = head_dropout_of(a, keep, hide_from_compiler(w.item));
#pragma unroll
        for (int m = 0; m < 2; m++) {
            uint32_t kept = keep_rows<N>(dropout, w.query + m * 16, key);
#pragma unroll
            for (int e = 0; e < 4 * N; e++)
                if (!(kept >> e & 1)) s[m][e / 4][e % 4] = 0.0f;
        }
    }
    product_with_columns<D, 2, N>(rows.acc, s, V);
}

/* Mapping: rule 1 above. Reads q once, k and v once per 128 queries, writes out: 2 bytes an
 * element. With four warps of 32 rows, a key fragment serves two products, and two blocks of up to
 * 255 registers a thread share an SM. EXTENDED: scores have more than a bias by distance, and no
 * skip bounds. */
template <int D, int KEYS, bool EXTENDED>
static __global__ void __launch_bounds__(FORWARD_THREADS, 2)
    attention_mma_k(struct attention a, struct attention_keep keep, struct attention_parts parts,
                    const float *bounds, int32_t tiles_n)
{
    const int TILES = ATTENTION_NORM_TILE / KEYS; /* tiles of keys in a norm tile */
    SHARED_DYNAMIC(bf16, memory);
    bf16 *Q = memory, *K = Q + FORWARD_QUERIES * D, *V = K + 2 * KEYS * D;
    uint32_t *alive = (uint32_t *)(V + 2 * KEYS * D);
    struct attention_tile at = attention_tile_of(a, tiles_n, true);
    struct forward_warp w;
    w.bias = head_bias_of(a.bias, at.h, 1.0f / a.scale);
    w.mask = mask_of(a, at.h);
    w.unit = a.scale * ATTENTION_LOG2E;
    w.item = (int32_t)at.item;
    int32_t first = at.tile * FORWARD_QUERIES;
    w.query = first + (int32_t)threadIdx.x / 32 * 32;
    int32_t past_n = first / ATTENTION_NORM_TILE;
    bool skips = !EXTENDED && bounds && w.bias.slope < 0.0f && first >= SKIP_FROM;
    int32_t key_h = key_head_of(a, at.h);
    const bf16 *k = head_row<const bf16>(a.k, a, at.b, key_h, 0);
    const bf16 *v = head_row<const bf16>(a.v, a, at.b, key_h, 0);
    struct forward_rows<D> rows;

    if (skips)
        skip_find(alive, attention_skip_of(bounds, parts, w.item, a.T), first, past_n,
                  w.bias.slope);
    int32_t tile = ((first + FORWARD_QUERIES < a.T ? first + FORWARD_QUERIES : a.T) - 1) / KEYS;
    tile_load<D, FORWARD_QUERIES, FORWARD_THREADS>(Q, head_row<const bf16>(a.q, a, at.b, at.h, 0),
                                                   a.q.stride, first, a.T, a.D);
    tile_load<D, KEYS, FORWARD_THREADS>(K, k, a.k.stride, tile * KEYS, a.T, a.D);
    tile_load<D, KEYS, FORWARD_THREADS>(V, v, a.v.stride, tile * KEYS, a.T, a.D);
    cp_async_commit();
    if (attention_rotates(a)) {
        cp_async_wait<0>();
        tile_rotate<D, FORWARD_QUERIES, FORWARD_THREADS>(Q, a, first);
    }
    for (int stage = 0; tile >= 0; stage ^= 1) {
        int32_t next = mask_tile_before(w.mask, tile, first, KEYS);
        if (skips && next < past_n * TILES)
            while (next >= 0 && !skip_is_live(alive, next / TILES)) next--;
        if (next >= 0) {
            int other = (stage ^ 1) * KEYS * D;
            tile_load<D, KEYS, FORWARD_THREADS>(K + other, k, a.k.stride, next * KEYS, a.T, a.D);
            tile_load<D, KEYS, FORWARD_THREADS>(V + other, v, a.v.stride, next * KEYS, a.T, a.D);
        }
        cp_async_commit();
        cp_async_wait<1>();
        if (attention_rotates(a))
            tile_rotate<D, KEYS, FORWARD_THREADS>(K + stage * KEYS * D, a, tile * KEYS);
        __syncthreads();
        uint32_t rows_alive = 0xffffffffu;
        if (skips && tile < past_n * TILES)
            rows_alive = alive[SKIP_WORDS * (tile / TILES) + threadIdx.x / 32];
        if (tile * KEYS <= w.query + 31 && rows_alive != 0 &&
            mask_sees_some(w.mask, w.query, tile * KEYS, KEYS))
            forward_tile<D, KEYS, EXTENDED>(rows, w, a, keep, rows_alive, Q, K + stage * KEYS * D,
                                            V + stage * KEYS * D, tile * KEYS);
        __syncthreads(); /* the next iteration overwrites this stage */
        tile = next;
    }
    cp_async_wait<0>();
    forward_store<D, EXTENDED>(a, rows, at, keep.factor);
}

template <int D, int KEYS, bool EXTENDED>
static cudaError_t forward_launch(cudaStream_t stream, const struct attention *a,
                                  const float *bounds)
{
    int32_t tiles_n;
    dim3 grid = attention_grid(a, &tiles_n, FORWARD_QUERIES);
    size_t bytes = (FORWARD_QUERIES + 4 * KEYS) * D * sizeof(bf16);
    if (bounds) bytes += (size_t)attention_norm_tiles(a->T) * SKIP_TILE_BYTES;
    return launch(attention_mma_k<D, KEYS, EXTENDED>, grid, dim3(FORWARD_THREADS), bytes, stream,
                  *a, attention_keep_of(a), attention_parts_of(a), bounds, tiles_n);
}

cudaError_t attention_mma(cudaStream_t stream, const struct attention *a, float *workspace)
{
    const float *bounds = NULL;
    if (workspace && attention_may_skip(a)) {
        cudaError_t rc = attention_skip_bounds(stream, a, workspace, false);
        if (rc != cudaSuccess) return rc;
        bounds = workspace;
    }
    return attention_by_width<ATTENTION_WIDTH_MMA>(a->D, [&](auto width) {
        const int D = width(), KEYS = D < 128 ? 64 : 32;
        if (attention_is_extended(*a)) return forward_launch<D, KEYS / 2, true>(stream, a, NULL);
        return forward_launch<D, KEYS, false>(stream, a, bounds);
    });
}
