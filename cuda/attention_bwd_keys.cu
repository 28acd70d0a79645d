/* attention_bwd_keys.cu - the backward pass on tensor cores: dk and dv. Scores are computed
 * transposed, with keys as rows, so that the fragments of p and ds are the left operands of
 * dv += p dout and dk += ds q without moving between lanes. */
#include "attention_bwd_mma.cuh"

enum { KEYS_THREADS = 256, KEYS_OWNED = 128, KEYS_QUERIES = 64 /* that share SKIP_WORDS words */ };

struct keys_warp {
    struct head_bias bias;
    struct attention_mask mask;
    float unit;        /* scores * unit are exponents of 2 */
    int32_t key, item; /* the warp's first key; b * H + h */
};

/* Masks the scores of queries that do not need the warp's keys; alive: a bit for each query. */
template <int N> __device__ inline void keys_skip(float (&s)[N][4], const uint32_t *alive)
{
#pragma unroll
    for (int n = 0; n < N; n++) {
        uint32_t two = alive[n / 4] >> (n % 4 * 8 + threadIdx.x % 4 * 2);
#pragma unroll
        for (int i = 0; i < 4; i++)
            if (!(two >> i % 2 & 1)) s[n][i] = ATTENTION_MASKED;
    }
}

/* Turns products into p and ds where scores have a temperature or gates: rows are keys, columns
 * queries. columns: sums of ds by key; the gradient of a product also has the query's factor. */
template <int N>
__device__ inline void keys_extended(float (&s)[N][4], float (&dp)[N][4], float (&columns)[2],
                                     const struct keys_warp &w, const struct attention &a,
                                     float keep_factor, uint32_t kept, const float2 *numbers,
                                     int32_t query)
{
    int lane = threadIdx.x % 32;
    const float *table = bias_table_of(w.bias);
    struct token_terms of_key[2];
    for (int r = 0; r < 2; r++)
        of_key[r] = token_terms_of(a, w.item, w.bias.h, w.key + lane / 4 + r * 8);
#pragma unroll
    for (int column = 0; column < 2 * N; column++) {
        int offset = column / 2 * 8 + lane % 4 * 2 + column % 2;
        int32_t i = query + offset;
        struct token_terms of_query = token_terms_of(a, w.item, w.bias.h, i);
        float factor = attention_factor(a, w.bias.h, i);
        float2 number = numbers[offset];
#pragma unroll
        for (int r = 0; r < 2; r++) {
            const int n = column / 2, e = r * 2 + column % 2;
            int32_t j = w.key + lane / 4 + r * 8;
            struct extended_pair pair = extended_pair_of(w.bias, table, w.mask, of_query, of_key[r],
                                                         factor, a.temperature.inside, i - j, j);
            float p = exp2_flushed(fmaf(extended_score(pair, s[n][e]), w.unit, -number.x));
            bool keeps = kept >> (4 * n + e) & 1;
            float ds = p * ((keeps ? dp[n][e] * keep_factor : 0.0f) - number.y);
            columns[r] += ds;
            dp[n][e] = ds * factor;
            s[n][e] = keeps ? p : 0.0f;
        }
    }
}

/* Processes STEP queries for one warp of keys. numbers: their (lse, delta). alive: bits of those
 * that need the keys; NULL: all do. */
