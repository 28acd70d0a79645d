/* softmax.cu - softmax cross-entropy of rows of logits, its gradient in place, its sum over rows,
 * and log p alone.
 *
 * 1. The terms of a sum are 2^(x log2(e) - k), with an integer k that is at least the highest
 *    exponent so far. Raising k multiplies a sum by a power of two, which is exact. log2(e) is
 *    split into two floats.
 * 2. Eight terms are added in fp32. Sums of those, and the logarithm, are in double. At the end the
 *    sum is divided by the highest term, so that a loss is never negative, and 0 for one class.
 * 3. A block owns a row. How its threads share the columns depends on the number of columns alone,
 *    so the bits of a row do not depend on the other rows. */
#include "kernels.h"
#include "rows.cuh"

enum { SOFTMAX_THREADS_MIN = 64, SOFTMAX_THREADS_MAX = 512 };

#define SOFTMAX_LOG2E_HIGH 1.4426950216293335f   /* log2(e) rounded to fp32 */
#define SOFTMAX_LOG2E_LOW 1.925963033500011e-08f /* and the rest */
#define SOFTMAX_LOWEST (-1e30f) /* below every k; finite, so that differences are numbers */
/* Beyond it, x log2(e) - k is a rounding error; but floats are 128 apart, so that next to the
 * highest x all others vanish: softmax_coarse. */
#define SOFTMAX_COARSE 0x1p30f

/* sum * 2^k = the sum of e^x so far. */
struct softmax_part {
    double sum;
    float k, high; /* the highest x */
};

/* sum * e^high = the sum of e^x over a row. */
struct softmax_sum {
    double sum;
    float high;
};

__device__ static float softmax_term(float x, float k)
{
    return exp2f(fmaf(x, SOFTMAX_LOG2E_LOW, fmaf(x, SOFTMAX_LOG2E_HIGH, -k)));
}

/* Returns 2^d for an integer d <= 0; 0 if the term is too small to change a sum of doubles. */
__device__ static double softmax_power(float d)
{
    return d >= -126.0f ? (double)__int_as_float(((int)d + 127) << 23) : 0.0;
}

__device__ static void softmax_take(struct softmax_part *s, const struct vec8 &x)
{
    float high = x.x[0], t[8];
#pragma unroll
    for (int i = 1; i < 8; i++) high = fmaxf(high, x.x[i]);
    if (high > s->high) {
        float k = ceilf(fmaxf(high, -SOFTMAX_COARSE) * SOFTMAX_LOG2E_HIGH);
        s->sum *= softmax_power(s->k - k);
        s->k = k;
        s->high = high;
    }
#pragma unroll
    for (int i = 0; i < 8; i++) t[i] = softmax_term(x.x[i], s->k);
    s->sum += (double)(((t[0] + t[1]) + (t[2] + t[3])) + ((t[4] + t[5]) + (t[6] + t[7])));
}

/* Adds the parts of all threads of the block, warps in order; each thread gets the result. */
__device__ static struct softmax_sum softmax_block_sum(const struct softmax_part &s)
{
    SHARED(double, sums, [SOFTMAX_THREADS_MAX / 32]);
    SHARED(float2, scales, [SOFTMAX_THREADS_MAX / 32]); /* k and high */
    int warp = (int)threadIdx.x / 32, warps_n = (int)blockDim.x / 32;
    float k = warp_max(s.k), high = warp_max(s.high);
    double sum = warp_sum(s.sum * softmax_power(s.k - k));
    if (threadIdx.x % 32 == 0) {
        sums[warp] = sum;
        scales[warp] = make_float2(k, high);
    }
    __syncthreads();
    for (int w = 0; w < warps_n; w++) {
        k = fmaxf(k, scales[w].x);
        high = fmaxf(high, scales[w].y);
    }
    sum = 0.0;
    for (int w = 0; w < warps_n; w++) sum += sums[w] * softmax_power(scales[w].x - k);
    struct softmax_sum out = {sum / (double)softmax_term(high, k), high};
    return out;
}

/* The sum over a row. A thread loads its next eight columns before it uses these. Missing columns
 * are -infinity: their terms are 0. */
template <class T>
__device__ static struct softmax_sum softmax_row_sum(const T *row, int64_t cols, bool wide)
{
    struct softmax_part s = {0.0, SOFTMAX_LOWEST, -INFINITY};
    int64_t step = (int64_t)blockDim.x * 8, column = (int64_t)threadIdx.x * 8;
    struct vec8 next = rows_load(row + column, rows_part(column, cols), wide, -INFINITY);
    while (column < cols) {
        struct vec8 now = next;
        column += step;
        next = rows_load(row + column, rows_part(column, cols), wide, -INFINITY);
        softmax_take(&s, now);
    }
    return softmax_block_sum(s);
}

