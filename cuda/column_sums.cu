/* column_sums.cu - sums of columns: the gradient of a bias.
 *
 * Two passes in a fixed order: each block sums a span of rows of a strip of columns into the
 * workspace, then one thread a column adds the spans from the first to the last. */
#include "gpu.cuh"

#include "kernels.h"

enum { SUMS_LANES = 32, SUMS_GROUPS = 8, SUMS_SPAN = 256, SUMS_THREADS = 256 };

__device__ inline float sums_value(float x)
{
    return x;
}

__device__ inline float sums_value(bf16 x)
{
    return __bfloat162float(x);
}

/* A block of 32 x 8 threads owns 32 columns and SUMS_SPAN rows; thread (c, g) adds the rows g, g+8,
 * … of its column, and the first of the eight adds their sums. Reads 2 or 4 bytes an element, 64
 * or 128 in a row a warp; 256 threads keep enough loads under way without much shared memory.
 */
template <class T>
static __global__ void column_sums_k(float *parts, const T *x, int64_t rows, int64_t cols,
                                     int64_t stride)
{
    SHARED(float, sums, [SUMS_GROUPS][SUMS_LANES]);
    int64_t column = (int64_t)blockIdx.x * SUMS_LANES + threadIdx.x;
    int64_t first = (int64_t)blockIdx.y * SUMS_SPAN;
    int64_t end = first + SUMS_SPAN < rows ? first + SUMS_SPAN : rows;
    float sum = 0.0f;
    if (column < cols)
        for (int64_t row = first + threadIdx.y; row < end; row += SUMS_GROUPS)
            sum += sums_value(x[row * stride + column]);
    sums[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y != 0 || column >= cols) return;
    for (int group = 1; group < SUMS_GROUPS; group++) sum += sums[group][threadIdx.x];
    parts[(int64_t)blockIdx.y * cols + column] = sum;
}

/* One thread a column. Reads 4 bytes a span, writes 4: nothing beside the first pass. */
static __global__ void column_sums_add_k(float *out, const float *parts, int64_t spans_n,
                                         int64_t cols, int accumulate)
{
    int64_t column = (int64_t)blockIdx.x * SUMS_THREADS + threadIdx.x;
    if (column >= cols) return;
    float sum = 0.0f;
    for (int64_t span = 0; span < spans_n; span++) sum += parts[span * cols + column];
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

int cuda_column_sums(void *stream, struct tensor *out, const struct tensor *x, int accumulate,
                     void *workspace_dev)
{
    float *parts = (float *)workspace_dev;
    dim3 block(SUMS_LANES, SUMS_GROUPS);
    dim3 grid((unsigned)((x->cols + SUMS_LANES - 1) / SUMS_LANES), (unsigned)sums_spans_n(x));
    if (x->dtype == DTYPE_BF16)
        launch(column_sums_k<bf16>, grid, block, 0, (cudaStream_t)stream, parts,
               (const bf16 *)x->data, x->rows, x->cols, x->stride);
    else
        launch(column_sums_k<float>, grid, block, 0, (cudaStream_t)stream, parts,
               (const float *)x->data, x->rows, x->cols, x->stride);
    launch(column_sums_add_k, dim3((unsigned)((x->cols + SUMS_THREADS - 1) / SUMS_THREADS)),
           dim3(SUMS_THREADS), 0, (cudaStream_t)stream, (float *)out->data, (const float *)parts,
           sums_spans_n(x), x->cols, accumulate);
    return (int)cudaGetLastError();
}
