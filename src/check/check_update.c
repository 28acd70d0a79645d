/* check_update.c - the same as check_ops.c for losses and whole parameter blocks. */
#include "check/check_spans.h"

static int watch_softmax_loss(struct backend *b, struct tensor *loss, struct tensor *logits,
                              const int32_t *target_dev, int gradient, struct err *e)
{
    struct check *c = check_begin(b, "softmax_loss");
    check_tensor(c, "loss", CHECK_WRITE, loss);
    check_tensor(c, "logits", gradient ? CHECK_UPDATE : CHECK_READ, logits);
    check_list(c, "target", target_dev, logits->rows);
    TRY(check_before(c, e));
    return check_after(
        c, c->inner_own->ops->softmax_loss(c->inner_own, loss, logits, target_dev, gradient, e), e);
}

static int watch_sum_losses(struct backend *b, double *sums_dev, const struct tensor *loss,
                            struct err *e)
{
    struct check *c = check_begin(b, "sum_losses");
    check_memory(c, "sums[0]", CHECK_WRITE, sums_dev, sizeof *sums_dev);
    check_memory(c, "sums[1]", CHECK_UPDATE, sums_dev + 1, sizeof *sums_dev);
    check_tensor(c, "loss", CHECK_READ, loss);
    TRY(check_before(c, e));
    return check_after(c, c->inner_own->ops->sum_losses(c->inner_own, sums_dev, loss, e), e);
}

static int watch_softmax_logp(struct backend *b, struct tensor *logp, const struct tensor *logits,
                              const int32_t *target_dev, int accumulate, struct err *e)
{
    struct check *c = check_begin(b, "softmax_logp");
    check_tensor(c, "logp", check_output(accumulate), logp);
    check_tensor(c, "logits", CHECK_READ, logits);
    check_list(c, "target", target_dev, logits->rows);
    TRY(check_before(c, e));
    return check_after(
        c, c->inner_own->ops->softmax_logp(c->inner_own, logp, logits, target_dev, accumulate, e),
        e);
}

static int watch_sum_squares(struct backend *b, double *out_dev, const float *x_dev, int64_t n,
                             struct err *e)
{
    struct check *c = check_begin(b, "sum_squares");
    size_t bytes = (size_t)n * sizeof(float);
    check_memory(c, "out", CHECK_WRITE, out_dev, sizeof *out_dev);
    check_memory(c, "x", CHECK_READ, x_dev, bytes);
    TRY(check_before(c, e));
    return check_after(c, c->inner_own->ops->sum_squares(c->inner_own, out_dev, x_dev, n, e), e);
}

static int watch_nag(struct backend *b, float *theta_dev, float *momentum_dev,
                     const float *grad_dev, int64_t n, float mu, float weight_decay,
                     const double *squares_dev, const struct step_state *step_dev, void *bf16_dev,
                     struct err *e)
{
    struct check *c = check_begin(b, "nag");
    size_t bytes = (size_t)n * sizeof(float);
    check_memory(c, "theta", CHECK_UPDATE, theta_dev, bytes);
    check_memory(c, "momentum", CHECK_UPDATE, momentum_dev, bytes);
    check_memory(c, "gradient", CHECK_READ, grad_dev, bytes);
    check_memory(c, "squares", CHECK_READ, squares_dev, sizeof *squares_dev);
    check_memory(c, "step", CHECK_READ, step_dev, sizeof *step_dev);
    check_memory(c, "half", CHECK_WRITE, bf16_dev, bytes / 2);
    TRY(check_before(c, e));
    return check_after(c,
                       c->inner_own->ops->nag(c->inner_own, theta_dev, momentum_dev, grad_dev, n,
                                              mu, weight_decay, squares_dev, step_dev, bf16_dev, e),
                       e);
}

static int watch_adam(struct backend *b, float *theta_dev, float *m_dev, float *v_dev,
                      const float *grad_dev, int64_t n, float beta1, float beta2, float eps,
                      float weight_decay, const double *squares_dev,
                      const struct step_state *step_dev, void *bf16_dev, struct err *e)
{
    struct check *c = check_begin(b, "adam");
    size_t bytes = (size_t)n * sizeof(float);
    check_memory(c, "theta", CHECK_UPDATE, theta_dev, bytes);
    check_memory(c, "m", CHECK_UPDATE, m_dev, bytes);
    check_memory(c, "v", CHECK_UPDATE, v_dev, bytes);
    check_memory(c, "gradient", CHECK_READ, grad_dev, bytes);
    check_memory(c, "squares", CHECK_READ, squares_dev, sizeof *squares_dev);
    check_memory(c, "step", CHECK_READ, step_dev, sizeof *step_dev);
    check_memory(c, "half", CHECK_WRITE, bf16_dev, bytes / 2);
    TRY(check_before(c, e));
    return check_after(c,
                       c->inner_own->ops->adam(c->inner_own, theta_dev, m_dev, v_dev, grad_dev, n,
                                               beta1, beta2, eps, weight_decay, squares_dev,
                                               step_dev, bf16_dev, e),
                       e);
}

static int watch_all_reduce(struct backend *b, float *x_dev, int64_t n, struct err *e)
{
    struct check *c = check_begin(b, "all_reduce");
    size_t bytes = (size_t)n * sizeof(float);
    check_memory(c, "x", CHECK_UPDATE, x_dev, bytes);
    TRY(check_before(c, e));
    return check_after(c, c->inner_own->ops->all_reduce(c->inner_own, x_dev, n, e), e);
}

void check_update_slots(struct check *c)
{
    c->slots.softmax_loss = watch_softmax_loss;
    c->slots.softmax_logp = watch_softmax_logp;
    c->slots.sum_losses = watch_sum_losses;
    c->slots.sum_squares = watch_sum_squares;
    c->slots.nag = watch_nag;
    c->slots.adam = watch_adam;
    c->slots.all_reduce = watch_all_reduce;
}
