/* attention_bias_grad.cu - the gradient of the bias table and of the far constant.
 *
 * The backward pass left, for each slot of 32 queries, sums of ds along equal distances below
 * bias_table_n. 1. Slots of a head are added in fixed order into near_grad. 2. A constant added to
 * all biases of a head changes no probability, so a head's bias gradients sum to zero, with dropout
 * too: the far constant's is minus the sum of the table's. */
#include "attention.cuh"

enum { NEAR_GROUPS = 8, NEAR_THREADS = NEAR_GROUPS * ATTENTION_CHUNK };

/* Step 1. A block owns 32 distances of one head, a lane one of them, a warp every eighth slot.
 * Reads 4 bytes a distance and slot; 256 threads are eight loads in flight for each distance. */
static __global__ void near_sum_k(struct attention a, struct attention_parts parts,
                                  float *workspace, int32_t chunks_n)
{
    SHARED(double, part, [NEAR_GROUPS][ATTENTION_CHUNK]);
    int lane = threadIdx.x % ATTENTION_CHUNK, group = threadIdx.x / ATTENTION_CHUNK;
    int32_t h = (int32_t)blockIdx.x / chunks_n, chunk = (int32_t)blockIdx.x % chunks_n;
    int32_t d = chunk * ATTENTION_CHUNK + lane;
    double sum = 0.0;

    if (d < parts.bias_table_n)
#pragma unroll 4
        for (int64_t n = group; n < (int64_t)a.B * parts.slots_n; n += NEAR_GROUPS) {
            int64_t item = n / parts.slots_n * a.H + h, slot = n % parts.slots_n;
            sum += (double)
                workspace[parts.near_sum + (item * parts.slots_n + slot) * parts.bias_table_n + d];
        }
    part[group][lane] = sum;
    __syncthreads();
    if (group != 0) return;
    for (int g = 1; g < NEAR_GROUPS; g++) sum += part[g][lane];
    if (d < parts.bias_table_n)
        a.bias.bias_table_grad_dev[(int64_t)h * a.bias.bias_table_n + d] += (float)sum;
    for (int o = ATTENTION_CHUNK / 2; o; o >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, o);
    if (lane == 0) workspace[parts.total + (int64_t)h * chunks_n + chunk] = (float)sum;
}

/* Step 2. A thread owns a head. */
static __global__ void far_k(struct attention a, const float *total, int32_t chunks_n)
{
    int32_t h = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    double sum = 0.0;
    if (h >= a.H) return;
    for (int32_t c = 0; c < chunks_n; c++) sum += (double)total[(int64_t)h * chunks_n + c];
    a.bias.tail_offset_grad_dev[h] -= (float)sum;
}

cudaError_t attention_near_reduce(cudaStream_t stream, const struct attention *a, float *workspace)
{
    struct attention_parts parts = attention_parts_of(a);
    int32_t chunks_n = (parts.bias_table_n + ATTENTION_CHUNK - 1) / ATTENTION_CHUNK;
    if (chunks_n == 0) return cudaSuccess; /* every pair is far: the sum is zero */
    launch(near_sum_k, dim3((unsigned)(a->H * chunks_n)), dim3(NEAR_THREADS), 0, stream, *a, parts,
           workspace, chunks_n);
    /* Within bias_table_n no pair is far. */
    if (a->bias.tail_offset_grad_dev && a->bias.bias_table_n < a->T)
        launch(far_k, dim3((unsigned)((a->H + 63) / 64)), dim3(64), 0, stream, *a,
               (const float *)(workspace + parts.total), chunks_n);
    return cudaGetLastError();
}
