/* optimizer.cu - what works on a whole parameter block: the gradient's norm, NAG and Adam in one
 * pass, with the bf16 copy of the weights that products read.
 *
 * 1. Sums of squares are in double. Their order depends on the number of elements alone: fixed
 *    parts of the block, then the parts.
 * 2. Factors that change between updates come from struct step_state and *squares_dev on the
 *    device, so that a captured graph replays; one thread of a block computes them in double, as
 *    src/cpu does. */
#include "kernels.h"
#include "rows.cuh"

enum {
    OPTIMIZER_THREADS = 256,
    OPTIMIZER_STEPS = 16, /* fours of a thread */
    OPTIMIZER_BLOCK = OPTIMIZER_THREADS * OPTIMIZER_STEPS * 4,
    SQUARES_PARTS = 1056,    /* 8 blocks for each of 132 multiprocessors */
    SQUARES_BLOCK_MIN = 4096 /* elements of a part at least */
};

/* The sum over a block of 256 threads, in thread 0; warps are added in order. */
__device__ static double squares_block_sum(double sum)
{
    SHARED(double, sums, [OPTIMIZER_THREADS / 32]);
    for (int other = 16; other; other >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, other);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = 0.0;
    for (int w = 0; w < OPTIMIZER_THREADS / 32; w++) sum += sums[w];
    return sum;
}

/* parts[block] = the sum of squares of the eights b * 256 + thread with b = block, block + blocks,
 * ... Two sums a thread, so that one addition need not wait for the other. Reads 4 bytes an
 * element. */
static __global__ void __launch_bounds__(OPTIMIZER_THREADS)
    squares_parts_k(double *parts, const float *x, int64_t n, bool wide)
{
    double even = 0.0, odd = 0.0;
    int64_t step = (int64_t)gridDim.x * OPTIMIZER_THREADS * 8;
    int64_t first = ((int64_t)blockIdx.x * OPTIMIZER_THREADS + threadIdx.x) * 8;
#pragma unroll 2
    for (; first < n; first += step) {
        struct eight v = rows_load(x + first, rows_part(first, n), wide, 0.0f);
#pragma unroll
        for (int i = 0; i < 8; i += 2) {
            even += (double)v.x[i] * (double)v.x[i];
            odd += (double)v.x[i + 1] * (double)v.x[i + 1];
        }
    }
    double sum = squares_block_sum(even + odd);
    if (threadIdx.x == 0) parts[blockIdx.x] = sum;
}

/* *out = the sum of the parts; one block, thread t adds parts t, t + 256, ... */
static __global__ void __launch_bounds__(OPTIMIZER_THREADS)
    squares_total_k(double *out, const double *parts, int parts_n)
{
    double sum = 0.0;
    for (int p = (int)threadIdx.x; p < parts_n; p += OPTIMIZER_THREADS) sum += parts[p];
    sum = squares_block_sum(sum);
    if (threadIdx.x == 0) *out = sum;
}

/* Four neighbours: a warp writes 512 bytes without gaps, which eights of f32 would do in halves. */
struct four {
    float x[4];
};

__device__ static struct four vec4_load(const float *from, int n, bool wide)
{
    struct four out;
    if (wide && n == 4) {
        float4 v = *(const float4 *)from;
        out.x[0] = v.x, out.x[1] = v.y, out.x[2] = v.z, out.x[3] = v.w;
        return out;
    }
#pragma unroll
    for (int i = 0; i < 4; i++) out.x[i] = i < n ? from[i] : 0.0f;
    return out;
}

