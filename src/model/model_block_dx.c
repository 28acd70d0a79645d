/* model_block_dx.c - the backward pass through the layers.
 *
 * buffers.stream_grad holds the gradient of the residual stream, in place from layer to layer: each
 * branch adds its share through its LayerNorm. Parameter gradients are always added; a new update
 * begins with a zeroed block. */
#include "model/model_internal.h"

/* The gradient of a residual branch: the stream's, through the branch's dropout. */
static int branch_gradient(struct model *m, const struct dropout *d, const struct tensor *stream,
                           struct tensor *out, struct err *e)
{
    *out = *stream;
    if (d->p == 0.0f) return 0;
    *out = model_view(&m->buffers.dropped, stream->rows, stream->cols);
    return ops_dropout(m->b, out, stream, d, e);
}

static int feed_forward_dx(struct model *m, const struct model_pass *p, int32_t l,
                           struct tensor *stream, struct err *e)
{
    const struct model_activations *act = model_activations(m, p, l);
    const struct model_layer *w = &m->values.layer[l];
    struct model_layer *dw = &m->gradients.layer[l];
    const struct spec_model *s = &m->spec.model;
    int64_t n = p->tokens_n;
    struct tensor u = model_view(&act->u, n, s->ffn), g = model_view(&act->g, n, s->dim);
    struct dropout outer = model_dropout(m, p, s->dropout, l, DROPOUT_FEED_FORWARD_OUT);
    struct dropout inner = model_dropout(m, p, s->dropout_relu, l, DROPOUT_RELU);
    struct tensor branch;
    TRY(branch_gradient(m, &outer, stream, &branch, e));
    TRY(ops_linear_dw(m->b, &dw->outer, &dw->outer_bias, &branch, &u, 1, e));
    struct tensor du = model_view(&m->buffers.wide, n, s->ffn);
    TRY(ops_linear_dx(m->b, &du, &branch, &w->outer, 0, e));
    TRY(ops_relu_dx(m->b, &du, &du, &u, &inner, e));
    TRY(ops_linear_dw(m->b, &dw->inner, &dw->inner_bias, &du, &g, 1, e));
    struct tensor dg = model_view(&m->buffers.narrow, n, s->dim);
    TRY(ops_linear_dx(m->b, &dg, &du, &w->inner, 0, e));
    struct tensor x = model_view(&act->s, n, s->dim), stats = model_view(&act->stats2, n, 2);
    return ops_norm_dx(m->b, stream, &dw->norm2_gain, &dw->norm2_bias, &dg, &x, &stats,
                       &w->norm2_gain, 1, e);
}

static int attend_dx(struct model *m, const struct model_pass *p, int32_t l, struct tensor *stream,
                     struct err *e)
{
    const struct model_activations *act = model_activations(m, p, l);
    const struct model_layer *w = &m->values.layer[l];
    struct model_layer *dw = &m->gradients.layer[l];
    int64_t n = p->tokens_n, c = m->spec.model.dim;
    struct dropout d = model_dropout(m, p, m->spec.model.dropout, l, DROPOUT_ATTENTION_OUT);
    struct attention at = model_attention(m, p, l, act);
    struct tensor branch;
    TRY(branch_gradient(m, &d, stream, &branch, e));
    TRY(ops_linear_dw(m->b, &dw->out, &dw->out_bias, &branch, &at.out, 1, e));
    at.dout = model_view(&m->buffers.narrow, n, c);
    TRY(ops_linear_dx(m->b, &at.dout, &branch, &w->out, 0, e));

    struct tensor dqkv = model_view(&m->buffers.wide, n, 3 * c);
    at.dq = at.dk = at.dv = dqkv;
    at.dq.cols = at.dk.cols = at.dv.cols = c;
    at.dk.data = (float *)dqkv.data + c;
    at.dv.data = (float *)dqkv.data + 2 * c;
    TRY(ops_attention_dx(m->b, &at, e));
    if (m->position->turn != NULL) TRY(m->position->turn(m, &at.dq, &at.dk, p, 1, e));

    struct tensor a = model_view(&act->a, n, c);
    TRY(ops_linear_dw(m->b, &dw->qkv, &dw->qkv_bias, &dqkv, &a, 1, e));
    struct tensor da = model_view(&m->buffers.narrow, n, c);
    TRY(ops_linear_dx(m->b, &da, &dqkv, &w->qkv, 0, e));
    struct tensor x = model_view(&act->x, n, c), stats = model_view(&act->stats1, n, 2);
    return ops_norm_dx(m->b, stream, &dw->norm1_gain, &dw->norm1_bias, &da, &x, &stats,
                       &w->norm1_gain, 1, e);
}

int model_layers_dx(struct model *m, const struct model_pass *p, struct err *e)
{
    int64_t n = p->tokens_n, c = m->spec.model.dim;
    struct tensor stream = model_view(&m->buffers.stream_grad, n, c);
    if (m->spec.model.final_norm) {
        /* The head left the gradient of the features; LayerNorm turns it into the stream's. */
        const struct model_activations *last = model_activations(m, p, m->spec.model.layers);
        struct tensor x = model_view(&last->x, n, c), stats = model_view(&last->stats1, n, 2);
        struct tensor dy = model_view(&m->buffers.narrow, n, c);
        TRY(m->b->ops->copy(m->b, dy.data, stream.data, (size_t)(n * c) * sizeof(float), e));
        TRY(ops_norm_dx(m->b, &stream, &m->gradients.norm_gain, &m->gradients.norm_bias, &dy, &x,
                        &stats, &m->values.norm_gain, 0, e));
    }
    for (int32_t l = m->spec.model.layers - 1; l >= 0; l--) {
        TRY(feed_forward_dx(m, p, l, &stream, e));
        TRY(attend_dx(m, p, l, &stream, e));
    }
    if (m->position->finish != NULL) TRY(m->position->finish(m, e));
    return model_embed_dx(m, p, e);
}
