/* model_position.c - transfers the data of a position method (src/position) and of the temperature
 * between host and backend.
 *
 * 1. Fixed data is uploaded at open: rows added to embeddings, rotation tables, a bias without
 *    learned tensors. Data that depends on the row length is uploaded again before a batch of
 *    another length. Learned rows stay on the backend, like other parameters.
 * 2. A learned bias is computed on the host, outside graphs: before the first pass after its
 *    tensors changed, they are downloaded and the bias is uploaded.
 * 3. The gradient of the bias is pulled back to the tensors on the host, after the pass of each
 * shard, and written into the shard's gradients. */
#include "model/model_position.h"

#include <math.h>
#include <string.h>

#include "model/model_memory.h"
#include "model/model_pass.h"
#include "model/model_struct.h"
#include "model/model_weights.h"

static float *new_floats(struct model *m, int64_t n)
{
    return arena_array(&m->arena, (size_t)n, sizeof(float));
}

static size_t floats_bytes(int64_t n)
{
    return (size_t)n * sizeof(float);
}

/* K + 1 rows of H numbers: the table, then the tails. */
static int64_t bias_n(const struct model_position *p)
{
    return (int64_t)(p->bias_host.table_n + 1) * p->shape.heads;
}

static struct position_bias bias_open(struct model *m, int32_t table_n)
{
    float *numbers = new_floats(m, (int64_t)(table_n + 1) * m->position.shape.heads);
    return (struct position_bias){.table_n = table_n,
                                  .table = numbers,
                                  .tail = numbers + (int64_t)table_n * m->position.shape.heads};
}

/* Beyond a table the tail is a constant; without a table it is a slope. */
static void bind_bias(struct model *m)
{
    struct model_position *p = &m->position;
    int32_t table_n = position_table_length(p->functions, &p->shape, m->capacity.length_max);
    int64_t tail = (int64_t)table_n * p->shape.heads;
    p->bias_host = bias_open(m, table_n);
    p->bias_dev = model_buffer(m, SHAPE_BIAS, 0).data;
    m->bias = (struct attention_bias){.bias_table_n = table_n};
    if (table_n == 0) {
        m->bias.tail_slope_dev = p->bias_dev;
        return;
    }
    m->bias.bias_table_dev = p->bias_dev;
    m->bias.tail_offset_dev = p->bias_dev + tail;
    p->bias_grad_dev = model_buffer(m, SHAPE_BIAS_GRAD, 0).data;
    if (p->bias_grad_dev == NULL) return;
    p->grad_host = bias_open(m, table_n);
    m->bias.bias_table_grad_dev = p->bias_grad_dev;
    m->bias.tail_offset_grad_dev = p->bias_grad_dev + tail;
}

static void bind_key_bias(struct model *m)
{
    struct model_position *p = &m->position;
    p->key_bias_host = new_floats(m, (int64_t)p->shape.heads * m->capacity.length_max);
    m->bias = (struct attention_bias){.key_bias_dev = model_buffer(m, SHAPE_KEY_BIAS, 0).data};
}

/* Uploads the bias of each key of rows of L tokens, which the op takes without gaps. */
static int upload_key_bias(struct model *m, int32_t L, struct err *e)
{
    struct model_position *p = &m->position;
    if (p->key_bias_host == NULL || p->key_bias_length == L) return 0;
    p->functions->key_bias(&p->shape, L, p->key_bias_host);
    p->key_bias_length = L;
    return m->b->ops->upload(m->b, model_buffer(m, SHAPE_KEY_BIAS, 0).data, p->key_bias_host,
                             floats_bytes((int64_t)p->shape.heads * L), e);
}

/* Returns a tensor's view of an array, which may be NULL. */
static struct tensor learned_rows(const struct model *m, float *base_dev, int32_t tensor)
{
    const struct shape_tensor *t = &m->params.tensor[tensor];
    return tensor_make(base_dev ? base_dev + t->offset : NULL, t->rows, t->cols, DTYPE_F32);
}

