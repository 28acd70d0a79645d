/* column_sums.cu - sums of columns, the gradient of a bias; and the gradient of ReLU, which is
 * summed while it is at hand.
 *
 * Two passes in a fixed order: each block sums a span of rows of a strip of columns into the
 * workspace, then a second kernel adds the spans. */
#include "kernels.h"
#include "rows.cuh"

enum { SUMS_LANES = 32, SUMS_GROUPS = 8, SUMS_SPAN = 128, SUMS_COLUMNS = 8 * SUMS_LANES };
enum { ADD_COLUMNS = 32, ADD_LANES = 16 };

/* The gradient of ReLU and its dropout: x * scale where `kept` is not 0, else 0. */
struct sums_mask {
    struct tensor kept, to; /* to: where the gradient is stored; may be x */
    float scale;
};

/* A block of 32 x 8 threads owns 256 columns and SUMS_SPAN rows; thread (c, g) adds the rows g,
 * g+8,
 * ... of its eight columns, and then the eight groups are added in order; parts NULL: nothing is
 * added. Reads 2 or 4 bytes an element, 512 or 1024 in a row a warp, MASKED reads two and writes
 * one; sixteen rows a thread, four of them under way. */
template <class T, bool MASKED>
static __global__ void __launch_bounds__(SUMS_LANES *SUMS_GROUPS)
    column_sums_k(float *parts, struct tensor x, struct sums_mask mask, bool wide)
{
    SHARED(float, sums, [SUMS_GROUPS][SUMS_COLUMNS]);
    int64_t column = (int64_t)blockIdx.x * SUMS_COLUMNS + threadIdx.x * 8;
    int64_t first = (int64_t)blockIdx.y * SUMS_SPAN;
    int64_t end = first + SUMS_SPAN < x.rows ? first + SUMS_SPAN : x.rows;
    int n = rows_part(column, x.cols);
    struct eight sum = {{0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f}};
#pragma unroll 4
    for (int64_t row = first + threadIdx.y; row < end; row += SUMS_GROUPS) {
        struct eight v = rows_load(row_of<const T>(x, row) + column, n, wide, 0.0f);
        if (MASKED) {
            struct eight y = rows_load(row_of<const T>(mask.kept, row) + column, n, wide, 0.0f);
            T *to = row_of<T>(mask.to, row) + column;
#pragma unroll
            for (int i = 0; i < 8; i++)
                v.x[i] = y.x[i] == 0.0f ? 0.0f : rows_rounded(to, v.x[i] * mask.scale);
            rows_store(to, v, n, wide);
        }
#pragma unroll
        for (int i = 0; i < 8; i++) sum.x[i] += v.x[i];
    }
    if (!parts) return;
#pragma unroll
    for (int i = 0; i < 8; i++) sums[threadIdx.y][i * SUMS_LANES + threadIdx.x] = sum.x[i];
    __syncthreads();
    /* A thread adds one column: number i of lane c stands at 32 i + c. */
    int thread = (int)(threadIdx.y * SUMS_LANES + threadIdx.x);
    int64_t mine =
        (int64_t)blockIdx.x * SUMS_COLUMNS + thread % SUMS_LANES * 8 + thread / SUMS_LANES;
    if (mine >= x.cols) return;
    float total = sums[0][thread];
    for (int group = 1; group < SUMS_GROUPS; group++) total += sums[group][thread];
    parts[(int64_t)blockIdx.y * x.cols + mine] = total;
}

/* A block owns 32 columns, lane k of 16 adds the spans k, k + 16, ...; then the lanes are added in
 * order. Reads 4 bytes a span and column: nothing beside the first pass. */
static __global__ void __launch_bounds__(ADD_COLUMNS *ADD_LANES)
    column_sums_add_k(float *out, const float *parts, int64_t spans_n, int64_t cols, int accumulate)
{
    SHARED(float, sums, [ADD_LANES][ADD_COLUMNS]);
    int64_t column = (int64_t)blockIdx.x * ADD_COLUMNS + threadIdx.x;
    float sum = 0.0f;
    if (column < cols)
#pragma unroll 4
        for (int64_t span = threadIdx.y; span < spans_n; span += ADD_LANES)
            sum += parts[span * cols + column];
    sums[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y > 0 || column >= cols) return;
    for (int lane = 1; lane < ADD_LANES; lane++) sum += sums[lane][threadIdx.x];
    out[column] = accumulate ? out[column] + sum : sum;
}

static int64_t sums_spans_n(const struct tensor *x)
{
    return (x->rows + SUMS_SPAN - 1) / SUMS_SPAN;
}

size_t cuda_column_sums_workspace(const struct tensor *x)
{
    return (size_t)(sums_spans_n(x) * x->cols) * sizeof(float);
}

static int sums_launch(void *stream, const struct tensor *out, const struct tensor *x,
                       const struct sums_mask *mask, int accumulate, bool wide, float *parts)
{
    bool half = x->dtype == DTYPE_BF16;
    dim3 grid((unsigned)((x->cols + SUMS_COLUMNS - 1) / SUMS_COLUMNS), (unsigned)sums_spans_n(x));
    launch(mask->to.data ? (half ? column_sums_k<bf16, true> : column_sums_k<float, true>)
                         : (half ? column_sums_k<bf16, false> : column_sums_k<float, false>),
           grid, dim3(SUMS_LANES, SUMS_GROUPS), 0, (cudaStream_t)stream, parts, *x, *mask, wide);
    if (parts)
        launch(column_sums_add_k, dim3((unsigned)((x->cols + ADD_COLUMNS - 1) / ADD_COLUMNS)),
               dim3(ADD_COLUMNS, ADD_LANES), 0, (cudaStream_t)stream, (float *)out->data,
               (const float *)parts, sums_spans_n(x), x->cols, accumulate);
    return (int)cudaGetLastError();
}

int cuda_column_sums(void *stream, const struct tensor *out, const struct tensor *x, int accumulate,
                     void *workspace_dev)
{
    struct sums_mask none = {};
    return sums_launch(stream, out, x, &none, accumulate, rows_is_wide(x), (float *)workspace_dev);
}

size_t cuda_relu_bwd_workspace(const struct relu_bwd_args *a)
{
    return a->dbias.data ? cuda_column_sums_workspace(&a->dx) : 0;
}

int cuda_relu_bwd(void *stream, const struct relu_bwd_args *a, void *workspace_dev)
{
    float p = a->dropout.p;
    struct sums_mask mask = {a->y, a->dx, p > 0.0f ? 1.0f / (1.0f - p) : 1.0f};
    bool wide = rows_is_wide(&a->dx) && rows_is_wide(&a->dy) && rows_is_wide(&a->y);
    if (!rows_is_float(&a->dx)) return cudaErrorInvalidValue;
    return sums_launch(stream, &a->dbias, &a->dy, &mask, 1, wide,
                       a->dbias.data ? (float *)workspace_dev : NULL);
}
