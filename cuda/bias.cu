/* bias.cu - a learned bias by bucket of distance, on its way into attention's bias form and back.
 */
#include "gpu.cuh"

#include "kernels.h"

enum { BIAS_THREADS = 128 };

/* A thread owns one distance of one head; the one after the last is the far constant. Small: 8
 * bytes an entry and a bucket number. */
static __global__ void bias_expand_k(struct tensor table, float *near, float *offset,
                                     const int32_t *bucket, int32_t bias_table_n, float multiplier)
{
    const float *from = (const float *)table.data;
    int64_t at = (int64_t)blockIdx.x * BIAS_THREADS + threadIdx.x;
    int64_t h = at / (bias_table_n + 1), d = at % (bias_table_n + 1);
    if (h >= table.cols) return;
    if (d < bias_table_n)
        near[h * bias_table_n + d] = multiplier * from[bucket[d] * table.stride + h];
    else
        offset[h] = multiplier * from[(table.rows - 1) * table.stride + h];
}

/* A thread owns one entry of the table and adds its distances in rising order; the last bucket also
 * has the far constant. Reads near_grad once for each bucket: a few hundred thousand bytes. */
static __global__ void bias_reduce_k(struct tensor dtable, struct attention_bias bias,
                                     const int32_t *bucket, float multiplier, int accumulate)
{
    int64_t at = (int64_t)blockIdx.x * BIAS_THREADS + threadIdx.x;
    int64_t row = at / dtable.cols, h = at % dtable.cols;
    float sum = 0.0f;
    if (row >= dtable.rows) return;
    float *to = (float *)dtable.data + row * dtable.stride + h;
    if (accumulate) sum = *to;
    for (int64_t d = 0; d < bias.bias_table_n; d++)
        if (bucket[d] == row)
            sum += multiplier * bias.bias_table_grad_dev[h * bias.bias_table_n + d];
    if (row == dtable.rows - 1) sum += multiplier * bias.tail_offset_grad_dev[h];
    *to = sum;
}

int cuda_bias_expand(void *stream, struct attention_bias *bias, float *bias_table_dev,
                     float *tail_offset_dev, const struct tensor *table, const int32_t *bucket_dev,
                     float multiplier)
{
    int64_t n = table->cols * ((int64_t)bias->bias_table_n + 1);
    int64_t blocks = (n + BIAS_THREADS - 1) / BIAS_THREADS;
    if (blocks > 0x7fffffff) return (int)cudaErrorInvalidValue;
    launch(bias_expand_k, dim3((unsigned)blocks), dim3(BIAS_THREADS), 0, (cudaStream_t)stream,
           *table, bias_table_dev, tail_offset_dev, bucket_dev, bias->bias_table_n, multiplier);
    bias->bias_table_dev = bias_table_dev;
    bias->tail_offset_dev = tail_offset_dev;
    return (int)cudaGetLastError();
}

int cuda_bias_reduce(void *stream, struct tensor *dtable, const struct attention_bias *bias,
                     const int32_t *bucket_dev, float multiplier, int accumulate)
{
    int64_t n = dtable->rows * dtable->cols;
    int64_t blocks = (n + BIAS_THREADS - 1) / BIAS_THREADS;
    if (blocks > 0x7fffffff) return (int)cudaErrorInvalidValue;
    launch(bias_reduce_k, dim3((unsigned)blocks), dim3(BIAS_THREADS), 0, (cudaStream_t)stream,
           *dtable, *bias, bucket_dev, multiplier, accumulate);
    return (int)cudaGetLastError();
}
