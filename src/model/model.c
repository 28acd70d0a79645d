/* model.c - opens and closes a model; reads and writes its tensors. */
#include "model/model.h"

#include <inttypes.h>
#include <stdlib.h>

#include "model/model_graph.h"
#include "model/model_group.h"
#include "model/model_memory.h"
#include "model/model_pass.h"
#include "model/model_position.h"
#include "model/model_stream.h"
#include "model/model_struct.h"
#include "model/model_weights.h"

_Static_assert((int)POSITION_WIDTH_MAX == (int)ATTENTION_WIDTH_MAX, "every head has its tables");

static int check_sizes(const struct model *m, struct err *e)
{
    const struct shape_capacity *o = &m->capacity;
    const struct spec_model *s = &m->spec.model;
    if (o->rows_max < 1 || o->length_max < 1 || o->scored_max < 0)
        return ERR(e, ERR_INTERNAL,
                   "a model for %d rows of %d tokens and %" PRId64 " scored positions cannot be "
                   "opened",
                   o->rows_max, o->length_max, o->scored_max);
    if (s->layers < 1 || s->heads < 1 || s->dim < 1 ||
        (s->form.head_width == 0 && s->dim % s->heads != 0))
        return ERR(e, ERR_DATA,
                   "model.heads = %d must divide model.dim = %d, with layers = %d >= 1", s->heads,
                   s->dim, s->layers);
    int32_t width = spec_head_width(s), kv_heads = spec_kv_heads(s);
    if (width < 2 || width % 2 != 0 || width > POSITION_WIDTH_MAX)
        return ERR(e, ERR_DATA, "head width %d: expected an even number up to %d", width,
                   POSITION_WIDTH_MAX);
    if (kv_heads < 1 || s->heads % kv_heads != 0)
        return ERR(e, ERR_DATA, "model.kv_heads = %d must divide model.heads = %d", kv_heads,
                   s->heads);
    if (o->streamed && (o->train || m->b->ops->graph_begin != NULL))
        return ERR(e, ERR_UNAVAILABLE,
                   "streamed weights: %s on %s is not supported, only scoring "
                   "on a CPU",
                   o->train ? "training" : "scoring", m->b->name);
    return o->train || s->softmax == SPEC_ADAPTIVE ? spec_check_paper_form(&m->spec, e) : 0;
}

static int fill_parameters(struct model *m, struct err *e)
{
    if (m->capacity.streamed)
        shape_params_streamed(&m->params, &m->arena, &m->spec);
    else
        shape_params(&m->params, &m->arena, &m->spec);
    shape_bands(&m->bands, &m->spec.model, m->spec.data.vocab);
    if (m->capacity.train) TRY(model_group_open(m, e));
    TRY(model_memory_open(m, e));
    TRY(model_weights_bind(&m->values, m, model_array_dev(m, MODEL_VALUES), m->bf16_dev_own, e));
    for (int32_t leaf = 0; leaf < MODEL_LEAVES && leaf < m->memory.gradients_n; leaf++)
        TRY(model_weights_bind(&m->gradients[leaf], m, model_gradient_dev(m, leaf), NULL, e));
    TRY(model_position_open(m, e));
    return model_step_upload(m, &m->step, e);
}

int model_open(struct model **out, struct backend *b, const struct spec *s,
               const struct shape_capacity *capacity, struct err *e)
{
    int rc = 0;
    struct model *m = calloc(1, sizeof *m);
    *out = NULL;
    if (m == NULL) return ERR(e, ERR_NOMEM, "out of memory for a model");
    m->b = b;
    m->spec = *s;
    m->capacity = *capacity;
    m->capacity.precision = b->precision == DTYPE_BF16 ? SPEC_BF16 : SPEC_FP32;
    arena_init(&m->arena);
    TRY_OUT(rc, check_sizes(m, e));
    m->tokens_max = (int64_t)capacity->rows_max * capacity->length_max;
    m->width = spec_head_width(&s->model);
    TRY_OUT(rc, fill_parameters(m, e));
    *out = m;
out:
    if (rc < 0) {
        err_ctx(e, "model");
        model_close(m);
    }
    return rc;
}

void model_close(struct model *m)
{
    if (m == NULL) return;
    model_graphs_forget(m);
    model_memory_close(m);
    arena_fini(&m->arena);
    free(m);
}

const struct shape_params *model_params(const struct model *m)
{
    return &m->params;
}

int64_t model_bytes(const struct model *m)
{
    return m->allocated_bytes;
}

int model_read(struct model *m, enum model_array array, int32_t tensor, float *out_host,
               struct err *e)
{
    TRY(model_stream_check(m, tensor, e));
    TRY(model_weights_check(m, array, tensor, e));
    TRY(model_group_collect(m, array, tensor, e));
    if (m->group.rank > 0) return 0;
    if (array == MODEL_GRADIENTS) TRY(model_group_flush(m, e));
    return model_weights_read(m, array, tensor, out_host, e);
}

int model_write(struct model *m, enum model_array array, int32_t tensor, const float *in_host,
                struct err *e)
{
    TRY(model_stream_check(m, tensor, e));
    if (array == MODEL_GRADIENTS) TRY(model_group_flush(m, e));
    TRY(model_weights_write(m, array, tensor, in_host, e));
    if (array != MODEL_VALUES) return 0;
    m->transposed_valid = false;
    m->position.is_stale = m->position.has_bias;
    return 0;
}

int model_keep_inner(struct model *m, struct err *e)
{
    if (m->inner_dev_own != NULL) return 0;
    model_graphs_forget(m); /* existing graphs do not copy the streams */
    int64_t n = (m->spec.model.layers + 2) * m->tokens_max * m->spec.model.dim;
    return m->b->ops->alloc(m->b, (void **)&m->inner_dev_own, (size_t)n * sizeof(float), e);
}
