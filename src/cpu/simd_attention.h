/* simd_attention.h - what the forward and the backward pass of attention share.
 *
 * Scores are kept in units of log 2 (q k scale log2(e) + bias log2(e)), so that a probability is
 * one vector_exp2. The bias of a head, the causal mask included, is a table over distances that is
 * -infinity below zero: a score's sum starts from one load of it, whatever the position method. */
#ifndef CPU_SIMD_ATTENTION_H
#define CPU_SIMD_ATTENTION_H

#include <math.h>

#include "cpu/simd.h"
#include "cpu/simd_dropout.h"
#include "cpu/simd_transpose.h"
#include "cpu/simd_vector.h"

#define ATTENTION_LOG2E 1.44269504088896340736
#define ATTENTION_LN2 0.69314718055994530942

enum {
    ATTENTION_WIDE = 2 * VECTOR_LANES, /* lanes of the widest tile: queries, or keys */
    ATTENTION_TILE = 64                /* keys of a forward tile, queries of a backward tile */
};

/* The bias at distance d >= 0 in units of log 2. */
VECTOR_FN float attention_bias_at(const struct attention_bias *b, int32_t h, int64_t d)
{
    double bias = 0.0;
    if (b->bias_table_dev && d < b->bias_table_n) {
        bias = b->bias_table_dev[(int64_t)h * b->bias_table_n + d];
    } else {
        if (b->tail_offset_dev) bias = b->tail_offset_dev[h];
        if (b->tail_slope_dev) bias += (double)b->tail_slope_dev[h] * (double)d;
    }
    return (float)(bias * ATTENTION_LOG2E);
}

/* Floats of a table for T tokens: ATTENTION_WIDE on either side. */
VECTOR_FN int64_t attention_table_floats(int32_t T)
{
    int64_t n = (int64_t)T + 2 * ATTENTION_WIDE;
    return (n + 15) / 16 * 16;
}

/* Row h of a view's head: a (b, i) row starts here. */
VECTOR_FN float *attention_head(const struct tensor *t, const struct attention *a, int64_t b,
                                int64_t h)
{
    return (float *)t->data + b * a->T * t->stride + h * a->D;
}

#endif
