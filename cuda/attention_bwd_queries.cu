/* attention_bwd_queries.cu - the backward pass on tensor cores: dq, and the bias sums (of ds, by
 * distance) from which attention_bias_grad.cu computes the gradient of the bias. */
#include "attention_bwd_mma.cuh"

#include <assert.h>

enum { QUERIES_THREADS = 128, QUERIES_KEYS = 32, SCRATCH_STRIDE = QUERIES_KEYS + 1 };

/* Adds the ds of 16 M of a warp's 32 rows, from `first` on, to its bias sums. 16 rows at a time go
 * through `scratch`, so that each lane sums two diagonals. A lane owns the distances congruent to
 * its number modulo 32; no other lane adds to them. */
template <int M>
__device__ inline void bias_sums_add(float *bias_sums, float *scratch,
                                     const float (&ds)[M][QUERIES_KEYS / 8][4], int first,
                                     int32_t base, int32_t bias_table_n)
{
    int lane = threadIdx.x % 32;
    float *to = scratch + lane / 4 * SCRATCH_STRIDE + lane % 4 * 2, above = 0.0f, below = 0.0f;
#pragma unroll
    for (int m = 0; m < M; m++) {
#pragma unroll
        for (int e = 0; e < 16; e++)
            to[e % 4 / 2 * 8 * SCRATCH_STRIDE + e / 4 * 8 + e % 2] = ds[m][e / 4][e % 4];
        __syncwarp();
#pragma unroll 4
        for (int r = 0; r < 16; r++) {
            int row = first + m * 16 + r;
            float x = scratch[r * SCRATCH_STRIDE + ((row - lane) & 31)];
            if (row >= lane)
                above += x; /* distance base + lane */
            else
                below += x; /* distance base + lane - 32 */
        }
        __syncwarp();
    }
    if (base + lane < bias_table_n) bias_sums[base + lane] += above;
    if (base >= 32 && base + lane - 32 < bias_table_n && lane > 0)
        bias_sums[base + lane - 32] += below;
}

struct queries_warp {
    struct head_bias bias;
    const float2 *numbers; /* shared memory: lse and delta of its 32 queries */
    float *scratch;        /* shared memory; NULL: the bias has no gradient */
    float unit;            /* scores * unit are exponents of 2 */
    int32_t query, item;   /* the warp's first query; b * H + h */
    uint32_t alive;        /* bits of its rows that need the tile */
};

/* True if the call needs bias sums. Then it has no skip bounds, and scratch uses their memory. */
static __host__ __device__ inline bool queries_sum_bias(const struct attention &a)
{
    return a.bias.bias_table_grad_dev && a.bias.bias_table_n > 0;
}

/* Returns the bias sums of a warp. */
static __device__ inline float *bias_sums_of(float *workspace, const struct attention_parts &parts,
                                             int32_t item, int32_t query)
{
    int64_t slot = (int64_t)item * parts.slots_n + query / ATTENTION_SLOT;
    return workspace + parts.bias_sums + slot * parts.bias_table_n;
}

/* The mask of the head, computed again at each use: a register would be spilled. */
static __device__ inline struct attention_mask queries_mask(const struct attention &a,
                                                            const struct queries_warp &w)
{
    return mask_of(a, hide_from_compiler(w.bias.h));
}

/* Turns products into ds where scores have a temperature or gates. With the temperature inside, ds
 * has the query's factor, as the gradient of its bias has. dots: of each row, ds . score before the
 * factor, divided by the scale. first: of the warp's rows. */
template <int M, int N>
__device__ inline void queries_extended(const float (&s)[M][N][4], float (&dp)[M][N][4],
                                        float (&dots)[2 * M], const struct queries_warp &w,
                                        const struct attention &a, int first, int32_t key)
{
    const float2 *numbers = w.numbers + first + threadIdx.x % 32 / 4;
    /* The bias is read again for each tile: registers for it would be spilled. */
    struct head_bias bias = head_bias_of(a.bias, hide_from_compiler(w.bias.h), w.bias.unit);
    extended_pairs<M, N>(a, bias, queries_mask(a, w), w.item, w.query + first, key,
                         [&](int m, int n, int e, const struct extended_pair &pair) {
                             float2 number = numbers[m * 16 + e / 2 * 8];
                             float x = s[m][n][e];
                             float p = exp2_flushed(fmaf(extended_score(pair, x),
                                                         a.scale * ATTENTION_LOG2E, -number.x));
                             float ds = p * (dp[m][n][e] - number.y);
                             dots[m * 2 + e / 2] += ds * (pair.inside ? x + pair.bias : x);
                             dp[m][n][e] = pair.inside ? ds * pair.factor : ds;
                         });
}