static int bind_tensors(struct model *m, struct err *e)
{
    struct model_position *p = &m->position;
    struct position_tensor tensor[POSITION_TENSORS_MAX];
    int32_t n = p->functions->tensors ? p->functions->tensors(&p->shape, tensor) : 0;
    for (int32_t i = 0; i < n; i++) {
        int64_t elements_n = (int64_t)tensor[i].rows * tensor[i].cols;
        int32_t at = shape_find(&m->params, tensor[i].name);
        if (at < 0)
            return ERR(e, ERR_INTERNAL, "the model's shape has no tensor %s", tensor[i].name);
        if (tensor[i].use == POSITION_EMBEDDING) {
            p->embedding = learned_rows(m, model_array_dev(m, MODEL_VALUES), at);
            for (int32_t leaf = 0; leaf < MODEL_LEAVES; leaf++)
                p->embedding_grad[leaf] = learned_rows(m, model_gradient_dev(m, leaf), at);
            continue;
        }
        p->tensor[p->tensors_n] = at;
        p->values_host[p->tensors_n] = new_floats(m, elements_n);
        p->gradients_host[p->tensors_n] = new_floats(m, elements_n);
        p->tensors_n++;
    }
    return 0;
}

void model_position_start(const struct model *m, int32_t tensor, float *out)
{
    const struct model_position *p = &m->position;
    int32_t i = 0;
    while (i < p->tensors_n && p->tensor[i] != tensor) i++;
    if (i == p->tensors_n) i = 0; /* the gates of a layer, a method's only tensor of its own */
    p->functions->start(&p->shape, i, out);
}

static int upload_embedding(struct model *m, struct err *e)
{
    struct model_position *p = &m->position;
    if (p->functions->embedding == NULL) return 0;
    p->embedding = model_buffer(m, SHAPE_EMBEDDING, 0);
    int64_t rows = p->embedding.rows, cols = p->embedding.cols;
    float *numbers = new_floats(m, rows * cols);
    for (int32_t row = 0; row < (int32_t)rows; row++)
        p->functions->embedding(&p->shape, row, numbers + row * cols);
    return m->b->ops->upload(m->b, p->embedding.data, numbers, floats_bytes(rows * cols), e);
}

static void bind_rotation(struct model *m)
{
    struct model_position *p = &m->position;
    if (p->functions->frequencies == NULL) return;
    m->rotary =
        (struct attention_rotary){.cosine = model_buffer(m, SHAPE_COSINE, 0),
                                  .sine = model_buffer(m, SHAPE_SINE, 0),
                                  .layout = m->spec.option.rotary_layout == POSITION_HALF_SPLIT};
    if (p->functions->growth != NULL) {
        m->rotary.key_cosine = model_buffer(m, SHAPE_COSINE, 1);
        m->rotary.key_sine = model_buffer(m, SHAPE_SINE, 1);
    }
    p->rotation_host = new_floats(m, 2 * m->rotary.cosine.rows * m->rotary.cosine.cols);
}

static int upload_rotation(struct model *m, struct err *e)
{
    struct model_position *p = &m->position;
    int32_t L = m->capacity.length_max;
    int64_t n = m->rotary.cosine.rows * m->rotary.cosine.cols;
    if (p->functions->frequencies == NULL) return 0;
    const struct position_list *bases = &m->spec.option.rotary_base_layers;
    struct position_options option = m->spec.option;
    struct position_shape shape = p->shape;
    shape.options = &option;
    float *cosine = p->rotation_host, *sine = cosine + n;
    for (int32_t copy = 0; copy < m->memory.buffer[SHAPE_COSINE].copies_n; copy++) {
        if (bases->n > 0) option.rotary_base = bases->value[copy];
        position_rotation(p->functions, &shape, L, p->functions->growth && copy == 1, cosine, sine);
        TRY(m->b->ops->upload(m->b, model_buffer(m, SHAPE_COSINE, copy).data, cosine,
                              floats_bytes(n), e));
        TRY(m->b->ops->upload(m->b, model_buffer(m, SHAPE_SINE, copy).data, sine, floats_bytes(n),
                              e));
    }
    return 0;
}

/* The factor of query i on its scores, without the learned one of its head. */
static double temperature_of(const struct spec_model *s, int32_t layer, int32_t i)
{
    const struct spec_temperature *t = &s->temperature;
    int32_t window = spec_layer_window(s, layer);
    int32_t most = window > 0 ? window + s->mask.sinks : i + 1;
    if (t->kind == SPEC_LOG) return fmax(1.0, log(i + 1.0) / log(t->length));
    if (t->kind == SPEC_STEPS) return 1.0 + t->scale * log(1.0 + (i + 1) / t->length);
    return log(i + 1 < most ? i + 1 : most);
}

