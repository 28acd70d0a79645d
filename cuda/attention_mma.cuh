/* attention_mma.cuh - tiles of bf16 in shared memory and the fragments of tensor-core products.
 *
 * A tile is rows of D columns. Its 16-byte chunks are permuted within eight rows so that the eight
 * rows of an ldmatrix are in different banks. In a fragment of 16x8 results, lane l holds rows l/4
 * and l/4+8 and columns 2(l%4) and 2(l%4)+1: element i is row + 8(i/2), column + i%2. The results
 * of one product, packed to bf16, are the left operand of the next without moving between lanes. */
#ifndef CUDA_ATTENTION_MMA_CUH
#define CUDA_ATTENTION_MMA_CUH

#include "attention.cuh"

/* A row stores chunk c at index c xor tile_twist(row). */
template <int D> __device__ inline int tile_twist(int row)
{
    const int chunks = D / 8;
    return chunks >= 8 ? row & 7 : (row / (8 / (chunks < 8 ? chunks : 8))) & (chunks - 1);
}

template <int D> __device__ inline bf16 *tile_at(bf16 *tile, int row, int col)
{
    return tile + row * D + (((col / 8) ^ tile_twist<D>(row)) * 8 | (col & 7));
}

/* Starts copying rows first ... first + ROWS - 1 of a head; `from` is the head's row 0. Rows from T
 * on and columns from width on are zeros. A thread's rows are a multiple of 8 apart, so its column
 * is at the same offset in all of them. */
template <int D, int ROWS, int THREADS>
__device__ inline void tile_load(bf16 *tile, const bf16 *from, int64_t stride, int32_t first,
                                 int32_t T, int32_t width)
{
    const int chunks = D / 8, step = THREADS / chunks;
    int row = (int)threadIdx.x / chunks, col = (int)threadIdx.x % chunks * 8;
    const bf16 *source = from + (first + row) * stride + col;
    bf16 *to = tile_at<D>(tile, row, col);
#pragma unroll
    for (int done = 0; done < ROWS; done += step) {
        if (done + step > ROWS && done + row >= ROWS) break;
        /* cp_async16 does not read an invalid source, so the pointer may be out of range. */
        bool valid = first + row + done < T && col < width;
        cp_async16(to + done * D, source + done * stride, valid);
    }
}

/* Rotates adjacent pairs in place: each thread those it has copied. */
template <int D, int ROWS, int THREADS>
__device__ inline void tile_rotate_adjacent(bf16 *tile, const struct attention &a, int32_t first)
{
    const int chunks = D / 8, step = THREADS / chunks;
    int thread = hide_from_compiler((int)threadIdx.x), row = thread / chunks,
        col = thread % chunks * 8;
    if (col >= a.D) return;
#pragma unroll 1
    for (; row < ROWS && first + row < a.T; row += step) {
        bf16 *at = tile_at<D>(tile, row, col);
        struct vec8 v = vec8_load(at);
        float4 cosine = *(const float4 *)(row_of<float>(a.rotary.cosine, first + row) + col / 2);
        float4 sine = *(const float4 *)(row_of<float>(a.rotary.sine, first + row) + col / 2);
        rotate_pair(&v.x[0], &v.x[1], cosine.x, sine.x);
        rotate_pair(&v.x[2], &v.x[3], cosine.y, sine.y);
        rotate_pair(&v.x[4], &v.x[5], cosine.z, sine.z);
        rotate_pair(&v.x[6], &v.x[7], cosine.w, sine.w);
        vec8_store(at, v);
    }
}

/* Rotates pairs half a head apart. Two lanes of a warp have copied the halves of the same rows;
 * each rotates every other row. */
template <int D, int ROWS, int THREADS>
__device__ inline void tile_rotate_halves(bf16 *tile, const struct attention &a, int32_t first)
{
    const int chunks = D / 8, step = THREADS / chunks, half = chunks / 2;
    int thread = hide_from_compiler((int)threadIdx.x), chunk = thread % chunks,
        col = chunk % half * 8;
    int row = thread / chunks + chunk / half * step;
    __syncwarp();
#pragma unroll 1
    for (; row < ROWS && first + row < a.T; row += 2 * step) {
        bf16 *lower = tile_at<D>(tile, row, col), *upper = tile_at<D>(tile, row, col + D / 2);
        struct vec8 u = vec8_load(lower), v = vec8_load(upper);
        struct vec8 cosine = vec8_load(row_of<float>(a.rotary.cosine, first + row) + col);
        struct vec8 sine = vec8_load(row_of<float>(a.rotary.sine, first + row) + col);
#pragma unroll
        for (int e = 0; e < 8; e++) rotate_pair(&u.x[e], &v.x[e], cosine.x[e], sine.x[e]);
        vec8_store(lower, u);
        vec8_store(upper, v);
    }
}

