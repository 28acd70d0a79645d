/* attention_fma.cuh - products of fp32 tiles of ROWS rows in shared memory.
 *
 * ROWS is 64, 32 or 16: as many as shared memory holds at this width. 4 ROWS threads form a
 * rectangle of ROWS / 4 x 16: thread (y, x) holds rows 4y ... 4y+3 and columns x + 16n. Rows of D
 * columns are D + 4 floats apart, rows of ROWS columns ROWS + 4, so that reads of 16 bytes from
 * sixteen rows use different banks. Every sum runs in rising order. */
#ifndef CUDA_ATTENTION_FMA_CUH
#define CUDA_ATTENTION_FMA_CUH

#include "attention.cuh"

/* The rows of a tile: MANY if the device's shared memory allows, FEW fit 99 KB. */
template <int D> struct fma_rows_of {
    static const int MANY = D > 128 ? 32 : 64, FEW = D > 128 ? 16 : D > 64 ? 32 : 64;
};

/* Shared memory of tiles_n tiles of D columns and one of scores. */
static inline size_t fma_bytes(int rows, int D, int tiles_n)
{
    return (size_t)rows * (size_t)(tiles_n * (D + 4) + rows + 4) * sizeof(float);
}

/* Calls run(width, rows, zero): the compiled width, the rows of a tile, and a zero of the dtype;
 * tiles_n: tiles that a block keeps in shared memory, besides that of scores. */
template <class F> static cudaError_t fma_dispatch(const struct attention *a, int tiles_n, F run)
{
    return attention_by_width<ATTENTION_WIDTH_MAX>(a->D, [&](auto width) {
        typedef fma_rows_of<width()> choice;
        auto with_rows = [&](auto rows) {
            return a->q.dtype == DTYPE_BF16 ? run(width, rows, bf16()) : run(width, rows, 0.0f);
        };
        if (fma_bytes(choice::MANY, width(), tiles_n) <= attention_shared_bytes())
            return with_rows(std::integral_constant<int, choice::MANY>());
        return with_rows(std::integral_constant<int, choice::FEW>());
    });
}

/* The rows of a tile: values, or q or k, which rotate if there are tables. */
enum fma_kind { FMA_VALUES, FMA_QUERIES, FMA_KEYS };

/* Column `col` of row i after rotation; SIGN -1 rotates back. Columns past the pairs do not rotate.
 */
template <int SIGN, class T>
__device__ inline float fma_rotated(const T *row, const struct attention &a, enum fma_kind kind,
                                    int32_t i, int col)
{
    const struct attention_rotary &r = a.rotary;
    bool own = kind == FMA_KEYS && r.key_cosine.data;
    int pairs = (int)r.cosine.cols, p = r.layout == 0 ? col / 2 : col % pairs;
    bool second = r.layout == 0 ? col % 2 == 1 : col >= pairs;
    if (col >= 2 * pairs) return rows_widen(row[col]);
    float cosine = row_of<float>(own ? r.key_cosine : r.cosine, i)[p];
    float sine = SIGN * row_of<float>(own ? r.key_sine : r.sine, i)[p];
    float u = rows_widen(row[r.layout == 0 ? 2 * p : p]);
    float v = rows_widen(row[r.layout == 0 ? 2 * p + 1 : p + pairs]);
    rotate_pair(&u, &v, cosine, sine);
    return second ? v : u;
}

/* Loads rows first ... first + ROWS - 1 of a head as fp32. Rows from T on and columns from a.D on
 * are zeros. */
