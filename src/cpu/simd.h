/* simd.h - the tables of kernels that each instruction set exports.
 *
 * 1. A kernel works on a range of rows, heads or elements; the caller manages threads.
 * 2. Every instruction set computes the same formulas. Bits may differ between sets, but not within
 *    one.
 * 3. Tensors are fp32 views as in backend/backend.h. */
#ifndef CPU_SIMD_H
#define CPU_SIMD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend/backend.h"

/* Items begin ... end - 1 of an op, and the scratch memory of the thread that computes them. */
struct simd_range {
    int64_t begin, end;
    void *scratch;
};

/* A kernel computes a range of an op's items: rows unless stated otherwise. Each item depends only
 * on the arguments. args is the op's argument struct of backend.h, or the one named here. */
typedef void simd_kernel(const void *args, struct simd_range items);

/* simd_rows.c */
struct simd_rows {
    simd_kernel *gather_rows,
        *scatter_rows /* items are columns: rows with the same index are added in rising order */;
    simd_kernel *add_rows, *add, *dropout, *relu, *relu_bwd, *rotary;
    /* out[c] = or += sum over all rows of x, for a range of columns. */
    void (*column_sums)(float *out, const struct tensor *x, bool accumulate,
                        struct simd_range cols);
};

/* simd_norm.c */
struct simd_norm {
    simd_kernel *layernorm, *residual_layernorm;
    /* Overwrites scratch (2,C) with this range's sums of dgain and dbias. */
    simd_kernel *layernorm_bwd;
};

/* simd_linear.c. A part of the product y = or += a b + bias: `outputs` columns of y from
 * first_output on, summed over `depth` inputs from first_input on. A transposed b is (outputs,
 * inputs). Parts after the first inputs are added. */
struct simd_product {
    const struct tensor *y, *a, *b;
    const float *bias; /* NULL: none */
    float *packed;     /* the part of b, in whole panels */
    int64_t first_output, outputs, first_input, depth;
    bool transposed, accumulate;
};
struct simd_linear {
    int64_t panel, depth, part_floats; /* outputs of a panel; most inputs and floats of a part */
    /* Both take struct simd_product. pack: items are panels of b. rows: reads packed; the bits of a
     * row depend only on it and b. */
    simd_kernel *pack, *rows;
    /* dw = or += dy^T x for a range of dw's rows; needs dw_bytes of scratch. */
    size_t (*dw_bytes)(const struct tensor *x);
    void (*dw)(const struct tensor *dw, const struct tensor *dy, const struct tensor *x,
               bool accumulate, struct simd_range outputs);
};

/* simd_loss.c */
struct simd_loss {
    simd_kernel *softmax_loss, *softmax_logp;
};

/* simd_update.c. The factors are computed from struct step_state. */
enum { SIMD_SQUARES_CHUNK = 65536 };
struct simd_squares {
    const float *x;
    int64_t n;
    double *sums; /* of each chunk */
};
/* theta = shrink theta + theta_momentum b - theta_gradient g; b = momentum b - lr g, with
 * g = gradient * grad and the old b on the right of both. */
struct simd_nag {
    float *theta, *b;
    const float *grad;
    float gradient, shrink, theta_momentum, theta_gradient, momentum, lr;
};
struct simd_adam {
    float *theta, *m, *v;
    const float *grad;
    float gradient, shrink, beta1, beta2, step, root_scale, eps;
};
struct simd_update {
    simd_kernel *sum_squares; /* chunks, of struct simd_squares */
    simd_kernel *nag, *adam;  /* elements, of struct simd_nag and struct simd_adam */
};

/* simd_attention.c, simd_attention_bwd.c. An item is a head of a row of the batch: row * H + head.
 * run needs scratch_bytes, 64-byte aligned. The backward pass adds the gradients of a bias to sums
 * behind them, if one is wanted: tail_offset (H), then bias_table (H, bias_table_n). */
struct simd_attention {
    size_t (*scratch_bytes)(const struct attention *a); /* a multiple of 64 */
    simd_kernel *run;
};

struct simd_kernels {
    const char *name; /* base, v3, v4 */
    const struct simd_rows *rows;
    const struct simd_norm *norm;
    const struct simd_linear *linear;
    const struct simd_loss *loss;
    const struct simd_update *update;
    const struct simd_attention *attention, *attention_bwd;
};

/* The tables as each instruction set exports them. */
#define SIMD_DECLARE(isa)                                                                          \
    extern const struct simd_rows simd_rows_##isa;                                                 \
    extern const struct simd_norm simd_norm_##isa;                                                 \
    extern const struct simd_linear simd_linear_##isa;                                             \
    extern const struct simd_loss simd_loss_##isa;                                                 \
    extern const struct simd_update simd_update_##isa;                                             \
    extern const struct simd_attention simd_attention_##isa;                                       \
    extern const struct simd_attention simd_attention_bwd_##isa
SIMD_DECLARE(base);
SIMD_DECLARE(v3);
SIMD_DECLARE(v4);

#endif
