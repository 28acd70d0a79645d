/* model_step.c - forward and backward pass of a shard, and the update of the weights.
 *
 * Loss and gradient norm are fetched once, at the end of an update; until then host and backend do
 * not wait for each other. */
#include <assert.h>
#include <inttypes.h>
#include <math.h>

#include "model/model_graph.h"
#include "model/model_group.h"
#include "model/model_lists.h"
#include "model/model_memory.h"
#include "model/model_pass.h"
#include "model/model_position.h"
#include "model/model_struct.h"
#include "model/model_weights.h"

/* Zeroes the gradients from *from to the tensor; then *from is its end. */
static int zero_until(struct model *m, float **from, const struct tensor *t, struct err *e)
{
    float *written = t->data;
    assert(*from <= written);
    if (*from < written)
        TRY(m->b->ops->zero(m->b, *from, (size_t)(written - *from) * sizeof **from, e));
    *from = written + t->rows * t->cols;
    return 0;
}

/* Zeroes all gradients except those that the pass overwrites: of the head's table and of the
 * matrices and biases of the layers. Relies on their order in the array. */
static int zero_gradients(struct model *m, const struct model_pass *p, struct err *e)
{
    const struct model_weights *gradients = &m->gradients[p->leaf];
    float *from = model_gradient_dev(m, p->leaf);
    struct tensor end = {.data = from + m->params.elements_n};
    TRY(zero_until(m, &from, &gradients->head, e));
    for (int32_t l = 0; l < m->spec.model.layers; l++) {
        const struct model_layer *dw = &gradients->layer[l];
        const struct tensor *const product[] = {&dw->qkv, &dw->qkv_bias, &dw->out, &dw->out_bias,
                                                &dw->fc1, &dw->fc1_bias, &dw->fc2, &dw->fc2_bias};
        for (size_t i = 0; i < sizeof product / sizeof *product; i++)
            TRY(zero_until(m, &from, product[i], e));
    }
    return zero_until(m, &from, &end, e);
}

/* Loss and gradients: a body of model_graph.c. */
static int train_pass(struct model *m, const struct model_pass *p, struct err *e)
{
    TRY(zero_gradients(m, p, e));
    TRY(model_forward(m, p, e));
    TRY(model_head_train(m, p, e));
    return model_layers_bwd(m, p, e);
}

int model_train_batch(struct model *m, const struct model_batch *batch, uint32_t update,
                      int32_t shard, double *loss_sum, struct err *e)
{
    struct model_pass p;
    struct step_state step = m->step;
    const struct backend_ops *ops = m->b->ops;
    double *loss_dev = &m->state_dev_own->batch_loss;
    if (!m->capacity.train)
        return ERR(e, ERR_INTERNAL, "the model was opened for scoring, not for training");
    TRY(model_pass_begin(m, &p, batch, true, e));
    TRY(model_group_begin(m, shard, &p.leaf, e));
    TRY(model_lists_target(m, batch->target, NULL, p.tokens_n, m->spec.train.tail_quirk, e));
    TRY(model_lists_upload(m, e));
    TRY(model_position_begin(m, e));
    TRY(model_position_row_length(m, batch, e));
    TRY(model_position_refresh(m, e));
    step.update = update;
    step.first_row = batch->first_row;
    TRY(model_step_upload(m, &step, e));
    TRY(model_graph_run(m, train_pass, &p, e));
    TRY(ops->copy(m->b, &m->state_dev_own->loss[shard], loss_dev, sizeof *loss_dev, e));
    TRY(model_position_pullback(m, &p, e));
    TRY(model_group_add(m, e));
    return loss_sum == NULL ? 0 : ops->download(m->b, loss_sum, loss_dev, sizeof *loss_sum, e);
}

