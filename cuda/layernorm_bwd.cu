/* layernorm_bwd.cu - the backward pass of LayerNorm, alone or after a residual sum with dropout.
 *
 * Each block writes its sums for dgain and dbias as one partial row; a second kernel
 * (rows_add_parts) adds the partial rows in a fixed order. */
#include "kernels.h"
#include "layernorm.cuh"

enum {
    NORM_PARTS = 396,    /* blocks: 3, which registers allow, for each of 132 SMs */
    NORM_PARTS_F32 = 264 /* 2 */
};

struct norm_backward {
    struct tensor dx, dr, dy, x, stats, gain;
    struct rows_draw draw; /* of dr, after a residual sum */
    float *parts;          /* (blocks, 2, cols): shares of dgain and dbias */
    int accumulate;
    bool wide;
};

/* The elements of a row that a thread holds. */
template <class T, int EIGHTS> struct norm_row {
    struct rows_raw<T> dy[EIGHTS], x[EIGHTS];
    float2 stats; /* mean, reciprocal deviation */
};

template <class T, int EIGHTS>
__device__ static void layernorm_bwd_take(struct norm_row<T, EIGHTS> *r, const int *n,
                                          const struct norm_backward &f, int64_t row)
{
    bool there = row < f.dx.rows;
#pragma unroll
    for (int e = 0; e < EIGHTS; e++) {
        int column = norm_column(e), here = there ? n[e] : 0;
        r->dy[e] = rows_fetch(row_of<T>(f.dy, row) + column, here, f.wide);
        r->x[e] = rows_fetch(row_of<T>(f.x, row) + column, here, f.wide);
    }
    r->stats = make_float2(0.0f, 0.0f);
    if (!there) return;
    const float *stats = row_of<float>(f.stats, row);
    r->stats = make_float2(stats[0], stats[1]);
}

/* Adds the ty rows of threads in order and writes the block's partial row. */
template <int EIGHTS>
__device__ static void layernorm_bwd_finish(const struct norm_backward &f, const struct vec8 *dgain,
                                            const struct vec8 *dbias)
{
    SHARED_DYNAMIC(float, sums); /* (2, cols) where ty > 1 */
    int64_t cols = f.dx.cols;
    float *parts = f.parts + (int64_t)blockIdx.x * 2 * cols;
    for (unsigned y = 0; y < blockDim.y; y++) {
        if (y > 0) __syncthreads();
        if (y != threadIdx.y) continue;
        float *to = y + 1 == blockDim.y ? parts : sums;
#pragma unroll
        for (int e = 0; e < EIGHTS; e++) {
            int column = norm_column(e);
#pragma unroll
            for (int i = 0; i < 8; i++) {
                if (column + i >= cols) continue;
                float g = dgain[e].x[i], b = dbias[e].x[i];
                if (y > 0) {
                    g += sums[column + i];
                    b += sums[cols + column + i];
                }
                to[column + i] = g;
                to[cols + column + i] = b;
            }
        }
    }
}

/* Stores dx, and with a residual sum dr, the dropout of dx as it is stored. */
template <class T, bool RESIDUAL>
__device__ static void layernorm_bwd_store(struct vec8 &d, const struct norm_backward &f,
                                           int64_t row, int column, int here)
{
    T *to = row_of<T>(f.dx, row) + column;
    rows_store(to, d, here, f.wide);
    if (!RESIDUAL || here == 0) return;
    struct vec8 factor = rows_factors(f.draw, row, column);
#pragma unroll
    for (int i = 0; i < 8; i++) d.x[i] = rows_rounded(to, d.x[i]) * factor.x[i];
    rows_store(row_of<T>(f.dr, row) + column, d, here, f.wide);
}

/* dx = deviation * (g dy - mean(g dy) - hat * mean(g dy hat)), and the block's parts of dgain = sum
 * dy hat, dbias = sum dy. Threads as in rule 1; a block visits ty rows at a time. Before it waits
 * for their sums it loads the values that dx is added to, and the next rows if registers suffice.
 * Reads 2 elements per element, writes 1; accumulating it reads 3; with a residual sum it reads 3
 * and writes 2, which is 10 bytes in bf16, where layernorm_bwd and then dropout move 12. With 256
 * threads, three blocks per SM (two in fp32) have enough loads in flight for the memory. */