/* Rotates a tile that tile_load with the same template arguments has copied. Each thread must have
 * waited for its own copies; other warps see the result after a barrier. Reads 4 bytes of the
 * tables for every 2 of the tile, mostly from the cache. */
template <int D, int ROWS, int THREADS>
__device__ inline void tile_rotate(bf16 *tile, const struct attention &a, int32_t first)
{
    if (a.rotary.layout == 0)
        tile_rotate_adjacent<D, ROWS, THREADS>(tile, a, first);
    else
        tile_rotate_halves<D, ROWS, THREADS>(tile, a, first);
}

/* A lane's offset in a fragment: its row of 16 and its permuted chunk of two. Rows in steps of 8
 * are added and columns in steps of 16 are xored, so an address is one sum and one exclusive or. */
template <int D> __device__ inline int lane_offset(int row, int chunk)
{
    return row * D + (chunk ^ tile_twist<D>(row)) * 8;
}

/* The left operand: 16 rows from `row` on, 16 columns from `col` on. */
template <int D> __device__ inline void left_load(uint32_t (&a)[4], bf16 *tile, int row, int col)
{
    int lane = threadIdx.x % 32;
    ldmatrix_x4(a, tile + row * D + (lane_offset<D>(lane % 16, lane / 16) ^ col));
}

/* The right operand of a product with the tile's transpose: rows row ... row + 15 are result
 * columns, in two fragments b[0..1], b[2..3]; the product sums over columns col ... col + 15. */
template <int D> __device__ inline void right_load(uint32_t (&b)[4], bf16 *tile, int row, int col)
{
    int lane = threadIdx.x % 32;
    int offset = lane_offset<D>(lane % 8 + lane / 16 * 8, lane / 8 % 2);
    ldmatrix_x4(b, tile + row * D + (offset ^ col));
}

/* The right operand of a product with the tile: the product sums over rows row ... row + 15;
 * columns col ... col + 15 are result columns. */
template <int D>
__device__ inline void right_load_transposed(uint32_t (&b)[4], bf16 *tile, int row, int col)
{
    int lane = threadIdx.x % 32;
    ldmatrix_x4_trans(b, tile + row * D + (lane_offset<D>(lane % 16, lane / 16) ^ col));
}

/* s (M x 16 rows, N x 8 columns) += rows of `left` from `row` on times the rows of `right`,
 * summed over D. Unrolled by four: with eight, fragments loaded early fill the registers. */
template <int D, int M, int N>
__device__ inline void product_with_rows(float (&s)[M][N][4], bf16 *left, int row, bf16 *right)
{
#pragma unroll 4
    for (int c = 0; c < D; c += 16) {
        uint32_t a[M][4], b[4];
#pragma unroll
        for (int m = 0; m < M; m++) left_load<D>(a[m], left, row + m * 16, c);
#pragma unroll
        for (int n = 0; n < N; n += 2) {
            right_load<D>(b, right, n * 8, c);
#pragma unroll
            for (int m = 0; m < M; m++) {
                mma_16x8x16(s[m][n], a[m], b[0], b[1]);
                mma_16x8x16(s[m][n + 1], a[m], b[2], b[3]);
            }
        }
    }
}

/* acc (M x 16 rows, D columns) += s, rounded to bf16, times the rows of `right`. */
template <int D, int M, int N>
__device__ inline void product_with_columns(float (&acc)[M][D / 8][4], const float (&s)[M][N][4],
                                            bf16 *right)
{
#pragma unroll
    for (int n = 0; n < N; n += 2) {
        uint32_t a[M][4], b[4];
#pragma unroll
        for (int m = 0; m < M; m++)
#pragma unroll
            for (int half = 0; half < 2; half++) {
                a[m][2 * half] = pack_bf16(s[m][n + half][0], s[m][n + half][1]);
                a[m][2 * half + 1] = pack_bf16(s[m][n + half][2], s[m][n + half][3]);
            }
#pragma unroll
        for (int c = 0; c < D; c += 16) {
            right_load_transposed<D>(b, right, n * 8, c);
#pragma unroll
            for (int m = 0; m < M; m++) {
                mma_16x8x16(acc[m][c / 8], a[m], b[0], b[1]);
                mma_16x8x16(acc[m][c / 8 + 1], a[m], b[2], b[3]);
            }
        }
    }
}

