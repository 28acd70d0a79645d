/* gate_sums.c - op forget_gate: sums of log gates and their gradients, in double. An item is a
 * head, which loops over the rows of the batch, so that its sums have a fixed order. */
#include <math.h>

#include "cpu/cpu.h"

static const float *row_of(const struct tensor *t, int64_t row)
{
    return (const float *)t->data + row * t->stride;
}

/* ln sigmoid(x) */
static double log_gate(double x)
{
    return x > 0.0 ? -log1p(exp(-x)) : x - log1p(exp(x));
}

static double gate_input(const struct tensor *z, const struct tensor *bias, int64_t token,
                         int64_t h)
{
    return (double)row_of(bias, 0)[h] + (z->data != NULL ? (double)row_of(z, token)[h] : 0.0);
}

static void sums_of_heads(const void *args, struct simd_range heads)
{
    const struct forget_gate_args *a = args;
    for (int64_t item = heads.begin * a->B; item < heads.end * a->B; item++) {
        int64_t h = item / a->B, b = item % a->B, row = b * a->H + h;
        float *high = (float *)a->high.data + row * a->high.stride;
        float *low = (float *)a->low.data + row * a->low.stride;
        double sum = 0.0;
        for (int64_t t = 0; t < a->T; t++) {
            sum += log_gate(gate_input(&a->z, &a->bias, b * a->T + t, h));
            high[t] = (float)sum;
            low[t] = (float)(sum - (double)high[t]);
        }
    }
}

int cpu_forget_gate(struct backend *b, const struct forget_gate_args *a, struct err *e)
{
    (void)e;
    cpu_parallel(b, a->H, 1, sums_of_heads, a);
    return 0;
}

static void gradients_of_heads(const void *args, struct simd_range heads)
{
    const struct forget_gate_bwd_args *a = args;
    for (int64_t h = heads.begin; h < heads.end; h++) {
        double dbias = 0.0;
        for (int64_t b = 0; b < a->B; b++) {
            const float *dsums = row_of(&a->dsums, b * a->H + h);
            double sum = 0.0;
            for (int64_t t = a->T - 1; t >= 0; t--) {
                int64_t token = b * a->T + t;
                sum += (double)dsums[t];
                double dz = sum / (1.0 + exp(gate_input(&a->z, &a->bias, token, h)));
                dbias += dz;
                if (a->dz.data != NULL) ((float *)a->dz.data)[token * a->dz.stride + h] = (float)dz;
            }
        }
        ((float *)a->dbias.data)[h] += (float)dbias;
    }
}

int cpu_forget_gate_bwd(struct backend *b, const struct forget_gate_bwd_args *a, struct err *e)
{
    (void)e;
    cpu_parallel(b, a->H, 1, gradients_of_heads, a);
    return 0;
}
