/* column_sums.cu - sums of columns, the gradient of a bias, if no product computes them.
 *
 * Two passes in a fixed order: each block writes the sums of a span of rows to the workspace, then
 * a second kernel adds the spans. layernorm_bwd.cu uses the second, too. */
#include "kernels.h"
#include "rows.cuh"

enum { SUMS_LANES = 32, SUMS_GROUPS = 8, SUMS_SPAN = 128, SUMS_COLUMNS = 8 * SUMS_LANES };
enum { ADD_COLUMNS = 32, ADD_LANES = 16 };

/* A block of 32 x 8 threads owns 256 columns and SUMS_SPAN rows; thread (c, g) adds rows g, g+8,
 * ... of its eight columns, and then the eight groups are added in order. Reads 2 or 4 bytes an
 * element, 512 or 1024 in a row a warp; sixteen rows a thread, four of them in flight. */
template <class T>
static __global__ void __launch_bounds__(SUMS_LANES *SUMS_GROUPS)
    column_sums_k(float *parts, struct tensor x, bool wide)
{
    SHARED(float, sums, [SUMS_GROUPS][SUMS_COLUMNS]);
    int64_t column = (int64_t)blockIdx.x * SUMS_COLUMNS + threadIdx.x * 8;
    int64_t first = (int64_t)blockIdx.y * SUMS_SPAN;
    int64_t end = first + SUMS_SPAN < x.rows ? first + SUMS_SPAN : x.rows;
    int n = rows_part(column, x.cols);
    struct vec8 sum = {{0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f}};
#pragma unroll 4
    for (int64_t row = first + threadIdx.y; row < end; row += SUMS_GROUPS) {
        struct vec8 v = rows_load(row_of<const T>(x, row) + column, n, wide, 0.0f);
#pragma unroll
        for (int i = 0; i < 8; i++) sum.x[i] += v.x[i];
    }
#pragma unroll
    for (int i = 0; i < 8; i++) sums[threadIdx.y][i * SUMS_LANES + threadIdx.x] = sum.x[i];
    __syncthreads();
    /* A thread adds one column: number i of lane c is at 32 i + c. */
    int thread = (int)(threadIdx.y * SUMS_LANES + threadIdx.x);
    int64_t mine =
        (int64_t)blockIdx.x * SUMS_COLUMNS + thread % SUMS_LANES * 8 + thread / SUMS_LANES;
    if (mine >= x.cols) return;
    float total = sums[0][thread];
    for (int group = 1; group < SUMS_GROUPS; group++) total += sums[group][thread];
    parts[(int64_t)blockIdx.y * x.cols + mine] = total;
}

/* A block owns 32 columns, lane k of 16 adds the parts k, k + 16, ...; then the lanes are added in
 * order. Reads 4 bytes a part and column: little beside the kernel that wrote them. With 512
 * threads a thread has at most 25 loads of layernorm's parts. */
static __global__ void __launch_bounds__(ADD_COLUMNS *ADD_LANES)
    add_parts_k(float *out, float *rest, int64_t split, const float *parts, int64_t parts_n,
                int64_t cols, int accumulate)
{
    SHARED(float, sums, [ADD_LANES][ADD_COLUMNS]);
    int64_t column = (int64_t)blockIdx.x * ADD_COLUMNS + threadIdx.x;
    float sum = 0.0f;
    if (column < cols)
#pragma unroll 4
        for (int64_t part = threadIdx.y; part < parts_n; part += ADD_LANES)
            sum += parts[part * cols + column];
    sums[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y > 0 || column >= cols) return;
    for (int lane = 1; lane < ADD_LANES; lane++) sum += sums[lane][threadIdx.x];
    float *to = column < split ? out + column : rest + (column - split);
    *to = accumulate ? *to + sum : sum;
}

cudaError_t rows_add_parts(void *stream, float *out, float *rest, int64_t split, const float *parts,
                           int64_t parts_n, int64_t cols, int accumulate)
{
    return launch(add_parts_k, dim3((unsigned)((cols + ADD_COLUMNS - 1) / ADD_COLUMNS)),
                  dim3(ADD_COLUMNS, ADD_LANES), 0, (cudaStream_t)stream, out, rest, split, parts,
                  parts_n, cols, accumulate);
}

static int64_t sums_spans_n(const struct tensor *x)
{
    return (x->rows + SUMS_SPAN - 1) / SUMS_SPAN;
}

size_t cuda_column_sums_workspace(const struct tensor *x)
{
    return (size_t)(sums_spans_n(x) * x->cols) * sizeof(float);
}

int cuda_column_sums(void *stream, const struct tensor *out, const struct tensor *x, int accumulate,
                     void *workspace_dev)
{
    float *parts = (float *)workspace_dev;
    dim3 grid((unsigned)((x->cols + SUMS_COLUMNS - 1) / SUMS_COLUMNS), (unsigned)sums_spans_n(x));
    cudaError_t rc =
        launch_by_dtype(*x, column_sums_k<bf16>, column_sums_k<float>, grid,
                        dim3(SUMS_LANES, SUMS_GROUPS), 0, stream, parts, *x, rows_are_wide(*x));
    if (rc != cudaSuccess) return rc;
    return rows_add_parts(stream, (float *)out->data, NULL, x->cols, parts, sums_spans_n(x),
                          x->cols, accumulate);
}
