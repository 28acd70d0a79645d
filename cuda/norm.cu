/* norm.cu - LayerNorm, alone or after a residual sum with dropout, and its gradient.
 *
 * 1. tx threads (a power of two) share a row, ty rows share a block of 256 threads; a thread owns
 *    EIGHTS eights of columns, tx eights apart, in registers: memory is read once. Rows of up to
 *    8192 columns fit.
 * 2. Blocks walk over rows with a fixed stride: gain and bias, or the sums of their gradients, stay
 *    in registers. The number of blocks depends on the shape alone, hence the bits too.
 * 3. The sums for dgain and dbias leave a block as one partial row; a second kernel adds the
 *    partial rows in a fixed order. */
#include "kernels.h"
#include "rows.cuh"

enum {
    NORM_WARPS = ROWS_THREADS / 32,
    NORM_COLS_MAX = 4 * 8 * ROWS_THREADS,
    NORM_TURNS_MIN = 2, /* times that a block takes rows, where there are enough */
    NORM_BLOCKS = 1056, /* 8 for each of 132 multiprocessors */
    NORM_PARTS = 396,   /* blocks of the backward pass: 3 for each, as registers allow */
    NORM_SUM_COLUMNS = 32,
    NORM_SUM_LANES = 16
};

#define NORM_EPS 1e-5f

static __host__ __device__ inline int norm_is_long(int64_t cols)
{
    return cols > 8 * ROWS_THREADS;
}

/* Both sums over the threads of a row, the same bits in each of them. `part` has a place for each
 * warp and is another one in the next call. */
__device__ static float2 norm_row_sums(float a, float b, float2 *part)
{
    int width = (int)blockDim.x, warps_n = width / 32;
    for (int other = min(width, 32) / 2; other; other >>= 1) {
        a += __shfl_xor_sync(0xffffffffu, a, other);
        b += __shfl_xor_sync(0xffffffffu, b, other);
    }
    if (warps_n <= 1) return make_float2(a, b);
    int thread = (int)(threadIdx.y * blockDim.x + threadIdx.x), warp = thread / 32;
    if (thread % 32 == 0) part[warp] = make_float2(a, b);
    __syncthreads();
    int first = warp / warps_n * warps_n;
    float2 sum = part[first];
    for (int w = 1; w < warps_n; w++) {
        sum.x += part[first + w].x;
        sum.y += part[first + w].y;
    }
    return sum;
}

__device__ static int norm_column(int e)
{
    return (int)((e * blockDim.x + threadIdx.x) * 8);
}

/* How many columns of its eights this thread has. */
template <int EIGHTS> __device__ static void norm_parts(int *n, int64_t cols)
{
#pragma unroll
    for (int e = 0; e < EIGHTS; e++) n[e] = rows_part(norm_column(e), cols);
}

struct norm_forward {
    struct tensor y, stats, s, x, r, gain, bias;
    struct rows_draw draw;
    bool wide;
};

/* A row of x; after a residual sum, s = x + dropout(r), which is also stored and used as stored. */
template <class T, int EIGHTS, bool RESIDUAL>
__device__ static void norm_take(struct eight *v, const int *n, const struct norm_forward &f,
                                 int64_t row)
{
#pragma unroll
    for (int e = 0; e < EIGHTS; e++) {
        int column = norm_column(e), here = row < f.y.rows ? n[e] : 0;
        v[e] = rows_load(row_of<T>(f.x, row) + column, here, f.wide, 0.0f);
        if (!RESIDUAL || here == 0) continue;
        struct eight r = rows_load(row_of<T>(f.r, row) + column, here, f.wide, 0.0f);
        if (f.draw.keep_scale != 0.0f) {
            struct eight factor = rows_factors(f.draw, row, column);
#pragma unroll
            for (int i = 0; i < 8; i++) r.x[i] *= factor.x[i];
        }
        T *to = row_of<T>(f.s, row) + column;
#pragma unroll
        for (int i = 0; i < 8; i++) v[e].x[i] = rows_rounded(to, v[e].x[i] + r.x[i]);
        rows_store(to, v[e], here, f.wide);
    }
}

/* y = (x - mean) / deviation * gain + bias. Mapping: rule 1; a block takes ty rows at a time. Reads
 * 1, writes 1 (after a residual sum 2 and 2). 256 threads: two rows of 1024 columns, whose sums
 * meet at two barriers. */
