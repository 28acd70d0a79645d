/* forget_gate.cu - sums of log gates and their gradients, in double. */
#include "kernels.h"
#include "rows.cuh"

enum { WARP = 32, GATE_THREADS = 64, GATE_WARPS = GATE_THREADS / WARP };

__device__ inline double gate_input(const struct tensor &z, const struct tensor &bias,
                                    int64_t token, int32_t h)
{
    return (double)row_of<float>(bias, 0)[h] + (z.data ? (double)row_of<float>(z, token)[h] : 0.0);
}

/* Adds the numbers of a warp's first lanes to `sum`, one after the other, as a loop over tokens
 * does: each lane gets the sum up to its own number, and *last that of all n. */
__device__ inline double ordered_sum(double sum, double x, int32_t n, double *last)
{
    double own = sum;
    for (int32_t k = 0; k < n; k++) {
        sum += __shfl_sync(0xffffffffu, x, k);
        own = k == (int32_t)(threadIdx.x % WARP) ? sum : own;
    }
    *last = sum;
    return own;
}

__device__ inline int32_t smaller(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

/* A warp owns a head of a row of the batch, from its first token to its last, a lane every 32nd of
 * them: logarithms are computed side by side and added in order. Reads 4 and writes 8 bytes a token
 * and head. */
static __global__ void forget_gate_k(struct forget_gate_args a)
{
    int64_t row = (int64_t)blockIdx.x * GATE_WARPS + threadIdx.x / WARP, b = row / a.H;
    int32_t h = (int32_t)(row % a.H), lane = (int32_t)threadIdx.x % WARP;
    double sum = 0.0;
    if (b >= a.B) return;
    for (int32_t first = 0; first < a.T; first += WARP) {
        int32_t t = first + lane, n = smaller(WARP, a.T - first);
        double x = lane < n ? gate_input(a.z, a.bias, b * a.T + t, h) : 0.0;
        double gate = x > 0.0 ? -log1p(exp(-x)) : x - log1p(exp(x));
        double own = ordered_sum(sum, gate, n, &sum);
        if (lane >= n) continue;
        float high = (float)own;
        row_of<float>(a.high, row)[t] = high;
        row_of<float>(a.low, row)[t] = (float)(own - (double)high);
    }
}

/* The same from the last token to the first; parts (B*H): the sum of dz over the row. */
template <class T>
static __global__ void forget_gate_bwd_k(struct forget_gate_bwd_args a, double *parts)
{
    int64_t row = (int64_t)blockIdx.x * GATE_WARPS + threadIdx.x / WARP, b = row / a.H;
    int32_t h = (int32_t)(row % a.H), lane = (int32_t)threadIdx.x % WARP;
    double sum = 0.0, part = 0.0;
    if (b >= a.B) return;
    for (int32_t left = a.T; left > 0; left -= WARP) {
        int32_t t = left - 1 - lane, n = smaller(WARP, left);
        double dsum = lane < n ? (double)row_of<float>(a.dsums, row)[t] : 0.0;
        double x = lane < n ? gate_input(a.z, a.bias, b * a.T + t, h) : 0.0;
        double dz = ordered_sum(sum, dsum, n, &sum) / (1.0 + exp(x));
        (void)ordered_sum(part, dz, n, &part);
        if (lane < n && a.dz.data) rows_narrow(row_of<T>(a.dz, b * a.T + t) + h, (float)dz);
    }
    if (lane == 0) parts[row] = part;
}

/* A thread owns a head and adds its parts in rising order. */
static __global__ void forget_gate_bias_k(struct forget_gate_bwd_args a, const double *parts)
{
    int32_t h = (int32_t)(blockIdx.x * GATE_THREADS + threadIdx.x);
    double sum = 0.0;
    if (h >= a.H) return;
    for (int64_t b = 0; b < a.B; b++) sum += parts[b * a.H + h];
    row_of<float>(a.dbias, 0)[h] += (float)sum;
}

static dim3 gate_grid(int64_t threads_n)
{
    return dim3((unsigned)((threads_n + GATE_THREADS - 1) / GATE_THREADS));
}

int cuda_forget_gate(void *stream, const struct forget_gate_args *a)
{
    return (int)launch(forget_gate_k, gate_grid((int64_t)a->B * a->H * WARP), dim3(GATE_THREADS), 0,
                       (cudaStream_t)stream, *a);
}

size_t cuda_forget_gate_bwd_workspace(const struct forget_gate_bwd_args *a)
{
    return (size_t)a->B * (size_t)a->H * sizeof(double);
}

int cuda_forget_gate_bwd(void *stream, const struct forget_gate_bwd_args *a, void *workspace_dev)
{
    cudaStream_t s = (cudaStream_t)stream;
    double *parts = (double *)workspace_dev;
    cudaError_t rc = launch_by_dtype(a->dz, forget_gate_bwd_k<bf16>, forget_gate_bwd_k<float>,
                                     gate_grid((int64_t)a->B * a->H * WARP), dim3(GATE_THREADS), 0,
                                     s, *a, parts);
    if (rc != cudaSuccess) return (int)rc;
    return (int)launch(forget_gate_bias_k, gate_grid(a->H), dim3(GATE_THREADS), 0, s, *a,
                       (const double *)parts);
}