template <int D, int STEP, bool EXTENDED>
__device__ inline void keys_tile(float (&dk)[1][D / 8][4], float (&dv)[1][D / 8][4],
                                 float (&columns)[2], const struct keys_warp &w,
                                 const struct attention &a, const struct attention_keep &keep,
                                 const uint32_t *alive, bf16 *K, bf16 *V, bf16 *Q, bf16 *G,
                                 const float2 *numbers, int32_t query)
{
    const int N = STEP / 8;
    int lane = threadIdx.x % 32, row = threadIdx.x / 32 * 16;
    if (alive && (alive[0] | alive[(STEP + 31) / 32 - 1]) == 0) return;
    int32_t d = query + lane % 4 * 2 - w.key - lane / 4;
    float s[1][N][4] = {}, dp[1][N][4] = {};
    uint32_t kept = 0xffffffffu;

    if (keep.scale != 0.0f)
        kept = keep_columns<N>(head_dropout_of(a, keep, hide_from_compiler(w.item)), query, w.key);
    if (!EXTENDED)
        bias_fragments<N, -1>(s[0], w.bias, w.mask, d, w.key + lane / 4,
                              query - w.key - 15 >= w.bias.bias_table_n &&
                                  mask_sees_all(w.mask, query + STEP - 1, w.key, 16));
    if (alive) keys_skip(s[0], alive);
    product_with_rows<D, 1, N>(s, K, row, Q);
    product_with_rows<D, 1, N>(dp, V, row, G);
    if (EXTENDED) keys_extended(s[0], dp[0], columns, w, a, keep.factor, kept, numbers, query);
#pragma unroll
    for (int n = 0; n < N && !EXTENDED; n++)
#pragma unroll
        for (int i = 0; i < 4; i++) {
            float2 number = numbers[n * 8 + lane % 4 * 2 + i % 2];
            float p = exp2_flushed(fmaf(s[0][n][i], w.unit, -number.x));
            bool keeps = kept >> (4 * n + i) & 1;
            dp[0][n][i] = p * ((keeps ? dp[0][n][i] * keep.factor : 0.0f) - number.y);
            s[0][n][i] = keeps ? p : 0.0f;
        }
    product_with_columns<D, 1, N>(dv, s, G);
    product_with_columns<D, 1, N>(dk, dp, Q);
}

/* Starts loading a tile of queries, their dout and their (lse, delta). */
template <int D, int QUERIES>
__device__ inline void keys_load(bf16 *Q, bf16 *G, float2 *numbers, const struct attention &a,
                                 const struct attention_tile &at, const float *deltas, int32_t tile)
{
    int32_t first = tile * QUERIES, b = hide_from_compiler(at.b);
    tile_load<D, QUERIES, KEYS_THREADS>(Q, head_row<const bf16>(a.q, a, b, at.h, 0), a.q.stride,
                                        first, a.T, a.D);
    tile_load<D, QUERIES, KEYS_THREADS>(G, head_row<const bf16>(a.dout, a, b, at.h, 0),
                                        a.dout.stride, first, a.T, a.D);
    if (threadIdx.x < QUERIES)
        numbers[threadIdx.x] = query_numbers(a, deltas, at.item, first + (int32_t)threadIdx.x);
}

/* For each tile of 64 queries from `begin` on, the bits of those that need the block's keys. Word
 * SKIP_WORDS * tile + 2e + g is for the queries from 32g on and the norm tile e of the keys. Bounds
 * hold only for queries in later blocks of 128 than the keys. A warp takes a tile. */
static __device__ inline void keys_find(uint32_t *alive, const struct keys_warp &w,
                                        const struct attention_skip &skip, int32_t block,
                                        int32_t begin, int32_t end)
{
    int lane = threadIdx.x % 32;
    for (int32_t tile = begin + (int32_t)threadIdx.x / 32; tile < end; tile += KEYS_THREADS / 32) {
        int32_t query = tile * KEYS_QUERIES, norm = block * (KEYS_OWNED / ATTENTION_NORM_TILE);
        bool all = query < SKIP_FROM || query / QUERIES_OWNED == block;
#pragma unroll
        for (int e = 0; e < SKIP_WORDS; e++) {
            int32_t row = query + e % 2 * 32 + lane;
            bool needs = all || !row_is_dead(skip, row, norm + e / 2, w.bias.slope);
            uint32_t word = __ballot_sync(0xffffffffu, needs);
            if (lane == 0) alive[SKIP_WORDS * tile + e] = word;
        }
    }
    __syncthreads();
}

/* True if some query of the tile needs the block's keys. */
template <int QUERIES> __device__ inline bool keys_is_live(const uint32_t *alive, int32_t tile)
{
    if (QUERIES == KEYS_QUERIES) return skip_is_live(alive, tile);
    const uint32_t *word = alive + SKIP_WORDS * (tile / 2) + tile % 2;
    return (word[0] | word[2]) != 0;
}

