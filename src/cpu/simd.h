/* simd.h - the kernels of each instruction set.
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

/* A kernel computes a range of items. Each item depends only on the arguments. */
typedef void simd_kernel(const void *args, struct simd_range items);

/* Arguments of kernels that are parts of an op. */
enum { SIMD_SQUARES_CHUNK = 65536 };
struct simd_squares {
    const float *x;
    int64_t n;
    double *sums; /* of each chunk */
};
/* out[c] = or += sum over all rows of x. */
struct simd_sums {
    float *out;
    const struct tensor *x;
    bool accumulate;
};
/* theta = shrink theta + theta_momentum b - theta_gradient g; b = momentum b - lr g, with
 * g = gradient * grad and the old b on the right of both. The factors are computed from struct
 * step_state. */
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

/* The kernels of this type, with their arguments: those of an op take its argument struct. Items
 * are rows, unless stated otherwise: of scatter_rows columns, so that rows with the same index are
 * added in rising order; of column_sums columns; of sum_squares chunks; of nag, adam and tree_add
 * elements.
 * layernorm_bwd overwrites scratch (2,C) with its range's sums of dgain and dbias. */
#define SIMD_KERNELS(K)                                                                            \
    BACKEND_ROW_OPS(K)                                                                             \
    K(SCATTER_ROWS, scatter_rows, scatter_rows_args)                                               \
    K(ROTARY, rotary, rotary_args)                                                                 \
    K(LAYERNORM, layernorm, layernorm_args)                                                        \
    K(LAYERNORM_BWD, layernorm_bwd, layernorm_bwd_args)                                            \
    K(RESIDUAL_LAYERNORM, residual_layernorm, residual_layernorm_args)                             \
    K(COLUMN_SUMS, column_sums, simd_sums)                                                         \
    K(SUM_SQUARES, sum_squares, simd_squares)                                                      \
    K(NAG, nag, simd_nag)                                                                          \
    K(ADAM, adam, simd_adam)                                                                       \
    K(TREE_ADD, tree_add, tree_add_args)

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

/* simd_split.c. A part of the product y = or += x w^T + bias on matrix units: `outputs` columns of
 * y from first_output on, summed over `depth` inputs from first_input on. NULL: this instruction
 * set has none. */
enum { SPLIT_SIDE = 32 };
struct simd_split {
    const struct tensor *y, *x, *w;
    const float *bias;    /* NULL: none */
    void *weights, *rows; /* packed, of packed_bytes, 64-byte aligned */
    uint8_t *parts;       /* of the weights of each panel of SPLIT_SIDE outputs */
    int64_t first_output, outputs, first_input, depth;
    bool accumulate;
};
struct simd_splits {
    bool (*runs)(void); /* whether this processor has them and the system permits them */
    size_t (*packed_bytes)(int64_t rows, int64_t depth);
    /* Take struct simd_split; items are panels of SPLIT_SIDE outputs, and blocks of SPLIT_SIDE rows
     * of x. */
    simd_kernel *pack_weights, *pack_rows, *run;
};

/* simd_attention.c, simd_attention_bwd.c. An item is a head of a row of the batch: row * H + head.
 * run needs scratch_bytes, 64-byte aligned. The backward pass adds the gradients of a bias to sums
 * and of the temperature behind them: tail_offset (H), temperature.head (H), then bias_table (H,
 * bias_table_n). */
struct simd_attention {
    size_t (*scratch_bytes)(const struct attention *a); /* a multiple of 64 */
    simd_kernel *run;
};

struct simd_kernels {
    const char *name; /* base, v3, v4 */
#define SIMD_MEMBER(NAME, name, args) simd_kernel *name;
    SIMD_KERNELS(SIMD_MEMBER)
#undef SIMD_MEMBER
    const struct simd_linear *linear;
    const struct simd_splits *splits; /* NULL: this set has none */
    const struct simd_attention *attention, *attention_bwd;
};
extern const struct simd_kernels simd_kernels_base, simd_kernels_v3, simd_kernels_v4;

/* For the files named simd_*.c, which are compiled once for each instruction set SIMD_ISA.
 * SIMD_NAME - the exported name of a kernel or table of this set, such as simd_relu_v4.
 * SIMD_KERNEL - begins the definition of a kernel of the list, whose arguments are `args`. */
#ifdef SIMD_ISA
#define SIMD_PASTE2(a, b) a##_##b
#define SIMD_PASTE(a, b) SIMD_PASTE2(a, b)
#define SIMD_NAME(name) SIMD_PASTE(name, SIMD_ISA)
#define SIMD_KERNEL(name, items)                                                                   \
    void SIMD_NAME(simd_##name)(const void *args, struct simd_range items)

/* Whether simd_split.c implements the matrix units for this set. */
#if defined(__AVX512F__) && defined(__x86_64__)
#define SIMD_SPLITS
#endif

#define SIMD_DECLARE(NAME, name, args) simd_kernel SIMD_NAME(simd_##name);
SIMD_KERNELS(SIMD_DECLARE)
#undef SIMD_DECLARE
extern const struct simd_linear SIMD_NAME(simd_linear);
extern const struct simd_splits SIMD_NAME(simd_splits);
extern const struct simd_attention SIMD_NAME(simd_attention), SIMD_NAME(simd_attention_bwd);
#endif

#endif