template <class T> __device__ static void softmax_clear(T *row, int64_t cols, bool wide)
{
    struct vec8 zero = {{0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f}};
    int64_t step = (int64_t)blockDim.x * 8;
    for (int64_t column = (int64_t)threadIdx.x * 8; column < cols; column += step)
        rows_store(row + column, zero, rows_part(column, cols), wide);
}

/* Replaces logits by p - (class == target), with p = 2^((x - high) log2(e)) / sum. The product
 * high log2(e) is split too. The highest term is exactly 1: its rounded exponent may be 2^-42
 * instead of 0, and a GPU's 2^x is exact for 0 alone. */
template <class T>
__device__ static void softmax_gradient(T *row, int64_t cols, bool wide, struct softmax_sum s,
                                        int32_t target)
{
    float share = (float)(1.0 / s.sum), base = __fmul_rn(s.high, SOFTMAX_LOG2E_HIGH);
    float rest = fmaf(s.high, SOFTMAX_LOG2E_LOW, fmaf(s.high, SOFTMAX_LOG2E_HIGH, -base));
    int64_t step = (int64_t)blockDim.x * 8, column = (int64_t)threadIdx.x * 8;
    struct vec8 next = rows_load(row + column, rows_part(column, cols), wide, -INFINITY);
    while (column < cols) {
        struct vec8 now = next;
        int64_t here = column;
        column += step;
        next = rows_load(row + column, rows_part(column, cols), wide, -INFINITY);
#pragma unroll
        for (int i = 0; i < 8; i++) {
            float term = exp2f(fmaf(now.x[i], SOFTMAX_LOG2E_HIGH, -base) +
                               fmaf(now.x[i], SOFTMAX_LOG2E_LOW, -rest));
            now.x[i] = (now.x[i] == s.high ? 1.0f : term) * share;
            if (here + i == target) now.x[i] -= 1.0f;
        }
        rows_store(row + here, now, rows_part(here, cols), wide);
    }
}

/* The sum over a row whose `high` is beyond SOFTMAX_COARSE, that is how often `high` occurs, or
 * NaN. With a target >= 0 also the gradient. Inlined it would take registers from every row. */
template <class T>
__device__ __attribute__((noinline)) static double softmax_coarse(T *row, int64_t cols, float high,
                                                                  int32_t target)
{
    struct softmax_part s = {0.0, 0.0f, 0.0f};
    for (int64_t c = threadIdx.x; c < cols; c += blockDim.x)
        s.sum += (double)expf(rows_widen(row[c]) - high);
    __syncthreads(); /* all threads have read the parts of the first sum */
    double sum = softmax_block_sum(s).sum;
    for (int64_t c = threadIdx.x; target >= 0 && c < cols; c += blockDim.x) {
        float p = expf(rows_widen(row[c]) - high) / (float)sum;
        rows_narrow(row + c, c == target ? p - 1.0f : p);
    }
    return sum;
}

/* The loss of a row and, with `gradient`, the gradient of its logits in place. A block owns a row,
 * a thread every blockDim-th group of eight columns. Reads 1 element an element; with the gradient
 * 2, the second from the L2 cache, and writes 1. Blocks have at most 512 threads, about eight
 * groups each, so that several rows share a multiprocessor. */
template <class T>
static __global__ void __launch_bounds__(SOFTMAX_THREADS_MAX)
    softmax_loss_k(float *loss, struct tensor logits, const int32_t *target, int gradient,
                   bool wide)
{
    int64_t i = blockIdx.x;
    T *row = row_of<T>(logits, i);
    int32_t wanted = target[i];
    if (wanted < 0) {
        if (threadIdx.x == 0) loss[i] = 0.0f;
        if (gradient) softmax_clear(row, logits.cols, wide);
        return;
    }
    double chosen = rows_widen(row[wanted]); /* the gradient overwrites it */
    struct softmax_sum s = softmax_row_sum(row, logits.cols, wide);
    if (fabsf(s.high) > SOFTMAX_COARSE) {
        s.sum = softmax_coarse(row, logits.cols, s.high, gradient ? wanted : -1);
        gradient = 0;
    }
    if (threadIdx.x == 0) loss[i] = (float)(log(s.sum) + ((double)s.high - chosen));
    if (gradient) softmax_gradient(row, logits.cols, wide, s, wanted);
}

__device__ static float softmax_log_p(float x, struct softmax_sum s)
{
    return (float)(((double)x - (double)s.high) - log(s.sum));
}

/* Takes another column's logit and number if it comes before: the higher logit, or the lower number
 * of equal ones. Number -1, of a thread without columns, comes last. */
__device__ static inline void softmax_better(float *high, int32_t *at, float other,
                                             int32_t other_at)
{
    if (other > *high || (other == *high && (uint32_t)other_at < (uint32_t)*at)) {
        *high = other;
        *at = other_at;
    }
}

/* Writes a row of best and best_class. Each thread finds the first of its highest columns, then the
 * warps the first of their lanes', then thread 0 the first of the block's. Reads the row again,
 * from the L2 cache. Inlined it would take registers from every row. */
