/* model_memory.c - allocates a model's memory as laid out in shape/memory.h. */
#include "model/model_memory.h"

#include <assert.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>

#include "model/model_pass.h"
#include "model/model_struct.h"

static_assert(sizeof(struct model_state) == SHAPE_STEP_BYTES, "the plan counts the state");

struct tensor model_buffer(const struct model *m, enum shape_buffer_id id, int32_t copy)
{
    static const enum dtype fp32[] = {DTYPE_F32, DTYPE_I32, DTYPE_F32};
    static const enum dtype bf16[] = {DTYPE_F32, DTYPE_I32, DTYPE_BF16};
    const struct shape_buffer *b = &m->memory.buffer[id];
    enum dtype type = (m->b->precision == DTYPE_BF16 ? bf16 : fp32)[b->number];
    if (copy >= b->copies_n) return (struct tensor){.dtype = type};
    return tensor_make((char *)m->pool_own + b->offset + copy * b->copy_bytes, b->rows, b->cols,
                       type);
}

struct tensor model_view(const struct tensor *t, int64_t rows, int64_t cols)
{
    return tensor_make(t->data, rows, cols, t->dtype);
}

struct tensor model_rows(const struct tensor *t, int64_t first, int64_t n)
{
    struct tensor part = *t;
    if (t->data) part.data = (char *)t->data + (size_t)(first * t->stride) * dtype_bytes(t->dtype);
    part.rows = n;
    return part;
}

struct tensor model_columns(const struct tensor *t, int64_t first, int64_t n)
{
    struct tensor part = *t;
    part.data = (char *)t->data + (size_t)first * dtype_bytes(t->dtype);
    part.cols = n;
    return part;
}

int64_t model_logits_rows(const struct model *m, int64_t classes, bool train)
{
    return shape_logits_rows(classes, &m->capacity, train);
}

struct tensor model_logits(const struct tensor *buffer, int64_t rows, int64_t classes)
{
    struct tensor t = model_view(buffer, rows, classes);
    t.stride = shape_logits_stride(classes);
    return t;
}

static void bind_layer(const struct model *m, struct model_activations *act, int32_t copy)
{
    *act = (struct model_activations){
        .x = model_buffer(m, SHAPE_X, copy),
        .ln1 = model_buffer(m, SHAPE_LN1, copy),
        .stats1 = model_buffer(m, SHAPE_STATS1, copy),
        .qkv = model_buffer(m, SHAPE_QKV, copy),
        .attn_out = model_buffer(m, SHAPE_ATTN_OUT, copy),
        .lse = model_buffer(m, SHAPE_LSE, copy),
        .gate_input = model_buffer(m, SHAPE_GATE_INPUT, copy),
        .gates = model_buffer(m, SHAPE_GATES, copy),
        .attn_residual = model_buffer(m, SHAPE_ATTN_RESIDUAL, copy),
        .ln2 = model_buffer(m, SHAPE_LN2, copy),
        .stats2 = model_buffer(m, SHAPE_STATS2, copy),
        .ffn = model_buffer(m, SHAPE_FFN, copy),
        .relu_mask = model_buffer(m, SHAPE_RELU_MASK, copy),
    };
}

static void bind_pool(struct model *m)
{
    struct model_buffers *w = &m->buffers;
    int32_t layers = m->memory.buffer[SHAPE_X].copies_n;
    w->layer = arena_array(&m->arena, (size_t)layers, sizeof *w->layer);
    for (int32_t l = 0; l < layers; l++) bind_layer(m, &w->layer[l], l);
    w->gathered = model_buffer(m, SHAPE_GATHERED, 0);
    w->factor = model_buffer(m, SHAPE_FACTOR, 0);
    w->narrow = model_buffer(m, SHAPE_NARROW, 0);
    w->wide = model_buffer(m, SHAPE_WIDE, 0);
    w->stream_grad = model_buffer(m, SHAPE_STREAM_GRAD, 0);
    w->dropped = model_buffer(m, SHAPE_DROPPED, 0);
    w->features = model_buffer(m, SHAPE_FEATURES, 0);
    w->tail = model_buffer(m, SHAPE_TAIL, 0);
    w->keys = model_buffer(m, SHAPE_KEYS, 0);
    w->chosen = model_buffer(m, SHAPE_CHOSEN, 0);
    w->projected = model_buffer(m, SHAPE_PROJECTED, 0);
    w->logits = model_buffer(m, SHAPE_LOGITS, 0);
    w->scores = model_buffer(m, SHAPE_SCORES, 0);
    w->loss = model_buffer(m, SHAPE_LOSS, 0);
    struct tensor transposed = model_buffer(m, SHAPE_TRANSPOSED, 0);
    int64_t row = 0;
    for (int32_t i = 1; i < m->bands.n; i++) {
        int64_t width = m->bands.band[i].width;
        w->transposed[i] = model_rows(&transposed, row, width);
        row += width;
    }
    m->lists_dev = model_buffer(m, SHAPE_LISTS, 0).data;
}

