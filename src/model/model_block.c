/* model_block.c - the forward pass through the layers (oracle SPEC.md section 5; open-models
 * SPEC.md section 3).
 *
 * 1. A residual sum and the norm that reads it are one op: after attention norm 2; after the
 *    feed-forward layers norm 1 of the next layer, or the final one.
 * 2. struct spec_form decides the order of the sums. With norms n1 and n2, attention A and
 *    feed-forward layers M:
 *      sequential:  x <- x + A(n1(x));        x <- x + M(n2(x))
 *      parallel:    a = n1(x);                x <- x + A(a) + M(a)
 *      parallel2:   a = n1(x), b = n2(x);     x <- x + A(a) + M(b)
 *      post:        x <- n1(x + A(x));        x <- n2(x + M(x)) */
#include "model/model_lists.h"
#include "model/model_memory.h"
#include "model/model_pass.h"
#include "model/model_stream.h"
#include "model/model_struct.h"
#include "model/model_weights.h"

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

/* Writes the attention of a layer to buffers.narrow. x: its input. */
static int attend_heads(struct model *m, const struct model_pass *p, int32_t l,
                        const struct tensor *x, struct err *e)
{
    const struct model_activations *act = model_activations(m, p, l);
    const struct model_layer *w = &m->values.layer[l];
    float limit = (float)m->spec.model.form.qkv_clip;
    struct tensor qkv = model_view(&act->qkv, p->tokens_n, act->qkv.cols);
    struct tensor branch = model_view(&m->buffers.narrow, p->tokens_n, x->cols);
    TRY(model_linear(m, p, &qkv, x, &w->qkv, &w->qkv_bias, e));
    if (limit > 0.0f) TRY(OPS(m->b, clamp, e, .y = qkv, .x = qkv, .limit = limit));
    struct attention at = model_attention(m, p, l, act);
    TRY(sum_gates(m, p, l, &at, x, e));
    if (m->see != NULL) TRY(m->see(m->see_context, &at, l, e));
    TRY(ops_attention(m->b, &at, e));
    return model_linear(m, p, &branch, &at.out, &w->out, &w->out_bias, e);
}

/* Computes the activations of the feed-forward layers, u = act(x W1) or act(x Wg) * (x W1). */
static int activate(struct model *m, const struct model_pass *p, int32_t l, const struct tensor *x,
                    struct tensor *u, struct err *e)
{
    static const enum activation kinds[] = {[SPEC_RELU] = ACTIVATE_RELU,
                                            [SPEC_GELU_ERF] = ACTIVATE_GELU_ERF,
                                            [SPEC_GELU_TANH] = ACTIVATE_GELU_TANH,
                                            [SPEC_SILU] = ACTIVATE_SILU};
    const struct spec_model *s = &m->spec.model;
    const struct model_layer *w = &m->values.layer[l];
    struct tensor factor = {0};
    if (s->form.activation == SPEC_RELU && !s->form.gated) {
        struct linear_relu_args relu = {.y = *u,
                                        .x = *x,
                                        .w = w->fc1,
                                        .bias = w->fc1_bias,
                                        .dropout =
                                            model_dropout(m, p, s->dropout_relu, l, DROPOUT_RELU),
                                        .exact = !p->train,
                                        .split = model_splits(m)};
        if (p->train)
            relu.mask = model_rows(&model_activations(m, p, l)->relu_mask, 0, p->tokens_n);
        return ops_linear_relu(m->b, &relu, e);
    }
    if (s->form.gated) {
        factor = model_view(&m->buffers.factor, p->tokens_n, s->ffn);
        TRY(model_linear(m, p, &factor, x, &w->fc1, &w->fc1_bias, e));
        TRY(model_linear(m, p, u, x, &w->fc_gate, &w->fc_gate_bias, e));
    } else {
        TRY(model_linear(m, p, u, x, &w->fc1, &w->fc1_bias, e));
    }
    return OPS(m->b, activate, e, .y = *u, .x = *u, .factor = factor,
               .kind = kinds[s->form.activation]);
}

/* Writes the output of the feed-forward layers to buffers.narrow. x: their input. */
static int feed_forward(struct model *m, const struct model_pass *p, int32_t l,
                        const struct tensor *x, struct err *e)
{
    const struct spec_model *s = &m->spec.model;
    const struct model_layer *w = &m->values.layer[l];
    struct tensor u = model_view(&model_activations(m, p, l)->ffn, p->tokens_n, s->ffn);
    struct tensor branch = model_view(&m->buffers.narrow, p->tokens_n, s->dim);
    if (l + 1 == s->layers && m->buffers.keys.data && m->lists.chosen.n > 0) {
        struct tensor keys = model_view(&m->buffers.keys, m->lists.chosen.n, s->dim);
        TRY(OPS(m->b, gather_rows, e, .y = keys, .x = *x,
                .index_dev = model_list_dev(m, &m->lists.chosen), .scale = 1.0f));
    }
    TRY(activate(m, p, l, x, &u, e));
    return model_linear(m, p, &branch, &u, &w->fc2, &w->fc2_bias, e);
}

