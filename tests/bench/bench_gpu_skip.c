/* bench_gpu_skip.c - measures what attention skips under ALiBi, and whether results change.
 *
 * 1. Scores with the skip bounds of cuda/attention_skip.cuh are compared with those of a dense
 *    pass, which has the same bias in a form without bounds: a table of one distance.
 * 2. The live share counts tiles of 128 queries by 64 keys over all layers, with the queries and
 *    keys of a training pass (bench_live.h). Initial weights are the best case; the share that
 *    counts needs --trained FILE. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench_gpu.h"
#include "bench/bench_live.h"
#include "model/model_graph.h"
#include "model/model_lists.h"
#include "model/model_pass.h"
#include "model/model_struct.h"
#include "worker/weights.h"

enum { HEADS_MAX = 64 };

struct skip {
    struct bench_steps *steps;
    float *logp_own;                         /* (tokens) of the first pass */
    uint16_t *bf16_own;                      /* (tokens, 3C) of a layer */
    float *qk_own;                           /* (tokens, 2C) */
    float *norm_own, *cutoff_own, *keys_own; /* of a head */
    void *table_own;                         /* (H) zeros, on the device */
};

static int skip_load(struct model *m, const char *path, struct err *e)
{
    struct safetensors *file = NULL;
    TRY(safetensors_open(&file, path, e));
    int rc = weights_load(m, 0, file, path, e);
    safetensors_close(file);
    return rc;
}

static int skip_open(struct skip *x, const struct bench_case *c, const struct bench_options *o,
                     struct err *e)
{
    const struct spec *s = &x->steps->spec;
    if (x->steps->backend->precision != DTYPE_BF16)
        return ERR(e, ERR_INTERNAL, "%s: expected a bf16 case", c->name);
    size_t n = (size_t)x->steps->tokens, width = (size_t)s->model.dim, T = (size_t)s->train.L;
    x->logp_own = malloc(n * sizeof *x->logp_own);
    x->bf16_own = malloc(n * 3 * width * sizeof *x->bf16_own);
    x->qk_own = malloc(n * 2 * width * sizeof *x->qk_own);
    x->norm_own = malloc(T * sizeof *x->norm_own);
    x->cutoff_own = malloc(T * sizeof *x->cutoff_own);
    x->keys_own = malloc((T / LIVE_TILE + 1) * sizeof *x->keys_own);
    if (!x->logp_own || !x->bf16_own || !x->qk_own || !x->norm_own || !x->cutoff_own ||
        !x->keys_own)
        return ERR(e, ERR_NOMEM, "no memory for the queries and keys of a layer");
    return o->trained ? skip_load(x->steps->model, o->trained, e) : 0;
}

static void skip_close(struct skip *x)
{
    void *const heap[] = {x->logp_own, x->bf16_own,   x->qk_own,
                          x->norm_own, x->cutoff_own, x->keys_own};
    struct backend *b = x->steps->backend;
    if (x->table_own) b->ops->release(b, x->table_own);
    for (size_t i = 0; i < sizeof heap / sizeof *heap; i++) free(heap[i]);
}

/* A forward pass; records the queries and keys of every layer. */
static int skip_forward(struct skip *x, struct err *e)
{
    const struct bench_steps *b = x->steps;
    const struct model_batch batch = {
        .source = b->source, .target = b->target, .rows = b->rows, .length = b->length};
    struct model_pass p;
    TRY(model_pass_begin(b->model, &p, &batch, true, e));
    TRY(model_lists_upload(b->model, e));
    return model_forward(b->model, &p, e);
}

