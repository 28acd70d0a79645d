/* simd_attention_skip.h - pairs whose probability is exactly zero, known without computing it.
 *
 * The backward pass takes a probability again as vector_exp2(q k + bias - lse), all in units of
 * log 2, which is 0 from EXP2_ZERO down; and a probability of 0 adds zeros to every gradient, as
 * long as values and dout are finite. Under a bias that falls with distance, for every pair of a
 * tile of queries and a tile of keys
 *
 *     q k + bias - lse  <=  max|q| max|k| + bias at the tiles' nearest distance - lowest lse
 *
 * (Cauchy and Schwarz). Where the right side is below EXP2_ZERO, the tile can be left out: every
 * bit of the gradients stays. Both sides are sums of up to 130 roundings, each 2^-24 of a
 * magnitude, so each part is taken 2^-12 of itself too high. A number that is not finite makes
 * nothing dead. */
#ifndef CPU_SIMD_ATTENTION_SKIP_H
#define CPU_SIMD_ATTENTION_SKIP_H

#include <math.h>

#include "cpu/simd_attention.h"

#define ATTENTION_SKIP_ABOVE (1.0f + 0x1p-12f)
#define ATTENTION_SKIP_BELOW (1.0f - 0x1p-12f)

/* By tile of ATTENTION_TILE queries: the highest |q| and the lowest lse. */
struct attention_skip {
    float *query_norm, *lse;
};

/* Whether head h can have dead pairs at all. */
VECTOR_FN int attention_skip_applies(const struct attention *a, int64_t h)
{
    const struct attention_bias *b = &a->bias;
    return b->tail_slope_dev && b->tail_slope_dev[h] < 0.0f && b->bias_table_n == 0 &&
           a->T > ATTENTION_TILE;
}

/* Fills both from q . q and lse of T queries. */
VECTOR_FN void attention_skip_fill(struct attention_skip *s, const float *squares, const float *lse,
                                   int64_t T)
{
    for (int64_t first = 0; first < T; first += ATTENTION_TILE) {
        float highest = 0.0f, lowest = INFINITY, poison = 0.0f;
        for (int64_t i = first; i < first + ATTENTION_TILE && i < T; i++) {
            poison += 0.0f * (squares[i] + lse[i]); /* a NaN where either is not finite */
            if (squares[i] > highest) highest = squares[i];
            if (lse[i] < lowest) lowest = lse[i];
        }
        s->query_norm[first / ATTENTION_TILE] = sqrtf(highest) + poison;
        s->lse[first / ATTENTION_TILE] = lowest;
    }
}

/* The highest |k| of two vectors of keys in columns. */
VECTOR_FN float attention_skip_key_norm(const float *columns, int64_t column, int64_t D)
{
    vector_f32 square[2] = {{0}, {0}};
    for (int64_t c = 0; c < D; c++)
        for (int v = 0; v < 2; v++) {
            vector_f32 x = vector_load(columns + c * column + v * VECTOR_LANES);
            square[v] += x * x;
        }
    float sum = vector_sum(square[0] + square[1]);
    return sqrtf(vector_highest(vector_max(square[0], square[1]))) + 0.0f * sum;
}

/* bias: of the pair of the query tile and the keys that is nearest. */
VECTOR_FN int attention_skip_is_dead(const struct attention_skip *s, int64_t query_tile,
                                     float key_norm, float bias)
{
    float most = s->query_norm[query_tile] * key_norm * ATTENTION_SKIP_ABOVE;
    return most + (bias - s->lse[query_tile]) * ATTENTION_SKIP_BELOW < VECTOR_EXP2_ZERO;
}

#endif
