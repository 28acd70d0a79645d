/* attention.cuh - which kernels attention uses, and what they share.
 *
 * 1. Two families compute the same formulas. attention_mma.cu, attention_bwd_keys.cu and
 *    attention_bwd_queries.cu multiply bf16 tiles on tensor cores (mma.sync). attention_fma.cu and
 *    attention_bwd_fma.cu multiply in fp32: fp32 tensors, heads wider than 128, bf16 tensors
 *    without 16-byte alignment, and rotations of a part of a head or of k by tables of its own.
 *    Dtype, width and alignment choose the family (fits_mma in attention.cu). The GPU does not: an
 *    A100 and an H100 run the same family.
 * 2. Kernels are compiled for head widths 16, 32, 64, 128 and, in fp32, 256. A head of width D
 *    runs in the next width; its missing columns are zeros.
 * 3. Tiles begin at multiples of their size from token 0 whatever T is, and a masked pair adds
 *    exactly 0. The bits of a query's row therefore depend on its own tokens only.
 * 4. With rotary tables, kernels rotate q and k after loading their tiles, and rotate dq and dk
 *    back before storing them. No other kernel reads or writes them.
 * 5. Scores times `unit` are exponents of 2, so the softmax uses exp2. A masked score is a very low
 *    finite number: infinities would subtract to NaN.
 * 6. Tiles are as large as the device's shared memory allows: 227 KB a block on sm_90 and sm_100,
 *    163 on sm_80, 99 on sm_86, sm_89 and sm_120. On tensor cores the bits do not depend on the
 *    tile; in fp32 the order of a row's sums does. */
#ifndef CUDA_ATTENTION_CUH
#define CUDA_ATTENTION_CUH

#include <type_traits>

#include "rows.cuh"

#define ATTENTION_LOG2E 1.44269504088896340736f
#define ATTENTION_LN2 0.69314718055994530942f
#define ATTENTION_MASKED (-1e30f)

enum {
    ATTENTION_WIDTH_MMA = 128, /* the widest head on tensor cores */
    ATTENTION_SLOT = 32,       /* queries that share bias sums; half as many for wider heads */
    ATTENTION_CHUNK = 32,      /* distances that one block adds up */
    ATTENTION_NORM_TILE = 64   /* keys that share a norm */
};

/* Returns the bytes of shared memory that a block may have on the current device. */
static inline size_t attention_shared_bytes(void)
{
    int device = 0, bytes = 0;
    if (cudaGetDevice(&device) != cudaSuccess) return 0;
    (void)cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    return (size_t)bytes;
}

static __host__ __device__ inline int64_t attention_norm_tiles(int32_t T)
{
    return ((int64_t)T + ATTENTION_NORM_TILE - 1) / ATTENTION_NORM_TILE;
}

/* Offsets of the workspace's parts, in floats. The forward pass uses the first three. */
struct attention_parts {
    int64_t key_norm;  /* (B*H, norm tiles): the largest norm of the tile's keys */
    int64_t norm;      /* (B*H, T): the norm of a query */
    int64_t cutoff;    /* (B*H, T): see attention_skip.cuh */
    int64_t delta;     /* (B*H, T): dout . out */
    int64_t bias_sums; /* (B*H, slots, bias_table_n): a slot's sums of ds by distance */
    int64_t total;     /* (H, chunks): sums of the table's gradient, for the bias tail */
    int64_t warmth;    /* (B*H, T): shares of the queries in the gradients of temperature.head */
    int64_t floats_n;
    int32_t bias_table_n;  /* distances that occur: at most T */
    int32_t slot, slots_n; /* queries of a slot: at most those of a block */
};

static inline struct attention_parts attention_parts_of(const struct attention *a)
{
    struct attention_parts p;
    int64_t heads = (int64_t)a->B * a->H, T = a->T;
    p.bias_table_n = a->bias.bias_table_n < a->T ? a->bias.bias_table_n : a->T;
    p.slot = a->D > ATTENTION_WIDTH_MMA ? ATTENTION_SLOT / 2 : ATTENTION_SLOT;
    p.slots_n = (int32_t)((T + p.slot - 1) / p.slot);
    p.key_norm = 0;
    p.norm = p.key_norm + heads * attention_norm_tiles(a->T);
    p.cutoff = p.norm + heads * T;
    p.delta = p.cutoff + heads * T;
    p.bias_sums = p.delta + heads * T;
    p.total = p.bias_sums + heads * p.slots_n * p.bias_table_n;
    p.warmth = p.total + a->H * ((p.bias_table_n + ATTENTION_CHUNK - 1) / ATTENTION_CHUNK);
    p.floats_n = p.warmth + (a->temperature.head_grad_dev ? heads * T : 0);
    return p;
}

/* The two families. The backward pass expects delta in the workspace. */
cudaError_t attention_mma(cudaStream_t stream, const struct attention *a, float *workspace);
cudaError_t attention_fma(cudaStream_t stream, const struct attention *a);
cudaError_t attention_bwd_mma(cudaStream_t stream, const struct attention *a, float *workspace);
cudaError_t attention_bwd_fma(cudaStream_t stream, const struct attention *a, float *workspace);

