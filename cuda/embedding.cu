/* embedding.cu - gather rows of a table, add rows of a table, and scatter gradients back to it.
 *
 * An index may occur hundreds of times; scatter still adds in a fixed order, without atomics. The
 * block of the first row with an index owns that row of y and finds the other rows itself, so
 * nothing is sorted beforehand. */
#include "kernels.h"
#include "rows.cuh"

enum {
    SCATTER_THREADS = 128,
    SCATTER_WARPS = SCATTER_THREADS / 32,
    SCATTER_STEPS = 4, /* indices that a thread reads in a chunk */
    SCATTER_CHUNK = SCATTER_THREADS * SCATTER_STEPS,
    SCATTER_BATCH = 4 /* rows in flight */
};

/* y[i] = scale * x[index[i]]; zeros if index[i] < 0. A thread owns eight columns of a row of y.
 * Reads 1 and writes 1 element an element. */
template <class Y, class X>
static __global__ void gather_k(struct tensor y, struct tensor x, const int32_t *index, float scale,
                                bool wide)
{
    struct rows_columns at = rows_columns_of(y);
    if (at.n == 0) return;
    int32_t from = index[at.row];
    struct vec8 v = {{0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f}};
    if (from >= 0) v = rows_load(row_of<X>(x, from) + at.column, at.n, wide, 0.0f);
#pragma unroll
    for (int i = 0; i < 8; i++) v.x[i] *= scale;
    rows_store(row_of<Y>(y, at.row) + at.column, v, at.n, wide);
}

/* y[i] = x[i] + table[index[i]], with an fp32 table. A thread owns eight columns of a row. Reads 2
 * and writes 1 element an element. */
template <class T>
static __global__ void add_rows_k(struct tensor y, struct tensor x, struct tensor table,
                                  const int32_t *index, bool wide)
{
    struct rows_columns at = rows_columns_of(y);
    if (at.n == 0) return;
    int32_t from = index[at.row];
    struct vec8 v = rows_load(row_of<T>(x, at.row) + at.column, at.n, wide, 0.0f);
    if (from >= 0) {
        struct vec8 more = rows_load(row_of<float>(table, from) + at.column, at.n, wide, 0.0f);
#pragma unroll
        for (int i = 0; i < 8; i++) v.x[i] += more.x[i];
    }
    rows_store(row_of<T>(y, at.row) + at.column, v, at.n, wide);
}

/* True if index[j] == wanted for some j in begin ... end - 1. All threads of the block call it. */
__device__ static bool scatter_occurs(const int32_t *index, int64_t begin, int64_t end,
                                      int32_t wanted)
{
    SHARED(int, found, [SCATTER_WARPS]);
    bool mine = false, any = false;
    for (int64_t j = begin + threadIdx.x; j < end; j += SCATTER_THREADS) mine |= index[j] == wanted;
    unsigned votes = __ballot_sync(0xffffffffu, mine);
    if (threadIdx.x % 32 == 0) found[threadIdx.x / 32] = votes != 0;
    __syncthreads();
    for (int w = 0; w < SCATTER_WARPS; w++) any |= found[w] != 0;
    return any;
}

/* Lists, in rising order, the rows of a chunk that have the wanted index; returns their number. */
__device__ static int scatter_list(int *list, int (*votes_n)[SCATTER_WARPS], const int32_t *index,
                                   int64_t begin, int64_t rows, int32_t wanted)
{
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, n = 0;
    unsigned votes[SCATTER_STEPS];
#pragma unroll
    for (int s = 0; s < SCATTER_STEPS; s++) {
        int64_t j = begin + s * SCATTER_THREADS + threadIdx.x;
        votes[s] = __ballot_sync(0xffffffffu, j < rows && index[j] == wanted);
        if (lane == 0) votes_n[s][warp] = __popc(votes[s]);
    }
    __syncthreads();
#pragma unroll
    for (int s = 0; s < SCATTER_STEPS; s++)
        for (int w = 0; w < SCATTER_WARPS; w++) {
            if (w == warp && (votes[s] >> lane & 1))
                list[n + __popc(votes[s] & ((1u << lane) - 1))] =
                    s * SCATTER_THREADS + (int)threadIdx.x;
            n += votes_n[s][w];
        }
    __syncthreads();
    return n;
}

/* sum += scale * x of the n listed rows. Products and sums are rounded separately, as on the CPU.
 */
