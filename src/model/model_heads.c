/* model_heads.c - attention weights and logits of a row, which the op attention does not output.
 *
 * 1. If the values are unit vectors, the output of the op is the weights of as many keys as a head
 *    has features. So whatever the arguments of a layer's attention say holds here too: bias,
 *    rotation, mask, on every backend.
 * 2. Without the bias a logit is the logarithm of the weight plus that of the softmax sum.
 * 3. The op may rotate q and k in place, so that each call has copies. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/model_internal.h"

struct model_heads {
    model_heads_fn *see;
    void *context;
    void *memory_own;               /* on the backend: the tensors */
    struct tensor q, k, value, out; /* (T,HD), k and value (T,KD) */
    struct tensor lse;              /* (H,T) */
    float *host_own;                /* the arrays of layer, then */
    float *rows, *lse_host;         /* (T,HD), (H,T) */
    struct model_heads_layer layer;
};

static int heads_open(struct model_heads *s, const struct model *m, int32_t T, struct err *e)
{
    int32_t H = m->spec.model.heads, K = spec_kv_heads(&m->spec.model);
    int64_t n = (int64_t)T * H * m->width, sums = (int64_t)H * T, square = sums * T;
    TRY(m->b->ops->alloc(m->b, &s->memory_own, (size_t)(4 * n + sums) * sizeof(float), e));
    struct tensor *const tensors[] = {&s->q, &s->k, &s->value, &s->out};
    float *at = s->memory_own;
    for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++, at += n)
        *tensors[i] = tensor_make(at, T, (int64_t)H * m->width, DTYPE_F32);
    s->k.cols = s->k.stride = s->value.cols = s->value.stride = (int64_t)K * m->width;
    s->lse = tensor_make(at, H, T, DTYPE_F32);
    s->host_own = malloc((size_t)(2 * square + H + n + sums) * sizeof(float));
    if (s->host_own == NULL) return ERR(e, ERR_NOMEM, "out of memory for attention weights");
    s->layer = (struct model_heads_layer){
        .H = H, .T = T, .weight = s->host_own, .logit = s->host_own + square};
    s->rows = s->layer.logit + square + H;
    s->lse_host = s->rows + n;
    return 0;
}

/* Sets the values to unit vectors: feature c of every head belongs to key first + c. */
static int upload_units(struct model *m, int32_t first, struct err *e)
{
    struct model_heads *s = m->heads;
    int64_t n = s->value.rows * s->value.cols;
    memset(s->rows, 0, (size_t)n * sizeof *s->rows);
    for (int32_t c = 0; c < m->width && first + c < s->layer.T; c++)
        for (int64_t h = 0; h < s->value.cols / m->width; h++)
            s->rows[(int64_t)(first + c) * s->value.cols + h * m->width + c] = 1.0f;
    return m->b->ops->upload(m->b, s->value.data, s->rows, (size_t)n * sizeof *s->rows, e);
}

/* Writes the weights (H,T,T) of the attention, and its sums to lse_host. */
static int download_weights(struct model *m, struct attention a, float *weight, struct err *e)
{
    struct model_heads *s = m->heads;
    struct tensor q = a.q, k = a.k;
    int32_t T = a.T, D = a.D;
    a.q = s->q;
    a.k = s->k;
    a.v = s->value;
    a.out = s->out;
    a.lse = s->lse;
    for (int32_t first = 0; first < T; first += D) {
        TRY(upload_units(m, first, e));
        TRY(OPS(m->b, cast, e, .y = a.q, .x = q));
        TRY(OPS(m->b, cast, e, .y = a.k, .x = k));
        TRY(ops_attention(m->b, &a, e));
        TRY(m->b->ops->download(m->b, s->rows, s->out.data,
                                (size_t)(T * s->out.cols) * sizeof *s->rows, e));
        for (int32_t h = 0; h < a.H; h++)
            for (int32_t i = 0; i < T; i++)
                for (int32_t c = 0; c < D && first + c < T; c++)
                    weight[((int64_t)h * T + i) * T + first + c] =
                        s->rows[i * s->out.cols + h * D + c];
    }
    return m->b->ops->download(m->b, s->lse_host, s->lse.data,
                               (size_t)a.H * (size_t)T * sizeof *s->lse_host, e);
}

/* The slopes of a bias that is a slope at every distance; with sinks the distances of a cache are
 * others, and a temperature inside multiplies the bias of each query by its own factor. */
static int download_slopes(struct model *m, const struct attention *a, struct err *e)
{
    struct model_heads_layer *layer = &m->heads->layer;
    layer->slope = NULL;
    if (a->gates.high.data != NULL || a->bias.bias_table_n > 0 || a->bias.tail_slope_dev == NULL ||
        a->mask.sinks > 0 || a->temperature.inside)
        return 0;
    layer->slope = layer->logit + (int64_t)a->H * a->T * a->T;
    TRY(m->b->ops->download(m->b, layer->slope, a->bias.tail_slope_dev,
                            (size_t)a->H * sizeof *layer->slope, e));
    for (int32_t h = 0; h < a->H; h++) layer->slope[h] = -layer->slope[h];
    return 0;
}

int model_heads_see(struct model *m, const struct attention *a, int32_t l, struct err *e)
{
    struct model_heads *s = m->heads;
    struct attention plain = *a;
    int64_t rows = (int64_t)a->H * a->T;
    plain.bias = (struct attention_bias){0};
    TRY(download_weights(m, plain, s->layer.logit, e));
    for (int64_t i = 0; i < rows * a->T; i++)
        s->layer.logit[i] = logf(s->layer.logit[i]) + s->lse_host[i / a->T];
    TRY(download_weights(m, *a, s->layer.weight, e));
    TRY(download_slopes(m, a, e));
    s->layer.layer = l;
    return s->see(s->context, &s->layer, e);
}

int model_heads(struct model *m, const struct model_batch *batch, model_heads_fn *see,
                void *context, struct err *e)
{
    struct model_heads s = {.see = see, .context = context};
    struct model_pass p;
    int rc = 0;
    if (m->b->precision != DTYPE_F32)
        return ERR(e, ERR_UNAVAILABLE, "attention weights: bf16 is not supported, only fp32");
    if (batch->rows != 1)
        return ERR(e, ERR_INTERNAL, "attention weights of %d rows, expected 1", batch->rows);
    TRY(model_pass_begin(m, &p, batch, false, e));
    TRY(model_position_row_length(m, batch, e));
    TRY(model_position_refresh(m, e));
    TRY(model_lists_upload(m, e));
    TRY_OUT(rc, heads_open(&s, m, batch->length, e));
    m->heads = &s;
    rc = model_forward(m, &p, e);
    m->heads = NULL;
out:
    if (s.memory_own != NULL) m->b->ops->release(m->b, s.memory_own);
    free(s.host_own);
    return rc;
}