template <class T, int EIGHTS, bool RESIDUAL>
static __global__ void __launch_bounds__(ROWS_THREADS, EIGHTS > 1       ? 1
                                                       : sizeof(T) == 2 ? 3
                                                                        : 2)
    layernorm_bwd_k(struct norm_backward f)
{
    const bool EARLY = EIGHTS * sizeof(T) <= 8;
    SHARED(float2, part, [2][NORM_WARPS]);
    struct vec8 dgain[EIGHTS], dbias[EIGHTS];
    struct norm_row<T, EIGHTS> here;
    float share = 1.0f / (float)f.dx.cols;
    int n[EIGHTS];
    norm_parts<EIGHTS>(n, f.dx.cols);
    int64_t stride = (int64_t)gridDim.x * blockDim.y;
    int64_t row = (int64_t)blockIdx.x * blockDim.y + threadIdx.y;
#pragma unroll
    for (int e = 0; e < EIGHTS; e++)
#pragma unroll
        for (int i = 0; i < 8; i++) dgain[e].x[i] = dbias[e].x[i] = 0.0f;
    layernorm_bwd_take<T, EIGHTS>(&here, n, f, row);
    for (int odd = 0; row - threadIdx.y < f.dx.rows; row += stride, odd ^= 1) {
        struct norm_row<T, EIGHTS> next;
        struct rows_raw<T> before[EIGHTS];
        if (EARLY) layernorm_bwd_take<T, EIGHTS>(&next, n, f, row + stride);
        bool there = row < f.dx.rows;
#pragma unroll
        for (int e = 0; e < EIGHTS; e++)
            before[e] = rows_fetch(row_of<T>(f.dx, row) + norm_column(e),
                                   there && f.accumulate ? n[e] : 0, f.wide);
        float a = 0.0f, b = 0.0f, mean = here.stats.x, deviation = here.stats.y;
        struct vec8 dy[EIGHTS], hat[EIGHTS]; /* dy times the gain */
#pragma unroll
        for (int e = 0; e < EIGHTS; e++) {
            struct vec8 gain =
                rows_load((const float *)f.gain.data + norm_column(e), n[e], f.wide, 0.0f);
            dy[e] = rows_widen(here.dy[e]);
            hat[e] = rows_widen(here.x[e]);
#pragma unroll
            for (int i = 0; i < 8; i++) {
                float d = dy[e].x[i];
                hat[e].x[i] = (hat[e].x[i] - mean) * deviation;
                dgain[e].x[i] += d * hat[e].x[i];
                dbias[e].x[i] += d;
                dy[e].x[i] = d * gain.x[i];
                a += d * gain.x[i];
                b += d * gain.x[i] * hat[e].x[i];
            }
        }
        float2 means = norm_row_sums(a, b, part[odd]);
        float mean_a = means.x * share, mean_b = means.y * share;
#pragma unroll
        for (int e = 0; e < EIGHTS; e++) {
            struct vec8 d = rows_widen(before[e]);
#pragma unroll
            for (int i = 0; i < 8; i++)
                d.x[i] += deviation * (dy[e].x[i] - mean_a - hat[e].x[i] * mean_b);
            layernorm_bwd_store<T, RESIDUAL>(d, f, row, norm_column(e), there ? n[e] : 0);
        }
        if (EARLY)
            here = next;
        else
            layernorm_bwd_take<T, EIGHTS>(&here, n, f, row + stride);
    }
    layernorm_bwd_finish<EIGHTS>(f, dgain, dbias);
}

size_t cuda_layernorm_bwd_workspace(const struct tensor *x)
{
    return (size_t)norm_blocks_n(x->rows, x->cols, NORM_PARTS) * 2 * (size_t)x->cols *
           sizeof(float);
}

/* Launches both kernels of the backward pass. */
template <bool RESIDUAL>
static int layernorm_bwd_launch(void *stream, const struct norm_backward &f,
                                const struct tensor &dgain, const struct tensor &dbias)
{
    int64_t cols = f.dx.cols;
    bool is_long = norm_is_long(cols);
    dim3 block = norm_block(cols);
    unsigned blocks_n =
        norm_blocks_n(f.dx.rows, cols, f.dx.dtype == DTYPE_BF16 ? NORM_PARTS : NORM_PARTS_F32);
    if (cols > NORM_COLS_MAX) return cudaErrorInvalidValue;
    cudaError_t rc = launch_by_dtype(
        f.dx, is_long ? layernorm_bwd_k<bf16, 4, RESIDUAL> : layernorm_bwd_k<bf16, 1, RESIDUAL>,
        is_long ? layernorm_bwd_k<float, 4, RESIDUAL> : layernorm_bwd_k<float, 1, RESIDUAL>,
        dim3(blocks_n), block, block.y > 1 ? 2 * (size_t)cols * sizeof(float) : 0, stream, f);
    if (rc != cudaSuccess) return rc;
    return rows_add_parts(stream, (float *)dgain.data, (float *)dbias.data, cols, f.parts, blocks_n,
                          2 * cols, 1);
}

int cuda_layernorm_bwd(void *stream, const struct layernorm_bwd_args *a, void *workspace_dev)
{
    struct norm_backward f = {a->dx,
                              a->dx,
                              a->dy,
                              a->x,
                              a->stats,
                              a->gain,
                              rows_draw_of(NULL, 0),
                              (float *)workspace_dev,
                              a->accumulate_dx,
                              rows_are_wide(a->dx, a->dy, a->x, a->gain)};
    return layernorm_bwd_launch<false>(stream, f, a->dgain, a->dbias);
}

int cuda_residual_layernorm_bwd(void *stream, const struct residual_layernorm_bwd_args *a,
                                void *workspace_dev)
{
    struct norm_backward f = {a->ds,
                              a->dr,
                              a->dy,
                              a->s,
                              a->stats,
                              a->gain,
                              rows_draw_of(&a->dropout, a->ds.cols),
                              (float *)workspace_dev,
                              1,
                              rows_are_wide(a->ds, a->dr, a->dy, a->s, a->gain)};
    return layernorm_bwd_launch<true>(stream, f, a->dgain, a->dbias);
}