/* Applies NAG or Adam to the owned slices. Changes nothing if the norm is not finite. */
static int update_weights(struct model *m, struct err *e)
{
    const struct spec_train *t = &m->spec.train;
    int64_t from, n = model_group_owned(m, &from);
    float *theta = model_array_dev(m, MODEL_VALUES) + from;
    const float *grad = model_array_dev(m, MODEL_GRADIENTS) + from;
    float *first = model_array_dev(m, MODEL_STATE_0) + from;
    const double *squares = &m->state_dev_own->squares;
    void *bf16 = m->bf16_dev_own ? (uint16_t *)m->bf16_dev_own + from : NULL;
    if (n == 0) return 0;
    if (t->optimizer == SPEC_ADAM)
        return OPS(m->b, adam, e, .theta_dev = theta, .m_dev = first,
                   .v_dev = model_array_dev(m, MODEL_STATE_1) + from, .grad_dev = grad, .n = n,
                   .beta1 = (float)t->adam_beta1, .beta2 = (float)t->adam_beta2,
                   .eps = (float)t->adam_eps, .weight_decay = (float)t->weight_decay,
                   .squares_dev = squares, .step_dev = m->step_dev, .bf16_dev = bf16);
    return OPS(m->b, nag, e, .theta_dev = theta, .momentum_dev = first, .grad_dev = grad, .n = n,
               .mu = (float)t->momentum, .weight_decay = (float)t->weight_decay,
               .squares_dev = squares, .step_dev = m->step_dev, .bf16_dev = bf16);
}

/* Sums the squares of each owned slice: a body of model_graph.c. */
static int parts_pass(struct model *m, const struct model_pass *p, struct err *e)
{
    (void)p;
    int64_t from, n = model_group_owned(m, &from);
    double *part = m->state_dev_own->part + from / m->group.slice_n;
    return OPS(m->b, sum_squares, e, .out_dev = part,
               .x_dev = model_array_dev(m, MODEL_GRADIENTS) + from, .n = n,
               .part = m->group.slice_n);
}

/* Computes norm and update: a body of model_graph.c. */
static int update_pass(struct model *m, const struct model_pass *p, struct err *e)
{
    (void)p;
    TRY(OPS(m->b, sum_doubles, e, .out_dev = &m->state_dev_own->squares,
            .x_dev = m->state_dev_own->part, .n = SHAPE_SLICES));
    return update_weights(m, e);
}

/* Fetches the sum of squares and the losses of the shards, which it adds in order. */
static int fetch_results(struct model *m, int32_t shards_n, double *squares, struct err *e)
{
    TRY(m->b->ops->download(m->b, m->results_host, &m->state_dev_own->squares,
                            (size_t)(1 + shards_n) * sizeof *m->results_host, e));
    *squares = m->results_host[0];
    m->update_loss = 0.0;
    for (int32_t i = 0; i < shards_n; i++) m->update_loss += m->results_host[1 + i];
    return 0;
}

int model_apply(struct model *m, const struct model_update *u, double *grad_norm, struct err *e)
{
    double squares = 0.0;
    int64_t owned_first;
    if (!m->capacity.train || u->targets_n < 1)
        return ERR(e, ERR_INTERNAL, "an update over %" PRId64 " targets of a model opened for %s",
                   u->targets_n, m->capacity.train ? "training" : "scoring");
    struct step_state step = {.lr = (float)u->lr,
                              .lr_previous = (float)u->lr_previous,
                              .gradient_scale = (float)(1.0 / (double)u->targets_n),
                              .clip = (float)m->spec.train.clip,
                              .update = u->update,
                              .adam_step = u->update + 1};
    TRY(model_group_sum(m, u, e));
    m->transposed_valid = false;
    /* A rank may have made no pass yet; then the bias of a method without tensors is stale, too. */
    if (m->position.has_bias && m->position.tensors_n > 0) m->position.is_stale = true;
    TRY(model_step_upload(m, &step, e));
    if (model_group_owned(m, &owned_first) > 0) TRY(model_graph_run(m, parts_pass, NULL, e));
    TRY(model_group_share_parts(m, e));
    TRY(model_graph_run(m, update_pass, NULL, e));
    TRY(model_group_share_weights(m, e));
    TRY(fetch_results(m, u->shards_n, &squares, e));
    *grad_norm = sqrt(squares) / (double)u->targets_n;
    if (!isfinite(*grad_norm))
        return ERR(e, ERR_NUMBER,
                   "update %u: gradient norm is %s, weights unchanged; a lower train.lr or %s may "
                   "help",
                   u->update, isnan(*grad_norm) ? "not a number" : "infinite",
                   step.clip > 0 ? "train.clip" : "a train.clip (it is 0: off)");
    return m->position.functions->project != NULL ? model_position_refresh(m, e) : 0;
}

double model_loss(const struct model *m)
{
    return m->update_loss;
}
