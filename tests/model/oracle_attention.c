/* oracle_attention.c - attention weights of a batch's row 0. The op does not store them, but
 * outputs them if the values are unit vectors: as many keys at a time as a head has features. */
#include "model/model_internal.h"
#include "model/oracle.h"

/* Memory on the backend for one layer's attention. */
struct weights_memory {
    struct tensor qkv, value, out, lse;
    float *host; /* (N,C) */
};

static struct weights_memory memory_open(struct oracle *o)
{
    const struct model *m = o->model_own;
    int64_t n = m->last.tokens_n, c = m->spec.model.dim, sums = n * m->spec.model.heads;
    float *at = oracle_memory(o, (size_t)(5 * n * c + sums) * sizeof *at);
    return (struct weights_memory){
        .qkv = tensor_make(at, n, 3 * c, DTYPE_F32),
        .value = tensor_make(at + 3 * n * c, n, c, DTYPE_F32),
        .out = tensor_make(at + 4 * n * c, n, c, DTYPE_F32),
        .lse = tensor_make(at + 5 * n * c, sums / m->last.length, m->last.length, DTYPE_F32),
        .host = oracle_array(o, n * c)};
}

/* Weights of keys first ... first + D - 1: queries and keys are computed again, for rotation may
 * happen in place. */
static int some_keys(struct weights_memory *r, struct model *m, int32_t layer, int32_t first,
                     struct err *e)
{
    const struct model_pass *p = &m->last;
    const struct model_activations *act = model_activations(m, p, layer);
    const struct model_layer *w = &m->values.layer[layer];
    int64_t n = p->tokens_n, c = m->spec.model.dim;
    struct tensor a = model_view(&act->ln1, n, c);
    struct attention at = model_attention(m, p, layer, act);
    for (int64_t i = 0; i < n * c; i++)
        r->host[i] = i / c % p->length == first + i % c % m->width ? 1.0f : 0.0f;
    TRY(m->b->ops->upload(m->b, r->value.data, r->host, (size_t)(n * c) * sizeof *r->host, e));
    TRY(OPS(m->b, linear, e, .y = r->qkv, .x = a, .w = w->qkv, .bias = w->qkv_bias));
    at.q = model_columns(&r->qkv, 0, c);
    at.k = model_columns(&r->qkv, c, c);
    at.v = r->value;
    at.out = r->out;
    at.lse = r->lse;
    TRY(ops_attention(m->b, &at, e));
    return m->b->ops->download(m->b, r->host, r->out.data, (size_t)(n * c) * sizeof *r->host, e);
}

/* out: (H,T,T). */
static int layer_weights(struct weights_memory *r, struct model *m, int32_t layer, float *out,
                         struct err *e)
{
    int32_t T = m->last.length, D = m->width, H = m->spec.model.heads;
    for (int32_t first = 0; first < T; first += D) {
        TRY(some_keys(r, m, layer, first, e));
        for (int32_t h = 0; h < H; h++)
            for (int32_t i = 0; i < T; i++)
                for (int32_t c = 0; c < D && first + c < T; c++)
                    out[((int64_t)h * T + i) * T + first + c] =
                        r->host[((int64_t)i * H + h) * D + c];
    }
    return 0;
}

void oracle_attention(struct oracle *o, char letter)
{
    struct model *m = o->model_own;
    int32_t T = m->last.length, H = m->spec.model.heads, layers = m->spec.model.layers;
    int64_t n = (int64_t)H * T * T;
    const char *name = oracle_name(o, "%c.attention_first", letter);
    if (!oracle_has(o, oracle_name(o, "%c.attention.0", letter)) && !oracle_has(o, name)) return;
    float *weight = oracle_array(o, n), *first = oracle_array(o, (int64_t)layers * H);
    struct weights_memory memory = memory_open(o);
    for (int32_t l = 0; l < layers; l++) {
        const char *of_layer = oracle_name(o, "%c.attention.%d", letter, l);
        oracle_must(o, layer_weights(&memory, m, l, weight, &o->e));
        for (int32_t h = 0; h < H; h++) {
            double sum = 0.0;
            for (int32_t i = 0; i < T; i++) sum += (double)weight[((int64_t)h * T + i) * T];
            first[l * H + h] = (float)(sum / T);
        }
        if (oracle_has(o, of_layer)) oracle_check(o, ORACLE_ATTENTION, weight, n, of_layer);
    }
    if (oracle_has(o, name)) oracle_check(o, ORACLE_ATTENTION, first, (int64_t)layers * H, name);
}
