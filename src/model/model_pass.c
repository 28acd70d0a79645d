/* model_pass.c - begins a pass over a batch, and provides its steps with buffers, dropout and
 * linear ops. */
#include "model/model_pass.h"

#include <inttypes.h>
#include <math.h>

#include "model/model_lists.h"
#include "model/model_memory.h"
#include "model/model_struct.h"
#include "model/model_weights.h"

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

bool model_splits(const struct model *m)
{
    return spec_is_pretrained(&m->spec);
}

int model_linear(struct model *m, const struct model_pass *p, struct tensor *y,
                 const struct tensor *x, const struct tensor *w, const struct tensor *bias,
                 struct err *e)
{
    struct tensor add = bias ? *bias : (struct tensor){0};

    if (p->train) return OPS(m->b, linear, e, .y = *y, .x = *x, .w = *w, .bias = add);
    return OPS(m->b, linear_rows, e, .y = *y, .x = *x, .w = *w, .bias = add,
               .split = model_splits(m));
}

int model_normalise(struct model *m, struct tensor *y, struct tensor *stats, const struct tensor *x,
                    const struct model_norm *norm, struct err *e)
{
    const struct spec_form *f = &m->spec.model.form;
    return OPS(m->b, layernorm, e, .y = *y, .stats = *stats, .x = *x, .gain = norm->gain,
               .bias = norm->bias, .eps = (float)f->norm_eps, .rms = f->norm == SPEC_RMSNORM);
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

/* The factors of a layer's queries, or NULL. */
static const float *layer_temperature(const struct model *m, int32_t layer)
{
    const struct tensor *t = &m->temperature;
    bool applies = m->spec.model.temperature.kind != SPEC_STEPS ||
                   m->spec.model.position == SPEC_NONE ||
                   !spec_layer_has_position(&m->spec.model, layer);
    return t->data == NULL || !applies ? NULL : (const float *)t->data + layer * t->stride;
}

/* The factor of q . k in a layer. */
static float score_scale(const struct model *m, int32_t layer)
{
    const struct spec_form *f = &m->spec.model.form;
    double scale = f->score_scale > 0 ? f->score_scale : 1.0 / sqrt((double)m->width);
    return (float)(f->score_scale_by_layer ? scale / (layer + 1) : scale);
}

struct attention model_attention(const struct model *m, const struct model_pass *p, int32_t layer,
                                 const struct model_activations *act)
{
    int32_t heads = m->spec.model.heads, kv_heads = spec_kv_heads(&m->spec.model);
    int64_t q = (int64_t)heads * m->width, kv = (int64_t)kv_heads * m->width;
    const struct spec_mask *mask = &m->spec.model.mask;
    const struct position_functions *f = m->position.functions;
    struct tensor qkv = model_view(&act->qkv, p->tokens_n, q + 2 * kv);
    struct attention a = {
        .B = p->rows,
        .T = p->length,
        .H = heads,
        .D = m->width,
        .K = kv_heads,
        .scale = score_scale(m, layer),
        .q = model_columns(&qkv, 0, q),
        .k = model_columns(&qkv, q, kv),
        .v = model_columns(&qkv, q + kv, kv),
        .out = model_view(&act->attn_out, p->tokens_n, q),
        .lse = model_view(&act->lse, (int64_t)p->rows * heads, p->length),
        .mask = {.window = spec_layer_window(&m->spec.model, layer),
                 .sinks = mask->sinks,
                 .sink_positions =
                     mask->sink_positions == SPEC_SINKS_CACHE ? SINKS_CACHE : SINKS_TEXT},
        .temperature = {.query_dev = layer_temperature(m, layer),
                        .head_dev = m->values.layer[layer].ssmax.data,
                        .inside = layer_temperature(m, layer) &&
                                  m->spec.model.temperature.bias == SPEC_BIAS_INSIDE},
        .dropout = model_dropout(m, p, m->spec.model.dropout_attention, layer, DROPOUT_ATTENTION),
    };
    if (!spec_layer_has_position(&m->spec.model, layer)) return a;
    a.bias = m->bias;
    a.rotary = m->rotary;
    if (f->frequencies && m->spec.option.rotary_base_layers.n > 0) {
        a.rotary.cosine = model_buffer(m, SHAPE_COSINE, layer);
        a.rotary.sine = model_buffer(m, SHAPE_SINE, layer);
    }
    if (m->values.layer[layer].gate_bias.data != NULL) {
        const struct tensor *sums = &act->gates;
        a.gates.high = tensor_make(sums->data, a.lse.rows, p->length, DTYPE_F32);
        a.gates.low = a.gates.high;
        a.gates.low.data = (float *)sums->data + sums->cols;
    }
    if (f->narrow_heads) a.mask.narrow_heads = f->narrow_heads(&m->position.shape);
    return a;
}