template <class X>
__device__ static void scatter_add(struct vec8 *sum, const struct tensor &x, int64_t begin,
                                   const int *list, int n, int64_t column, int columns_n,
                                   float scale, bool wide)
{
    for (int first = 0; first < n; first += SCATTER_BATCH) {
        struct vec8 v[SCATTER_BATCH];
#pragma unroll
        for (int b = 0; b < SCATTER_BATCH; b++)
            if (first + b < n)
                v[b] = rows_load(row_of<X>(x, begin + list[first + b]) + column, columns_n, wide,
                                 0.0f);
#pragma unroll
        for (int b = 0; b < SCATTER_BATCH; b++)
            if (first + b < n)
#pragma unroll
                for (int i = 0; i < 8; i++)
                    sum->x[i] = __fadd_rn(sum->x[i], __fmul_rn(scale, v[b].x[i]));
    }
}

/* y[index[i]] += scale * x[i] in rising i. A block owns row index[i] of y, if no earlier row of x
 * has that index, and 1024 columns of it; a thread owns eight columns. All threads search the
 * indices, 512 at a time (N blocks read N of them, from the L1 cache), then add the rows they
 * found, four in flight. Reads and writes y once, reads x once. 128 threads cover a row of 1024
 * columns. */
template <class Y, class X>
static __global__ void scatter_add_k(struct tensor y, struct tensor x, const int32_t *index,
                                     float scale, bool wide)
{
    SHARED(int, list, [SCATTER_CHUNK]);
    SHARED(int, votes_n, [SCATTER_STEPS][SCATTER_WARPS]);
    int64_t i = blockIdx.x;
    int64_t column = ((int64_t)blockIdx.y * SCATTER_THREADS + threadIdx.x) * 8;
    int columns_n = rows_part(column, y.cols);
    int32_t wanted = index[i];
    if (wanted < 0 || scatter_occurs(index, 0, i, wanted)) return;
    Y *to = row_of<Y>(y, wanted) + column;
    struct vec8 sum = rows_load(to, columns_n, wide, 0.0f);
    for (int64_t begin = i; begin < x.rows; begin += SCATTER_CHUNK) {
        int n = scatter_list(list, votes_n, index, begin, x.rows, wanted);
        if (columns_n > 0) scatter_add<X>(&sum, x, begin, list, n, column, columns_n, scale, wide);
    }
    rows_store(to, sum, columns_n, wide);
}

/* y[index[i]] = scale * x[i]. The last row with an index wins: a row is written if no later row has
 * its index. Threads are mapped as in scatter_add_k. */
template <class Y, class X>
static __global__ void scatter_set_k(struct tensor y, struct tensor x, const int32_t *index,
                                     float scale, bool wide)
{
    int64_t i = blockIdx.x;
    int64_t column = ((int64_t)blockIdx.y * SCATTER_THREADS + threadIdx.x) * 8;
    int columns_n = rows_part(column, y.cols);
    int32_t wanted = index[i];
    if (wanted < 0 || scatter_occurs(index, i + 1, x.rows, wanted)) return;
    struct vec8 v = rows_load(row_of<X>(x, i) + column, columns_n, wide, 0.0f);
#pragma unroll
    for (int c = 0; c < 8; c++) v.x[c] *= scale;
    rows_store(row_of<Y>(y, wanted) + column, v, columns_n, wide);
}

int cuda_gather_rows(void *stream, const struct gather_rows_args *a)
{
    bool wide = rows_are_wide(a->y, a->x);
    if (a->x.dtype == DTYPE_BF16)
        return launch_rows(stream, a->y, gather_k<bf16, bf16>, gather_k<float, bf16>, a->y, a->x,
                           a->index_dev, a->scale, wide);
    return launch_rows(stream, a->y, gather_k<bf16, float>, gather_k<float, float>, a->y, a->x,
                       a->index_dev, a->scale, wide);
}

int cuda_add_rows(void *stream, const struct add_rows_args *a)
{
    return launch_rows(stream, a->y, add_rows_k<bf16>, add_rows_k<float>, a->y, a->x, a->table,
                       a->index_dev, rows_are_wide(a->y, a->x, a->table));
}

template <class X> static int scatter_launch(void *stream, const struct scatter_rows_args *a)
{
    const int64_t width = 8 * SCATTER_THREADS;
    dim3 grid((unsigned)a->x.rows, (unsigned)((a->y.cols + width - 1) / width));
    return launch_by_dtype(a->y, a->accumulate ? scatter_add_k<bf16, X> : scatter_set_k<bf16, X>,
                           a->accumulate ? scatter_add_k<float, X> : scatter_set_k<float, X>, grid,
                           dim3(SCATTER_THREADS), 0, stream, a->y, a->x, a->index_dev, a->scale,
                           rows_are_wide(a->y, a->x));
}

int cuda_scatter_rows(void *stream, const struct scatter_rows_args *a)
{
    return a->x.dtype == DTYPE_BF16 ? scatter_launch<bf16>(stream, a)
                                    : scatter_launch<float>(stream, a);
}
