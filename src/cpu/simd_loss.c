/* simd_loss.c - softmax cross-entropy on rows of logits.
 *
 * The sum of exponentials is in fp32 within chunks of 512 classes and in double over chunks; its
 * logarithm is in double. Order and chunks depend only on the number of classes, so that the bits
 * of a row depend only on that row. */
#include <math.h>

#include "cpu/simd.h"
#include "cpu/simd_vector.h"

enum { LOSS_CHUNK = 512 };

/* Four chains, so that comparisons do not wait for each other. */
static float loss_highest(const float *x, int64_t n)
{
    enum { STEP = 4 * VECTOR_LANES };
    vector_f32 high[4];
    int64_t c = 0;
    for (int k = 0; k < 4; k++) high[k] = vector_set(-INFINITY);
    for (; c + STEP <= n; c += STEP)
        for (int k = 0; k < 4; k++)
            high[k] = vector_max(vector_load(x + c + k * VECTOR_LANES), high[k]);
    high[0] = vector_max(vector_max(high[0], high[1]), vector_max(high[2], high[3]));
    float highest = vector_highest(high[0]);
    for (; c < n; c++)
        if (x[c] > highest) highest = x[c];
    return highest;
}

/* Computes the exponentials of the last classes, fewer than a vector, in a padded vector. */
VECTOR_FN vector_f32 loss_tail(const float *x, int64_t n, float highest)
{
    float padded[VECTOR_LANES];
    for (int64_t l = 0; l < VECTOR_LANES; l++) padded[l] = l < n ? x[l] - highest : -INFINITY;
    return vector_exp(vector_load(padded));
}

/* The sum of e^(x - highest). Writes the terms to out unless NULL; out may be x. */
static double loss_sum(float *out, const float *x, int64_t n, float highest)
{
    double total = 0.0;
    int64_t c = 0;
    while (c < n) {
        int64_t end = c + LOSS_CHUNK < n ? c + LOSS_CHUNK : n;
        vector_f32 sum = {0}, other = {0};
        for (; c + 2 * VECTOR_LANES <= end; c += 2 * VECTOR_LANES) {
            vector_f32 one = vector_exp(vector_load(x + c) - highest);
            vector_f32 two = vector_exp(vector_load(x + c + VECTOR_LANES) - highest);
            if (out) vector_store(out + c, one);
            if (out) vector_store(out + c + VECTOR_LANES, two);
            sum += one;
            other += two;
        }
        for (; c + VECTOR_LANES <= end; c += VECTOR_LANES) {
            vector_f32 term = vector_exp(vector_load(x + c) - highest);
            if (out) vector_store(out + c, term);
            sum += term;
        }
        if (c < end) {
            vector_f32 term = loss_tail(x + c, end - c, highest);
            if (out) memcpy(out + c, &term, (size_t)(end - c) * sizeof *out);
            sum += term;
            c = end;
        }
        total += (double)vector_sum(sum + other);
    }
    return total;
}

SIMD_KERNEL(softmax_loss, rows)
{
    const struct softmax_loss_args *a = args;
    const struct tensor *logits = &a->logits;
    const int32_t *target = a->target_dev;
    float *loss = a->loss.data;
    for (int64_t i = rows.begin; i < rows.end; i++) {
        float *x = (float *)logits->data + i * logits->stride;
        if (target[i] < 0) {
            loss[i] = 0.0f;
            if (a->gradient) memset(x, 0, (size_t)logits->cols * sizeof *x);
            continue;
        }
        float highest = loss_highest(x, logits->cols);
        double chosen = (double)x[target[i]] - highest;
        double sum = loss_sum(a->gradient ? x : NULL, x, logits->cols, highest);
        loss[i] = (float)(log(sum) - chosen);
        if (!a->gradient) continue;
        float share = (float)(1.0 / sum);
        for (int64_t c = 0; c < logits->cols; c++) x[c] *= share;
        x[target[i]] -= 1.0f;
    }
}

/* Writes row i of best and best_class, given the highest of all logits and the sum of their
 * exponentials. Only with later classes must the highest be looked for again. */
static void loss_best(const struct softmax_logp_args *a, int64_t i, const float *x, float highest,
                      double sum)
{
    int64_t n = a->logits.cols, words_n = n - a->best.cols + 1, at = 0;
    float *best = (float *)a->best.data + i * a->best.stride, *number = a->best_class.data;
    float most = words_n < n ? loss_highest(x, words_n) : highest;
    while (at < words_n && x[at] != most) at++;
    number[i] = isfinite(highest + log(sum)) && at < words_n ? (float)at : -1.0f;
    best[0] = (float)((double)most - highest - log(sum));
    for (int64_t c = words_n; c < n; c++)
        best[c - words_n + 1] = (float)((double)x[c] - highest - log(sum));
}

SIMD_KERNEL(softmax_logp, rows)
{
    const struct softmax_logp_args *a = args;
    const struct tensor *logits = &a->logits;
    const int32_t *target = a->target_dev;
    float *logp = a->logp.data;
    for (int64_t i = rows.begin; i < rows.end; i++) {
        const float *x = (const float *)logits->data + i * logits->stride;
        float value = 0.0f;
        if (target[i] >= 0 || a->best.data) {
            float highest = loss_highest(x, logits->cols);
            double sum = loss_sum(NULL, x, logits->cols, highest);
            if (target[i] >= 0) value = (float)((double)x[target[i]] - highest - log(sum));
            if (a->best.data) loss_best(a, i, x, highest, sum);
        }
        logp[i] = a->accumulate ? logp[i] + value : value;
    }
}
