/* model_block.c - the forward pass through the layers (oracle SPEC.md section 5).
 *
 * A residual sum and the LayerNorm that reads it are one op: LayerNorm 2 after attention; LayerNorm
 * 1 of the next layer, or the final one, after the feed-forward layers. */
#include "model/model_internal.h"

/* Computes the sums of the layer's forget gates from its LayerNorm 1, if it has gates. */
static int sum_gates(struct model *m, const struct model_pass *p, int32_t l,
                     const struct attention *at, const struct tensor *a, struct err *e)
{
    const struct model_layer *w = &m->values.layer[l];
    struct tensor z = {.dtype = DTYPE_F32};
    if (at->gates.high.data == NULL) return 0;
    if (w->gate.data != NULL) {
        z = model_view(&model_activations(m, p, l)->gate_input, p->tokens_n, at->H);
        TRY(model_linear(m, p, &z, a, &w->gate, NULL, e));
    }
    return OPS(m->b, forget_gate, e, .B = at->B, .T = at->T, .H = at->H, .high = at->gates.high,
               .low = at->gates.low, .z = z, .bias = w->gate_bias);
}

/* Computes a layer from LayerNorm 1 to the residual stream after attention and LayerNorm 2. */
static int attend(struct model *m, const struct model_pass *p, int32_t l, struct err *e)
{
    const struct model_activations *act = model_activations(m, p, l);
    const struct model_layer *w = &m->values.layer[l];
    int64_t n = p->tokens_n, c = m->spec.model.dim;
    struct tensor a = model_view(&act->ln1, n, c), qkv = model_view(&act->qkv, n, 3 * c);
    TRY(model_linear(m, p, &qkv, &a, &w->qkv, &w->qkv_bias, e));
    struct attention at = model_attention(m, p, l, act);
    TRY(sum_gates(m, p, l, &at, &a, e));
    if (m->heads != NULL) TRY(model_heads_see(m, &at, l, e));
    TRY(ops_attention(m->b, &at, e));

    struct tensor branch = model_view(&m->buffers.narrow, n, c);
    TRY(model_linear(m, p, &branch, &at.out, &w->out, &w->out_bias, e));
    struct residual_layernorm_args sum = {
        .s = model_view(&act->attn_residual, n, c),
        .y = model_view(&act->ln2, n, c),
        .stats = model_view(&act->stats2, n, 2),
        .x = model_view(&act->x, n, c),
        .r = branch,
        .gain = w->norm2_gain,
        .bias = w->norm2_bias,
        .eps = (float)m->spec.model.form.norm_eps,
        .dropout = model_dropout(m, p, m->spec.model.dropout, l, DROPOUT_ATTENTION_OUT)};
    return ops_residual_layernorm(m->b, &sum, e);
}

/* Computes the feed-forward layers, their residual sum, and the next LayerNorm, if any. */
static int feed_forward(struct model *m, const struct model_pass *p, int32_t l, struct err *e)
{
    const struct model_activations *act = model_activations(m, p, l);
    const struct model_activations *next = model_activations(m, p, l + 1);
    const struct model_layer *w = &m->values.layer[l];
    const struct spec_model *s = &m->spec.model;
    int64_t n = p->tokens_n;
    struct tensor g = model_view(&act->ln2, n, s->dim), u = model_view(&act->ffn, n, s->ffn);
    struct linear_relu_args relu = {.y = u,
                                    .x = g,
                                    .w = w->fc1,
                                    .bias = w->fc1_bias,
                                    .dropout =
                                        model_dropout(m, p, s->dropout_relu, l, DROPOUT_RELU),
                                    .exact = !p->train};
    bool last = l + 1 == s->layers;
    if (last && m->buffers.keys.data) {
        struct tensor keys = model_view(&m->buffers.keys, m->lists.chosen.n, s->dim);
        TRY(OPS(m->b, gather_rows, e, .y = keys, .x = g,
                .index_dev = model_list_dev(m, &m->lists.chosen), .scale = 1.0f));
    }
    if (p->train) relu.mask = model_rows(&act->relu_mask, 0, n);
    TRY(ops_linear_relu(m->b, &relu, e));
    struct tensor branch = model_view(&m->buffers.narrow, n, s->dim);
    TRY(model_linear(m, p, &branch, &u, &w->fc2, &w->fc2_bias, e));

    struct dropout d = model_dropout(m, p, s->dropout, l, DROPOUT_FEED_FORWARD_OUT);
    struct tensor sum = model_view(&act->attn_residual, n, s->dim),
                  x = model_view(&next->x, n, s->dim);
    if (last && !s->final_norm) {
        if (d.p > 0.0f) TRY(OPS(m->b, dropout, e, .y = branch, .x = branch, .dropout = d));
        return OPS(m->b, add, e, .y = x, .x = sum, .r = branch);
    }
    struct residual_layernorm_args joint = {
        .s = x,
        .y = model_view(&next->ln1, n, s->dim),
        .stats = model_view(&next->stats1, n, 2),
        .x = sum,
        .r = branch,
        .gain = last ? m->values.norm_gain : m->values.layer[l + 1].norm1_gain,
        .bias = last ? m->values.norm_bias : m->values.layer[l + 1].norm1_bias,
        .eps = (float)s->form.norm_eps,
        .dropout = d};
    return ops_residual_layernorm(m->b, &joint, e);
}

/* Copies the residual stream if model_keep_inner was called. */
static int keep(struct model *m, const struct model_pass *p, int32_t layer, const struct tensor *x,
                struct err *e)
{
    if (m->inner_dev_own == NULL) return 0;
    struct tensor to = tensor_make(m->inner_dev_own + (int64_t)layer * m->tokens_max * x->cols,
                                   p->tokens_n, x->cols, DTYPE_F32);
    return OPS(m->b, cast, e, .y = to, .x = *x);
}

int model_forward(struct model *m, const struct model_pass *p, struct err *e)
{
    int32_t layers = m->spec.model.layers;
    int64_t n = p->tokens_n, c = m->spec.model.dim;
    const struct model_activations *first = model_activations(m, p, 0);
    TRY(model_embed(m, p, e));
    struct tensor x = model_view(&first->x, n, c), a = model_view(&first->ln1, n, c);
    struct tensor stats = model_view(&first->stats1, n, 2);
    TRY(keep(m, p, 0, &x, e));
    TRY(OPS(m->b, layernorm, e, .y = a, .stats = stats, .x = x,
            .gain = m->values.layer[0].norm1_gain, .bias = m->values.layer[0].norm1_bias,
            .eps = (float)m->spec.model.form.norm_eps));
    for (int32_t l = 0; l < layers; l++) {
        TRY(attend(m, p, l, e));
        TRY(feed_forward(m, p, l, e));
        struct tensor after = model_view(&model_activations(m, p, l + 1)->x, n, c);
        TRY(keep(m, p, l + 1, &after, e));
    }
    struct tensor features = model_features(m, p);
    return keep(m, p, layers + 1, &features, e);
}
