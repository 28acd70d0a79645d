/* kernels.h - every launcher of the CUDA kernels, for the host code in C.
 *
 * 1. A launcher queues its work on `stream` (a cudaStream_t) and returns 0 or a cudaError_t value.
 *    A fault of the work itself surfaces at a later synchronisation.
 * 2. Arguments are those of the op in backend/backend.h. Pointers in them are device memory. The
 *    structs are host memory; a launcher reads them before it returns.
 * 3. Two calls with the same inputs give the same bits. */
#ifndef CUDA_KERNELS_H
#define CUDA_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#include "backend/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- embedding.cu, elementwise.cu, softmax.cu, optimizer.cu: ops that need no workspace ----
 * gather, scatter and cast accept any mixture of fp32 and bf16. The other row ops take one dtype,
 * with fp32 tables. scatter_rows adds in rising i, also if an index occurs many times. Logits have
 * any number of classes; sums and logarithms are in double. */
#define CUDA_PLAIN_OPS(OP)                                                                         \
    BACKEND_ROW_OPS(OP)                                                                            \
    OP(SCATTER_ROWS, scatter_rows, scatter_rows_args)                                              \
    OP(SUM_LOSSES, sum_losses, sum_losses_args)                                                    \
    OP(NAG, nag, nag_args)                                                                         \
    OP(ADAM, adam, adam_args)                                                                      \
    OP(TREE_ADD, tree_add, tree_add_args)                                                          \
    OP(SUM_DOUBLES, sum_doubles, sum_doubles_args)
#define CUDA_LAUNCHER(NAME, name, args) int cuda_##name(void *stream, const struct args *a);
CUDA_PLAIN_OPS(CUDA_LAUNCHER)
#undef CUDA_LAUNCHER

/* ---- attention.cu ----
 * Head widths up to 256; above 128 products are in fp32 for every dtype. A workspace is 16-byte
 * aligned and has at least the number of bytes that NAME_workspace() returns. It carries nothing
 * from one call to the next, so calls on one stream may share it. That of attention grows with B,
 * T, H and bias.bias_table_n. */
size_t cuda_attention_workspace(const struct attention *a);
int cuda_attention(void *stream, const struct attention *a, void *workspace_dev);
int cuda_attention_bwd(void *stream, const struct attention *a, void *workspace_dev);

/* ---- layernorm.cu, layernorm_bwd.cu ----
 * Rows of up to CUDA_NORM_COLS_MAX columns. residual_layernorm uses s as it is stored. A workspace
 * does not shrink as rows or columns grow. */
enum { CUDA_NORM_COLS_MAX = 8192 };
int cuda_layernorm(void *stream, const struct layernorm_args *a);
int cuda_residual_layernorm(void *stream, const struct residual_layernorm_args *a);
size_t cuda_layernorm_bwd_workspace(const struct tensor *x); /* of both backward passes */
int cuda_layernorm_bwd(void *stream, const struct layernorm_bwd_args *a, void *workspace_dev);
int cuda_residual_layernorm_bwd(void *stream, const struct residual_layernorm_bwd_args *a,
                                void *workspace_dev);

/* ---- forget_gate.cu ---- */
int cuda_forget_gate(void *stream, const struct forget_gate_args *a);
size_t cuda_forget_gate_bwd_workspace(const struct forget_gate_bwd_args *a);
int cuda_forget_gate_bwd(void *stream, const struct forget_gate_bwd_args *a, void *workspace_dev);

/* ---- optimizer.cu ---- */
size_t cuda_sum_squares_workspace(const struct sum_squares_args *a);
int cuda_sum_squares(void *stream, const struct sum_squares_args *a, void *workspace_dev);

/* ---- column_sums.cu: out (1,C) fp32 = column sums of x (N,C), fp32 or bf16 ----
 * workspace_dev: 4-byte aligned, of cuda_column_sums_workspace() bytes. */
size_t cuda_column_sums_workspace(const struct tensor *x);
int cuda_column_sums(void *stream, const struct tensor *out, const struct tensor *x, int accumulate,
                     void *workspace_dev);

#ifdef __cplusplus
}
#endif
#endif
