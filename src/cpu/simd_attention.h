/* simd_attention.h - shared by the forward and the backward pass of attention.
 *
 * Scores are in units of log 2 (q k scale log2(e) + bias log2(e)), so that a probability is one
 * vector_exp2. The bias of a head, including the causal mask, is a table over distances that is
 * -infinity below zero and outside the window: for every position method the sum of a score starts
 * with one load from it. Sinks, keys that a query sees outside its window, have separate tiles with
 * a bias for each pair. Every pair is in exactly one tile. */
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

/* The window of head h; 0: all keys. */
VECTOR_FN int64_t attention_window(const struct attention *a, int64_t h)
{
    int64_t window = a->mask.window;
    if (h < a->mask.narrow_heads && (window == 0 || h + 1 < window)) return h + 1;
    return window;
}

/* attention_bias_at, but -infinity outside the window. */
VECTOR_FN float attention_window_bias_at(const struct attention *a, int32_t h, int64_t d)
{
    int64_t window = attention_window(a, h);
    if (window > 0 && d >= window) return -INFINITY;
    return attention_bias_at(&a->bias, h, d);
}

/* The factor of query i of head h on its scores. */
VECTOR_FN float attention_factor(const struct attention *a, int64_t h, int64_t i)
{
    const struct attention_temperature *t = &a->temperature;
    if (t->query_dev == NULL) return 1.0f;
    return t->head_dev ? t->query_dev[i] * t->head_dev[h] : t->query_dev[i];
}

/* Biases times factors; masked pairs stay masked whatever their factor. */
VECTOR_FN vector_f32 attention_inside(vector_f32 bias, vector_f32 factor)
{
    return vector_select(bias == vector_set(-INFINITY), bias, bias * factor);
}

/* True if a query can see keys outside its window. */
VECTOR_FN int attention_has_sinks(const struct attention *a)
{
    return a->mask.window > 0 && a->mask.sinks > 0 && a->mask.window < a->T;
}

/* Position of query i for a sink outside its window. */
VECTOR_FN int64_t attention_sink_position(const struct attention *a, int64_t i)
{
    int64_t last = (int64_t)a->mask.sinks + a->mask.window - 1;
    return a->mask.sink_positions == SINKS_CACHE && i > last ? last : i;
}

VECTOR_FN int attention_sees_sink(const struct attention *a, int64_t i, int64_t j)
{
    return j < a->mask.sinks && i - j >= a->mask.window;
}

/* True if queries are rotated a second time for sinks. */
VECTOR_FN int attention_rotates_sinks(const struct attention *a)
{
    return attention_has_sinks(a) && a->mask.sink_positions == SINKS_CACHE &&
           a->rotary.cosine.data != NULL;
}

/* A pair of columns of a head, and the rotation that takes query i from its own position to its
 * position for sinks: the quotient of two rows of the tables, normalised. */
struct attention_rotation {
    int64_t first, second;
    float cosine, sine;
};

VECTOR_FN struct attention_rotation attention_sink_rotation(const struct attention *a, int64_t i,
                                                            int64_t p)
{
    const struct attention_rotary *r = &a->rotary;
    int64_t to = attention_sink_position(a, i);
    const float *cosine = r->cosine.data, *sine = r->sine.data;
    double ci = cosine[i * r->cosine.stride + p], si = sine[i * r->sine.stride + p];
    double ct = cosine[to * r->cosine.stride + p], st = sine[to * r->sine.stride + p];
    double square = ci * ci + si * si;
    return (struct attention_rotation){.first = r->layout == 0 ? 2 * p : p,
                                       .second = r->layout == 0 ? 2 * p + 1 : p + r->cosine.cols,
                                       .cosine = (float)((ct * ci + st * si) / square),
                                       .sine = (float)((st * ci - ct * si) / square)};
}

/* Floats of a table for T tokens with a margin of ATTENTION_WIDE on either side. */
VECTOR_FN int64_t attention_table_floats(int32_t T)
{
    int64_t n = (int64_t)T + 2 * ATTENTION_WIDE;
    return (n + 15) / 16 * 16;
}

/* The row of head h of batch row b in a tensor of gates. */
VECTOR_FN float *attention_gate(const struct tensor *t, const struct attention *a, int64_t b,
                                int64_t h)
{
    return (float *)t->data + (b * a->H + h) * t->stride;
}

/* The head of k and v that head h reads. */
VECTOR_FN int64_t attention_key_head(const struct attention *a, int64_t h)
{
    return a->K > 0 ? h / (a->H / a->K) : h;
}

/* The first element of head h in row (b, i) of a tensor. */
VECTOR_FN float *attention_head(const struct tensor *t, const struct attention *a, int64_t b,
                                int64_t h)
{
    return (float *)t->data + b * a->T * t->stride + h * a->D;
}

#endif
