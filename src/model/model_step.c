/* model_step.c - one shard's forward and backward pass, and the update of the weights. */
#include <inttypes.h>
#include <math.h>

#include "model/model_internal.h"

int model_step_upload(struct model *m, const struct step_state *step, struct err *e)
{
    m->step = *step;
    return m->b->ops->upload(m->b, m->step_dev, &m->step, sizeof m->step, e);
}

int model_train_batch(struct model *m, const struct model_batch *batch, uint32_t update,
                      int accumulate, double *loss_sum, struct err *e)
{
    struct model_pass p;
    struct step_state step = m->step;
    if (!m->options.train)
        return ERR(e, ERR_INTERNAL, "the model was opened for scoring, not for training");
    TRY(model_pass_begin(m, &p, batch, true, e));
    TRY(model_lists_target(m, batch->target, NULL, p.tokens_n, m->spec.train.tail_quirk, e));
    TRY(model_lists_upload(m, e));
    step.update = update;
    TRY(model_step_upload(m, &step, e));
    if (!accumulate)
        TRY(m->b->ops->zero(m->b, model_block_dev(m, MODEL_GRADIENTS),
                            (size_t)m->params.elements_n * sizeof(float), e));
    TRY(model_forward(m, &p, e));
    TRY(model_head_train(m, &p, loss_sum, e));
    return model_layers_dx(m, &p, e);
}

/* NAG or Adam over the whole block. */
static int update_weights(struct model *m, struct err *e)
{
    const struct spec_train *t = &m->spec.train;
    float *theta = model_block_dev(m, MODEL_VALUES), *grad = model_block_dev(m, MODEL_GRADIENTS);
    float *first = model_block_dev(m, MODEL_STATE_0), *second = model_block_dev(m, MODEL_STATE_1);
    int64_t n = m->params.elements_n;
    if (t->optimizer == SPEC_ADAM)
        return ops_adam(m->b, theta, first, second, grad, n, (float)t->adam_beta1,
                        (float)t->adam_beta2, (float)t->adam_eps, (float)t->weight_decay,
                        m->squares_dev, m->step_dev, NULL, e);
    return ops_nag(m->b, theta, first, grad, n, (float)t->momentum, (float)t->weight_decay,
                   m->squares_dev, m->step_dev, NULL, e);
}

int model_apply(struct model *m, const struct model_update *u, double *grad_norm, struct err *e)
{
    double squares = 0.0;
    if (!m->options.train || u->targets_n < 1)
        return ERR(e, ERR_INTERNAL, "an update over %" PRId64 " targets of a model opened for %s",
                   u->targets_n, m->options.train ? "training" : "scoring");
    struct step_state step = {.lr = (float)u->lr,
                              .lr_previous = (float)u->lr_previous,
                              .gradient_scale = (float)(1.0 / (double)u->targets_n),
                              .clip = (float)m->spec.train.clip,
                              .update = u->update,
                              .adam_step = u->update + 1};
    float *grad = model_block_dev(m, MODEL_GRADIENTS);
    TRY(model_step_upload(m, &step, e));
    TRY(ops_all_reduce(m->b, grad, m->params.elements_n, e));
    TRY(ops_sum_squares(m->b, m->squares_dev, grad, m->params.elements_n, e));
    TRY(m->b->ops->download(m->b, &squares, m->squares_dev, sizeof squares, e));
    *grad_norm = sqrt(squares) / (double)u->targets_n;
    if (!isfinite(*grad_norm))
        return ERR(e, ERR_NUMBER,
                   "update %u: the gradient's norm is %g; the weights are unchanged, a lower "
                   "train.lr or train.clip may help",
                   u->update, *grad_norm);
    m->turned_fresh = false;
    return update_weights(m, e);
}
