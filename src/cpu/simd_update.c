/* simd_update.c - passes over a parameter block: norm, NAG, Adam. */
#include <math.h>

#include "cpu/simd.h"
#include "cpu/simd_vector.h"

enum { UPDATE_SUMS = 32 };

static double update_squares(const float *x, int64_t n)
{
    double sum[UPDATE_SUMS] = {0}, total = 0.0;
    int64_t i = 0;
    for (; i + UPDATE_SUMS <= n; i += UPDATE_SUMS)
        for (int l = 0; l < UPDATE_SUMS; l++) sum[l] += (double)x[i + l] * (double)x[i + l];
    for (int l = 0; i < n; i++, l++) sum[l] += (double)x[i] * (double)x[i];
    for (int l = 0; l < UPDATE_SUMS; l++) total += sum[l];
    return total;
}

/* Each chunk has a separate sum, so that the bits of the total do not depend on the number of
 * threads. */
SIMD_KERNEL(sum_squares, chunks)
{
    const struct simd_squares *a = args;
    for (int64_t chunk = chunks.begin; chunk < chunks.end; chunk++) {
        int64_t first = chunk * SIMD_SQUARES_CHUNK, left = a->n - first;
        a->sums[chunk] =
            update_squares(a->x + first, left < SIMD_SQUARES_CHUNK ? left : SIMD_SQUARES_CHUNK);
    }
}

SIMD_KERNEL(nag, elements)
{
    const struct simd_nag *f = args;
    float *restrict theta = f->theta, *restrict momentum = f->b;
    const float *restrict grad = f->grad;
    float scale = f->gradient, shrink = f->shrink, tm = f->theta_momentum, tg = f->theta_gradient;
    float mu = f->momentum, lr = f->lr;
    for (int64_t i = elements.begin; i < elements.end; i++) {
        float g = scale * grad[i], b = momentum[i];
        theta[i] = shrink * theta[i] + (tm * b - tg * g);
        momentum[i] = mu * b - lr * g;
    }
}

SIMD_KERNEL(adam, elements)
{
    const struct simd_adam k = *(const struct simd_adam *)args;
    float *restrict theta = k.theta, *restrict m = k.m, *restrict v = k.v;
    const float *restrict grad = k.grad;
    for (int64_t i = elements.begin; i < elements.end; i++) {
        float g = k.gradient * grad[i];
        m[i] = k.beta1 * m[i] + (1.0f - k.beta1) * g;
        v[i] = k.beta2 * v[i] + (1.0f - k.beta2) * g * g;
        theta[i] = k.shrink * theta[i] - k.step * m[i] / (sqrtf(v[i]) * k.root_scale + k.eps);
    }
}