static int count_layer(struct skip *x, int32_t layer, struct live_count *out, struct err *e)
{
    const struct model *m = x->steps->model;
    const struct tensor *qkv = &m->buffers.layer[layer].qkv;
    int64_t n = x->steps->tokens, C = m->spec.model.dim;
    float slopes[HEADS_MAX];
    TRY(m->b->ops->download(m->b, x->bf16_own, qkv->data, (size_t)(n * 3 * C) * 2, e));
    for (int64_t i = 0; i < n; i++)
        for (int64_t col = 0; col < 2 * C; col++) {
            uint32_t bits = (uint32_t)x->bf16_own[i * 3 * C + col] << 16;
            memcpy(&x->qk_own[i * 2 * C + col], &bits, sizeof bits);
        }
    struct position_bias bias = {.tail = slopes};
    m->position.functions->fill(&m->position.shape, NULL, &bias);
    for (int32_t row = 0; row < x->steps->rows; row++)
        for (int32_t h = 0; h < m->spec.model.heads; h++) {
            const float *q = x->qk_own + (int64_t)row * x->steps->length * 2 * C + h * m->width;
            const struct live_head head = {.q = q,
                                           .k = q + C,
                                           .stride = 2 * C,
                                           .T = x->steps->length,
                                           .D = m->width,
                                           .slope = -slopes[h],
                                           .scale = 1.0f / sqrtf((float)m->width)};
            live_add(out, &head, x->norm_own, x->cutoff_own, x->keys_own);
        }
    return 0;
}

static int add_live_share(struct skip *x, json_t *out, struct err *e)
{
    struct live_count all = {0};
    json_t *layers = json_array();
    json_object_set_new(out, "live_shares", layers);
    TRY(skip_forward(x, e));
    for (int32_t l = 0; l < x->steps->model->spec.model.layers; l++) {
        struct live_count c = {0};
        TRY(count_layer(x, l, &c, e));
        all.live += c.live;
        all.all += c.all;
        json_array_append_new(layers, json_real((double)c.live / (double)c.all));
    }
    json_object_set_new(out, "live_share", json_real((double)all.live / (double)all.all));
    return 0;
}

/* Replaces the bias by the same one with a table of distance 0, where it is 0 in either form. */
static int forbid(struct skip *x, struct err *e)
{
    static const float zeros[HEADS_MAX];
    struct model *m = x->steps->model;
    size_t bytes = (size_t)m->spec.model.heads * sizeof *zeros;
    TRY(m->b->ops->alloc(m->b, &x->table_own, bytes, e));
    TRY(m->b->ops->upload(m->b, x->table_own, zeros, bytes, e));
    m->bias.bias_table_dev = x->table_own;
    m->bias.bias_table_n = 1;
    model_graphs_forget(m);
    return 0;
}

int bench_skip(json_t *out, struct bench_steps *b, const struct bench_case *c,
               const struct bench_options *o, struct err *e)
{
    struct skip x = {.steps = b};
    struct bench_timing skipping = {0}, dense = {0};
    double most = 0.0;
    int64_t differ = 0;
    int rc = 0, steps = o->tiny ? BENCH_TINY_STEPS : BENCH_STEPS;

    TRY_OUT(rc, skip_open(&x, c, o, e));
    TRY_OUT(rc, bench_time(b, bench_eval_step, BENCH_WARMUP, steps, 0.0, &skipping, e));
    memcpy(x.logp_own, b->logp, (size_t)b->tokens * sizeof *x.logp_own);
    TRY_OUT(rc, add_live_share(&x, out, e));
    TRY_OUT(rc, forbid(&x, e));
    TRY_OUT(rc, bench_time(b, bench_eval_step, BENCH_WARMUP, steps, 0.0, &dense, e));
    for (int64_t i = 0; i < b->tokens; i++) {
        double off = fabs((double)x.logp_own[i] - (double)b->logp[i]);
        differ += x.logp_own[i] != b->logp[i];
        if (!(off <= most)) most = off; /* keeps a NaN */
    }
    if (!isfinite(most)) {
        rc = ERR(e, ERR_NUMBER, "%s: scores that are not finite", c->name);
        goto out;
    }
    json_object_update_new(
        out, json_pack("{s:s, s:i, s:s, s:I, s:f, s:I, s:f, s:f}", "position", "alibi", "L",
                       (int)b->length, "trained", o->trained ? o->trained : "", "scores",
                       (json_int_t)b->tokens, "most_nats", most, "differ", (json_int_t)differ,
                       "skipping_s", skipping.median_s, "dense_s", dense.median_s));
out:
    skip_close(&x);
    return rc;
}