static int upload_temperature(struct model *m, struct err *e)
{
    struct tensor *t = &m->temperature;
    *t = model_buffer(m, SHAPE_TEMPERATURE, 0);
    if (t->data == NULL) return 0;
    float *factors = new_floats(m, t->rows * t->cols);
    for (int64_t n = 0; n < t->rows * t->cols; n++)
        factors[n] =
            (float)temperature_of(&m->spec.model, (int32_t)(n / t->cols), (int32_t)(n % t->cols));
    return m->b->ops->upload(m->b, t->data, factors, floats_bytes(t->rows * t->cols), e);
}

int model_position_open(struct model *m, struct err *e)
{
    struct model_position *p = &m->position;
    p->functions = position_methods[m->spec.model.position].functions;
    p->shape = spec_position_shape(&m->spec);
    p->shape.length = m->capacity.length_max;
    TRY(position_check((int32_t)m->spec.model.position, &p->shape, e));
    TRY(spec_check_layers(&m->spec, e));
    if (position_methods[m->spec.model.position].bounded &&
        p->shape.length > p->shape.trained_length)
        return ERR(e, ERR_DATA,
                   "rows of %d tokens: model.position = %s is not defined beyond train.L = %d",
                   p->shape.length, position_methods[m->spec.model.position].name,
                   p->shape.trained_length);
    TRY(bind_tensors(m, e));
    bind_rotation(m);
    bool by_key = position_has_key_bias(p->functions, &p->shape);
    p->has_bias = p->is_stale = p->functions->fill != NULL && !by_key;
    if (p->has_bias) bind_bias(m);
    if (by_key) bind_key_bias(m);
    TRY(upload_embedding(m, e));
    TRY(upload_temperature(m, e));
    return upload_rotation(m, e);
}

int model_position_row_length(struct model *m, const struct model_batch *batch, struct err *e)
{
    struct model_position *p = &m->position;
    int32_t length = batch->stated_length > 0 ? batch->stated_length : batch->length;
    TRY(upload_key_bias(m, batch->length, e));
    if (length == p->shape.length || p->functions->follows_length == NULL) return 0;
    p->shape.length = length;
    p->is_stale = p->has_bias;
    return upload_rotation(m, e);
}

/* Downloads the tensors, and projects them into their ranges on host and backend. */
static int project(struct model *m, struct err *e)
{
    struct model_position *p = &m->position;
    for (int32_t i = 0; i < p->tensors_n; i++)
        TRY(model_weights_read(m, MODEL_VALUES, p->tensor[i], p->values_host[i], e));
    if (p->functions->project == NULL) return 0;
    p->functions->project(&p->shape, p->values_host);
    for (int32_t i = 0; i < p->tensors_n; i++)
        TRY(model_weights_write(m, MODEL_VALUES, p->tensor[i], p->values_host[i], e));
    return 0;
}

int model_position_refresh(struct model *m, struct err *e)
{
    struct model_position *p = &m->position;
    if (!p->is_stale) return 0;
    TRY(project(m, e));
    memset(p->bias_host.table, 0, floats_bytes(bias_n(p)));
    p->functions->fill(&p->shape, (const float *const *)p->values_host, &p->bias_host);
    TRY(m->b->ops->upload(m->b, p->bias_dev, p->bias_host.table, floats_bytes(bias_n(p)), e));
    p->is_stale = false;
    return 0;
}

int model_position_begin(struct model *m, struct err *e)
{
    struct model_position *p = &m->position;
    if (p->bias_grad_dev == NULL) return 0;
    return m->b->ops->zero(m->b, p->bias_grad_dev, floats_bytes(bias_n(p)), e);
}

int model_position_pullback(struct model *m, const struct model_pass *pass, struct err *e)
{
    struct model_position *p = &m->position;
    const struct backend_ops *ops = m->b->ops;
    if (p->bias_grad_dev == NULL) return 0;
    TRY(ops->download(m->b, p->grad_host.table, p->bias_grad_dev, floats_bytes(bias_n(p)), e));
    for (int32_t i = 0; i < p->tensors_n; i++) {
        const struct shape_tensor *t = &m->params.tensor[p->tensor[i]];
        memset(p->gradients_host[i], 0, floats_bytes((int64_t)t->rows * t->cols));
    }
    p->functions->pullback(&p->shape, (const float *const *)p->values_host, &p->grad_host,
                           p->gradients_host);
    for (int32_t i = 0; i < p->tensors_n; i++) {
        const struct shape_tensor *t = &m->params.tensor[p->tensor[i]];
        TRY(ops->upload(m->b, model_gradient_dev(m, pass->leaf) + t->offset, p->gradients_host[i],
                        floats_bytes((int64_t)t->rows * t->cols), e));
    }
    return 0;
}