template <int D, int ROWS, class T>
__device__ inline void fma_load(float *tile, const struct tensor &t, const struct attention &a,
                                const struct attention_tile &at, int32_t first, enum fma_kind kind)
{
    bool rotates = kind != FMA_VALUES && attention_rotates(a);
    int32_t h = kind == FMA_QUERIES ? at.h : key_head_of(a, at.h);
    const T *from = head_row<const T>(t, a, at.b, h, 0);
    for (int element = threadIdx.x; element < ROWS * D; element += 4 * ROWS) {
        int row = element / D, col = element % D;
        bool valid = first + row < a.T && col < a.D;
        const T *source = from + (first + row) * t.stride;
        float value = 0.0f;
        if (valid)
            value = rotates ? fma_rotated<1>(source, a, kind, first + row, col)
                            : rows_widen(source[col]);
        tile[row * (D + 4) + col] = value;
    }
}

/* s = rows of `left` times rows of `right`, summed over D. */
template <int D, int N>
__device__ inline void fma_rows(float (&s)[4][N], const float *left, const float *right)
{
    left += threadIdx.x / 16 * 4 * (D + 4);
    right += threadIdx.x % 16 * (D + 4);
#pragma unroll
    for (int e = 0; e < 4 * N; e++) s[e / N][e % N] = 0.0f;
#pragma unroll 2
    for (int c = 0; c < D; c += 4) {
        float4 p[4], q[N];
#pragma unroll
        for (int r = 0; r < 4; r++) p[r] = *(const float4 *)(left + r * (D + 4) + c);
#pragma unroll
        for (int n = 0; n < N; n++) q[n] = *(const float4 *)(right + 16 * n * (D + 4) + c);
#pragma unroll
        for (int e = 0; e < 4 * N; e++) {
            float sum = fmaf(p[e / N].x, q[e % N].x, s[e / N][e % N]);
            sum = fmaf(p[e / N].y, q[e % N].y, sum);
            sum = fmaf(p[e / N].z, q[e % N].z, sum);
            s[e / N][e % N] = fmaf(p[e / N].w, q[e % N].w, sum);
        }
    }
}

/* The sums of the gates of one head's tokens; NULL: none. */
struct head_gates {
    const float *high, *low;
    int32_t T;
};

__device__ inline struct head_gates head_gates_of(const struct attention &a, int64_t item)
{
    struct head_gates g = {NULL, NULL, a.T};
    if (!a.gates.high.data) return g;
    g.high = row_of<float>(a.gates.high, item);
    g.low = row_of<float>(a.gates.low, item);
    return g;
}

/* Returns what the gates add to the score of query i and key j. */
__device__ inline float gates_at(const struct head_gates &g, int32_t i, int32_t j)
{
    if (!g.high || i >= g.T || j >= g.T || j > i) return 0.0f;
    return (g.high[i] - g.high[j]) + (g.low[i] - g.low[j]);
}

/* Returns the bias of key j less that of key i, which query i has: small where it matters. */
__device__ inline float key_bias_at(const struct attention &a, int32_t h, int32_t i, int32_t j)
{
    const float *bias = a.bias.key_bias_dev + (int64_t)h * a.T;
    return i < a.T && j <= i ? bias[j] - bias[i] : 0.0f;
}

/* Turns products into scores, with bias, gates, temperature and mask, in units of log 2. d and key
 * are those of element [0][0]. TRANSPOSED: rows are keys. */
template <int N, bool TRANSPOSED>
__device__ inline void fma_scores(float (&s)[4][N], const struct attention &a,
                                  const struct attention_mask &mask, const struct head_bias &bias,
                                  const struct head_gates &gates, int32_t d, int32_t key)
{
    const float *table = bias_table_of(bias);
    float unit = a.scale * ATTENTION_LOG2E;
#pragma unroll
    for (int e = 0; e < 4 * N; e++) {
        const int row = e / N, col = e % N * 16;
        int32_t distance = d + (TRANSPOSED ? col - row : row - col);
        int32_t j = key + (TRANSPOSED ? row : col);
        float b = bias_at(bias, table, distance);
        b = fmaf(gates_at(gates, j + distance, j), ATTENTION_LOG2E, b);
        if (!TRANSPOSED && a.bias.key_bias_dev) /* the same in every thread */
            b = fmaf(key_bias_at(a, bias.h, j + distance, j), ATTENTION_LOG2E, b);
        bool seen = mask_sees(mask, distance, j);
        if (a.temperature.query_dev) { /* the same in every thread */
            float factor = attention_factor(a, bias.h, d + key + (TRANSPOSED ? col : row));
            float x = s[row][e % N] * unit;
            x = a.temperature.inside ? factor * (x + b) : fmaf(factor, x, b);
            s[row][e % N] = seen && distance >= 0 ? x : ATTENTION_MASKED;
        } else {
            s[row][e % N] = fmaf(s[row][e % N], unit, seen ? b : ATTENTION_MASKED);
        }
    }
}

