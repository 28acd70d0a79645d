/* ops_update.c - softmax losses, and what works on a whole parameter block: norm, optimisers, the
 * sum over devices. */
#include "ops/ops.h"

#include <stddef.h>

#include "ops/ops_check.h"

int ops_softmax_loss(struct backend *b, struct tensor *loss, struct tensor *logits,
                     const int32_t *target_dev, int gradient, struct err *e)
{
    const char *op = "softmax_loss";
    TRY(ops_need_pointer(op, "logits", logits, e));
    TRY(ops_need(op, "logits", logits, logits->rows, logits->cols, logits->dtype, e));
    TRY(ops_need(op, "loss", loss, 1, logits->rows, DTYPE_F32, e));
    TRY(ops_need_pointer(op, "target", target_dev, e));
    return b->ops->softmax_loss(b, loss, logits, target_dev, gradient, e);
}

int ops_sum_losses(struct backend *b, double *sums_dev, const struct tensor *loss, struct err *e)
{
    const char *op = "sum_losses";
    TRY(ops_need_pointer(op, "sums", sums_dev, e));
    TRY(ops_need_pointer(op, "loss", loss, e));
    TRY(ops_need(op, "loss", loss, 1, loss->cols, DTYPE_F32, e));
    return b->ops->sum_losses(b, sums_dev, loss, e);
}

int ops_softmax_logp(struct backend *b, struct tensor *logp, const struct tensor *logits,
                     const int32_t *target_dev, int accumulate, struct err *e)
{
    const char *op = "softmax_logp";
    TRY(ops_need_pointer(op, "logits", logits, e));
    TRY(ops_need(op, "logits", logits, logits->rows, logits->cols, logits->dtype, e));
    TRY(ops_need(op, "logp", logp, 1, logits->rows, DTYPE_F32, e));
    TRY(ops_need_pointer(op, "target", target_dev, e));
    return b->ops->softmax_logp(b, logp, logits, target_dev, accumulate, e);
}

int ops_sum_squares(struct backend *b, double *out_dev, const float *x_dev, int64_t n,
                    struct err *e)
{
    TRY(ops_need_pointer("sum_squares", "out", out_dev, e));
    TRY(ops_need_block("sum_squares", "x", x_dev, n, e));
    return b->ops->sum_squares(b, out_dev, x_dev, n, e);
}

/* A rounded copy of the weights is for backends that compute with it. */
static int require_bf16(const char *op, const struct backend *b, const void *bf16_dev,
                        struct err *e)
{
    if (bf16_dev == NULL || b->precision == DTYPE_BF16) return 0;
    return ERR(e, ERR_INTERNAL, "op %s: %s computes in f32 and keeps no weights in bf16", op,
               b->name);
}

int ops_nag(struct backend *b, float *theta_dev, float *momentum_dev, const float *grad_dev,
            int64_t n, float mu, float weight_decay, const double *squares_dev,
            const struct step_state *step_dev, void *bf16_dev, struct err *e)
{
    TRY(ops_need_block("nag", "theta", theta_dev, n, e));
    TRY(ops_need_block("nag", "momentum", momentum_dev, n, e));
    TRY(ops_need_block("nag", "gradient", grad_dev, n, e));
    TRY(ops_need_pointer("nag", "squares", squares_dev, e));
    TRY(ops_need_pointer("nag", "step", step_dev, e));
    TRY(require_bf16("nag", b, bf16_dev, e));
    return b->ops->nag(b, theta_dev, momentum_dev, grad_dev, n, mu, weight_decay, squares_dev,
                       step_dev, bf16_dev, e);
}

int ops_adam(struct backend *b, float *theta_dev, float *m_dev, float *v_dev, const float *grad_dev,
             int64_t n, float beta1, float beta2, float eps, float weight_decay,
             const double *squares_dev, const struct step_state *step_dev, void *bf16_dev,
             struct err *e)
{
    TRY(ops_need_block("adam", "theta", theta_dev, n, e));
    TRY(ops_need_block("adam", "m", m_dev, n, e));
    TRY(ops_need_block("adam", "v", v_dev, n, e));
    TRY(ops_need_block("adam", "gradient", grad_dev, n, e));
    TRY(ops_need_pointer("adam", "squares", squares_dev, e));
    TRY(ops_need_pointer("adam", "step", step_dev, e));
    TRY(require_bf16("adam", b, bf16_dev, e));
    return b->ops->adam(b, theta_dev, m_dev, v_dev, grad_dev, n, beta1, beta2, eps, weight_decay,
                        squares_dev, step_dev, bf16_dev, e);
}

int ops_all_reduce(struct backend *b, float *x_dev, int64_t n, struct err *e)
{
    TRY(ops_need_block("all_reduce", "x", x_dev, n, e));
    return b->ops->all_reduce(b, x_dev, n, e);
}
