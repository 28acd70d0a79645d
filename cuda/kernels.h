/* kernels.h - every launcher of the CUDA kernels, for the host code in C.
 *
 * 1. A launcher queues its work on `stream` (a cudaStream_t) and returns 0 or a cudaError_t value;
 *    a fault of the work itself surfaces at a later synchronise.
 * 2. Arguments mean what the slot of the same name in backend/backend.h means; every pointer within
 *    them is device memory, the structs themselves are host memory and read before the return.
 * 3. Two calls with the same inputs give the same bits. */
#ifndef CUDA_KERNELS_H
#define CUDA_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#include "backend/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- attention.cu, rotary.cu ----
 * Head widths up to 256; above 128 products are in f32 whatever the dtype. Scratch: workspace_dev,
 * 16-byte aligned, of at least cuda_attention_workspace() bytes; its contents mean nothing between
 * calls, and calls on one stream may share it. The size depends on B, T, H and bias.bias_table_n
 * and grows with each. */
size_t cuda_attention_workspace(const struct attention *a);
int cuda_attention(void *stream, struct attention *a, void *workspace_dev);
int cuda_attention_bwd(void *stream, struct attention *a, void *workspace_dev);
int cuda_rotary(void *stream, struct tensor *x, const struct tensor *cosine,
                const struct tensor *sine, int32_t T, int32_t H, int layout, int inverse);

/* ---- embedding.cu, elementwise.cu ----
 * Any mixture of f32 and bf16 for gather, scatter and cast; elsewhere one dtype, tables f32.
 * scatter_rows adds in rising i also where an index occurs many times. */
int cuda_gather_rows(void *stream, struct tensor *y, const struct tensor *x,
                     const int32_t *index_dev, float scale);
int cuda_scatter_rows(void *stream, struct tensor *y, const struct tensor *x,
                      const int32_t *index_dev, float scale, int accumulate);
int cuda_add_rows(void *stream, struct tensor *y, const struct tensor *x,
                  const struct tensor *table, const int32_t *index_dev);
int cuda_add(void *stream, struct tensor *y, const struct tensor *x, const struct tensor *r);
int cuda_dropout(void *stream, struct tensor *y, const struct tensor *x, const struct dropout *d);
int cuda_relu(void *stream, struct tensor *y, const struct tensor *x, const struct dropout *d);
int cuda_relu_bwd(void *stream, struct tensor *dx, const struct tensor *dy, const struct tensor *y,
                  const struct dropout *d);
/* cuda_cast - y = x, each in its dtype (f32 or bf16) and with its stride. */
int cuda_cast(void *stream, struct tensor *y, const struct tensor *x);

/* ---- layernorm.cu, layernorm_bwd.cu ----
 * Rows of up to 8192 columns. residual_layernorm uses s as it is stored. Scratch: workspace_dev of
 * at least cuda_layernorm_bwd_workspace() bytes, 16-byte aligned; its contents mean nothing between
 * calls, and calls on one stream may share it. It does not shrink as rows or cols grow. */
int cuda_layernorm(void *stream, struct tensor *y, struct tensor *stats, const struct tensor *x,
                   const struct tensor *gain, const struct tensor *bias);
int cuda_residual_layernorm(void *stream, struct tensor *s, struct tensor *y, struct tensor *stats,
                            const struct tensor *x, const struct tensor *r, const struct dropout *d,
                            const struct tensor *gain, const struct tensor *bias);
size_t cuda_layernorm_bwd_workspace(int64_t rows, int64_t cols);
int cuda_layernorm_bwd(void *stream, struct tensor *dx, struct tensor *dgain, struct tensor *dbias,
                       const struct tensor *dy, const struct tensor *x, const struct tensor *stats,
                       const struct tensor *gain, int accumulate_dx, void *workspace_dev);
int cuda_residual_layernorm_bwd(void *stream, struct tensor *ds, struct tensor *dr,
                                struct tensor *dgain, struct tensor *dbias, const struct tensor *dy,
                                const struct tensor *s, const struct tensor *stats,
                                const struct tensor *gain, const struct dropout *d,
                                void *workspace_dev);

/* ---- softmax.cu ----
 * Logits f32 or bf16, any number of classes; sums and logarithms in double. */
int cuda_sum_losses(void *stream, double *sums_dev, const struct tensor *loss);
int cuda_softmax_loss(void *stream, struct tensor *loss, struct tensor *logits,
                      const int32_t *target_dev, int gradient);
int cuda_softmax_logp(void *stream, struct tensor *logp, const struct tensor *logits,
                      const int32_t *target_dev, int accumulate);

/* ---- optimizer.cu ----
 * theta_bf16_dev (n) also gets the new weights in bf16; NULL: no copy. Scratch of sum_squares as
 * that of layernorm_bwd. */
size_t cuda_sum_squares_workspace(int64_t n);
int cuda_sum_squares(void *stream, double *out_dev, const float *x_dev, int64_t n,
                     void *workspace_dev);
int cuda_nag(void *stream, float *theta_dev, float *momentum_dev, const float *grad_dev, int64_t n,
             float mu, float weight_decay, const double *squares_dev,
             const struct step_state *step_dev, void *theta_bf16_dev);
int cuda_adam(void *stream, float *theta_dev, float *m_dev, float *v_dev, const float *grad_dev,
              int64_t n, float beta1, float beta2, float eps, float weight_decay,
              const double *squares_dev, const struct step_state *step_dev, void *theta_bf16_dev);

/* ---- mask.cu: which elements of a matrix are not zero, a bit each ----
 * Bit c % 8, the lowest first, of byte c / 8 of a row is column c; rows begin cuda_mask_stride()
 * bits apart, a multiple of 128; bits beyond the columns are 0. bits_dev: 16-byte aligned, of
 * cuda_mask_bytes() bytes. */
int64_t cuda_mask_stride(int64_t cols);
size_t cuda_mask_bytes(int64_t rows, int64_t cols);
int cuda_mask(void *stream, void *bits_dev, const struct tensor *y);

/* What a comparison of two products under a mask saw. */
struct mask_report {
    uint32_t wrong_n; /* elements that are not as wanted */
    uint32_t edges_n; /* neighbours in a row, one masked, the other plainly not zero: they would
                         show another order of the bits */
};

/* cuda_mask_compare - whether c is `want`, of one dtype, made with the sums in another order: zero
 * where y is 0, elsewhere off by at most 2^-6 (bf16) or 2^-14 (f32) of the largest of the row. */
int cuda_mask_compare(void *stream, struct mask_report *report_dev, const struct tensor *c,
                      const struct tensor *want, const struct tensor *y);

/* ---- column_sums.cu: out (1,C) f32 = column sums of x (N,C), f32 or bf16 ----
 * workspace_dev: 4-byte aligned, of cuda_column_sums_workspace() bytes. */
size_t cuda_column_sums_workspace(const struct tensor *x);
int cuda_column_sums(void *stream, struct tensor *out, const struct tensor *x, int accumulate,
                     void *workspace_dev);

#ifdef __cplusplus
}
#endif
#endif
