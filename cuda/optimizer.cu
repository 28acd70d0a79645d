/* optimizer.cu - the ops on a whole parameter block: the sum of gradients by a tree; sums of
 * squares of the gradient; NAG and Adam in one pass, with the bf16 copy of the weights that
 * products read.
 *
 * 1. Sums of squares are in double. Their order depends on the size of a part alone.
 * 2. Factors that change between updates are read from struct step_state and *squares_dev on the
 *    device, so that a captured graph stays valid. One thread of each block computes them in
 *    double, like src/cpu. */
#include "kernels.h"
#include "rows.cuh"

enum {
    OPTIMIZER_THREADS = 256,
    OPTIMIZER_STEPS = 16, /* groups of four of a thread */
    OPTIMIZER_BLOCK = OPTIMIZER_THREADS * OPTIMIZER_STEPS * 4,
    SQUARES_BLOCKS = 1056,   /* most of a part: 8 for each of 132 SMs */
    SQUARES_BLOCK_MIN = 4096 /* fewest elements of a block */
};

/* sums[p * blocks + block] = the sum of squares of groups of eight b * 256 + thread of part p with
 * b = block, block + blocks, ... A thread has two sums, so that additions overlap. Reads 4 bytes
 * per element. */
static __global__ void __launch_bounds__(OPTIMIZER_THREADS)
    squares_parts_k(double *sums, const float *x, int64_t n, int64_t part, int blocks, bool wide)
{
    double even = 0.0, odd = 0.0;
    int64_t begin = (int64_t)(blockIdx.x / (unsigned)blocks) * part;
    int64_t step = (int64_t)blocks * OPTIMIZER_THREADS * 8;
    int64_t first =
        ((int64_t)(blockIdx.x % (unsigned)blocks) * OPTIMIZER_THREADS + threadIdx.x) * 8;
    x += begin;
    n = n - begin < part ? n - begin : part;
#pragma unroll 2
    for (; first < n; first += step) {
        struct vec8 v = rows_load(x + first, rows_part(first, n), wide, 0.0f);
#pragma unroll
        for (int i = 0; i < 8; i += 2) {
            even += (double)v.x[i] * (double)v.x[i];
            odd += (double)v.x[i + 1] * (double)v.x[i + 1];
        }
    }
    double sum = rows_block_sum<OPTIMIZER_THREADS>(even + odd);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

/* out[p] = the sum of a part's sums. A block for each part; thread t adds sums t, t + 256, ... */
static __global__ void __launch_bounds__(OPTIMIZER_THREADS)
    squares_total_k(double *out, const double *sums, int blocks)
{
    double sum = 0.0;
    sums += (int64_t)blockIdx.x * blocks;
    for (int b = (int)threadIdx.x; b < blocks; b += OPTIMIZER_THREADS) sum += sums[b];
    sum = rows_block_sum<OPTIMIZER_THREADS>(sum);
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

/* One block. All threads load, the first one adds from left to right. */
static __global__ void __launch_bounds__(OPTIMIZER_THREADS)
    sum_doubles_k(double *out, const double *x, int64_t n)
{
    SHARED(double, tile, [OPTIMIZER_THREADS]);
    double sum = -0.0; /* unlike 0, it leaves every first number as it is */
    for (int64_t first = 0; first < n; first += OPTIMIZER_THREADS) {
        int here = n - first < OPTIMIZER_THREADS ? (int)(n - first) : OPTIMIZER_THREADS;
        if ((int)threadIdx.x < here) tile[threadIdx.x] = x[first + threadIdx.x];
        __syncthreads();
        for (int i = 0; threadIdx.x == 0 && i < here; i++) sum += tile[i];
        __syncthreads();
    }
    if (threadIdx.x == 0) *out = sum;
}

/* Four neighbours: a warp stores 512 contiguous bytes, which groups of eight fp32 would not. */
struct vec4 {
    float x[4];
};

__device__ static struct vec4 vec4_load(const float *from, int n, bool wide)
{
    struct vec4 out;
    if (wide && n == 4) {
        float4 v = *(const float4 *)from;
        out.x[0] = v.x, out.x[1] = v.y, out.x[2] = v.z, out.x[3] = v.w;
        return out;
    }
#pragma unroll
    for (int i = 0; i < 4; i++) out.x[i] = i < n ? from[i] : 0.0f;
    return out;
}

__device__ static void vec4_store(float *to, const struct vec4 &v, int n, bool wide)
{
    if (wide && n == 4) {
        *(float4 *)to = make_float4(v.x[0], v.x[1], v.x[2], v.x[3]);
        return;
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
        if (i < n) to[i] = v.x[i];
}

__device__ static void vec4_store(bf16 *to, const struct vec4 &v, int n, bool wide)
{
    if (wide && n == 4) {
        *(uint2 *)to = make_uint2(pack_bf16(v.x[0], v.x[1]), pack_bf16(v.x[2], v.x[3]));
        return;
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
        if (i < n) rows_narrow(to + i, v.x[i]);
}

/* Loads sum(LO, LO + OPERANDS) of the n elements from `at` on; false if it is absent, which is the
 * same for all threads. */
template <int LO, int OPERANDS>
__device__ static bool tree_sum(struct vec4 &out, const struct tree_add_args &a, int64_t at, int n,
                                bool wide)
{
    if constexpr (OPERANDS == 1) {
        if (!a.x_dev[LO]) return false;
        out = vec4_load(a.x_dev[LO] + at, n, wide);
        return true;
    } else {
        struct vec4 right;
        bool has_left = tree_sum<LO, OPERANDS / 2>(out, a, at, n, wide);
        bool has_right = tree_sum<LO + OPERANDS / 2, OPERANDS / 2>(right, a, at, n, wide);
        if (!has_right) return has_left;
        if (!has_left) {
            out = right;
            return true;
        }
#pragma unroll
        for (int i = 0; i < 4; i++) out.x[i] += right.x[i];
        return true;
    }
}

/* y = the tree over the first OPERANDS operands. A thread owns four elements: it has read all of
 * them before it writes y, which may be an operand. Reads 4 bytes per element of an operand and
 * writes 4. */
template <int OPERANDS>
static __global__ void __launch_bounds__(OPTIMIZER_THREADS)
    tree_add_k(struct tree_add_args a, bool wide)
{
    int64_t first = ((int64_t)blockIdx.x * OPTIMIZER_THREADS + threadIdx.x) * 4;
    int n = first + 4 <= a.n ? 4 : first < a.n ? (int)(a.n - first) : 0;
    struct vec4 sum;
    if (n == 0 || !tree_sum<0, OPERANDS>(sum, a, first, n, wide)) return;
    vec4_store(a.y_dev + first, sum, n, wide);
}

/* Returns the factor of the gradient: the mean over targets, then clipping by the norm. NaN if the
 * norm is not finite, when nothing may change. */
__device__ static double gradient_factor(const double *squares, const struct step_state *step)
{
    double norm = (double)step->gradient_scale * sqrt(*squares);
    double clip = 1.0;
    if (!isfinite(norm)) return (double)NAN;
    if (step->clip > 0.0f && norm + 1e-6 > (double)step->clip)
        clip = (double)step->clip / (norm + 1e-6);
    return (double)step->gradient_scale * clip;
}

/* Computes base^n by squaring: pow() would cost all threads registers that only one uses. */
__device__ static double whole_power(double base, uint32_t n)
{
    double out = 1.0;
    for (; n; n >>= 1, base *= base)
        if (n & 1) out *= base;
    return out;
}

/* The block and the arguments of both optimisers. */
struct update_block {
    float *theta, *first, *second; /* momentum; or the running means of g and g^2 */
    const float *grad;
    bf16 *copy; /* NULL: none */
    int64_t n;
    float mu; /* of NAG */
    float beta1, beta2, eps;
    float weight_decay;
    const double *squares;
    const struct step_state *step;
    bool wide;
};

/* Computed by one thread of a block. */
struct update_factors {
    float gradient, shrink;
    float theta_momentum, theta_gradient, momentum, lr; /* of NAG */
    float step, root_scale;                             /* of Adam */
};

__device__ static void update_prepare(struct update_factors *f, const struct update_block &a,
                                      bool adam)
{
    double lr = a.step->lr, before = a.step->lr_previous, mu = a.mu;
    *f = {}; /* all of it is copied, also what one of the optimisers does not use */
    f->gradient = (float)gradient_factor(a.squares, a.step);
    f->shrink = (float)(1.0 - lr * (double)a.weight_decay);
    if (adam) {
        uint32_t steps = a.step->adam_step;
        f->step = (float)(lr / (1.0 - whole_power((double)a.beta1, steps)));
        f->root_scale = (float)(1.0 / sqrt(1.0 - whole_power((double)a.beta2, steps)));
        return;
    }
    double ratio = before != 0.0 ? lr / before : lr;
    f->theta_momentum = (float)(mu * mu * ratio);
    f->theta_gradient = (float)((1.0 + mu) * lr);
    f->momentum = (float)(mu * ratio);
    f->lr = a.step->lr;
}

/* With g the scaled gradient:
 *   NAG   theta = shrink theta + (mu^2 ratio b - (1 + mu) lr g), b = mu ratio b - lr g
 *   Adam  m and v are running means of g and g^2; theta = shrink theta - step m / (sqrt(v)
 *         root_scale + eps)
 * A thread owns sixteen groups of four, 1024 elements apart. NAG reads 12 bytes per element and
 * writes 8, Adam 16 and 12; the copy takes 2 more. 256 threads of at most 64 registers are half of
 * an SM's threads, each with six loads in flight. */
template <bool ADAM>
static __global__ void __launch_bounds__(OPTIMIZER_THREADS) update_k(struct update_block a)
{
    SHARED(struct update_factors, shared, [1]);
    if (threadIdx.x == 0) update_prepare(shared, a, ADAM);
    __syncthreads();
    struct update_factors f = shared[0];
    float rest1 = 1.0f - a.beta1, rest2 = 1.0f - a.beta2;
    if (isnan(f.gradient)) return;
    int64_t first = (int64_t)blockIdx.x * OPTIMIZER_BLOCK + (int64_t)threadIdx.x * 4;
#pragma unroll 2
    for (int s = 0; s < OPTIMIZER_STEPS; s++, first += OPTIMIZER_THREADS * 4) {
        int n = first + 4 <= a.n ? 4 : first < a.n ? (int)(a.n - first) : 0;
        if (n == 0) return;
        struct vec4 g = vec4_load(a.grad + first, n, a.wide), v = {{0}};
        struct vec4 m = vec4_load(a.first + first, n, a.wide);
        if (ADAM) v = vec4_load(a.second + first, n, a.wide);
        struct vec4 t = vec4_load(a.theta + first, n, a.wide);
#pragma unroll
        for (int i = 0; i < 4; i++) {
            float gradient = f.gradient * g.x[i];
            if (ADAM) {
                m.x[i] = a.beta1 * m.x[i] + rest1 * gradient;
                v.x[i] = a.beta2 * v.x[i] + rest2 * gradient * gradient;
                t.x[i] =
                    f.shrink * t.x[i] - f.step * m.x[i] / (sqrtf(v.x[i]) * f.root_scale + a.eps);
            } else {
                t.x[i] =
                    f.shrink * t.x[i] + (f.theta_momentum * m.x[i] - f.theta_gradient * gradient);
                m.x[i] = f.momentum * m.x[i] - f.lr * gradient;
            }
        }
        vec4_store(a.theta + first, t, n, a.wide);
        vec4_store(a.first + first, m, n, a.wide);
        if (ADAM) vec4_store(a.second + first, v, n, a.wide);
        if (a.copy) vec4_store(a.copy + first, t, n, a.wide);
    }
}

static bool optimizer_is_wide(const void *p)
{
    return ((uintptr_t)p & 15) == 0;
}

/* A part, its number of blocks, and the number of parts. */
struct squares_shape {
    int64_t part, parts_n;
    int blocks;
};

static struct squares_shape squares_shape_of(const struct sum_squares_args *a)
{
    struct squares_shape s;
    s.part = a->part > 0 ? a->part : a->n;
    s.parts_n = (a->n - 1) / s.part + 1;
    int64_t blocks = (s.part - 1) / SQUARES_BLOCK_MIN + 1;
    s.blocks = blocks < SQUARES_BLOCKS ? (int)blocks : (int)SQUARES_BLOCKS;
    return s;
}

size_t cuda_sum_squares_workspace(const struct sum_squares_args *a)
{
    struct squares_shape s = squares_shape_of(a);
    return (size_t)(s.parts_n * s.blocks) * sizeof(double);
}

int cuda_sum_squares(void *stream, const struct sum_squares_args *a, void *workspace_dev)
{
    struct squares_shape s = squares_shape_of(a);
    double *sums = (double *)workspace_dev;
    bool wide = optimizer_is_wide(a->x_dev) && (s.part % 4 == 0 || s.parts_n == 1);
    cudaError_t rc =
        launch(squares_parts_k, dim3((unsigned)(s.parts_n * s.blocks)), dim3(OPTIMIZER_THREADS), 0,
               (cudaStream_t)stream, sums, a->x_dev, a->n, s.part, s.blocks, wide);
    if (rc != cudaSuccess) return rc;
    return launch(squares_total_k, dim3((unsigned)s.parts_n), dim3(OPTIMIZER_THREADS), 0,
                  (cudaStream_t)stream, a->out_dev, (const double *)sums, s.blocks);
}

int cuda_sum_doubles(void *stream, const struct sum_doubles_args *a)
{
    return launch(sum_doubles_k, dim3(1), dim3(OPTIMIZER_THREADS), 0, (cudaStream_t)stream,
                  a->out_dev, a->x_dev, a->n);
}

template <int OPERANDS> static int tree_launch(void *stream, const struct tree_add_args *a)
{
    bool wide = optimizer_is_wide(a->y_dev);
    for (int k = 0; k < OPERANDS; k++) wide = wide && optimizer_is_wide(a->x_dev[k]);
    int64_t groups = (a->n - 1) / 4 + 1;
    dim3 grid((unsigned)((groups - 1) / OPTIMIZER_THREADS + 1));
    return launch(tree_add_k<OPERANDS>, grid, dim3(OPTIMIZER_THREADS), 0, (cudaStream_t)stream, *a,
                  wide);
}

/* Operands behind the last one that is given do not change the tree's sum. */
int cuda_tree_add(void *stream, const struct tree_add_args *a)
{
    int operands_n = TREE_ADD_MAX;
    while (operands_n > 1 && !a->x_dev[operands_n - 1]) operands_n--;
    return operands_n <= 2   ? tree_launch<2>(stream, a)
           : operands_n <= 4 ? tree_launch<4>(stream, a)
           : operands_n <= 8 ? tree_launch<8>(stream, a)
                             : tree_launch<TREE_ADD_MAX>(stream, a);
}

template <bool ADAM> static int update_launch(void *stream, struct update_block *a)
{
    dim3 grid((unsigned)((a->n + OPTIMIZER_BLOCK - 1) / OPTIMIZER_BLOCK));
    a->wide = optimizer_is_wide(a->theta) && optimizer_is_wide(a->first) &&
              optimizer_is_wide(a->second) && optimizer_is_wide(a->grad) &&
              optimizer_is_wide(a->copy);
    return launch(update_k<ADAM>, grid, dim3(OPTIMIZER_THREADS), 0, (cudaStream_t)stream, *a);
}

int cuda_nag(void *stream, const struct nag_args *a)
{
    struct update_block block = {};
    block.theta = a->theta_dev, block.first = a->momentum_dev, block.grad = a->grad_dev;
    block.copy = (bf16 *)a->bf16_dev, block.n = a->n;
    block.mu = a->mu, block.weight_decay = a->weight_decay;
    block.squares = a->squares_dev, block.step = a->step_dev;
    return update_launch<false>(stream, &block);
}

int cuda_adam(void *stream, const struct adam_args *a)
{
    struct update_block block = {};
    block.theta = a->theta_dev, block.first = a->m_dev, block.second = a->v_dev;
    block.grad = a->grad_dev, block.copy = (bf16 *)a->bf16_dev, block.n = a->n;
    block.beta1 = a->beta1, block.beta2 = a->beta2, block.eps = a->eps;
    block.weight_decay = a->weight_decay;
    block.squares = a->squares_dev, block.step = a->step_dev;
    return update_launch<true>(stream, &block);
}