/* Multiplies dq by the factors of 16 M queries from `query` on, unless ds has them, and writes each
 * query's share in the gradient of temperature.head. */
template <int D, int M>
__device__ inline void queries_cool(float (&dq)[M][D / 8][4], const float (&dots)[2 * M],
                                    const struct queries_warp &w, const struct attention &a,
                                    int32_t query, float *shares)
{
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int r = 0; r < 2 * M; r++) {
        int32_t i = query + r * 8 + lane / 4;
        float factor = a.temperature.inside ? 1.0f : attention_factor(a, w.bias.h, i);
#pragma unroll
        for (int c = 0; c < D / 8; c++) {
            dq[r / 2][c][r % 2 * 2] *= factor;
            dq[r / 2][c][r % 2 * 2 + 1] *= factor;
        }
        float dot = dots[r] + __shfl_xor_sync(0xffffffffu, dots[r], 1);
        dot += __shfl_xor_sync(0xffffffffu, dot, 2);
        if (a.temperature.head_grad_dev && lane % 4 == 0 && i < a.T)
            shares[(int64_t)w.item * a.T + i] = dot * a.scale * a.temperature.query_dev[i];
    }
}

/* Processes one tile of keys for 16 M of a warp's queries, from `first` of its rows on. */
template <int D, int M, bool EXTENDED>
__device__ inline void queries_tile(float (&dq)[M][D / 8][4], float (&dots)[2 * M],
                                    const struct queries_warp &w, const struct attention &a,
                                    const struct attention_keep &keep,
                                    const struct attention_parts &parts, float *workspace, bf16 *Q,
                                    bf16 *G, bf16 *K, bf16 *V, int first, int32_t key)
{
    const int N = QUERIES_KEYS / 8;
    int lane = threadIdx.x % 32, row = threadIdx.x / 32 * 32 + first;
    float s[M][N][4] = {}, dp[M][N][4] = {};

    if constexpr (!EXTENDED) {
        struct attention_mask mask = queries_mask(a, w);
        int32_t j = key + lane % 4 * 2, d = w.query + lane / 4 - j;
        bool linear = w.query - key - (QUERIES_KEYS - 1) >= w.bias.bias_table_n &&
                      mask_sees_all(mask, w.query + 31, key, QUERIES_KEYS);
        bias_fragments<N, 1>(s[0], w.bias, mask, d, j, linear);
        bias_fragments<N, 1>(s[1], w.bias, mask, d + 16, j, linear);
        skip_rows(s, w.alive);
    }
    product_with_rows<D, M, N>(s, Q, row, K);
    product_with_rows<D, M, N>(dp, G, row, V);
    if (keep.scale != 0.0f) {
        struct head_dropout dropout = head_dropout_of(a, keep, hide_from_compiler(w.item));
#pragma unroll
        for (int m = 0; m < M; m++) {
            uint32_t kept = keep_rows<N>(dropout, w.query + first + m * 16, key);
#pragma unroll
            for (int e = 0; e < 4 * N; e++)
                dp[m][e / 4][e % 4] = kept >> e & 1 ? dp[m][e / 4][e % 4] * keep.scale : 0.0f;
        }
    }
    if (EXTENDED) queries_extended<M, N>(s, dp, dots, w, a, first, key);
#pragma unroll
    for (int r = 0; r < 2 * M && !EXTENDED; r++) {
        const int m = r / 2, i = r % 2 * 2;
        float2 number = w.numbers[m * 16 + i * 4 + lane / 4];
#pragma unroll
        for (int n = 0; n < N; n++)
#pragma unroll
            for (int e = i; e < i + 2; e++) {
                float p = exp2_flushed(fmaf(s[m][n][e], w.unit, -number.x));
                dp[m][n][e] = p * (dp[m][n][e] - number.y);
            }
    }
    if (w.scratch && w.query - key - (QUERIES_KEYS - 1) < parts.bias_table_n)
        bias_sums_add<M>(bias_sums_of(workspace, parts, hide_from_compiler(w.item), w.query),
                         w.scratch, dp, first, w.query - key, parts.bias_table_n);
    product_with_columns<D, M, N>(dq, dp, K);
}