/* A block owns 128 keys of one head, a warp 16 of them: at width 128 their dk and dv fill 128 of
 * 255 registers. Tiles of QUERIES queries, 64 or 32, go through two stages. Reads k and v once, q
 * and dout once per 128 keys, writes dk and dv: 2 bytes an element. EXTENDED: scores have a
 * temperature or gates. */
template <int D, int QUERIES, bool EXTENDED>
static __global__ void __launch_bounds__(KEYS_THREADS, 1)
    keys_mma_k(struct attention a, struct attention_keep keep, struct attention_parts parts,
               const float *workspace, bool has_bounds, int32_t tiles_n)
{
    SHARED_DYNAMIC(bf16, memory);
    const int ROWS = QUERIES * D;
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 1000 /* a larger step spills registers there */
    const int MOST = D > 32 ? 32 : QUERIES;
#else
    const int MOST = D > 64 ? 32 : QUERIES; /* as many as registers hold beside dk and dv */
#endif
    const int STEP = EXTENDED ? MOST / 2 : MOST;
    bf16 *K = memory, *V = K + KEYS_OWNED * D, *Q = V + KEYS_OWNED * D, *G = Q + 2 * ROWS;
    float2 *numbers = (float2 *)(G + 2 * ROWS);
    uint32_t *alive = (uint32_t *)(numbers + 2 * QUERIES);
    struct attention_tile at = attention_tile_of(a, tiles_n, false);
    int32_t first = at.tile * KEYS_OWNED, end = (a.T + QUERIES - 1) / QUERIES;
    int32_t tile = first / QUERIES;
    struct keys_warp w;
    w.bias = head_bias_of(a.bias, at.h, 1.0f / a.scale);
    w.mask = mask_of(a, at.h);
    if (w.mask.window > 0 && w.mask.window < a.T &&
        first >= w.mask.sinks) { /* later queries do not see these keys */
        int32_t past = (first + KEYS_OWNED - 1 + w.mask.window + QUERIES - 1) / QUERIES;
        end = past < end ? past : end;
    }
    w.item = (int32_t)at.item;
    w.unit = a.scale * ATTENTION_LOG2E;
    w.key = first + (int32_t)threadIdx.x / 32 * 16;
    bool skips = !EXTENDED && has_bounds && w.bias.slope < 0.0f;
    const float *deltas = workspace + parts.delta;
    float dk[1][D / 8][4] = {}, dv[1][D / 8][4] = {}, columns[2] = {};

    if (skips)
        keys_find(alive, w, attention_skip_of(workspace, parts, w.item, a.T), at.tile,
                  first / KEYS_QUERIES, (a.T + KEYS_QUERIES - 1) / KEYS_QUERIES);
    tile_load<D, KEYS_OWNED, KEYS_THREADS>(K, head_row<const bf16>(a.k, a, at.b, at.h, 0),
                                           a.k.stride, first, a.T, a.D);
    tile_load<D, KEYS_OWNED, KEYS_THREADS>(V, head_row<const bf16>(a.v, a, at.b, at.h, 0),
                                           a.v.stride, first, a.T, a.D);
    keys_load<D, QUERIES>(Q, G, numbers, a, at, deltas, tile);
    cp_async_commit();
    if (attention_rotates(a)) {
        cp_async_wait<0>();
        tile_rotate<D, KEYS_OWNED, KEYS_THREADS>(K, a, first);
    }
    for (int stage = 0; tile < end; stage ^= 1) {
        int32_t next = tile + 1, query = tile * QUERIES;
        int other = stage ^ 1;
        if (skips)
            while (next < end && !keys_is_live<QUERIES>(alive, next)) next++;
        if (next < end)
            keys_load<D, QUERIES>(Q + other * ROWS, G + other * ROWS, numbers + other * QUERIES, a,
                                  at, deltas, next);
        cp_async_commit();
        cp_async_wait<1>();
        if (attention_rotates(a)) tile_rotate<D, QUERIES, KEYS_THREADS>(Q + stage * ROWS, a, query);
        __syncthreads();
        const uint32_t *mine = alive + query / KEYS_QUERIES * SKIP_WORDS;
        mine += (int)threadIdx.x / 32 * 16 / ATTENTION_NORM_TILE * 2 + query / 32 % 2;
#pragma unroll 1
        for (int part = 0; part < QUERIES; part += STEP)
            if (query + part + STEP > w.key && mask_sees_some(w.mask, query + part, w.key, 16))
                keys_tile<D, STEP, EXTENDED>(
                    dk, dv, columns, w, a, keep, skips ? mine + part / 32 : NULL, K, V,
                    Q + stage * ROWS + part * D, G + stage * ROWS + part * D,
                    numbers + stage * QUERIES + part, query + part);
        __syncthreads(); /* the next iteration overwrites this stage */
        tile = next;
    }
    cp_async_wait<0>();
    for (int r = 0; EXTENDED && a.gates.dsums.data && r < 2; r++) {
        float sum = columns[r] + __shfl_xor_sync(0xffffffffu, columns[r], 1);
        sum += __shfl_xor_sync(0xffffffffu, sum, 2);
        int32_t j = w.key + (int32_t)threadIdx.x % 32 / 4 + r * 8;
        if (threadIdx.x % 4 == 0 && j < a.T) row_of<float>(a.gates.dsums, w.item)[j] = -sum;
    }
    if (attention_rotates(a)) rows_rotate_back<D, 1>(dk, a, w.key);
    rows_store<D, 1>(a.dk, a, at, dk, w.key, a.scale);
    rows_store<D, 1>(a.dv, a, at, dv, w.key, keep.factor);
}

