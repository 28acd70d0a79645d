/* forget_gate.cu - sums of log gates and their gradients, in double. */
#include "kernels.h"
#include "rows.cuh"

enum { GATE_THREADS = 64 };

__device__ inline double gate_input(const struct tensor &z, const struct tensor &bias,
                                    int64_t token, int32_t h)
{
    return (double)row_of<float>(bias, 0)[h] + (z.data ? (double)row_of<float>(z, token)[h] : 0.0);
}

/* A thread owns a head of a row of the batch, from its first token to its last. Reads 4 and writes
 * 8 bytes a token and head; neighbouring threads read neighbouring heads. */
static __global__ void forget_gate_k(struct forget_gate_args a)
{
    int64_t row = (int64_t)blockIdx.x * GATE_THREADS + threadIdx.x, b = row / a.H;
    int32_t h = (int32_t)(row % a.H);
    double sum = 0.0;
    if (b >= a.B) return;
    for (int32_t t = 0; t < a.T; t++) {
        double x = gate_input(a.z, a.bias, b * a.T + t, h);
        sum += x > 0.0 ? -log1p(exp(-x)) : x - log1p(exp(x));
        float high = (float)sum;
        row_of<float>(a.high, row)[t] = high;
        row_of<float>(a.low, row)[t] = (float)(sum - (double)high);
    }
}

/* The same from the last token to the first; parts (B*H): the sum of dz over the row. */
template <class T>
static __global__ void forget_gate_bwd_k(struct forget_gate_bwd_args a, double *parts)
{
    int64_t row = (int64_t)blockIdx.x * GATE_THREADS + threadIdx.x, b = row / a.H;
    int32_t h = (int32_t)(row % a.H);
    double sum = 0.0, part = 0.0;
    if (b >= a.B) return;
    for (int32_t t = a.T - 1; t >= 0; t--) {
        sum += (double)row_of<float>(a.dsums, row)[t];
        double dz = sum / (1.0 + exp(gate_input(a.z, a.bias, b * a.T + t, h)));
        part += dz;
        if (a.dz.data) rows_narrow(row_of<T>(a.dz, b * a.T + t) + h, (float)dz);
    }
    parts[row] = part;
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
    return (int)launch(forget_gate_k, gate_grid((int64_t)a->B * a->H), dim3(GATE_THREADS), 0,
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
    cudaError_t rc =
        launch_by_dtype(a->dz, forget_gate_bwd_k<bf16>, forget_gate_bwd_k<float>,
                        gate_grid((int64_t)a->B * a->H), dim3(GATE_THREADS), 0, s, *a, parts);
    if (rc != cudaSuccess) return (int)rc;
    return (int)launch(forget_gate_bias_k, gate_grid(a->H), dim3(GATE_THREADS), 0, s, *a,
                       (const double *)parts);
}