/* acc += rows of P (ROWS x ROWS) times the rows of `right`. */
template <int D, int ROWS>
__device__ inline void fma_columns(float (&acc)[4][D / 16], const float *P, const float *right)
{
    P += threadIdx.x / 16 * 4 * (ROWS + 4);
    right += threadIdx.x % 16;
#pragma unroll 2
    for (int k = 0; k < ROWS; k++) {
        float p[4];
#pragma unroll
        for (int r = 0; r < 4; r++) p[r] = P[r * (ROWS + 4) + k];
#pragma unroll
        for (int c = 0; c < D / 16; c++) {
            float v = right[k * (D + 4) + 16 * c];
#pragma unroll
            for (int r = 0; r < 4; r++) acc[r][c] = fmaf(p[r], v, acc[r][c]);
        }
    }
}

/* Bit N r + n: whether dropout keeps the thread's pair [r][n]. Rows are queries and columns keys;
 * if `transposed`, the reverse. row and col are those of element [0][0]. */
template <int N>
__device__ inline uint32_t fma_keep(const struct head_dropout &d, int32_t row, int32_t col,
                                    bool transposed)
{
    uint32_t bits = 0;
#pragma unroll 1
    for (int e = 0; e < 4 * N; e++) {
        int32_t i = row + e / N, j = col + e % N * 16;
        bits |= (uint32_t)pair_is_kept(d, transposed ? j : i, transposed ? i : j) << e;
    }
    return bits;
}

/* Stores a thread's columns of a row, times scale. */
template <int D, class T>
__device__ inline void fma_store(const struct tensor &t, const struct attention &a,
                                 const struct attention_tile &at, int32_t row,
                                 const float (&x)[D / 16], float scale)
{
    T *to = head_row<T>(t, a, at.b, at.h, row) + threadIdx.x % 16;
#pragma unroll
    for (int c = 0; c < D / 16; c++)
        if (threadIdx.x % 16 + 16 * c < (uint32_t)a.D) rows_narrow(to + 16 * c, x[c] * scale);
}

/* Rotates the block's rows from `first` on back, times scale, and stores them. Different threads
 * hold the numbers of a pair; they exchange them in `scratch`, a free tile. */
template <int D, int ROWS, class T>
__device__ inline void fma_store_rotated(float *scratch, const struct tensor &t,
                                         const struct attention &a, const struct attention_tile &at,
                                         enum fma_kind kind, int32_t first,
                                         const float (&x)[4][D / 16], float scale)
{
    float *mine = scratch + threadIdx.x / 16 * 4 * (D + 4) + threadIdx.x % 16;
#pragma unroll
    for (int r = 0; r < 4; r++)
#pragma unroll
        for (int c = 0; c < D / 16; c++) mine[r * (D + 4) + 16 * c] = x[r][c] * scale;
    __syncthreads();
    for (int element = threadIdx.x; element < ROWS * D; element += 4 * ROWS) {
        int row = element / D, col = element % D;
        if (first + row >= a.T || col >= a.D) continue;
        float value = fma_rotated<-1>(scratch + row * (D + 4), a, kind, first + row, col);
        rows_narrow(head_row<T>(t, a, at.b, at.h, first + row) + col, value);
    }
}

#endif
