/* model_block_bwd.c - the backward pass through the layers.
 *
 * buffers.stream_grad is the gradient of the residual stream, updated in place from layer to layer.
 * Each branch adds its gradient through its LayerNorm. The same op computes the gradient of the
 * preceding branch, whose sum that LayerNorm read. The pass overwrites the gradients of
 * matrices and biases; those of LayerNorms are zeroed first (model_step.c). */
#include "model/model_memory.h"
#include "model/model_pass.h"
#include "model/model_struct.h"
#include "model/model_weights.h"

/* The gradients passed from branch to branch; without dropout `branch` is `stream`. */
struct flow {
    struct tensor stream, branch; /* (N,C) */
};

/* A LayerNorm that read the stream x after a branch with this dropout. */
struct joint {
    const struct tensor *x, *stats, *gain;
    struct tensor *dgain, *dbias;
    struct dropout dropout;
};

static int flow_through(struct model *m, struct flow *f, const struct tensor *dy,
                        const struct joint *j, struct err *e)
{
    struct tensor dropped = model_view(&m->buffers.dropped, f->stream.rows, f->stream.cols);
    f->branch = j->dropout.p > 0.0f ? dropped : f->stream;
    struct residual_layernorm_bwd_args a = {.ds = f->stream,
                                            .dr = dropped,
                                            .dgain = *j->dgain,
                                            .dbias = *j->dbias,
                                            .dy = *dy,
                                            .s = *j->x,
                                            .stats = *j->stats,
                                            .gain = *j->gain,
                                            .dropout = j->dropout};
    return ops_residual_layernorm_bwd(m->b, &a, e);
}

static int feed_forward_bwd(struct model *m, const struct model_pass *p, int32_t l, struct flow *f,
                            struct err *e)
{
    const struct model_activations *act = model_activations(m, p, l);
    const struct model_layer *w = &m->values.layer[l];
    struct model_layer *dw = &m->gradients[p->leaf].layer[l];
    const struct spec_model *s = &m->spec.model;
    int64_t n = p->tokens_n;
    struct tensor u = model_view(&act->ffn, n, s->ffn), g = model_view(&act->ln2, n, s->dim);
    TRY(OPS(m->b, linear_bwd_weight, e, .dw = dw->fc2, .dbias = dw->fc2_bias, .dy = f->branch,
            .x = u));
    struct tensor du = model_view(&m->buffers.wide, n, s->ffn);
    struct linear_bwd_relu_args relu = {.dx = du,
                                        .dy = f->branch,
                                        .w = w->fc2,
                                        .y = u,
                                        .mask = model_rows(&act->relu_mask, 0, n),
                                        .dropout =
                                            model_dropout(m, p, s->dropout_relu, l, DROPOUT_RELU)};
    TRY(ops_linear_bwd_relu(m->b, &relu, e));
    TRY(OPS(m->b, linear_bwd_weight, e, .dw = dw->fc1, .dbias = dw->fc1_bias, .dy = du, .x = g));
    struct tensor dg = model_view(&m->buffers.narrow, n, s->dim);
    TRY(OPS(m->b, linear_bwd_input, e, .dx = dg, .dy = du, .w = w->fc1));
    struct tensor x = model_view(&act->attn_residual, n, s->dim),
                  stats = model_view(&act->stats2, n, 2);
    struct joint after_attention = {.x = &x,
                                    .stats = &stats,
                                    .gain = &w->norm2.gain,
                                    .dgain = &dw->norm2.gain,
                                    .dbias = &dw->norm2.bias,
                                    .dropout =
                                        model_dropout(m, p, s->dropout, l, DROPOUT_ATTENTION_OUT)};
    return flow_through(m, f, &dg, &after_attention, e);
}

/* Computes the gradients of the layer's forget gates from that of their sums, and adds theirs to
 * da, the gradient of its LayerNorm 1. */
static int gates_bwd(struct model *m, const struct model_pass *p, int32_t l,
                     const struct attention *at, const struct tensor *a, const struct tensor *da,
                     struct err *e)
{
    const struct model_layer *w = &m->values.layer[l], *dw = &m->gradients[p->leaf].layer[l];
    struct tensor z = {.dtype = DTYPE_F32}, dz = z;
    if (at->gates.high.data == NULL) return 0;
    if (w->gate.data != NULL) {
        z = model_view(&model_activations(m, p, l)->gate_input, p->tokens_n, at->H);
        dz = model_buffer(m, SHAPE_GATE_INPUT_GRAD, 0);
        dz = model_view(&dz, p->tokens_n, at->H);
    }
    TRY(OPS(m->b, forget_gate_bwd, e, .B = at->B, .T = at->T, .H = at->H, .dz = dz,
            .dbias = dw->gate_bias, .dsums = at->gates.dsums, .z = z, .bias = w->gate_bias));
    if (dz.data == NULL) return 0;
    TRY(OPS(m->b, linear_bwd_weight, e, .dw = dw->gate, .dy = dz, .x = *a, .accumulate = true));
    return OPS(m->b, linear_bwd_input, e, .dx = *da, .dy = dz, .w = w->gate, .accumulate = true);
}

