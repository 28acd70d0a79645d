/* model_pass.c - begins a pass over a batch, and provides its steps with buffers, dropout and
 * linear ops. */
#include <inttypes.h>
#include <math.h>

#include "model/model_internal.h"

int model_pass_begin(struct model *m, struct model_pass *p, const struct model_batch *batch,
                     bool train, struct err *e)
{
    int64_t n = (int64_t)batch->rows * batch->length;
    if (batch->rows < 1 || batch->length < 1 || n > m->tokens_max ||
        batch->length > m->capacity.length_max)
        return ERR(
            e, ERR_INTERNAL,
            "a batch of %d rows of %d tokens exceeds the capacity of the model, %d rows of %d",
            batch->rows, batch->length, m->capacity.rows_max, m->capacity.length_max);
    *p = (struct model_pass){
        .rows = batch->rows, .length = batch->length, .tokens_n = n, .train = train};
    m->last = *p;
    model_lists_begin(m);
    return model_lists_source(m, batch, e);
}

int model_linear(struct model *m, const struct model_pass *p, struct tensor *y,
                 const struct tensor *x, const struct tensor *w, const struct tensor *bias,
                 struct err *e)
{
    struct tensor add = bias ? *bias : (struct tensor){0};

    if (p->train) return OPS(m->b, linear, e, .y = *y, .x = *x, .w = *w, .bias = add);
    return OPS(m->b, linear_rows, e, .y = *y, .x = *x, .w = *w, .bias = add);
}

struct dropout model_dropout(const struct model *m, const struct model_pass *p, double probability,
                             int32_t layer, enum dropout_site site)
{
    return (struct dropout){
        .p = p->train ? (float)probability : 0.0f,
        .key = (uint64_t)m->spec.train.seed,
        .stream = dropout_stream(layer, site),
        .step_dev = m->step_dev,
        .span = site == DROPOUT_ATTENTION ? 1 : p->length,
    };
}

const struct model_activations *model_activations(const struct model *m, const struct model_pass *p,
                                                  int32_t layer)
{
    return &m->buffers.layer[p->train ? layer : 0];
}

struct tensor model_features(const struct model *m, const struct model_pass *p)
{
    const struct model_activations *last = model_activations(m, p, m->spec.model.layers);
    return model_view(m->spec.model.final_norm ? &last->ln1 : &last->x, p->tokens_n,
                      m->spec.model.dim);
}

struct attention model_attention(const struct model *m, const struct model_pass *p, int32_t layer,
                                 const struct model_activations *act)
{
    int32_t c = m->spec.model.dim, heads = m->spec.model.heads;
    const struct spec_mask *mask = &m->spec.model.mask;
    const struct position_functions *f = m->position.functions;
    struct tensor qkv = model_view(&act->qkv, p->tokens_n, 3 * (int64_t)c);
    struct attention a = {
        .B = p->rows,
        .T = p->length,
        .H = heads,
        .D = m->width,
        .scale = (float)(1.0 / sqrt((double)m->width)),
        .q = model_columns(&qkv, 0, c),
        .k = model_columns(&qkv, c, c),
        .v = model_columns(&qkv, 2 * (int64_t)c, c),
        .out = model_view(&act->attn_out, p->tokens_n, c),
        .lse = model_view(&act->lse, (int64_t)p->rows * heads, p->length),
        .mask = {.window = spec_layer_window(&m->spec.model, layer),
                 .sinks = mask->sinks,
                 .sink_positions =
                     mask->sink_positions == SPEC_SINKS_CACHE ? SINKS_CACHE : SINKS_TEXT},
        .dropout = model_dropout(m, p, m->spec.model.dropout_attention, layer, DROPOUT_ATTENTION),
    };
    if (!spec_layer_has_position(&m->spec.model, layer)) return a;
    a.bias = m->bias;
    a.rotary = m->rotary;
    if (f->frequencies && m->spec.option.rotary_base_layers.n > 0) {
        a.rotary.cosine = model_buffer(m, SHAPE_COSINE, layer);
        a.rotary.sine = model_buffer(m, SHAPE_SINE, layer);
    }
    if (f->narrow_heads) a.mask.narrow_heads = f->narrow_heads(&m->position.shape);
    return a;
}
