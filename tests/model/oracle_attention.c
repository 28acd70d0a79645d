/* oracle_attention.c - attention weights of a batch's row 0. */
#include <string.h>

#include "model/model_struct.h"
#include "model/oracle.h"
#include "worker/heads.h"

static int keep_weights(void *context, const struct heads_layer *layer, struct err *e)
{
    float *out = context;
    int64_t n = (int64_t)layer->H * layer->T * layer->T;
    (void)e;
    memcpy(out + layer->layer * n, layer->weight, (size_t)n * sizeof *out);
    return 0;
}

const float *oracle_row_weights(struct oracle *o, const int32_t *source, int32_t T)
{
    const struct spec_model *s = &o->model_own->spec.model;
    const struct model_batch batch = {.source = source, .target = source, .rows = 1, .length = T};
    float *out = oracle_array(o, (int64_t)s->layers * s->heads * T * T);
    oracle_must(o, heads_see(o->model_own, o->model_own->b, s, &batch, keep_weights, out, &o->e));
    return out;
}

void oracle_attention(struct oracle *o, char letter, const struct model_batch *batch)
{
    const struct spec_model *s = &o->model_own->spec.model;
    int32_t T = batch->length, H = s->heads, layers = s->layers;
    int64_t square = (int64_t)T * T;
    const char *name = oracle_name(o, "%c.attention_first", letter);
    if (!oracle_has(o, oracle_name(o, "%c.attention.0", letter)) && !oracle_has(o, name)) return;
    const float *weight = oracle_row_weights(o, batch->source, T);
    float *first = oracle_array(o, (int64_t)layers * H);
    for (int32_t l = 0; l < layers; l++) {
        const char *of_layer = oracle_name(o, "%c.attention.%d", letter, l);
        for (int32_t h = 0; h < H; h++) {
            double sum = 0.0;
            for (int32_t i = 0; i < T; i++)
                sum += (double)weight[(l * H + h) * square + (int64_t)i * T];
            first[l * H + h] = (float)(sum / T);
        }
        if (oracle_has(o, of_layer))
            oracle_check(o, ORACLE_ATTENTION, weight + l * H * square, H * square, of_layer);
    }
    if (oracle_has(o, name)) oracle_check(o, ORACLE_ATTENTION, first, (int64_t)layers * H, name);
}