template <class T, int EIGHTS, bool RESIDUAL>
static __global__ void __launch_bounds__(ROWS_THREADS) norm_k(struct norm_forward f)
{
    SHARED(float2, part, [2][NORM_WARPS]);
    struct eight gain[EIGHTS], bias[EIGHTS], v[EIGHTS];
    float share = 1.0f / (float)f.y.cols;
    int n[EIGHTS];
    norm_parts<EIGHTS>(n, f.y.cols);
#pragma unroll
    for (int e = 0; e < EIGHTS; e++) {
        gain[e] = rows_load((const float *)f.gain.data + norm_column(e), n[e], f.wide, 0.0f);
        bias[e] = rows_load((const float *)f.bias.data + norm_column(e), n[e], f.wide, 0.0f);
    }
    for (int64_t first = (int64_t)blockIdx.x * blockDim.y; first < f.y.rows;
         first += (int64_t)gridDim.x * blockDim.y) {
        int64_t row = first + threadIdx.y;
        norm_take<T, EIGHTS, RESIDUAL>(v, n, f, row);
        float sum = 0.0f, squares = 0.0f;
#pragma unroll
        for (int e = 0; e < EIGHTS; e++)
#pragma unroll
            for (int i = 0; i < 8; i++) sum += v[e].x[i];
        float mean = norm_row_sums(sum, 0.0f, part[0]).x * share;
#pragma unroll
        for (int e = 0; e < EIGHTS; e++)
#pragma unroll
            for (int i = 0; i < 8; i++) {
                float d = i < n[e] ? v[e].x[i] - mean : 0.0f;
                squares += d * d;
            }
        float variance = norm_row_sums(squares, 0.0f, part[1]).x * share;
        float deviation = 1.0f / sqrtf(variance + NORM_EPS);
        if (row >= f.y.rows) continue;
#pragma unroll
        for (int e = 0; e < EIGHTS; e++) {
#pragma unroll
            for (int i = 0; i < 8; i++)
                v[e].x[i] = (v[e].x[i] - mean) * deviation * gain[e].x[i] + bias[e].x[i];
            rows_store(row_of<T>(f.y, row) + norm_column(e), v[e], n[e], f.wide);
        }
        if (threadIdx.x == 0) {
            row_of<float>(f.stats, row)[0] = mean;
            row_of<float>(f.stats, row)[1] = deviation;
        }
    }
}

struct norm_backward {
    struct tensor dx, dy, x, stats, gain;
    float *parts; /* (blocks, 2, cols): shares of dgain and dbias */
    int accumulate;
    bool wide;
};

/* One row's dy and x as they come from memory. */
template <class T, int EIGHTS>
__device__ static float2 norm_dx_take(struct eight *dy, struct eight *x, const int *n,
                                      const struct norm_backward &f, int64_t row)
{
    bool there = row < f.dx.rows;
#pragma unroll
    for (int e = 0; e < EIGHTS; e++) {
        int column = norm_column(e), here = there ? n[e] : 0;
        dy[e] = rows_load(row_of<T>(f.dy, row) + column, here, f.wide, 0.0f);
        x[e] = rows_load(row_of<T>(f.x, row) + column, here, f.wide, 0.0f);
    }
    if (!there) return make_float2(0.0f, 0.0f);
    const float *stats = row_of<float>(f.stats, row);
    return make_float2(stats[0], stats[1]);
}

/* The block's sums over its ty rows, in the order of the rows, to the block's partial row. */
template <int EIGHTS>
__device__ static void norm_dx_finish(const struct norm_backward &f, const struct eight *dgain,
                                      const struct eight *dbias)
{
    SHARED_DYNAMIC(float, sums); /* (2, cols) where ty > 1 */
    int64_t cols = f.dx.cols;
    float *parts = f.parts + (int64_t)blockIdx.x * 2 * cols;
    for (unsigned turn = 0; turn < blockDim.y; turn++) {
        if (turn > 0) __syncthreads();
        if (turn != threadIdx.y) continue;
        float *to = turn + 1 == blockDim.y ? parts : sums;
#pragma unroll
        for (int e = 0; e < EIGHTS; e++) {
            int column = norm_column(e);
#pragma unroll
            for (int i = 0; i < 8; i++) {
                if (column + i >= cols) continue;
                float g = dgain[e].x[i], b = dbias[e].x[i];
                if (turn > 0) {
                    g += sums[column + i];
                    b += sums[cols + column + i];
                }
                to[column + i] = g;
                to[cols + column + i] = b;
            }
        }
    }
}