template <class T>
__device__ __attribute__((noinline)) static void softmax_best(float *best_class, float *best,
                                                              const T *row, int64_t cols,
                                                              int64_t words, struct softmax_sum s)
{
    SHARED(float, highs, [SOFTMAX_THREADS_MAX / 32]);
    SHARED(int32_t, ats, [SOFTMAX_THREADS_MAX / 32]);
    float high = -INFINITY;
    int32_t at = -1;
    for (int64_t c = threadIdx.x; c < words; c += blockDim.x) {
        float x = rows_widen(row[c]);
        if (at < 0 || x > high) {
            high = x;
            at = (int32_t)c;
        }
    }
    for (int o = 16; o; o >>= 1)
        softmax_better(&high, &at, __shfl_xor_sync(0xffffffffu, high, o),
                       __shfl_xor_sync(0xffffffffu, at, o));
    if (threadIdx.x % 32 == 0) {
        highs[threadIdx.x / 32] = high;
        ats[threadIdx.x / 32] = at;
    }
    for (int64_t c = words + threadIdx.x; c < cols; c += blockDim.x)
        best[1 + c - words] = softmax_log_p(rows_widen(row[c]), s);
    __syncthreads();
    if (threadIdx.x != 0) return;
    for (unsigned w = 1; w < blockDim.x / 32; w++) softmax_better(&high, &at, highs[w], ats[w]);
    *best_class = isfinite((double)s.high + log(s.sum)) ? (float)at : -1.0f;
    *best = softmax_log_p(high, s);
}

/* Computes log p of a row's target, and what the row has best if that is asked. Threads are mapped
 * as in softmax_loss_k. Reads 1 element an element, and 2 for the best. */
template <class T>
static __global__ void __launch_bounds__(SOFTMAX_THREADS_MAX)
    softmax_logp_k(float *logp, struct tensor logits, const int32_t *target, float *best_class,
                   struct tensor best, int accumulate, bool wide)
{
    int64_t i = blockIdx.x;
    const T *row = row_of<T>(logits, i);
    int32_t wanted = target[i];
    float value = 0.0f;
    if (wanted >= 0 || best_class) {
        struct softmax_sum s = softmax_row_sum(row, logits.cols, wide);
        if (fabsf(s.high) > SOFTMAX_COARSE)
            s.sum = softmax_coarse(row_of<T>(logits, i), logits.cols, s.high, -1);
        if (wanted >= 0) value = softmax_log_p(rows_widen(row[wanted]), s);
        if (best_class)
            softmax_best(best_class + i, row_of<float>(best, i), row, logits.cols,
                         logits.cols - best.cols + 1, s);
    }
    if (threadIdx.x == 0) logp[i] = accumulate ? logp[i] + value : value;
}

/* Sets out to the sum of the losses. A batch has some ten thousand losses, so one block suffices.
 * Thread t adds losses t, t + 512, ...; then lanes, then warps are added in a fixed order. Reads 4
 * bytes a loss. */
static __global__ void __launch_bounds__(SOFTMAX_THREADS_MAX)
    sum_losses_k(double *out, const float *loss, int64_t n)
{
    double sum = 0.0;
    for (int64_t i = threadIdx.x; i < n; i += SOFTMAX_THREADS_MAX) sum += (double)loss[i];
    sum = rows_block_sum<SOFTMAX_THREADS_MAX>(sum);
    if (threadIdx.x == 0) *out = sum;
}

static dim3 softmax_block(int64_t cols)
{
    unsigned threads = SOFTMAX_THREADS_MIN;
    while (threads < SOFTMAX_THREADS_MAX && (int64_t)threads * 64 < cols) threads *= 2;
    return dim3(threads);
}

int cuda_softmax_loss(void *stream, const struct softmax_loss_args *a)
{
    const struct tensor *logits = &a->logits;
    return launch_by_dtype(*logits, softmax_loss_k<bf16>, softmax_loss_k<float>,
                           dim3((unsigned)logits->rows), softmax_block(logits->cols), 0, stream,
                           (float *)a->loss.data, *logits, a->target_dev, (int)a->gradient,
                           rows_are_wide(*logits));
}

int cuda_softmax_logp(void *stream, const struct softmax_logp_args *a)
{
    const struct tensor *logits = &a->logits;
    return launch_by_dtype(
        *logits, softmax_logp_k<bf16>, softmax_logp_k<float>, dim3((unsigned)logits->rows),
        softmax_block(logits->cols), 0, stream, (float *)a->logp.data, *logits, a->target_dev,
        (float *)a->best_class.data, a->best, (int)a->accumulate, rows_are_wide(*logits));
}

int cuda_sum_losses(void *stream, const struct sum_losses_args *a)
{
    return launch(sum_losses_k, dim3(1), dim3(SOFTMAX_THREADS_MAX), 0, (cudaStream_t)stream,
                  a->out_dev, (const float *)a->loss.data, a->loss.cols);
}