float *model_array_dev(const struct model *m, enum model_array array)
{
    if ((int32_t)array >= m->memory.slots_n) return NULL;
    return m->arrays_dev_own + (int64_t)array * m->params.elements_n;
}

float *model_gradient_dev(const struct model *m, int32_t i)
{
    int64_t slot = i == 0 ? MODEL_GRADIENTS : m->memory.slots_n + i - 1;
    return i < m->memory.gradients_n ? m->arrays_dev_own + slot * m->params.elements_n : NULL;
}

int model_step_upload(struct model *m, const struct step_state *step, struct err *e)
{
    m->step = *step;
    return m->b->ops->upload(m->b, m->step_dev, &m->step, sizeof m->step, e);
}

static int host_open(struct model *m, struct err *e)
{
    int64_t widest = 1;
    for (int32_t i = 1; i < m->bands.n; i++) {
        int64_t w = m->bands.band[i].width;
        widest = w > widest ? w : widest;
    }
    m->lists_host = malloc((size_t)m->memory.lists_n * sizeof *m->lists_host);
    m->loss_host = malloc((size_t)m->memory.losses_n * sizeof *m->loss_host);
    if (m->capacity.train)
        m->results_host =
            malloc((size_t)m->memory.step_bytes - offsetof(struct model_state, squares));
    if (m->capacity.hits) m->hit_host = malloc((size_t)m->capacity.scored_max + 1);
    m->transpose_host =
        malloc((size_t)(2 * widest * m->spec.model.dim) * dtype_bytes(m->b->precision));
    if (m->lists_host == NULL || m->loss_host == NULL || m->transpose_host == NULL ||
        (m->capacity.hits && m->hit_host == NULL) || (m->capacity.train && m->results_host == NULL))
        return ERR(e, ERR_NOMEM, "out of memory for the lists of batches of %" PRId64 " tokens",
                   m->tokens_max);
    return 0;
}

/* Allocates zeroed memory; none for 0 bytes. */
static int allocate_zeroed(struct model *m, void **out, int64_t bytes, struct err *e)
{
    if (bytes == 0) return 0;
    TRY(m->b->ops->alloc(m->b, out, (size_t)bytes, e));
    m->allocated_bytes += bytes;
    return m->b->ops->zero(m->b, *out, (size_t)bytes, e);
}

int model_memory_open(struct model *m, struct err *e)
{
    shape_memory(&m->memory, &m->spec, &m->capacity);
    TRY(host_open(m, e));
    TRY(allocate_zeroed(m, (void **)&m->arrays_dev_own, m->memory.arrays_bytes, e));
    TRY(allocate_zeroed(m, &m->bf16_dev_own, m->memory.bf16_bytes, e));
    TRY(allocate_zeroed(m, &m->pool_own, m->memory.pool_bytes, e));
    TRY(allocate_zeroed(m, (void **)&m->state_dev_own, m->memory.step_bytes, e));
    TRY(allocate_zeroed(m, (void **)&m->staging_dev_own, m->memory.staging_bytes, e));
    m->step_dev = &m->state_dev_own->step;
    bind_pool(m);
    return 0;
}

void model_memory_close(struct model *m)
{
    struct backend *b = m->b;
    void *parts[] = {m->arrays_dev_own, m->bf16_dev_own,  m->pool_own,
                     m->state_dev_own,  m->inner_dev_own, m->staging_dev_own};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i] != NULL) b->ops->release(b, parts[i]);
    free(m->lists_host);
    free(m->loss_host);
    free(m->hit_host);
    free(m->results_host);
    free(m->transpose_host);
    free(m->stream.host_own);
}