static int attend_bwd(struct model *m, const struct model_pass *p, int32_t l, struct flow *f,
                      struct err *e)
{
    const struct model_activations *act = model_activations(m, p, l);
    const struct model_layer *w = &m->values.layer[l];
    struct model_layer *dw = &m->gradients[p->leaf].layer[l];
    int64_t n = p->tokens_n, c = m->spec.model.dim;
    struct attention at = model_attention(m, p, l, act);
    TRY(OPS(m->b, linear_bwd_weight, e, .dw = dw->out, .dbias = dw->out_bias, .dy = f->branch,
            .x = at.out));
    at.dout = model_view(&m->buffers.narrow, n, c);
    TRY(OPS(m->b, linear_bwd_input, e, .dx = at.dout, .dy = f->branch, .w = w->out));

    struct tensor dqkv = model_view(&m->buffers.wide, n, 3 * c);
    at.dq = model_columns(&dqkv, 0, c);
    at.dk = model_columns(&dqkv, c, c);
    at.dv = model_columns(&dqkv, 2 * c, c);
    at.temperature.head_grad_dev = dw->ssmax.data;
    if (at.gates.high.data != NULL) {
        at.gates.dsums = model_buffer(m, SHAPE_GATES_GRAD, 0);
        at.gates.dsums = model_view(&at.gates.dsums, at.lse.rows, at.lse.cols);
    }
    TRY(ops_attention_bwd(m->b, &at, e));

    struct tensor a = model_view(&act->ln1, n, c);
    TRY(OPS(m->b, linear_bwd_weight, e, .dw = dw->qkv, .dbias = dw->qkv_bias, .dy = dqkv, .x = a));
    struct tensor da = model_view(&m->buffers.narrow, n, c);
    TRY(OPS(m->b, linear_bwd_input, e, .dx = da, .dy = dqkv, .w = w->qkv));
    TRY(gates_bwd(m, p, l, &at, &a, &da, e));
    struct tensor x = model_view(&act->x, n, c), stats = model_view(&act->stats1, n, 2);
    struct joint after_feed_forward = {.x = &x,
                                       .stats = &stats,
                                       .gain = &w->norm1.gain,
                                       .dgain = &dw->norm1.gain,
                                       .dbias = &dw->norm1.bias};
    if (l > 0) /* layer 0 does not read the sum of a branch */
        after_feed_forward.dropout =
            model_dropout(m, p, m->spec.model.dropout, l - 1, DROPOUT_FEED_FORWARD_OUT);
    return flow_through(m, f, &da, &after_feed_forward, e);
}

/* Computes the gradients of the stream after the last layer and of its branch from those of the
 * head. */
static int flow_begin(struct model *m, const struct model_pass *p, struct flow *f, struct err *e)
{
    int64_t n = p->tokens_n, c = m->spec.model.dim;
    int32_t last_layer = m->spec.model.layers - 1;
    f->stream = f->branch = model_view(&m->buffers.stream_grad, n, c);
    if (m->spec.model.final_norm) {
        /* The head computed the gradient of the features; the LayerNorm turns it into that of the
         * stream. */
        const struct model_activations *last = model_activations(m, p, m->spec.model.layers);
        struct layernorm_bwd_args norm = {.dx = f->stream,
                                          .dgain = m->gradients[p->leaf].norm.gain,
                                          .dbias = m->gradients[p->leaf].norm.bias,
                                          .dy = model_view(&m->buffers.narrow, n, c),
                                          .x = model_view(&last->x, n, c),
                                          .stats = model_view(&last->stats1, n, 2),
                                          .gain = m->values.norm.gain};
        TRY(OPS(m->b, cast, e, .y = norm.dy, .x = f->stream));
        TRY(ops_layernorm_bwd(m->b, &norm, e));
    }
    struct dropout d =
        model_dropout(m, p, m->spec.model.dropout, last_layer, DROPOUT_FEED_FORWARD_OUT);
    if (d.p == 0.0f) return 0;
    f->branch = model_view(&m->buffers.dropped, n, c);
    return OPS(m->b, dropout, e, .y = f->branch, .x = f->stream, .dropout = d);
}

int model_layers_bwd(struct model *m, const struct model_pass *p, struct err *e)
{
    struct flow f;
    TRY(flow_begin(m, p, &f, e));
    for (int32_t l = m->spec.model.layers - 1; l >= 0; l--) {
        TRY(feed_forward_bwd(m, p, l, &f, e));
        TRY(attend_bwd(m, p, l, &f, e));
    }
    return model_embed_bwd(m, p, e);
}
