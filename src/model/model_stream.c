/* model_stream.c - a model whose tensors are in memory only while a pass reads them.
 *
 * 1. The stages of a pass (enum shape_stage: the table, each layer, the head) share one part of the
 *    array; model_stage fills it from the source. A stage that is there already is not read again.
 * 2. Norms, positions and the other tensors with SHAPE_STAYS are read once.
 * 3. The work on the stage before must be done when the next one overwrites it: uploads are in
 *    order with ops. */
#include "model/model_stream.h"

#include <stdlib.h>

#include "model/model_memory.h"
#include "model/model_struct.h"
#include "model/model_weights.h"

/* Without a buffer on the host, the source writes to the array itself. */
static int load_tensor(struct model *m, int32_t tensor, struct err *e)
{
    struct model_stream *s = &m->stream;
    float *at = model_array_dev(m, MODEL_VALUES) + m->params.tensor[tensor].offset;
    if (s->host_own == NULL) return s->source(s->context, tensor, at, e);
    TRY(s->source(s->context, tensor, s->host_own, e));
    return model_weights_write(m, MODEL_VALUES, tensor, s->host_own, e);
}

static int load_stage(struct model *m, int32_t stage, struct err *e)
{
    for (int32_t i = 0; i < m->params.tensors_n; i++)
        if (m->params.tensor[i].stage == stage) TRY(load_tensor(m, i, e));
    return 0;
}

int model_stage(struct model *m, int32_t stage, struct err *e)
{
    struct model_stream *s = &m->stream;
    if (!m->capacity.streamed || s->stage == stage) return 0;
    if (s->source == NULL)
        return ERR(e, ERR_INTERNAL, "a pass of a streamed model without model_stream");
    s->stage = SHAPE_STAYS; /* after an error nothing is there */
    TRY(load_stage(m, stage, e));
    s->stage = stage;
    return 0;
}

int32_t model_head_stage(const struct model *m)
{
    const struct spec_model *s = &m->spec.model;
    return s->form.tied ? SHAPE_TABLE : SHAPE_LAYER_0 + s->layers;
}

int model_stream_check(const struct model *m, int32_t tensor, struct err *e)
{
    bool known = tensor >= 0 && tensor < m->params.tensors_n;
    if (!m->capacity.streamed || !known || m->params.tensor[tensor].stage == SHAPE_STAYS) return 0;
    return ERR(e, ERR_INTERNAL, "tensor %s of a streamed model is read from its source",
               m->params.tensor[tensor].name);
}

static int open_buffer(struct model *m, struct err *e)
{
    if (m->b->ops->host_memory || m->stream.host_own != NULL) return 0;
    m->stream.host_own = malloc((size_t)m->params.largest_n * sizeof(float));
    return m->stream.host_own ? 0 : ERR(e, ERR_NOMEM, "out of memory for streamed weights");
}

int model_stream(struct model *m, model_source_fn *source, void *context, struct err *e)
{
    if (!m->capacity.streamed)
        return ERR(e, ERR_INTERNAL, "a source for a model that was not opened as streamed");
    TRY(open_buffer(m, e));
    m->stream.source = source;
    m->stream.context = context;
    m->stream.stage = SHAPE_STAYS;
    m->position.is_stale = m->position.has_bias;
    return load_stage(m, SHAPE_STAYS, e);
}
