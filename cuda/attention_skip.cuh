/* attention_skip.cuh - skip bounds: which tiles of keys cannot matter to a row, under a bias that
 * falls with distance.
 *
 * `known` is the highest score of a row near its diagonal. In the backward pass it is the log of
 * the row's softmax sum, which is at hand and at least as high. Every score of an earlier tile of
 * 64 keys is at most |q| max|k| scale + the bias at the tile's smallest distance. If that is below
 * known by more than 18.03 + ln(keys), the tile holds less than 2^-26 of the row's softmax, and the
 * row skips it. There are no bounds for rows before SKIP_FROM, tiles near the diagonal and heads
 * whose bias does not fall. All numbers are divided by the scale:
 *
 *     dead:  norm[row] * key_norm[tile] - slope * first key  <  cutoff[row]
 *
 * A skipped tile is small, not zero. Results with and without skip bounds are the same bits in
 * almost every case, because they are rounded to bf16; no proof excludes a last bit. Whether a call
 * has bounds depends on its shape and the GPU alone, so repeated runs have the same bits. */
#ifndef CUDA_ATTENTION_SKIP_CUH
#define CUDA_ATTENTION_SKIP_CUH

#include "attention.cuh"

#define SKIP_LOST 18.25f /* exp(-18.03) = 2^-26; the rest covers the rounding of the bound */

enum {
    SKIP_FROM = 512, /* a multiple of every block's queries */
    SKIP_KNOWN = 8   /* `known` is the highest score of so many keys up to the diagonal */
};

/* Skip bounds of one head. */
struct attention_skip {
    const float *norm, *cutoff; /* by row */
    const float *key_norm;      /* by tile */
    int32_t T;
};

__host__ __device__ inline bool row_is_dead(const struct attention_skip &skip, int32_t row,
                                            int32_t tile, float slope)
{
    if (row >= skip.T) return true;
    float bias = -slope * (float)(tile * ATTENTION_NORM_TILE);
    return fmaf(skip.norm[row], skip.key_norm[tile], bias) < skip.cutoff[row];
}

/* True if a call can have skip bounds. Not with rotary tables: bounds come from the unrotated q and
 * k. Not with a window: it may hide the key whose score is `known`. Not with gates, a temperature
 * or biases of keys, which the bounds do not know. */
static inline bool attention_may_skip(const struct attention *a)
{
    return !attention_rotates(*a) && !attention_is_extended(*a) && a->mask.window == 0 &&
           a->mask.narrow_heads == 0 && a->bias.tail_slope_dev && a->bias.bias_table_n == 0 &&
           a->T > SKIP_FROM && a->scale > 0.0f;
}

__host__ __device__ inline struct attention_skip attention_skip_of(
    const float *bounds, const struct attention_parts &parts, int32_t item, int32_t T)
{
    struct attention_skip s;
    s.norm = bounds + parts.norm + (int64_t)item * T;
    s.cutoff = bounds + parts.cutoff + (int64_t)item * T;
    s.key_norm = bounds + parts.key_norm + item * attention_norm_tiles(T);
    s.T = T;
    return s;
}

/* Which rows of a block of 128 need a norm tile, as bits: word SKIP_WORDS * tile + g is for the 32
 * rows from first + 32 g on. A warp takes a tile, a lane one row of each word. */
enum { SKIP_WORDS = 4, SKIP_TILE_BYTES = SKIP_WORDS * sizeof(uint32_t) };

__device__ inline void skip_find(uint32_t *alive, const struct attention_skip &skip, int32_t first,
                                 int32_t past_n, float slope)
{
    int lane = threadIdx.x % 32;
    for (int32_t tile = threadIdx.x / 32; tile < past_n; tile += (int32_t)blockDim.x / 32)
#pragma unroll
        for (int g = 0; g < SKIP_WORDS; g++) {
            bool needs = !row_is_dead(skip, first + 32 * g + lane, tile, slope);
            uint32_t word = __ballot_sync(0xffffffffu, needs);
            if (lane == 0) alive[SKIP_WORDS * tile + g] = word;
        }
    __syncthreads();
}

/* True if some row needs the tile. */
__device__ inline bool skip_is_live(const uint32_t *alive, int32_t tile)
{
    uint4 word = ((const uint4 *)alive)[tile];
    return (word.x | word.y | word.z | word.w) != 0;
}

/* Masks the scores of dead rows among a warp's 32. */
template <int N> __device__ inline void skip_rows(float (&s)[2][N][4], uint32_t alive)
{
    if (alive == 0xffffffffu) return;
    alive >>= threadIdx.x % 32 / 4;
#pragma unroll
    for (int row = 0; row < 4; row++) {
        const int m = row / 2, r = row % 2;
        bool dead = !(alive >> (m * 16 + r * 8) & 1);
#pragma unroll
        for (int n = 0; n < N; n++) {
            if (dead) s[m][n][2 * r] = ATTENTION_MASKED;
            if (dead) s[m][n][2 * r + 1] = ATTENTION_MASKED;
        }
    }
}

#endif