static size_t keys_bytes(const struct attention *a, int D, int queries, bool has_bounds)
{
    size_t bytes = (size_t)(2 * KEYS_OWNED + 4 * queries) * D * sizeof(bf16);
    bytes += 2 * queries * sizeof(float2);
    if (has_bounds) bytes += (size_t)((a->T + KEYS_QUERIES - 1) / KEYS_QUERIES) * SKIP_TILE_BYTES;
    return bytes;
}

template <int D, int QUERIES>
static cudaError_t keys_launch(cudaStream_t stream, const struct attention *a,
                               const float *workspace, bool has_bounds)
{
    int32_t tiles_n;
    dim3 grid = attention_grid(a, &tiles_n, KEYS_OWNED);
    auto kernel =
        attention_is_extended(*a) ? keys_mma_k<D, QUERIES, true> : keys_mma_k<D, QUERIES, false>;
    return launch(kernel, grid, dim3(KEYS_THREADS), keys_bytes(a, D, QUERIES, has_bounds), stream,
                  *a, attention_keep_of(a), attention_parts_of(a), workspace, has_bounds, tiles_n);
}

/* At width 128 shared memory may not hold tiles of 64 queries; then tiles of 32, with the same
 * bits, and on long inputs perhaps no skip bounds (attention_skip.cuh says what that changes). */
cudaError_t attention_bwd_keys(cudaStream_t stream, const struct attention *a,
                               const float *workspace, bool has_bounds)
{
    size_t most = attention_shared_bytes();
    return attention_by_width<ATTENTION_WIDTH_MMA>(a->D, [&](auto width) {
        const int D = width();
        if (D < 128 || keys_bytes(a, D, 64, has_bounds) <= most)
            return keys_launch<D, 64>(stream, a, workspace, has_bounds);
        has_bounds = has_bounds && keys_bytes(a, D, 32, true) <= most;
        return keys_launch < D, D < 128 ? 64 : 32 > (stream, a, workspace, has_bounds);
    });
}

cudaError_t attention_bwd_mma(cudaStream_t stream, const struct attention *a, float *workspace)
{
    bool has_bounds = attention_may_skip(a);
    cudaError_t rc = has_bounds ? attention_skip_bounds(stream, a, workspace, true) : cudaSuccess;
    if (rc == cudaSuccess) rc = attention_bwd_keys(stream, a, workspace, has_bounds);
    if (rc == cudaSuccess) rc = attention_bwd_queries(stream, a, workspace, has_bounds);
    return rc;
}