/* Starts loading a tile of keys and values. */
template <int D>
__device__ inline void queries_load(bf16 *K, bf16 *V, const struct attention &a,
                                    const struct attention_tile &at, int32_t tile)
{
    int32_t first = tile * QUERIES_KEYS, b = hide_from_compiler(at.b);
    tile_load<D, QUERIES_KEYS, QUERIES_THREADS>(K, head_row<const bf16>(a.k, a, b, at.h, 0),
                                                a.k.stride, first, a.T, a.D);
    tile_load<D, QUERIES_KEYS, QUERIES_THREADS>(V, head_row<const bf16>(a.v, a, b, at.h, 0),
                                                a.v.stride, first, a.T, a.D);
}

/* A block owns 128 queries of one head, a warp 32 of them. Tiles of 32 keys go through STAGES
 * stages: two, or one if shared memory does not hold a second beside the bias sums. Reads q and
 * dout once, k and v once per 128 queries, writes dq. With four warps, two blocks of up to 255
 * registers a thread share an SM. ROTATES: rotates q and k and ignores skip bounds; registers hold
 * only one of the two. EXTENDED: scores have a temperature or gates, and q and k may rotate; a warp
 * computes 16 rows after the other, for whose terms registers then suffice. */
template <int D, bool ROTATES, bool EXTENDED, int STAGES>
static __global__ void __launch_bounds__(QUERIES_THREADS, 2)
    queries_mma_k(struct attention a, struct attention_keep keep, struct attention_parts parts,
                  float *workspace, bool has_bounds, int32_t tiles_n)
{
    const int TILES = ATTENTION_NORM_TILE / QUERIES_KEYS, ROWS = QUERIES_KEYS * D;
    const int M = EXTENDED ? 1 : 2, GROUPS = 2 / M; /* a group of a warp's rows has 16 M */
    SHARED_DYNAMIC(bf16, memory);
    bf16 *Q = memory, *G = Q + QUERIES_OWNED * D, *K = G + QUERIES_OWNED * D,
         *V = K + STAGES * ROWS;
    float2 *numbers = (float2 *)(V + STAGES * ROWS);
    uint32_t *alive = (uint32_t *)(numbers + QUERIES_OWNED); /* or the warps' scratch */
    struct attention_tile at = attention_tile_of(a, tiles_n, true);
    int32_t first = at.tile * QUERIES_OWNED, past_n = first / ATTENTION_NORM_TILE;
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    struct queries_warp w;
    w.bias = head_bias_of(a.bias, at.h, 1.0f / a.scale);
    w.unit = a.scale * ATTENTION_LOG2E;
    w.query = first + warp * 32;
    w.item = (int32_t)at.item;
    w.numbers = numbers + warp * 32;
    w.scratch = NULL;
    if (queries_sum_bias(a) && w.query < a.T) {
        float *sums = bias_sums_of(workspace, parts, w.item, w.query);
        w.scratch = (float *)alive + warp * 16 * SCRATCH_STRIDE;
        for (int32_t d = lane; d < parts.bias_table_n; d += 32) sums[d] = 0.0f;
    }
    bool rotates = ROTATES || (EXTENDED && attention_rotates(a));
    bool skips = !ROTATES && !EXTENDED && has_bounds && w.bias.slope < 0.0f && first >= SKIP_FROM;
    float dq[GROUPS][M][D / 8][4] = {}, dots[GROUPS][2 * M] = {};

    numbers[threadIdx.x] =
        query_numbers(a, workspace + parts.delta, at.item, first + (int32_t)threadIdx.x);
    if (skips)
        skip_find(alive, attention_skip_of(workspace, parts, w.item, a.T), first, past_n,
                  w.bias.slope);
    int32_t tile = ((first + QUERIES_OWNED < a.T ? first + QUERIES_OWNED : a.T) - 1) / QUERIES_KEYS;
    tile_load<D, QUERIES_OWNED, QUERIES_THREADS>(Q, head_row<const bf16>(a.q, a, at.b, at.h, 0),
                                                 a.q.stride, first, a.T, a.D);
    tile_load<D, QUERIES_OWNED, QUERIES_THREADS>(G, head_row<const bf16>(a.dout, a, at.b, at.h, 0),
                                                 a.dout.stride, first, a.T, a.D);
    queries_load<D>(K, V, a, at, tile);
    cp_async_commit();
    if (rotates) {
        cp_async_wait<0>();
        tile_rotate<D, QUERIES_OWNED, QUERIES_THREADS>(Q, a, first);
    }
    for (int stage = 0; tile >= 0; stage ^= STAGES - 1) {
        int32_t next = mask_tile_before(queries_mask(a, w), tile, first, QUERIES_KEYS);
        if (skips && next < past_n * TILES)
            while (next >= 0 && !skip_is_live(alive, next / TILES)) next--;
        if (STAGES == 2 && next >= 0)
            queries_load<D>(K + (stage ^ 1) * ROWS, V + (stage ^ 1) * ROWS, a, at, next);
        cp_async_commit();
        cp_async_wait<STAGES - 1>();
        if (rotates)
            tile_rotate<D, QUERIES_KEYS, QUERIES_THREADS>(K + stage * ROWS, a, tile * QUERIES_KEYS);
        __syncthreads();
        w.alive = 0xffffffffu;
        if (skips && tile < past_n * TILES) w.alive = alive[SKIP_WORDS * (tile / TILES) + warp];
        if (tile * QUERIES_KEYS <= w.query + 31 && w.alive != 0 &&
            mask_sees_some(queries_mask(a, w), w.query, tile * QUERIES_KEYS, QUERIES_KEYS))
#pragma unroll
            for (int g = 0; g < GROUPS; g++)
                queries_tile<D, M, EXTENDED>(dq[g], dots[g], w, a, keep, parts, workspace, Q, G,
                                             K + stage * ROWS, V + stage * ROWS, g * 16 * M,
                                             tile * QUERIES_KEYS);
        __syncthreads(); /* the next iteration overwrites this stage */
        if (STAGES == 1 && next >= 0) queries_load<D>(K, V, a, at, next);
        tile = next;
    }
    cp_async_wait<0>();
#pragma unroll
    for (int g = 0; g < GROUPS; g++) {
        int32_t query = w.query + g * 16 * M;
        if (EXTENDED && a.temperature.query_dev)
            queries_cool<D, M>(dq[g], dots[g], w, a, query, workspace + parts.warmth);
        if (rotates) rows_rotate_back<D, M>(dq[g], a, query);
        rows_store<D, M>(a.dq, a, at, dq[g], query, a.scale);
    }
}