/* Sets scores to their bias; the product adds to it. SIGN 1: rows are queries; -1: rows are keys. d
 * is the distance of the lane's element [0][0], j its key. linear: no pair of the fragments is
 * masked or in the bias table. */
template <int N, int SIGN>
__device__ inline void bias_fragments(float (&s)[N][4], const struct head_bias &bias,
                                      const struct attention_mask &mask, int32_t d, int32_t j,
                                      bool linear)
{
    if (linear) {
        float base = fmaf(bias.slope, (float)d, bias.offset);
#pragma unroll
        for (int n = 0; n < N; n++)
#pragma unroll
            for (int i = 0; i < 4; i++)
                s[n][i] = fmaf(bias.slope, (float)(SIGN * (i / 2 * 8 - n * 8 - i % 2)), base);
        return;
    }
    const float *table = bias_table_of(bias);
#pragma unroll
    for (int n = 0; n < N; n++)
#pragma unroll
        for (int i = 0; i < 4; i++) {
            int32_t distance = d + SIGN * (i / 2 * 8 - n * 8 - i % 2);
            int32_t key = j + (SIGN > 0 ? n * 8 + i % 2 : i / 2 * 8);
            s[n][i] = bias_at(bias, table, distance);
            if (!mask_sees(mask, distance, key)) s[n][i] = ATTENTION_MASKED;
        }
}

/* ---- temperatures, gates and biases of keys ---- */

/* The terms that a token adds to scores as a query and takes off as a key: the sums of its gates,
 * less the bias of the key. */
struct token_terms {
    float high, low;
};

__device__ inline struct token_terms token_terms_of(const struct attention &a, int64_t item,
                                                    int32_t h, int32_t t)
{
    struct token_terms x = {0.0f, 0.0f};
    if (t >= a.T) return x;
    if (a.gates.high.data) {
        x.high = row_of<float>(a.gates.high, item)[t];
        x.low = row_of<float>(a.gates.low, item)[t];
    }
    if (a.bias.key_bias_dev) x.low -= a.bias.key_bias_dev[(int64_t)h * a.T + t];
    return x;
}

/* Bias and factor with which the product of a query and a key becomes a score; bias / scale. */
struct extended_pair {
    float bias, factor;
    bool inside, seen;
};

__device__ inline struct extended_pair extended_pair_of(const struct head_bias &bias,
                                                        const float *table,
                                                        const struct attention_mask &mask,
                                                        const struct token_terms &query,
                                                        const struct token_terms &key, float factor,
                                                        bool inside, int32_t d, int32_t j)
{
    struct extended_pair p;
    float terms = (query.high - key.high) + (query.low - key.low);
    p.bias = fmaf(terms, bias.unit, bias_at(bias, table, d));
    p.factor = factor;
    p.inside = inside;
    p.seen = d >= 0 && mask_sees(mask, d, j);
    return p;
}

/* Returns the score of a pair whose product is x, divided by the scale. */
__device__ inline float extended_score(const struct extended_pair &p, float x)
{
    x = p.inside ? p.factor * (x + p.bias) : fmaf(p.factor, x, p.bias);
    return p.seen ? x : ATTENTION_MASKED;
}

/* Calls run(m, n, e, pair) for a lane's M x N fragments whose rows are queries from `query` on and
 * whose columns are keys from `key` on. The terms of a key are read again for each 16 rows, so that
 * few of them are in registers at a time. */
