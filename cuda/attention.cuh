/* attention.cuh - what the kernels of attention share.
 *
 * 1. Two families compute the same formulas: attention_mma.cu, attention_bwd_keys.cu and
 *    attention_bwd_queries.cu multiply bf16 tiles on tensor cores; attention_fma.cu and
 *    attention_bwd_fma.cu multiply f32 tiles in f32, for f32 tensors and for bf16 ones which the
 *    first family cannot read.
 *    Which one runs follows from dtype, width and alignment (fits_mma), never from the GPU.
 * 2. Kernels are compiled for widths 16, 32, 64, 128 and, in f32, 256; a head of width D runs in
 *    the next one, its missing columns zeros.
 * 3. Tiles begin at multiples of their size from token 0 whatever T is, and a masked pair adds
 *    exactly nothing: the bits of a query's row depend on its own tokens only.
 * 4. With rotary tables, q and k are turned as their tiles are loaded and dq and dk turned back as
 *    they are stored: no other kernel reads or writes them for it.
 * 5. Scores stand in a unit in which the softmax is exp2: s * unit. A masked pair is a very low
 *    finite number, so that no infinity is ever subtracted from another.
 * 6. Tiles are as large as the device's shared memory allows: 227 KB for a block on sm_90 and
 *    sm_100, 163 on sm_80, 99 on sm_86, sm_89 and sm_120. On tensor cores the bits do not depend
 *    on it; in f32 a row's sums follow the tile. */
#ifndef CUDA_ATTENTION_CUH
#define CUDA_ATTENTION_CUH

#include <type_traits>

#include "rotate.cuh"
#include "rows.cuh"

#define ATTENTION_LOG2E 1.44269504088896340736f
#define ATTENTION_LN2 0.69314718055994530942f
#define ATTENTION_MASKED (-1e30f)

enum {
    ATTENTION_WIDTH_MAX = 256,
    ATTENTION_WIDTH_MMA = 128, /* the widest head of the first family */
    ATTENTION_SLOT = 32,       /* queries that share sums by distance; wider heads: half of it */
    ATTENTION_CHUNK = 32,      /* distances that one block adds up */
    ATTENTION_NORM_TILE = 64   /* keys that share a norm */
};

/* Bytes of shared memory that a block may have on the current device. */
static inline size_t attention_shared_bytes(void)
{
    int device = 0, bytes = 0;
    if (cudaGetDevice(&device) != cudaSuccess) return 0;
    (void)cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    return (size_t)bytes;
}

/* Tiles of keys that share a norm. */
static __host__ __device__ inline int64_t attention_norm_tiles(int32_t T)
{
    return ((int64_t)T + ATTENTION_NORM_TILE - 1) / ATTENTION_NORM_TILE;
}

/* Parts of the workspace, in floats from its beginning. The forward pass uses the first three. */
struct attention_parts {
    int64_t key_norm; /* (B*H, norm tiles): the longest key of the tile */
    int64_t norm;     /* (B*H, T): the length of a query */
    int64_t cutoff;   /* (B*H, T): see attention_skip.cuh */
    int64_t delta;    /* (B*H, T): dout . out */
    int64_t near_sum; /* (B*H, slots, bias_table_n): a slot's sums of ds along equal distances */
    int64_t total;    /* (H, near chunks): sums of the table's gradient, for the far constant */
    int64_t floats_n;
    int32_t bias_table_n;  /* distances that occur: at most T */
    int32_t slot, slots_n; /* queries of a slot: no more than a block owns */
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
    p.near_sum = p.delta + heads * T;
    p.total = p.near_sum + heads * p.slots_n * p.bias_table_n;
    p.floats_n = p.total + a->H * ((p.bias_table_n + ATTENTION_CHUNK - 1) / ATTENTION_CHUNK);
    return p;
}

/* The two families, each in its own file. The caller has written delta for the backward pass. */
cudaError_t attention_mma(cudaStream_t stream, const struct attention *a, float *workspace);
cudaError_t attention_fma(cudaStream_t stream, const struct attention *a);
cudaError_t attention_bwd_mma(cudaStream_t stream, const struct attention *a, float *workspace);
cudaError_t attention_bwd_fma(cudaStream_t stream, const struct attention *a, float *workspace);

/* Adds the sums by distance that the backward pass left to near_grad and offset_grad. */
cudaError_t attention_near_reduce(cudaStream_t stream, const struct attention *a, float *workspace);