/* dx = deviation * (g dy - mean(g dy) - hat * mean(g dy hat)), and the block's shares of dgain =
 * sum dy hat, dbias = sum dy. Mapping: rule 1; a block takes ty rows at a time and asks for the
 * next ones before it waits for the sums of these (long rows: after; their registers are full).
 * Reads 2, writes 1 (accumulating: reads 3). 256 threads: as many loads under way with three blocks
 * a multiprocessor as the bus needs. */
template <class T, int EIGHTS>
static __global__ void __launch_bounds__(ROWS_THREADS, EIGHTS == 1 ? 3 : 1)
    norm_dx_k(struct norm_backward f)
{
    SHARED(float2, part, [2][NORM_WARPS]);
    struct eight dgain[EIGHTS], dbias[EIGHTS], dy[EIGHTS], x[EIGHTS];
    float share = 1.0f / (float)f.dx.cols;
    int n[EIGHTS];
    norm_parts<EIGHTS>(n, f.dx.cols);
    int64_t stride = (int64_t)gridDim.x * blockDim.y;
    int64_t row = (int64_t)blockIdx.x * blockDim.y + threadIdx.y;
#pragma unroll
    for (int e = 0; e < EIGHTS; e++)
#pragma unroll
        for (int i = 0; i < 8; i++) dgain[e].x[i] = dbias[e].x[i] = 0.0f;
    float2 stats = norm_dx_take<T, EIGHTS>(dy, x, n, f, row);
    int turn = 0;
    for (; row - threadIdx.y < f.dx.rows; row += stride, turn ^= 1) {
        struct eight dy_next[EIGHTS], x_next[EIGHTS];
        float2 stats_next;
        if (EIGHTS == 1) stats_next = norm_dx_take<T, EIGHTS>(dy_next, x_next, n, f, row + stride);
        float a = 0.0f, b = 0.0f;
#pragma unroll
        for (int e = 0; e < EIGHTS; e++) {
            struct eight gain =
                rows_load((const float *)f.gain.data + norm_column(e), n[e], f.wide, 0.0f);
#pragma unroll
            for (int i = 0; i < 8; i++) {
                float hat = (x[e].x[i] - stats.x) * stats.y, d = dy[e].x[i];
                x[e].x[i] = hat;
                dgain[e].x[i] += d * hat;
                dbias[e].x[i] += d;
                dy[e].x[i] = d * gain.x[i];
                a += d * gain.x[i];
                b += d * gain.x[i] * hat;
            }
        }
        float2 means = norm_row_sums(a, b, part[turn]);
        float mean_a = means.x * share, mean_b = means.y * share;
#pragma unroll
        for (int e = 0; e < EIGHTS; e++) {
            int here = row < f.dx.rows ? n[e] : 0;
            T *to = row_of<T>(f.dx, row) + norm_column(e);
            struct eight d = {{0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f}};
            if (f.accumulate) d = rows_load(to, here, f.wide, 0.0f);
#pragma unroll
            for (int i = 0; i < 8; i++)
                d.x[i] += stats.y * (dy[e].x[i] - mean_a - x[e].x[i] * mean_b);
            rows_store(to, d, here, f.wide);
        }
        if (EIGHTS == 1) {
            dy[0] = dy_next[0];
            x[0] = x_next[0];
            stats = stats_next;
        } else {
            stats = norm_dx_take<T, EIGHTS>(dy, x, n, f, row + stride);
        }
    }
    norm_dx_finish<EIGHTS>(f, dgain, dbias);
}

/* dgain and dbias += the sum of the partial rows. A block owns 32 columns of the 2 C, lane k of 16
 * sums the partial rows k, k + 16, ...; then the lanes are added in order. Reads 4 bytes a partial
 * element. 512 threads: 25 loads each. */
static __global__ void norm_sum_k(float *dgain, float *dbias, const float *parts, int parts_n,
                                  int64_t cols)
{
    SHARED(float, sums, [NORM_SUM_LANES][NORM_SUM_COLUMNS]);
    int64_t column = (int64_t)blockIdx.x * NORM_SUM_COLUMNS + threadIdx.x;
    float sum = 0.0f;
    if (column < 2 * cols)
#pragma unroll 4
        for (int p = (int)threadIdx.y; p < parts_n; p += NORM_SUM_LANES)
            sum += parts[p * 2 * cols + column];
    sums[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y > 0 || column >= 2 * cols) return;
    for (int lane = 1; lane < NORM_SUM_LANES; lane++) sum += sums[lane][threadIdx.x];
    float *to = column < cols ? dgain + column : dbias + (column - cols);
    *to += sum;
}

static dim3 norm_block(int64_t cols)
{
    dim3 block = rows_block(cols);
    if (block.x < 8) block = dim3(8, ROWS_THREADS / 8);
    return block;
}

