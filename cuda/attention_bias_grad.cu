/* attention_bias_grad.cu - the gradients of the bias table, of the tail offset and of the factors
 * of heads.
 *
 * The backward pass has written bias sums: for each slot of 32 queries and each distance below
 * bias_table_n, the sum of ds.
 * 1. Add the slots of a head, in a fixed order, to the table's gradient.
 * 2. A constant added to all biases of a head changes no probability, also with dropout. The bias
 *    gradients of a head therefore sum to zero: the offset's is minus the sum of the table's. */
#include "attention.cuh"

enum { BIAS_GRAD_GROUPS = 8, BIAS_GRAD_THREADS = BIAS_GRAD_GROUPS * ATTENTION_CHUNK };

/* Step 1. A block owns 32 distances of one head, a lane one of them, a warp every eighth slot.
 * Reads 4 bytes for each distance and slot. 256 threads keep eight loads in flight per distance. */
static __global__ void bias_grad_k(struct attention a, struct attention_parts parts,
                                   float *workspace, int32_t chunks_n)
{
    SHARED(double, part, [BIAS_GRAD_GROUPS][ATTENTION_CHUNK]);
    int lane = threadIdx.x % ATTENTION_CHUNK, group = threadIdx.x / ATTENTION_CHUNK;
    int32_t h = (int32_t)blockIdx.x / chunks_n, chunk = (int32_t)blockIdx.x % chunks_n;
    int32_t d = chunk * ATTENTION_CHUNK + lane;
    double sum = 0.0;

    if (d < parts.bias_table_n)
#pragma unroll 4
        for (int64_t n = group; n < (int64_t)a.B * parts.slots_n; n += BIAS_GRAD_GROUPS) {
            int64_t item = n / parts.slots_n * a.H + h, slot = n % parts.slots_n;
            sum += (double)
                workspace[parts.bias_sums + (item * parts.slots_n + slot) * parts.bias_table_n + d];
        }
    part[group][lane] = sum;
    __syncthreads();
    if (group != 0) return;
    for (int g = 1; g < BIAS_GRAD_GROUPS; g++) sum += part[g][lane];
    if (d < parts.bias_table_n)
        a.bias.bias_table_grad_dev[(int64_t)h * a.bias.bias_table_n + d] += (float)sum;
    for (int o = ATTENTION_CHUNK / 2; o; o >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, o);
    if (lane == 0) workspace[parts.total + (int64_t)h * chunks_n + chunk] = (float)sum;
}

/* Step 2. A thread owns a head. */
static __global__ void tail_grad_k(struct attention a, const float *total, int32_t chunks_n)
{
    int32_t h = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    double sum = 0.0;
    if (h >= a.H) return;
    for (int32_t c = 0; c < chunks_n; c++) sum += (double)total[(int64_t)h * chunks_n + c];
    a.bias.tail_offset_grad_dev[h] -= (float)sum;
}

cudaError_t attention_bias_grad(cudaStream_t stream, const struct attention *a, float *workspace)
{
    struct attention_parts parts = attention_parts_of(a);
    int32_t chunks_n = (parts.bias_table_n + ATTENTION_CHUNK - 1) / ATTENTION_CHUNK;
    if (chunks_n == 0) return cudaSuccess; /* every pair is in the tail: the sum is zero */
    cudaError_t rc = launch(bias_grad_k, dim3((unsigned)(a->H * chunks_n)), dim3(BIAS_GRAD_THREADS),
                            0, stream, *a, parts, workspace, chunks_n);
    /* Up to bias_table_n tokens, no pair is in the tail. */
    if (rc != cudaSuccess || !a->bias.tail_offset_grad_dev || a->bias.bias_table_n >= a->T)
        return rc;
    return launch(tail_grad_k, dim3((unsigned)((a->H + 63) / 64)), dim3(64), 0, stream, *a,
                  (const float *)(workspace + parts.total), chunks_n);
}

/* A block owns a head, a thread every 256th query. Reads 4 bytes for each query. 256 threads keep
 * as many loads in flight; few heads have more work than a launch costs. */
static __global__ void head_grad_k(struct attention a, const float *shares)
{
    SHARED(double, part, [BIAS_GRAD_THREADS]);
    int32_t h = (int32_t)blockIdx.x;
    double sum = 0.0;

    for (int64_t n = threadIdx.x; n < (int64_t)a.B * a.T; n += BIAS_GRAD_THREADS)
        sum += (double)shares[(n / a.T * a.H + h) * a.T + n % a.T];
    part[threadIdx.x] = sum;
    for (int half = BIAS_GRAD_THREADS / 2; half; half /= 2) {
        __syncthreads();
        if ((int)threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    }
    if (threadIdx.x == 0) a.temperature.head_grad_dev[h] += (float)part[0];
}

cudaError_t attention_head_grad(cudaStream_t stream, const struct attention *a, float *workspace)
{
    return launch(head_grad_k, dim3((unsigned)a->H), dim3(BIAS_GRAD_THREADS), 0, stream, *a,
                  (const float *)(workspace + attention_parts_of(a).warmth));
}