static size_t queries_bytes(const struct attention *a, int D, int stages, bool has_bounds)
{
    size_t bytes = (size_t)(2 * QUERIES_OWNED + 2 * stages * QUERIES_KEYS) * D * sizeof(bf16);
    bytes += QUERIES_OWNED * sizeof(float2);
    if (has_bounds) bytes += (size_t)attention_norm_tiles(a->T) * SKIP_TILE_BYTES;
    if (queries_sum_bias(*a)) bytes += QUERIES_OWNED / 2 * SCRATCH_STRIDE * sizeof(float);
    return bytes;
}

template <int D, int STAGES>
static cudaError_t queries_launch(cudaStream_t stream, const struct attention *a, float *workspace,
                                  bool has_bounds)
{
    int32_t tiles_n;
    dim3 grid = attention_grid(a, &tiles_n, QUERIES_OWNED);
    auto kernel = queries_mma_k<D, false, false, STAGES>;
    /* One stage is for bias sums. No position method rotates and learns a bias. */
    assert(STAGES == 2 || !attention_rotates(*a));
    if constexpr (STAGES == 2)
        if (attention_rotates(*a)) kernel = queries_mma_k<D, true, false, STAGES>;
    if (attention_is_extended(*a)) kernel = queries_mma_k<D, false, true, STAGES>;
    return launch(kernel, grid, dim3(QUERIES_THREADS), queries_bytes(a, D, STAGES, has_bounds),
                  stream, *a, attention_keep_of(a), attention_parts_of(a), workspace, has_bounds,
                  tiles_n);
}

/* At width 128 shared memory may not suffice: drop the skip bounds (attention_skip.cuh says what
 * that changes), then a stage, with the same bits. */
cudaError_t attention_bwd_queries(cudaStream_t stream, const struct attention *a, float *workspace,
                                  bool has_bounds)
{
    size_t most = attention_shared_bytes();
    return attention_by_width<ATTENTION_WIDTH_MMA>(a->D, [&](auto width) {
        const int D = width();
        has_bounds = has_bounds && (D < 128 || queries_bytes(a, D, 2, true) <= most);
        if (D < 128 || queries_bytes(a, D, 2, has_bounds) <= most)
            return queries_launch<D, 2>(stream, a, workspace, has_bounds);
        return queries_launch < D, D < 128 ? 2 : 1 > (stream, a, workspace, has_bounds);
    });
}