/* Adds the queries' shares to the gradient of temperature.head. */
cudaError_t attention_head_grad(cudaStream_t stream, const struct attention *a, float *workspace);

/* Adds the bias sums of the backward pass to the gradients of bias table and tail offset. */
cudaError_t attention_bias_grad(cudaStream_t stream, const struct attention *a, float *workspace);

/* Writes the skip bounds (attention_skip.cuh); summed: from lse, which the forward pass wrote. */
cudaError_t attention_skip_bounds(cudaStream_t stream, const struct attention *a, float *workspace,
                                  bool summed);

/* True if 16-byte copies of 8 columns can read this view, as tensor-core tiles need. */
static inline int attention_is_aligned(const struct tensor *t)
{
    return t->dtype == DTYPE_BF16 && ((uintptr_t)t->data & 15) == 0 && t->stride % 8 == 0;
}

static inline int32_t attention_compiled_width(int32_t D)
{
    return D <= 16 ? 16 : D <= 32 ? 32 : D <= 64 ? 64 : D <= 128 ? 128 : 256;
}

/* Calls run(width) with the compiled width for heads of width D; MOST is the widest. */
template <int MOST, class F> static inline cudaError_t attention_by_width(int32_t D, F run)
{
    switch (attention_compiled_width(D)) {
    case 16:
        return run(std::integral_constant<int, 16>());
    case 32:
        return run(std::integral_constant<int, 32>());
    case 64:
        return run(std::integral_constant<int, 64>());
    case 128:
        return run(std::integral_constant<int, 128>());
    default:
        return run(std::integral_constant<int, MOST>());
    }
}

/* Makes one block for each tile of `rows` rows of every head; 0 blocks if a launch cannot have so
 * many. */
static inline dim3 attention_grid(const struct attention *a, int32_t *tiles_n, int32_t rows)
{
    *tiles_n = (a->T + rows - 1) / rows;
    int64_t blocks = (int64_t)*tiles_n * a->B * a->H;
    return dim3(blocks > 0x7fffffff ? 0 : (unsigned)blocks);
}

static __host__ __device__ inline bool attention_rotates(const struct attention &a)
{
    return a.rotary.cosine.data != NULL;
}

/* Rotates a pair of a head by the angle of its token. */
__device__ inline void rotate_pair(float *a, float *b, float cosine, float sine)
{
    float first = *a * cosine - *b * sine;
    *b = *b * cosine + *a * sine;
    *a = first;
}

/* The head of k and v that head h reads. */
__device__ inline int32_t key_head_of(const struct attention &a, int32_t h)
{
    return a.K > 0 ? h / (a.H / a.K) : h;
}

/* Points to head h of row i of batch row b. */
template <class T>
__device__ inline T *head_row(const struct tensor &t, const struct attention &a, int64_t b,
                              int64_t h, int64_t i)
{
    return row_of<T>(t, b * a.T + i) + h * a.D;
}

/* The tile and head of a block. Tiles with most work come first, so that the last blocks are short.
 */
struct attention_tile {
    int32_t tile, b, h;
    int64_t item; /* b * H + h */
};

__device__ inline struct attention_tile attention_tile_of(const struct attention &a,
                                                          int32_t tiles_n, bool last_first)
{
    struct attention_tile p;
    int32_t heads = a.B * a.H, item = (int32_t)(blockIdx.x % (uint32_t)heads);
    p.tile = (int32_t)(blockIdx.x / (uint32_t)heads);
    if (last_first) p.tile = tiles_n - 1 - p.tile;
    p.b = item / a.H;
    p.h = item % a.H;
    p.item = item;
    return p;
}

/* ---- the bias of one head, times unit ---- */
struct head_bias {
    const float *table; /* (H, bias_table_n), not multiplied by unit */
    int32_t bias_table_n, h;
    float offset, slope, unit;
};

__device__ inline struct head_bias head_bias_of(const struct attention_bias &b, int32_t h,
                                                float unit)
{
    struct head_bias out;
    out.table = b.bias_table_dev;
    out.bias_table_n = b.bias_table_n;
    out.h = h;
    out.offset = b.tail_offset_dev ? b.tail_offset_dev[h] * unit : 0.0f;
    out.slope = b.tail_slope_dev ? b.tail_slope_dev[h] * unit : 0.0f;
    out.unit = unit;
    return out;
}

/* Returns the head's row of the table; NULL without a table. */
__device__ inline const float *bias_table_of(const struct head_bias &b)
{
    return b.bias_table_n > 0 ? b.table + (int64_t)hide_from_compiler(b.h) * b.bias_table_n : NULL;
}

/* The bias at distance d, with the causal mask; table: bias_table_of(b). It has no branch, so that
 * reads of the table do not wait for each other. */
__device__ inline float bias_at(const struct head_bias &b, const float *table, int32_t d)
{
    float bias = fmaf(b.slope, (float)d, b.offset);
    if (table) { /* the same in every thread */
        float listed = table[min(max(d, 0), b.bias_table_n - 1)] * b.unit;
        bias = d < b.bias_table_n ? listed : bias;
    }
    return d < 0 ? ATTENTION_MASKED : bias;
}