static unsigned norm_blocks_n(int64_t rows, int64_t cols, int64_t most)
{
    int64_t taken = norm_block(cols).y * NORM_TURNS_MIN, n = (rows + taken - 1) / taken;
    return (unsigned)(n < most ? n : most);
}

template <class T, bool RESIDUAL> static int norm_launch(void *stream, const struct norm_forward *f)
{
    dim3 grid(norm_blocks_n(f->y.rows, f->y.cols, NORM_BLOCKS));
    launch(norm_is_long(f->y.cols) ? norm_k<T, 4, RESIDUAL> : norm_k<T, 1, RESIDUAL>, grid,
           norm_block(f->y.cols), 0, (cudaStream_t)stream, *f);
    return cudaGetLastError();
}

int cuda_norm(void *stream, struct tensor *y, struct tensor *stats, const struct tensor *x,
              const struct tensor *gain, const struct tensor *bias)
{
    struct norm_forward f = {*y,   *stats, *x, *x, *x, *gain, *bias, rows_draw_of(NULL, y->cols),
                             false};
    if (!rows_is_float(y) || y->cols > NORM_COLS_MAX) return cudaErrorInvalidValue;
    f.wide = rows_is_wide(y) && rows_is_wide(x) && rows_is_wide(gain) && rows_is_wide(bias);
    return y->dtype == DTYPE_BF16 ? norm_launch<bf16, false>(stream, &f)
                                  : norm_launch<float, false>(stream, &f);
}

int cuda_residual_norm(void *stream, struct tensor *s, struct tensor *y, struct tensor *stats,
                       const struct tensor *x, const struct tensor *r, const struct dropout *d,
                       const struct tensor *gain, const struct tensor *bias)
{
    struct norm_forward f = {*y, *stats, *s, *x, *r, *gain, *bias, rows_draw_of(d, y->cols), false};
    if (!rows_is_float(y) || y->cols > NORM_COLS_MAX) return cudaErrorInvalidValue;
    f.wide = rows_is_wide(y) && rows_is_wide(s) && rows_is_wide(x) && rows_is_wide(r) &&
             rows_is_wide(gain) && rows_is_wide(bias);
    return y->dtype == DTYPE_BF16 ? norm_launch<bf16, true>(stream, &f)
                                  : norm_launch<float, true>(stream, &f);
}

size_t cuda_norm_dx_workspace(int64_t rows, int64_t cols)
{
    return (size_t)norm_blocks_n(rows, cols, NORM_PARTS) * 2 * (size_t)cols * sizeof(float);
}

template <class T> static void norm_dx_launch(void *stream, const struct norm_backward *f)
{
    int64_t cols = f->dx.cols;
    dim3 block = norm_block(cols);
    size_t bytes = block.y > 1 ? 2 * (size_t)cols * sizeof(float) : 0;
    launch(norm_is_long(cols) ? norm_dx_k<T, 4> : norm_dx_k<T, 1>,
           dim3(norm_blocks_n(f->dx.rows, cols, NORM_PARTS)), block, bytes, (cudaStream_t)stream,
           *f);
}

int cuda_norm_dx(void *stream, struct tensor *dx, struct tensor *dgain, struct tensor *dbias,
                 const struct tensor *dy, const struct tensor *x, const struct tensor *stats,
                 const struct tensor *gain, int accumulate_dx, void *workspace_dev)
{
    struct norm_backward f = {*dx,           *dy,  *x, *stats, *gain, (float *)workspace_dev,
                              accumulate_dx, false};
    int64_t cols = dx->cols;
    if (!rows_is_float(dx) || cols > NORM_COLS_MAX) return cudaErrorInvalidValue;
    f.wide = rows_is_wide(dx) && rows_is_wide(dy) && rows_is_wide(x) && rows_is_wide(gain);
    if (dx->dtype == DTYPE_BF16)
        norm_dx_launch<bf16>(stream, &f);
    else
        norm_dx_launch<float>(stream, &f);
    cudaError_t rc = cudaGetLastError();
    if (rc != cudaSuccess) return rc;
    dim3 grid((unsigned)((2 * cols + NORM_SUM_COLUMNS - 1) / NORM_SUM_COLUMNS));
    launch(norm_sum_k, grid, dim3(NORM_SUM_COLUMNS, NORM_SUM_LANES), 0, (cudaStream_t)stream,
           (float *)dgain->data, (float *)dbias->data, (const float *)workspace_dev,
           (int)norm_blocks_n(dx->rows, cols, NORM_PARTS), cols);
    return cudaGetLastError();
}
