/* simd.h - the tables of kernels that each instruction set exports.
 *
 * 1. A kernel works on a range of rows, heads or elements: threads are the caller's business.
 * 2. Every instruction set computes the same formulas; their bits may differ, those of one set
 * never do.
 * 3. Tensors are f32 views as in backend/backend.h. */
#ifndef CPU_SIMD_H
#define CPU_SIMD_H

#include <stddef.h>
#include <stdint.h>

#include "backend/backend.h"

/* Dropout at one site: factor(element) is 0 or keep_scale. keep_scale = 0: no dropout. */
struct simd_dropout {
    uint64_t key;
    uint32_t stream, step, keep_below;
    float keep_scale; /* 1 / (1 - p) */
    int64_t first_row;
    const int32_t *rows; /* NULL: row i is first_row + i */
    int64_t cols;
};

struct simd_range {
    int64_t begin, end;
};

/* simd_rows.c, simd_norm.c */
struct simd_rows {
    void (*gather)(const struct tensor *y, const struct tensor *x, const int32_t *index,
                   float scale, struct simd_range rows);
    /* scatter works on a range of columns: rows that meet are added in rising order. */
    void (*scatter)(const struct tensor *y, const struct tensor *x, const int32_t *index,
                    float scale, int accumulate, struct simd_range cols);
    void (*add_rows)(const struct tensor *y, const struct tensor *x, const struct tensor *table,
                     const int32_t *index, struct simd_range rows);
    void (*add)(const struct tensor *y, const struct tensor *x, const struct tensor *r,
                struct simd_range rows);
    /* y = x + vector, or y = vector when x is NULL. */
    void (*add_vector)(const struct tensor *y, const struct tensor *x, const float *vector,
                       struct simd_range rows);
    /* out[c] = or += the sum over all rows of x, for a range of columns. */
    void (*column_sums)(float *out, const struct tensor *x, int accumulate, struct simd_range cols);
    void (*dropout)(const struct tensor *y, const struct tensor *x, const struct simd_dropout *d,
                    struct simd_range rows);
    void (*relu)(const struct tensor *y, const struct tensor *x, const struct simd_dropout *d,
                 struct simd_range rows);
    void (*relu_bwd)(const struct tensor *dx, const struct tensor *dy, const struct tensor *y,
                     const struct simd_dropout *d, struct simd_range rows);
    void (*rotary)(const struct tensor *x, const struct tensor *cosine, const struct tensor *sine,
                   int32_t T, int32_t H, int layout, int inverse, struct simd_range rows);
};

struct simd_norm {
    /* s = x + dropout(r) first when r is not NULL. */
    void (*layernorm)(const struct tensor *y, const struct tensor *stats, const struct tensor *s,
                      const struct tensor *x, const struct tensor *r, const struct simd_dropout *d,
                      const struct tensor *gain, const struct tensor *bias, struct simd_range rows);
    /* dgain_part, dbias_part (C): sums over this range, written. */
    void (*layernorm_bwd)(const struct tensor *dx, float *dgain_part, float *dbias_part,
                          const struct tensor *dy, const struct tensor *x,
                          const struct tensor *stats, const struct tensor *gain, int accumulate_dx,
                          struct simd_range rows);
};

/* simd_linear.c */
struct simd_linear {
    int64_t panel; /* outputs of a panel */
    size_t (*packed_bytes)(const struct tensor *w);
    void (*pack)(float *packed, const struct tensor *w, struct simd_range panels);
    /* y = or += x w^T + bias (NULL: none) for w packed; the bits of a row depend on it and w only.
     */
    void (*rows)(const struct tensor *y, const struct tensor *x, const float *packed,
                 const float *bias, int accumulate, struct simd_range rows);
    /* dw = or += dy^T x for a range of dw's rows; packed is dw_bytes of scratch. */
    size_t (*dw_bytes)(const struct tensor *x);
    void (*dw)(const struct tensor *dw, const struct tensor *dy, const struct tensor *x,
               int accumulate, float *packed, struct simd_range outputs);
};

/* simd_loss.c */
struct simd_loss {
    void (*softmax_loss)(float *loss, const struct tensor *logits, const int32_t *target,
                         int gradient, struct simd_range rows);
    void (*softmax_logp)(float *logp, const struct tensor *logits, const int32_t *target,
                         int accumulate, struct simd_range rows);
};

/* simd_update.c. Factors are already worked out from struct step_state. */
struct simd_nag {
    float gradient, shrink, theta_momentum, theta_gradient, momentum;
};
struct simd_adam {
    float gradient, shrink, beta1, beta2, step, root_scale, eps;
};
struct simd_update {
    double (*sum_squares)(const float *x, int64_t n);
    /* theta = shrink theta + theta_momentum b - theta_gradient g; b = momentum b - step g, with
     * g = gradient * grad and the old b on the right of both. */
    void (*nag)(float *theta, float *momentum, const float *grad, const struct simd_nag *f,
                float lr, struct simd_range elements);
    void (*adam)(float *theta, float *m, float *v, const float *grad, const struct simd_adam *f,
                 struct simd_range elements);
};

/* simd_attention.c, simd_attention_bwd.c. An item is one head of one row of the batch: item =
 * row * H + head. scratch_bytes is what run needs, 64-byte aligned. */
struct simd_attention {
    size_t (*scratch_bytes)(const struct attention *a);
    void (*run)(const struct attention *a, const struct simd_dropout *d, void *scratch,
                struct simd_range items);
};
struct simd_attention_bwd {
    size_t (*scratch_bytes)(const struct attention *a);
    /* near_grad (H, bias_table_n) and offset_grad (H) are added to; NULL: not wanted. */
    void (*run)(const struct attention *a, const struct simd_dropout *d, float *near_grad,
                float *offset_grad, void *scratch, struct simd_range items);
};

struct simd_kernels {
    const char *name; /* base, v3, v4 */
    const struct simd_rows *rows;
    const struct simd_norm *norm;
    const struct simd_linear *linear;
    const struct simd_loss *loss;
    const struct simd_update *update;
    const struct simd_attention *attention;
    const struct simd_attention_bwd *attention_bwd;
};

/* The tables as each instruction set exports them. */
#define SIMD_DECLARE(isa)                                                                          \
    extern const struct simd_rows simd_rows_##isa;                                                 \
    extern const struct simd_norm simd_norm_##isa;                                                 \
    extern const struct simd_linear simd_linear_##isa;                                             \
    extern const struct simd_loss simd_loss_##isa;                                                 \
    extern const struct simd_update simd_update_##isa;                                             \
    extern const struct simd_attention simd_attention_##isa;                                       \
    extern const struct simd_attention_bwd simd_attention_bwd_##isa
SIMD_DECLARE(base);
SIMD_DECLARE(v3);
SIMD_DECLARE(v4);

#endif