/* The factor of query i of head h on its scores; past the end that of the last query. */
__device__ inline float attention_factor(const struct attention &a, int32_t h, int32_t i)
{
    const struct attention_temperature &t = a.temperature;
    if (!t.query_dev) return 1.0f;
    float factor = t.query_dev[min(i, a.T - 1)];
    return t.head_dev ? factor * t.head_dev[h] : factor;
}

/* Returns the bias of key i, which kernels take off the scores of query i so that they are small
 * where they matter. */
__device__ inline float own_key_bias(const struct attention &a, int32_t h, int32_t i)
{
    if (!a.bias.key_bias_dev) return 0.0f;
    float bias = a.bias.key_bias_dev[(int64_t)h * a.T + i];
    return a.temperature.inside ? attention_factor(a, h, i) * bias : bias;
}

/* True if scores have more than a bias by distance: kernels on tensor cores are compiled apart for
 * it, so that the others keep their registers. */
static __host__ __device__ inline bool attention_is_extended(const struct attention &a)
{
    return a.temperature.query_dev || a.gates.high.data || a.bias.key_bias_dev;
}

/* ---- window and sinks, at positions in the text ---- */

/* The mask of head h. */
__device__ inline struct attention_mask mask_of(const struct attention &a, int32_t h)
{
    struct attention_mask m = a.mask;
    if (h < m.narrow_heads && (m.window == 0 || h + 1 < m.window)) m.window = h + 1;
    return m;
}

/* True if a query sees key j at distance d. bias_at masks the future. */
__device__ inline bool mask_sees(const struct attention_mask &m, int32_t d, int32_t j)
{
    return m.window == 0 || d < m.window || j < m.sinks;
}

/* True if some query from `query` on sees one of the keys_n keys from `key` on; ignores the causal
 * mask. */
__device__ inline bool mask_sees_some(const struct attention_mask &m, int32_t query, int32_t key,
                                      int32_t keys_n)
{
    return m.window == 0 || query - (key + keys_n - 1) < m.window || key < m.sinks;
}

/* True if all queries up to `query` see all of these keys. */
__device__ inline bool mask_sees_all(const struct attention_mask &m, int32_t query, int32_t key,
                                     int32_t keys_n)
{
    return m.window == 0 || query - key < m.window || key + keys_n <= m.sinks;
}

/* The next tile of `keys` keys before `tile` that queries from `query` on see, or -1. */
__device__ inline int32_t mask_tile_before(const struct attention_mask &m, int32_t tile,
                                           int32_t query, int32_t keys)
{
    int32_t next = tile - 1, sinks_n = (m.sinks + keys - 1) / keys;
    if (mask_sees_some(m, query, next * keys, keys)) return next;
    return next < sinks_n ? next : sinks_n - 1;
}

/* ---- dropout ---- */

/* Constants of the dropout probability, computed on the host. */
struct attention_keep {
    uint32_t below; /* a pair is kept if its random word is smaller */
    float scale;    /* 1 / (1 - p), or 0 without dropout */
    float factor;   /* of kept pairs: scale, or 1 without dropout */
};

static inline struct attention_keep attention_keep_of(const struct attention *a)
{
    struct attention_keep k = {0, 0.0f, 1.0f};
    if (!(a->dropout.p > 0.0f)) return k;
    k.below = philox_keep_below(a->dropout.p);
    k.scale = k.factor = 1.0f / (1.0f - a->dropout.p);
    return k;
}

/* The random numbers of one head. */
struct head_dropout {
    uint64_t key, first; /* first: the element of pair (0, 0) */
    uint32_t step, stream, below;
    int32_t T;
};

__device__ inline struct head_dropout head_dropout_of(const struct attention &a,
                                                      const struct attention_keep &keep,
                                                      int64_t item)
{
    struct head_dropout out;
    out.key = a.dropout.key;
    /* span is 0 or 1. A product would cost queries_mma_k a register, and it has none left. */
    int64_t from = a.dropout.first_row + (a.dropout.span ? a.dropout.step_dev->first_row : 0);
    out.first = (uint64_t)((from * a.H + item) * a.T * a.T);
    out.step = a.dropout.step_dev->update;
    out.stream = a.dropout.stream;
    out.below = keep.below;
    out.T = a.T;
    return out;
}

__device__ inline bool pair_is_kept(const struct head_dropout &d, int32_t i, int32_t j)
{
    uint64_t element = d.first + (uint64_t)((int64_t)i * d.T + j);
    struct philox_block w =
        philox_4x32(d.key, (uint32_t)(element / 4), (uint32_t)(element >> 34), d.step, d.stream);
    /* Indexing word[] would put the words in local memory. */
    uint32_t low = element & 1 ? w.word[1] : w.word[0];
    uint32_t high = element & 1 ? w.word[3] : w.word[2];
    return (element & 2 ? high : low) < d.below;
}

#endif