__device__ static void four_store(float *to, const struct four &v, int n, bool wide)
{
    if (wide && n == 4) {
        *(float4 *)to = make_float4(v.x[0], v.x[1], v.x[2], v.x[3]);
        return;
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
        if (i < n) to[i] = v.x[i];
}

__device__ static void four_store(bf16 *to, const struct four &v, int n, bool wide)
{
    if (wide && n == 4) {
        *(uint2 *)to = make_uint2(pack_bf16(v.x[0], v.x[1]), pack_bf16(v.x[2], v.x[3]));
        return;
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
        if (i < n) rows_narrow(to + i, v.x[i]);
}

/* What the gradient is multiplied by: the mean over targets, then clipping by the norm. NaN where
 * the norm is not finite: nothing may change then. */
__device__ static double gradient_factor(const double *squares, const struct step_state *step)
{
    double norm = (double)step->gradient_scale * sqrt(*squares);
    double clip = 1.0;
    if (!isfinite(norm)) return (double)NAN;
    if (step->clip > 0.0f && norm + 1e-6 > (double)step->clip)
        clip = (double)step->clip / (norm + 1e-6);
    return (double)step->gradient_scale * clip;
}

/* base^n by squaring: pow() would cost registers that one thread alone uses. */
__device__ static double whole_power(double base, uint32_t n)
{
    double out = 1.0;
    for (; n; n >>= 1, base *= base)
        if (n & 1) out *= base;
    return out;
}

struct nag_block {
    float *theta, *momentum;
    const float *grad;
    bf16 *copy; /* NULL: none */
    int64_t n;
    float mu, weight_decay;
    const double *squares;
    const struct step_state *step;
    bool wide;
};

struct nag_factors {
    float gradient, shrink, theta_momentum, theta_gradient, momentum, lr;
};

__device__ static void nag_prepare(struct nag_factors *f, const struct nag_block &a)
{
    double lr = a.step->lr, before = a.step->lr_previous, mu = a.mu;
    double ratio = before != 0.0 ? lr / before : lr;
    f->gradient = (float)gradient_factor(a.squares, a.step);
    f->shrink = (float)(1.0 - lr * (double)a.weight_decay);
    f->theta_momentum = (float)(mu * mu * ratio);
    f->theta_gradient = (float)((1.0 + mu) * lr);
    f->momentum = (float)(mu * ratio);
    f->lr = a.step->lr;
}

/* With g the scaled gradient and b the momentum: theta = shrink theta + (mu^2 ratio b - (1 + mu) lr
 * g), b = mu ratio b - lr g. A thread owns sixteen fours, 1024 elements apart. Reads 12, writes
 * 8 bytes an element, with the copy 10. 256 threads of at most 64 registers: half a
 * multiprocessor's threads with six fours under way each. */
static __global__ void __launch_bounds__(OPTIMIZER_THREADS) nag_k(struct nag_block a)
{
    SHARED(struct nag_factors, shared, [1]);
    if (threadIdx.x == 0) nag_prepare(shared, a);
    __syncthreads();
    struct nag_factors f = shared[0];
    if (isnan(f.gradient)) return;
    int64_t first = (int64_t)blockIdx.x * OPTIMIZER_BLOCK + (int64_t)threadIdx.x * 4;
#pragma unroll 2
    for (int s = 0; s < OPTIMIZER_STEPS; s++, first += OPTIMIZER_THREADS * 4) {
        int n = first + 4 <= a.n ? 4 : first < a.n ? (int)(a.n - first) : 0;
        if (n == 0) return;
        struct four g = vec4_load(a.grad + first, n, a.wide);
        struct four b = vec4_load(a.momentum + first, n, a.wide);
        struct four t = vec4_load(a.theta + first, n, a.wide);
#pragma unroll
        for (int i = 0; i < 4; i++) {
            float gradient = f.gradient * g.x[i];
            t.x[i] = f.shrink * t.x[i] + (f.theta_momentum * b.x[i] - f.theta_gradient * gradient);
            b.x[i] = f.momentum * b.x[i] - f.lr * gradient;
        }
        four_store(a.theta + first, t, n, a.wide);
        four_store(a.momentum + first, b, n, a.wide);
        if (a.copy) four_store(a.copy + first, t, n, a.wide);
    }
}

struct adam_block {
    float *theta, *m, *v;
    const float *grad;
    bf16 *copy; /* NULL: none */
    int64_t n;
    float beta1, beta2, eps, weight_decay;
    const double *squares;
    const struct step_state *step;
    bool wide;
};

struct adam_factors {
    float gradient, shrink, step, root_scale;
};

__device__ static void adam_prepare(struct adam_factors *f, const struct adam_block &a)
{
    double lr = a.step->lr;
    uint32_t steps = a.step->adam_step;
    f->gradient = (float)gradient_factor(a.squares, a.step);
    f->shrink = (float)(1.0 - lr * (double)a.weight_decay);
    f->step = (float)(lr / (1.0 - whole_power((double)a.beta1, steps)));
    f->root_scale = (float)(1.0 / sqrt(1.0 - whole_power((double)a.beta2, steps)));
}

/* m and v are running means of g and g^2; theta = shrink theta - step m / (sqrt(v) root_scale +
 * eps). Mapping as nag_k. Reads 16, writes 12 bytes an element, with the copy 14. */
static __global__ void __launch_bounds__(OPTIMIZER_THREADS) adam_k(struct adam_block a)
{
    SHARED(struct adam_factors, shared, [1]);
    if (threadIdx.x == 0) adam_prepare(shared, a);
    __syncthreads();
    struct adam_factors f = shared[0];
    float rest1 = 1.0f - a.beta1, rest2 = 1.0f - a.beta2;
    if (isnan(f.gradient)) return;
    int64_t first = (int64_t)blockIdx.x * OPTIMIZER_BLOCK + (int64_t)threadIdx.x * 4;
#pragma unroll 2
    for (int s = 0; s < OPTIMIZER_STEPS; s++, first += OPTIMIZER_THREADS * 4) {
        int n = first + 4 <= a.n ? 4 : first < a.n ? (int)(a.n - first) : 0;
        if (n == 0) return;
        struct four g = vec4_load(a.grad + first, n, a.wide);
        struct four m = vec4_load(a.m + first, n, a.wide);
        struct four v = vec4_load(a.v + first, n, a.wide);
        struct four t = vec4_load(a.theta + first, n, a.wide);
#pragma unroll
        for (int i = 0; i < 4; i++) {
            float gradient = f.gradient * g.x[i];
            m.x[i] = a.beta1 * m.x[i] + rest1 * gradient;
            v.x[i] = a.beta2 * v.x[i] + rest2 * gradient * gradient;
            t.x[i] = f.shrink * t.x[i] - f.step * m.x[i] / (sqrtf(v.x[i]) * f.root_scale + a.eps);
        }
        four_store(a.theta + first, t, n, a.wide);
        four_store(a.m + first, m, n, a.wide);
        four_store(a.v + first, v, n, a.wide);
        if (a.copy) four_store(a.copy + first, t, n, a.wide);
    }
}

static bool optimizer_is_wide(const void *a, const void *b, const void *c, const void *d)
{
    return (((uintptr_t)a | (uintptr_t)b | (uintptr_t)c | (uintptr_t)d) & 15) == 0;
}

static dim3 optimizer_grid(int64_t n)
{
    return dim3((unsigned)((n + OPTIMIZER_BLOCK - 1) / OPTIMIZER_BLOCK));
}

static int squares_parts_n(int64_t n)
{
    int64_t parts = (n + SQUARES_BLOCK_MIN - 1) / SQUARES_BLOCK_MIN;
    return parts < SQUARES_PARTS ? (int)parts : (int)SQUARES_PARTS;
}

size_t cuda_sum_squares_workspace(const struct sum_squares_args *a)
{
    return (size_t)squares_parts_n(a->n) * sizeof(double);
}

int cuda_sum_squares(void *stream, const struct sum_squares_args *a, void *workspace_dev)
{
    int parts_n = squares_parts_n(a->n);
    double *parts = (double *)workspace_dev;
    launch(squares_parts_k, dim3((unsigned)parts_n), dim3(OPTIMIZER_THREADS), 0,
           (cudaStream_t)stream, parts, a->x_dev, a->n,
           optimizer_is_wide(a->x_dev, NULL, NULL, NULL));
    cudaError_t rc = cudaGetLastError();
    if (rc != cudaSuccess) return rc;
    launch(squares_total_k, dim3(1), dim3(OPTIMIZER_THREADS), 0, (cudaStream_t)stream, a->out_dev,
           (const double *)parts, parts_n);
    return cudaGetLastError();
}

int cuda_nag(void *stream, const struct nag_args *a)
{
    bool wide = optimizer_is_wide(a->theta_dev, a->momentum_dev, a->grad_dev, a->bf16_dev);
    struct nag_block block = {
        a->theta_dev, a->momentum_dev, a->grad_dev,    (bf16 *)a->bf16_dev, a->n,
        a->mu,        a->weight_decay, a->squares_dev, a->step_dev,         wide};
    launch(nag_k, optimizer_grid(a->n), dim3(OPTIMIZER_THREADS), 0, (cudaStream_t)stream, block);
    return cudaGetLastError();
}

int cuda_adam(void *stream, const struct adam_args *a)
{
    bool wide = optimizer_is_wide(a->theta_dev, a->m_dev, a->v_dev, a->grad_dev) &&
                optimizer_is_wide(a->bf16_dev, NULL, NULL, NULL);
    struct adam_block block = {
        a->theta_dev,   a->m_dev,    a->v_dev, a->grad_dev, (bf16 *)a->bf16_dev,
        a->n,           a->beta1,    a->beta2, a->eps,      a->weight_decay,
        a->squares_dev, a->step_dev, wide};
    launch(adam_k, optimizer_grid(a->n), dim3(OPTIMIZER_THREADS), 0, (cudaStream_t)stream, block);
    return cudaGetLastError();
}
