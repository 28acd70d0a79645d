/* op_reference.h - every op as plain loops, in double (the oracle) and in float (whose error
 * determines the tolerance).
 *
 * Matrices are packed, inputs are float; outputs have the type in the function's name. */
#ifndef OPS_OP_REFERENCE_H
#define OPS_OP_REFERENCE_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "backend/backend.h"

/* Causal attention over (B*T, H*D) matrices; k and v have K heads. near (H, bias_table_n), offset
 * and slope (H) as in struct attention_bias. factor (B, H, T, T): dropout's 0 or 1/(1-p) of each
 * pair, or NULL. cosine and sine (T', pairs) as in struct attention_rotary, or NULL; key_cosine and
 * key_sine: of k. */
struct op_attention {
    int32_t B, T, H, D, bias_table_n, K; /* K = 0: H; backward: H */
    float scale;
    const float *near, *offset, *slope, *factor, *cosine, *sine, *key_cosine, *key_sine;
    int layout;
    int32_t pairs;
    const float *query_factor, *head_factor; /* (T), (H) as in struct attention_temperature */
    int inside;
    struct attention_mask mask;
    const float *key_bias;   /* (H, T), or NULL; forward only */
    const float *high, *low; /* (B*H, T) sums of gates, or NULL */
    void *dsums;             /* their gradient, of REAL, overwritten; or NULL */
};

#define REAL double
#define NAME(name) name##_double
#include "ops/op_reference_loops.h"
#undef REAL
#undef NAME
#define REAL float
#define NAME(name) name##_float
#include "ops/op_reference_loops.h"
#undef REAL
#undef NAME

#endif