/* Adds a branch to the residual stream x: s = x + branch, and y = the norm of s. If y has no data,
 * only adds. */
static int join_residual(struct model *m, struct tensor *s, struct tensor *y, struct tensor *stats,
                         const struct tensor *x, const struct model_norm *norm,
                         struct dropout dropout, struct err *e)
{
    const struct spec_form *f = &m->spec.model.form;
    struct tensor branch = model_view(&m->buffers.narrow, x->rows, x->cols);
    if (y->data == NULL) {
        if (dropout.p > 0.0f)
            TRY(OPS(m->b, dropout, e, .y = branch, .x = branch, .dropout = dropout));
        return OPS(m->b, add, e, .y = *s, .x = *x, .r = branch);
    }
    return OPS(m->b, residual_layernorm, e, .s = *s, .y = *y, .stats = *stats, .x = *x, .r = branch,
               .gain = norm->gain, .bias = norm->bias, .eps = (float)f->norm_eps,
               .rms = f->norm == SPEC_RMSNORM, .dropout = dropout);
}

/* Computes a layer from its input, the residual stream x and a = norm 1 of x, to that of the next.
 * */
static int layer(struct model *m, const struct model_pass *p, int32_t l, struct err *e)
{
    const struct model_activations *act = model_activations(m, p, l);
    const struct model_activations *next = model_activations(m, p, l + 1);
    const struct model_layer *w = &m->values.layer[l];
    const struct spec_model *s = &m->spec.model;
    enum spec_block block = s->form.block;
    bool last = l + 1 == s->layers, post = block == SPEC_POST;
    int64_t n = p->tokens_n, c = s->dim;
    struct tensor x = model_view(&act->x, n, c), a = model_view(&act->ln1, n, c);
    struct tensor sum = model_view(&act->attn_residual, n, c), b = model_view(&act->ln2, n, c);
    struct tensor stats2 = model_view(&act->stats2, n, 2), none = {0};
    struct tensor after = model_view(&next->x, n, c), next_a = model_view(&next->ln1, n, c);
    struct tensor next_stats = model_view(&next->stats1, n, 2);
    const struct model_norm *next_norm = last ? &m->values.norm : &w[1].norm1;
    struct dropout d1 = model_dropout(m, p, s->dropout, l, DROPOUT_ATTENTION_OUT);
    struct dropout d2 = model_dropout(m, p, s->dropout, l, DROPOUT_FEED_FORWARD_OUT);
    bool apart = block == SPEC_SEQUENTIAL || post; /* the feed-forward layers read attention */

    TRY(model_stage(m, SHAPE_LAYER_0 + l, e));
    TRY(attend_heads(m, p, l, post ? &x : &a, e));
    TRY(join_residual(m, &sum, apart ? &b : &none, &stats2, &x, post ? &w->norm1 : &w->norm2, d1,
                      e));
    if (block == SPEC_PARALLEL2) TRY(model_normalise(m, &b, &stats2, &x, &w->norm2, e));
    TRY(feed_forward(m, p, l, block == SPEC_PARALLEL ? &a : &b, e));
    if (!post)
        return join_residual(m, &after, last && !s->final_norm ? &none : &next_a, &next_stats, &sum,
                             next_norm, d2, e);
    TRY(join_residual(m, &sum, &after, &next_stats, &b, &w->norm2, d2, e));
    return last && s->final_norm ? model_normalise(m, &next_a, &next_stats, &after, next_norm, e)
                                 : 0;
}

/* Copies the residual stream if model_keep_inner was called. */
static int keep_stream(struct model *m, const struct model_pass *p, int32_t layer,
                       const struct tensor *x, struct err *e)
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
    TRY(keep_stream(m, p, 0, &x, e));
    if (m->spec.model.form.block != SPEC_POST)
        TRY(model_normalise(m, &a, &stats, &x, &m->values.layer[0].norm1, e));
    for (int32_t l = 0; l < layers; l++) {
        TRY(layer(m, p, l, e));
        struct tensor after = model_view(&model_activations(m, p, l + 1)->x, n, c);
        TRY(keep_stream(m, p, l + 1, &after, e));
    }
    struct tensor features = model_features(m, p);
    return keep_stream(m, p, layers + 1, &features, e);
}
