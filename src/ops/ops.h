/* ops.h - what every op means, argument checks, and the composition of what a backend has not
 * fused. The model calls ops_* only. Formulas are in backend/backend.h beside the slots; here are
 * the rules of use. */
#ifndef OPS_OPS_H
#define OPS_OPS_H

#include "backend/backend.h"
#include "base/err.h"

/* The seven dropout sites. */
enum dropout_site {
    DROPOUT_EMBEDDING,
    DROPOUT_ATTENTION,
    DROPOUT_ATTENTION_OUT,
    DROPOUT_RELU,
    DROPOUT_FEED_FORWARD_OUT,
    DROPOUT_HEAD_INPUT,
    DROPOUT_TAIL /* + tail number in the layer argument */
};
/* dropout_stream - counter word 3: layer * 8 + site. */
static inline uint32_t dropout_stream(int32_t layer, enum dropout_site site)
{
    return (uint32_t)layer * 8u + (uint32_t)site;
}

/* One function a slot of struct backend_ops, the same arguments: shapes and dtypes are checked
 * once, here (ERR_INTERNAL names op, argument and sizes). Fused slots that are NULL are composed of
 * plain ones. */
int ops_linear(struct backend *b, struct tensor *y, const struct tensor *x, const struct tensor *w,
               const struct tensor *bias, int accumulate, struct err *e);
int ops_linear_rows(struct backend *b, struct tensor *y, const struct tensor *x,
                    const struct tensor *w, const struct tensor *bias, struct err *e);
/* ops_linear_relu - linear, or with exact linear_rows, then relu with its dropout. */
int ops_linear_relu(struct backend *b, struct tensor *y, const struct tensor *x,
                    const struct tensor *w, const struct tensor *bias, const struct dropout *d,
                    int exact, struct err *e);
int ops_linear_bwd_input(struct backend *b, struct tensor *dx, const struct tensor *dy,
                         const struct tensor *w, int accumulate, struct err *e);
/* ops_linear_relu_bwd - what linear_relu was given: linear_bwd_input, then relu_bwd with its
 * dropout; y is the stored result. */
int ops_linear_relu_bwd(struct backend *b, struct tensor *dx, const struct tensor *dy,
                        const struct tensor *w, const struct tensor *y, const struct dropout *d,
                        struct err *e);
int ops_linear_bwd_weight(struct backend *b, struct tensor *dw, struct tensor *dbias,
                          const struct tensor *dy, const struct tensor *x, int accumulate,
                          struct err *e);
int ops_gather_rows(struct backend *b, struct tensor *y, const struct tensor *x,
                    const int32_t *index_dev, float scale, struct err *e);
int ops_scatter_rows(struct backend *b, struct tensor *y, const struct tensor *x,
                     const int32_t *index_dev, float scale, int accumulate, struct err *e);
int ops_add_rows(struct backend *b, struct tensor *y, const struct tensor *x,
                 const struct tensor *table, const int32_t *index_dev, struct err *e);
int ops_cast(struct backend *b, struct tensor *y, const struct tensor *x, struct err *e);
int ops_add(struct backend *b, struct tensor *y, const struct tensor *x, const struct tensor *r,
            struct err *e);
int ops_dropout(struct backend *b, struct tensor *y, const struct tensor *x,
                const struct dropout *d, struct err *e);
int ops_relu(struct backend *b, struct tensor *y, const struct tensor *x, const struct dropout *d,
             struct err *e);
int ops_relu_bwd(struct backend *b, struct tensor *dx, const struct tensor *dy,
                 const struct tensor *y, const struct dropout *d, struct err *e);
int ops_layernorm(struct backend *b, struct tensor *y, struct tensor *stats, const struct tensor *x,
                  const struct tensor *gain, const struct tensor *bias, struct err *e);
int ops_layernorm_bwd(struct backend *b, struct tensor *dx, struct tensor *dgain,
                      struct tensor *dbias, const struct tensor *dy, const struct tensor *x,
                      const struct tensor *stats, const struct tensor *gain, int accumulate_dx,
                      struct err *e);
int ops_residual_layernorm(struct backend *b, struct tensor *s, struct tensor *y,
                           struct tensor *stats, const struct tensor *x, const struct tensor *r,
                           const struct dropout *d, const struct tensor *gain,
                           const struct tensor *bias, struct err *e);
/* ops_residual_layernorm_bwd - dr is left alone where d->p is 0: then it is ds. It may be NULL
 * then. */
int ops_residual_layernorm_bwd(struct backend *b, struct tensor *ds, struct tensor *dr,
                               struct tensor *dgain, struct tensor *dbias, const struct tensor *dy,
                               const struct tensor *s, const struct tensor *stats,
                               const struct tensor *gain, const struct dropout *d, struct err *e);
int ops_rotary(struct backend *b, struct tensor *x, const struct tensor *cosine,
               const struct tensor *sine, int32_t T, int32_t H, int layout, int inverse,
               struct err *e);
/* ops_attention - q and k may be turned in place where a->rotary says so; ops_attention_bwd takes
 * them as they are then. */
int ops_attention(struct backend *b, struct attention *a, struct err *e);
int ops_attention_bwd(struct backend *b, struct attention *a, struct err *e);
int ops_softmax_loss(struct backend *b, struct tensor *loss, struct tensor *logits,
                     const int32_t *target_dev, int gradient, struct err *e);
int ops_sum_losses(struct backend *b, double *sums_dev, const struct tensor *loss, struct err *e);
int ops_softmax_logp(struct backend *b, struct tensor *logp, const struct tensor *logits,
                     const int32_t *target_dev, int accumulate, struct err *e);

/* Over a whole parameter block of n elements. */
int ops_sum_squares(struct backend *b, double *out_dev, const float *x_dev, int64_t n,
                    struct err *e);
int ops_nag(struct backend *b, float *theta_dev, float *momentum_dev, const float *grad_dev,
            int64_t n, float mu, float weight_decay, const double *squares_dev,
            const struct step_state *step_dev, void *bf16_dev, struct err *e);
int ops_adam(struct backend *b, float *theta_dev, float *m_dev, float *v_dev, const float *grad_dev,
             int64_t n, float beta1, float beta2, float eps, float weight_decay,
             const double *squares_dev, const struct step_state *step_dev, void *bf16_dev,
             struct err *e);
int ops_all_reduce(struct backend *b, float *x_dev, int64_t n, struct err *e);

#endif