template <int M, int N, class F>
__device__ inline void extended_pairs(const struct attention &a, const struct head_bias &bias,
                                      const struct attention_mask &mask, int64_t item,
                                      int32_t query, int32_t key, F run)
{
    int lane = threadIdx.x % 32;
    const float *table = bias_table_of(bias);
    bool inside = a.temperature.inside;
#pragma unroll
    for (int m = 0; m < M; m++) {
        int32_t i = hide_from_compiler(query) + m * 16 + lane / 4;
        struct token_terms of_query[2];
        float factor[2];
#pragma unroll
        for (int r = 0; r < 2; r++) {
            of_query[r] = token_terms_of(a, item, bias.h, i + r * 8);
            factor[r] = attention_factor(a, bias.h, i + r * 8);
        }
#pragma unroll
        for (int column = 0; column < 2 * N; column++) {
            int32_t j = hide_from_compiler(key) + column / 2 * 8 + lane % 4 * 2 + column % 2;
            if (M == 1) __syncwarp(); /* or reads of later keys fill the registers */
            struct token_terms of_key = token_terms_of(a, item, bias.h, j);
#pragma unroll
            for (int r = 0; r < 2; r++)
                run(m, column / 2, r * 2 + column % 2,
                    extended_pair_of(bias, table, mask, of_query[r], of_key, factor[r], inside,
                                     i + r * 8 - j, j));
        }
    }
}

/* Four bits: which of elements e ... e + 3 dropout keeps; e is a multiple of 4. */
__device__ inline uint32_t keep_nibble(const struct head_dropout &d, uint64_t e)
{
    struct philox_block w =
        philox_4x32(d.key, (uint32_t)(e / 4), (uint32_t)(e / 4 >> 32), d.step, d.stream);
    return (uint32_t)(w.word[0] < d.below) | (uint32_t)(w.word[1] < d.below) << 1 |
           (uint32_t)(w.word[2] < d.below) << 2 | (uint32_t)(w.word[3] < d.below) << 3;
}

/* Bit 4n + i: whether dropout keeps element i of fragment n. Rows are queries from `query` on,
 * columns keys from `key` on. If T is a multiple of 4, one Philox block holds four neighbouring
 * keys, which two lanes share: each computes one of their two rows. */
template <int N>
__device__ inline uint32_t keep_rows(const struct head_dropout &d, int32_t query, int32_t key)
{
    int lane = threadIdx.x % 32;
    uint32_t bits = 0;
    query += lane / 4;
    if (d.T % 4 == 0) {
        int32_t mine = query + lane % 2 * 8;
        uint64_t e = d.first + (uint64_t)((int64_t)mine * d.T + key + lane % 4 / 2 * 4);
        uint32_t drawn = 0;
#pragma unroll 1
        for (int n = 0; n < N; n++) drawn |= keep_nibble(d, e + 8 * (uint64_t)n) << 4 * n;
        uint32_t other = __shfl_xor_sync(0xffffffffu, drawn, 1);
        uint32_t upper = lane % 2 ? other : drawn, lower = lane % 2 ? drawn : other;
        int shift = lane % 2 * 2;
        return (upper >> shift & 0x33333333u) | (lower >> shift & 0x33333333u) << 2;
    }
#pragma unroll 1
    for (int element = 0; element < 4 * N; element++) {
        int32_t i = query + element % 4 / 2 * 8,
                j = key + element / 4 * 8 + lane % 4 * 2 + element % 2;
        bits |= (uint32_t)pair_is_kept(d, i, j) << element;
    }
    return bits;
}

/* The same if rows are keys and columns queries: four lanes share four Philox blocks. */
template <int N>
__device__ inline uint32_t keep_columns(const struct head_dropout &d, int32_t query, int32_t key)
{
    int lane = threadIdx.x % 32, group = lane / 4;
    uint32_t bits = 0;
    query += lane % 4 * 2;
    if (d.T % 4 == 0) {
        int which = group % 4;
        int64_t i = query + which % 2, j = key + group / 4 * 4 + which / 2 * 8;
        uint64_t e = d.first + (uint64_t)(i * d.T + j);
        uint32_t drawn = 0;
#pragma unroll 1
        for (int n = 0; n < N; n++)
            drawn |= keep_nibble(d, e + 8 * (uint64_t)n * (uint64_t)d.T) << 4 * n;
#pragma unroll
        for (int i4 = 0; i4 < 4; i4++) {
            uint32_t from = __shfl_sync(0xffffffffu, drawn, (lane & ~12) | i4 << 2);
            bits |= (from >> which & 0x11111111u) << i4;
        }
        return bits;
    }
#pragma unroll 1
    for (int element = 0; element < 4 * N; element++) {
        int32_t i = query + element / 4 * 8 + element % 2, j = key + group + element % 4 / 2 * 8;
        bits |= (uint32_t)pair_is_kept(d, i, j) << element;
    }
    return bits;
}

__device__ inline void store_pair(bf16 *to, float x, float y)
{
    *(uint32_t *)to = pack_bf16(x, y);
}

#endif