/* Writes the certificates of attention_skip.cuh; summed: from lse, which the forward pass left. */
cudaError_t attention_skip_bounds(cudaStream_t stream, const struct attention *a, float *workspace,
                                  bool summed);

/* Whether 16-byte copies of 8 columns read this view: the condition of the first family. */
static inline int attention_is_aligned(const struct tensor *t)
{
    return t->dtype == DTYPE_BF16 && ((uintptr_t)t->data & 15) == 0 && t->stride % 8 == 0;
}

static inline int32_t attention_compiled_width(int32_t D)
{
    return D <= 16 ? 16 : D <= 32 ? 32 : D <= 64 ? 64 : D <= 128 ? 128 : 256;
}

/* run(width) with the compiled width for heads of width D as a constant; MOST: the widest. */
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

/* A block for each tile of so many rows of every head. 0 blocks: more than a launch can have. */
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

/* Head h of row i of batch row b. */
template <class T>
__device__ inline T *head_row(const struct tensor &t, const struct attention &a, int64_t b,
                              int64_t h, int64_t i)
{
    return row_of<T>(t, b * a.T + i) + h * a.D;
}

/* Block x of a grid of tiles times heads: the tiles with most work first. */
struct attention_place {
    int32_t tile, b, h;
    int64_t item; /* b * H + h */
};

__device__ inline struct attention_place attention_place_of(const struct attention &a,
                                                            int32_t tiles_n, bool last_first)
{
    struct attention_place p;
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
    const float *table; /* of all heads, not yet times unit */
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

/* The head's row of the table. */
__device__ inline const float *bias_near(const struct head_bias &b)
{
    return b.bias_table_n > 0 ? b.table + (int64_t)hide_from_compiler(b.h) * b.bias_table_n : NULL;
}

/* The bias at distance d, the causal mask included; near as bias_near gives it. Without a branch,
 * so that reads of the table do not wait for each other. */
__device__ inline float bias_at(const struct head_bias &b, const float *near, int32_t d)
{
    float bias = fmaf(b.slope, (float)d, b.offset);
    if (near) { /* of every thread or of none */
        float listed = near[min(max(d, 0), b.bias_table_n - 1)] * b.unit;
        bias = d < b.bias_table_n ? listed : bias;
    }
    return d < 0 ? ATTENTION_MASKED : bias;
}

/* ---- window and sinks, at positions in the text ---- */

/* Whether key j is seen at distance d; the future is masked by bias_at. */
__device__ inline bool mask_sees(const struct attention_mask &m, int32_t d, int32_t j)
{
    return m.window == 0 || d < m.window || j < m.sinks;
}

/* Whether some query from `query` on sees one of the keys_n keys from `key` on, apart from the
 * future. */
__device__ inline bool mask_sees_some(const struct attention_mask &m, int32_t query, int32_t key,
                                      int32_t keys_n)
{
    return m.window == 0 || query - (key + keys_n - 1) < m.window || key < m.sinks;
}

/* Whether all queries up to `query` see all of these keys. */
__device__ inline bool mask_sees_all(const struct attention_mask &m, int32_t query, int32_t key,
                                     int32_t keys_n)
{
    return m.window == 0 || query - key < m.window || key + keys_n <= m.sinks;
}

/* The next tile of `keys` keys before `tile` that queries from `query` on see; -1: none. */
__device__ inline int32_t mask_tile_before(const struct attention_mask &m, int32_t tile,
                                           int32_t query, int32_t keys)
{
    int32_t next = tile - 1, sinks_n = (m.sinks + keys - 1) / keys;
    if (mask_sees_some(m, query, next * keys, keys)) return next;
    return next < sinks_n ? next : sinks_n - 1;
}

/* ---- dropout ---- */

/* What follows from the probability alone, found once on the host. */
struct attention_keep {
    uint32_t below; /* words below it are kept */
    float scale;    /* 1 / (1 - p); 0: no dropout */
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

/* The draws of one head. */
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
    /* The span is 0 or 1; a product would cost queries_mma_k a register that it does not have. */
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
    /* Not by index, which would put the words in memory. */
    uint32_t low = element & 1 ? w.word[1] : w.word[0];
    uint32_t high = element & 1 ? w.word[3] : w.word[2];
    return (element & 2 ? high : low) < d.below;
}

#endif
