/* op_reference.h - every op as plain loops, in double (the oracle) and in float (whose error
 * determines the tolerance).
 *
 * Matrices are packed, inputs are float; outputs have the type in the function's name. */
#ifndef OPS_OP_REFERENCE_H
#define OPS_OP_REFERENCE_H

#include <stdint.h>

#include "backend/backend.h"

/* Causal attention over (B*T, H*D) matrices. near (H, bias_table_n), offset and slope (H) as in
 * struct attention_bias. factor (B, H, T, T): dropout's 0 or 1/(1-p) of each pair, or NULL. cosine
 * and sine (T', D/2) as in struct attention_rotary, or NULL. */
struct op_attention {
    int32_t B, T, H, D, bias_table_n;
    float scale;
    const float *near, *offset, *slope, *factor, *cosine, *sine;
    int layout;
    struct attention_mask mask;
};

struct op_nag {
    float lr, lr_previous, gradient_scale, clip, mu, decay;
};

struct op_adam {
    float lr, gradient_scale, clip, beta1, beta2, eps, decay;
    uint32_t step; /* from 1 */
};

#define OP_REFERENCE(real, name)                                                                   \
    /* y (N,O) = x (N,I) w (O,I)^T + bias or NULL */                                               \
    void name(op_linear)(real * y, const float *x, const float *w, const float *bias, int64_t N,   \
                         int64_t I, int64_t O);                                                    \
    void name(op_linear_bwd_input)(real * dx, const float *dy, const float *w, int64_t N,          \
                                   int64_t I, int64_t O);                                          \
    void name(op_linear_bwd_weight)(real * dw, real * dbias, const float *dy, const float *x,      \
                                    int64_t N, int64_t I, int64_t O);                              \
    void name(op_layernorm)(real * y, real * stats, const float *x, const float *gain,             \
                            const float *bias, int64_t N, int64_t C);                              \
    /* dgain and dbias are overwritten */                                                          \
    void name(op_layernorm_bwd)(real * dx, real * dgain, real * dbias, const float *dy,            \
                                const float *x, const float *gain, int64_t N, int64_t C);          \
    void name(op_rotary)(real * y, const float *x, const float *cosine, const float *sine,         \
                         int64_t rows, int32_t T, int32_t H, int32_t D, int layout, int inverse);  \
    void name(op_attention)(real * out, real * lse, const float *q, const float *k,                \
                            const float *v, const struct op_attention *a);                         \
    /* dbias_table (H, bias_table_n) and dtail_offset (H) are overwritten */                       \
    void name(op_attention_bwd)(real * dq, real * dk, real * dv, real * dbias_table,               \
                                real * dtail_offset, const float *q, const float *k,               \
                                const float *v, const float *dout, const struct op_attention *a);  \
    /* loss (N); dlogits (N,V) or NULL; target -1 counts nothing */                                \
    void name(op_softmax)(real * loss, real * dlogits, const float *logits, const int32_t *target, \
                          int64_t N, int64_t V);                                                   \
    void name(op_nag)(real * theta, real * momentum, const float *grad, int64_t n,                 \
                      const struct op_nag *s);                                                     \
    void name(op_adam)(real * theta, real * m, real * v, const float *grad, int64_t n,             \
                       const struct op_adam *s);

#define OP_DOUBLE(name) name##_double
#define OP_FLOAT(name) name##_float
OP_REFERENCE(double, OP_DOUBLE)
OP_REFERENCE(float, OP_FLOAT)

#endif
