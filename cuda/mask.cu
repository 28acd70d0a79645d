/* mask.cu - which elements of a matrix are not zero, a bit each, as a product of the library takes
 * them (CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER), and whether what it made of them is right. */
#include "kernels.h"
#include "rows.cuh"

enum { MASK_UNIT = 128, COMPARE_THREADS = 256 };

int64_t cuda_mask_stride(int64_t cols)
{
    return (cols + MASK_UNIT - 1) / MASK_UNIT * MASK_UNIT;
}

size_t cuda_mask_bytes(int64_t rows, int64_t cols)
{
    return (size_t)(rows * (cuda_mask_stride(cols) / 8));
}

/* A thread owns eight columns of a row, one byte of bits; `padded` is y as wide as the bits are.
 * Reads 16 or 32 bytes a thread, in a row a warp, and writes one. A NaN is not zero. */
template <class T>
static __global__ void mask_k(uint8_t *bits, struct tensor y, struct tensor padded, bool wide)
{
    struct rows_place at = rows_place_of(padded);
    if (at.n == 0) return;
    int n = rows_part(at.column, y.cols);
    unsigned byte = 0;
    if (n > 0) {
        struct eight v = rows_load(row_of<const T>(y, at.row) + at.column, n, wide, 0.0f);
#pragma unroll
        for (int i = 0; i < 8; i++) byte |= (unsigned)(v.x[i] != 0.0f) << i;
    }
    bits[(at.row * padded.cols + at.column) / 8] = (uint8_t)byte;
}

/* The largest of the block's non-negative numbers, for every thread. */
static __device__ float compare_most(float v)
{
    SHARED(float, most, [COMPARE_THREADS / 32]);
    v = warp_max(v);
    if (threadIdx.x % 32 == 0) most[threadIdx.x / 32] = v;
    __syncthreads();
    for (int w = 0; w < COMPARE_THREADS / 32; w++) v = fmaxf(v, most[w]);
    return v;
}

/* A block owns a row, a thread every 256th column; the row is read twice, for it is done once for a
 * class of products. Counts are whole numbers: the order of atomics does not show. */
template <class T>
static __global__ void __launch_bounds__(COMPARE_THREADS)
    mask_compare_k(struct mask_report *report, struct tensor c, struct tensor want, struct tensor y,
                   float share)
{
    const T *got = row_of<const T>(c, blockIdx.x), *right = row_of<const T>(want, blockIdx.x);
    const T *kept = row_of<const T>(y, blockIdx.x);
    unsigned wrong_n = 0, edges_n = 0;
    float most = 0.0f;
    for (int64_t i = threadIdx.x; i < c.cols; i += COMPARE_THREADS)
        most = fmaxf(most, fabsf(rows_widen(right[i])));
    float allowed = share * compare_most(most);
    for (int64_t i = threadIdx.x; i < c.cols; i += COMPARE_THREADS) {
        float a = rows_widen(got[i]), b = rows_widen(right[i]);
        bool open = rows_widen(kept[i]) != 0.0f;
        wrong_n += open ? !(fabsf(a - b) <= allowed) : a != 0.0f;
        if (!open || !(fabsf(b) > allowed)) continue;
        edges_n += i > 0 && rows_widen(kept[i - 1]) == 0.0f;
        edges_n += i + 1 < c.cols && rows_widen(kept[i + 1]) == 0.0f;
    }
    if (wrong_n) atomicAdd(&report->wrong_n, wrong_n);
    if (edges_n) atomicAdd(&report->edges_n, edges_n);
}

int cuda_mask(void *stream, void *bits_dev, const struct tensor *y)
{
    struct tensor padded = *y;
    if (!rows_is_float(y)) return cudaErrorInvalidValue;
    padded.cols = cuda_mask_stride(y->cols);
    dim3 block = rows_block(padded.cols);
    launch(y->dtype == DTYPE_BF16 ? mask_k<bf16> : mask_k<float>,
           rows_grid(y->rows, padded.cols, block), block, 0, (cudaStream_t)stream,
           (uint8_t *)bits_dev, *y, padded, rows_is_wide(y));
    return cudaGetLastError();
}

int cuda_mask_compare(void *stream, struct mask_report *report_dev, const struct tensor *c,
                      const struct tensor *want, const struct tensor *y)
{
    if (!rows_is_float(c)) return cudaErrorInvalidValue;
    cudaError_t status = cudaMemsetAsync(report_dev, 0, sizeof *report_dev, (cudaStream_t)stream);
    if (status != cudaSuccess) return status;
    bool half = c->dtype == DTYPE_BF16;
    launch(half ? mask_compare_k<bf16> : mask_compare_k<float>, dim3((unsigned)c->rows),
           dim3(COMPARE_THREADS), 0, (cudaStream_t)stream, report_dev, *c, *want, *y,
           half ? 0x1p-6f : 0x1p-14f);
    return cudaGetLastError();
}
