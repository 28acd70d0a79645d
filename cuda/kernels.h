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

/* ---- attention.cu ----
 * Head widths up to 256; above 128 products are in fp32 for every dtype. A workspace is 16-byte
 * aligned and has at least the number of bytes that NAME_workspace() returns. It carries nothing
 * from one call to the next, so calls on one stream may share it. That of attention grows with B,
 * T, H and bias.bias_table_n. */
size_t cuda_attention_workspace(const struct attention *a);
int cuda_attention(void *stream, const struct attention *a, void *workspace_dev);
int cuda_attention_bwd(void *stream, const struct attention *a, void *workspace_dev);

/* ---- embedding.cu, elementwise.cu ----
 * gather, scatter and cast accept any mixture of fp32 and bf16. The others take one dtype, with
 * fp32 tables. scatter_rows adds in rising i, also if an index occurs many times. */
int cuda_gather_rows(void *stream, const struct gather_rows_args *a);
int cuda_scatter_rows(void *stream, const struct scatter_rows_args *a);
int cuda_add_rows(void *stream, const struct add_rows_args *a);
int cuda_add(void *stream, const struct add_args *a);
int cuda_dropout(void *stream, const struct dropout_args *a);
int cuda_relu(void *stream, const struct relu_args *a);
int cuda_relu_bwd(void *stream, const struct relu_bwd_args *a);
int cuda_cast(void *stream, const struct cast_args *a);

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

/* ---- softmax.cu ----
 * Logits fp32 or bf16, any number of classes; sums and logarithms in double. */
int cuda_sum_losses(void *stream, const struct sum_losses_args *a);
int cuda_softmax_loss(void *stream, const struct softmax_loss_args *a);
int cuda_softmax_logp(void *stream, const struct softmax_logp_args *a);

/* ---- optimizer.cu ---- */
size_t cuda_sum_squares_workspace(const struct sum_squares_args *a);
int cuda_sum_squares(void *stream, const struct sum_squares_args *a, void *workspace_dev);
int cuda_nag(void *stream, const struct nag_args *a);
int cuda_adam(void *stream, const struct adam_args *a);

/* ---- column_sums.cu: out (1,C) fp32 = column sums of x (N,C), fp32 or bf16 ----
 * workspace_dev: 4-byte aligned, of cuda_column_sums_workspace() bytes. */
size_t cuda_column_sums_workspace(const struct tensor *x);
int cuda_column_sums(void *stream, const struct tensor *out, const struct tensor *x, int accumulate,
                     void *workspace_dev);

#ifdef __cplusplus
}
#endif
#endif
