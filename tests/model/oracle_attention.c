/* oracle_attention.c - attention weights of a batch's row 0. The op does not store them, but
 * outputs them if the values are unit vectors: as many keys at a time as a head has features. */
#include <stdio.h>

#include "model/model_internal.h"
#include "model/oracle.h"

/* Memory on the backend for one layer's attention. */
struct weights_memory {
    void *own;
    struct tensor qkv, value, out, lse;
    float *host; /* (N,C) */
};

static int memory_open(struct weights_memory *r, struct oracle *o, const struct model *m,
                       struct err *e)
{
    int64_t n = m->last.tokens_n, c = m->spec.model.dim, sums = n * m->spec.model.heads;
    TRY(m->b->ops->alloc(m->b, &r->own, (size_t)(5 * n * c + sums) * sizeof(float), e));
    float *at = r->own;
    r->qkv = tensor_make(at, n, 3 * c, DTYPE_F32);
    r->value = tensor_make(at + 3 * n * c, n, c, DTYPE_F32);
    r->out = tensor_make(at + 4 * n * c, n, c, DTYPE_F32);
    r->lse = tensor_make(at + 5 * n * c, sums / m->last.length, m->last.length, DTYPE_F32);
    r->host = arena_array(&o->arena, (size_t)(n * c), sizeof *r->host);
    return 0;
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
    TRY(ops_linear(m->b, &r->qkv, &a, &w->qkv, &w->qkv_bias, 0, e));
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

int oracle_attention(struct oracle *o, struct model *m, char letter, struct err *e)
{
    int rc = 0;
    struct weights_memory memory = {0};
    const struct safetensors_entry *want = NULL;
    int32_t T = m->last.length, H = m->spec.model.heads, layers = m->spec.model.layers;
    int64_t n = (int64_t)H * T * T;
    char name[64];
    snprintf(name, sizeof name, "%c.attention_first", letter);
    if (!oracle_has(o, "%c.attention.0", letter) && !oracle_has(o, "%s", name)) return 0;
    float *weight = arena_array(&o->arena, (size_t)n, sizeof *weight);
    float *first = arena_array(&o->arena, (size_t)(layers * H), sizeof *first);
    TRY_OUT(rc, memory_open(&memory, o, m, e));
    for (int32_t l = 0; l < layers; l++) {
        TRY_OUT(rc, layer_weights(&memory, m, l, weight, e));
        for (int32_t h = 0; h < H; h++) {
            double sum = 0.0;
            for (int32_t i = 0; i < T; i++) sum += (double)weight[((int64_t)h * T + i) * T];
            first[l * H + h] = (float)(sum / T);
        }
        if (!oracle_has(o, "%c.attention.%d", letter, l)) continue;
        TRY_OUT(rc, oracle_take(&want, o, "F32", n, e, "%c.attention.%d", letter, l));
        oracle_compare(o, ORACLE_ATTENTION, want->name, weight, want->data, n);
    }
    if (!oracle_has(o, "%s", name)) goto out;
    TRY_OUT(rc, oracle_take(&want, o, "F32", (int64_t)layers * H, e, "%s", name));
    oracle_compare(o, ORACLE_ATTENTION, name, first, want->data, want->elements_n);
out:
    if (memory.own != NULL) m->b->ops->release(m->b, memory.own);
    return rc;
}
