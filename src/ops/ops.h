/* ops.h - the functions through which the model calls ops. They check arguments against the op
 * descriptors (ERR_INTERNAL names op, argument and sizes) and compose fused ops that a backend
 * lacks. The argument structs in backend/backend.h document the ops. */
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
    DROPOUT_TAIL /* the layer argument is the tail number */
};
/* dropout_stream - counter word 3: layer * 8 + site. */
static inline uint32_t dropout_stream(int32_t layer, enum dropout_site site)
{
    return (uint32_t)layer * 8u + (uint32_t)site;
}

/* One function per op. It takes the members of the argument struct in their order, or the struct if
 * they are many. A NULL tensor omits the argument. */
int ops_linear(struct backend *b, const struct tensor *y, const struct tensor *x,
               const struct tensor *w, const struct tensor *bias, bool accumulate, struct err *e);
int ops_linear_rows(struct backend *b, const struct tensor *y, const struct tensor *x,
                    const struct tensor *w, const struct tensor *bias, struct err *e);
int ops_linear_relu(struct backend *b, const struct linear_relu_args *a, struct err *e);
int ops_linear_bwd_input(struct backend *b, const struct tensor *dx, const struct tensor *dy,
                         const struct tensor *w, bool accumulate, struct err *e);
int ops_linear_bwd_relu(struct backend *b, const struct linear_bwd_relu_args *a, struct err *e);
int ops_linear_bwd_weight(struct backend *b, const struct tensor *dw, const struct tensor *dbias,
                          const struct tensor *dy, const struct tensor *x, bool accumulate,
                          struct err *e);
int ops_gather_rows(struct backend *b, const struct tensor *y, const struct tensor *x,
                    const int32_t *index_dev, float scale, struct err *e);
int ops_scatter_rows(struct backend *b, const struct tensor *y, const struct tensor *x,
                     const int32_t *index_dev, float scale, bool accumulate, struct err *e);
int ops_add_rows(struct backend *b, const struct tensor *y, const struct tensor *x,
                 const struct tensor *table, const int32_t *index_dev, struct err *e);
int ops_cast(struct backend *b, const struct tensor *y, const struct tensor *x, struct err *e);
int ops_add(struct backend *b, const struct tensor *y, const struct tensor *x,
            const struct tensor *r, struct err *e);
int ops_dropout(struct backend *b, const struct tensor *y, const struct tensor *x,
                const struct dropout *d, struct err *e);
int ops_relu(struct backend *b, const struct relu_args *a, struct err *e);
int ops_relu_bwd(struct backend *b, const struct relu_bwd_args *a, struct err *e);
int ops_layernorm(struct backend *b, const struct tensor *y, const struct tensor *stats,
                  const struct tensor *x, const struct tensor *gain, const struct tensor *bias,
                  struct err *e);
int ops_layernorm_bwd(struct backend *b, const struct layernorm_bwd_args *a, struct err *e);
int ops_residual_layernorm(struct backend *b, const struct residual_layernorm_args *a,
                           struct err *e);
int ops_residual_layernorm_bwd(struct backend *b, const struct residual_layernorm_bwd_args *a,
                               struct err *e);
int ops_rotary(struct backend *b, const struct rotary_args *a, struct err *e);
/* ops_attention - may rotate q and k in place as a->rotary states; ops_attention_bwd takes them in
 * that state. */
int ops_attention(struct backend *b, const struct attention *a, struct err *e);
int ops_attention_bwd(struct backend *b, const struct attention *a, struct err *e);
int ops_softmax_loss(struct backend *b, const struct tensor *loss, const struct tensor *logits,
                     const int32_t *target_dev, bool gradient, struct err *e);
int ops_softmax_logp(struct backend *b, const struct tensor *logp, const struct tensor *logits,
                     const int32_t *target_dev, bool accumulate, struct err *e);
/* ops_sum_losses - sums_dev[0] is the sum of the batch, sums_dev[1] the total. */
int ops_sum_losses(struct backend *b, double *sums_dev, const struct tensor *loss, struct err *e);
int ops_sum_squares(struct backend *b, double *out_dev, const float *x_dev, int64_t n,
                    struct err *e);
int ops_nag(struct backend *b, const struct nag_args *a, struct err *e);
int ops_adam(struct backend *b, const struct adam_args *a, struct err *e);

#endif
