/* model_weights.c - views of the parameter array by name, copies of tensors from and to the host,
 * the bf16 copy of the weights, and the transposed tail projections for scoring. Checks that
 * tensors used as one matrix (q, k, v; band 0 and the class rows) are adjacent. */
#include "model/model_weights.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "model/model_memory.h"
#include "model/model_struct.h"

struct binder {
    const struct shape_params *params;
    float *base_dev;
    uint16_t *bf16_dev; /* array for matrices; NULL: base_dev */
    struct err *e;
    int rc; /* the first error; later calls do nothing */
};

/* Returns the named tensor as a view of the fp32 array; none if the shape does not have it. */
static struct tensor bind_any(struct binder *b, const char *format, ...) ERR_PRINTF(2, 3);
static struct tensor bind_any(struct binder *b, const char *format, ...)
{
    char name[SHAPE_NAME_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    int32_t at = shape_find(b->params, name);
    if (at < 0) return (struct tensor){.dtype = DTYPE_F32};
    const struct shape_tensor *t = &b->params->tensor[at];
    return tensor_make(b->base_dev + t->offset, t->rows, t->cols, DTYPE_F32);
}

/* Returns a tensor that every shape must have. */
static struct tensor bind_tensor(struct binder *b, const char *prefix, const char *name)
{
    struct tensor t = bind_any(b, "%s%s", prefix, name);
    if (t.data == NULL && b->rc == 0)
        b->rc = ERR(b->e, ERR_INTERNAL, "the model's shape has no tensor %s%s", prefix, name);
    return t;
}

static struct model_norm bind_norm(struct binder *b, const char *prefix, const char *name)
{
    return (struct model_norm){.gain = bind_any(b, "%s%s.weight", prefix, name),
                               .bias = bind_any(b, "%s%s.bias", prefix, name)};
}

/* Returns the copy of the tensor that products and gathers read. */
static struct tensor matrix(const struct binder *b, struct tensor t)
{
    if (b->bf16_dev == NULL || t.data == NULL) return t;
    int64_t offset = (const float *)t.data - b->base_dev;
    return tensor_make(b->bf16_dev + offset, t.rows, t.cols, DTYPE_BF16);
}

/* Joins `next` to `first`, after which it must begin: more rows, or for vectors more columns. */
static void join_adjacent(struct binder *b, struct tensor *first, const struct tensor *next,
                          const char *what)
{
    size_t bytes = (size_t)(first->rows * first->cols) * dtype_bytes(first->dtype);
    if (b->rc < 0 || first->data == NULL) return;
    if ((const char *)first->data + bytes != next->data) {
        b->rc = ERR(b->e, ERR_INTERNAL, "%s are not adjacent in the parameter array", what);
        return;
    }
    if (first->rows == 1 && next->rows == 1) {
        first->cols += next->cols;
        first->stride = first->cols;
    } else {
        first->rows += next->rows;
    }
}

/* Binds q, k and v, weights or biases, as one matrix. */
static struct tensor bind_qkv(struct binder *b, const char *prefix, const char *kind)
{
    struct tensor qkv = bind_any(b, "%sself_attn.q_proj.%s", prefix, kind);
    struct tensor k = bind_any(b, "%sself_attn.k_proj.%s", prefix, kind);
    struct tensor v = bind_any(b, "%sself_attn.v_proj.%s", prefix, kind);
    join_adjacent(b, &qkv, &k, "q, k and v");
    join_adjacent(b, &qkv, &v, "q, k and v");
    return qkv;
}

static void bind_layer(struct binder *b, struct model_layer *w, int32_t l)
{
    char prefix[SHAPE_NAME_BYTES / 2];
    snprintf(prefix, sizeof prefix, "decoder.layers.%d.", l);
    *w = (struct model_layer){
        .norm1 = bind_norm(b, prefix, "self_attn_layer_norm"),
        .qkv = bind_qkv(b, prefix, "weight"),
        .qkv_bias = bind_qkv(b, prefix, "bias"),
        .out = bind_tensor(b, prefix, "self_attn.out_proj.weight"),
        .out_bias = bind_any(b, "%sself_attn.out_proj.bias", prefix),
        .norm2 = bind_norm(b, prefix, "final_layer_norm"),
        .fc_gate = bind_any(b, "%sfc_gate.weight", prefix),
        .fc_gate_bias = bind_any(b, "%sfc_gate.bias", prefix),
        .fc1 = bind_tensor(b, prefix, "fc1.weight"),
        .fc1_bias = bind_any(b, "%sfc1.bias", prefix),
        .fc2 = bind_tensor(b, prefix, "fc2.weight"),
        .fc2_bias = bind_any(b, "%sfc2.bias", prefix),
        .ssmax = bind_any(b, "%sself_attn.ssmax_scale", prefix),
        .gate = bind_any(b, "%sself_attn.forget_gate.weight", prefix),
        .gate_bias = bind_any(b, "%sself_attn.forget_gate.bias", prefix),
    };
    struct tensor *const of_products[] = {&w->qkv,     &w->qkv_bias,     &w->out, &w->out_bias,
                                          &w->fc_gate, &w->fc_gate_bias, &w->fc1, &w->fc1_bias,
                                          &w->fc2,     &w->fc2_bias,     &w->gate};
    for (size_t i = 0; i < sizeof of_products / sizeof *of_products; i++)
        *of_products[i] = matrix(b, *of_products[i]);
}

/* Binds the tables, the maps beside them, and the head. */
static void bind_tables(struct binder *b, const struct model *m, struct model_weights *out)
{
    if (m->spec.model.softmax == SPEC_ADAPTIVE) {
        for (int32_t i = 0; i < m->bands.n; i++) {
            out->table[i] = bind_any(b, "decoder.embed_tokens.embeddings.%d.0.weight", i);
            out->projection[i] = bind_any(b, "decoder.embed_tokens.embeddings.%d.1.weight", i);
        }
        out->head = out->table[0];
        struct tensor classes = bind_any(b, "decoder.adaptive_softmax.head.class_proj.weight");
        if (m->bands.n > 1) join_adjacent(b, &out->head, &classes, "band 0 and the class rows");
    } else {
        out->table[0] = bind_tensor(b, "decoder.", "embed_tokens.weight");
        out->head =
            m->spec.model.form.tied ? out->table[0] : bind_tensor(b, "decoder.", "head.weight");
        out->head_bias = bind_any(b, "decoder.head.bias");
        out->project_in = matrix(b, bind_any(b, "decoder.project_in.weight"));
        out->project_out = matrix(b, bind_any(b, "decoder.project_out.weight"));
    }
    for (int32_t i = 0; i < m->bands.n; i++) {
        out->table[i] = matrix(b, out->table[i]);
        out->projection[i] = matrix(b, out->projection[i]);
    }
    out->head = matrix(b, out->head);
}

int model_weights_bind(struct model_weights *out, struct model *m, float *base_dev, void *bf16_dev,
                       struct err *e)
{
    struct binder b = {.params = &m->params, .base_dev = base_dev, .bf16_dev = bf16_dev, .e = e};
    int32_t layers = m->spec.model.layers;
    *out =
        (struct model_weights){.layer = arena_array(&m->arena, (size_t)layers, sizeof *out->layer)};
    for (int32_t l = 0; l < layers; l++) bind_layer(&b, &out->layer[l], l);
    bind_tables(&b, m, out);
    out->embed_norm = bind_norm(&b, "decoder.", "embed_norm");
    out->norm = bind_norm(&b, "decoder.", "layer_norm");
    if (b.rc == 0 && out->head.rows != m->bands.head_n)
        b.rc = ERR(e, ERR_INTERNAL, "the head has %" PRId64 " rows, expected %d classes",
                   out->head.rows, m->bands.head_n);
    return b.rc;
}

int model_weights_check(const struct model *m, enum model_array array, int32_t tensor,
                        struct err *e)
{
    if (model_array_dev(m, array) != NULL && tensor >= 0 && tensor < m->params.tensors_n) return 0;
    return ERR(e, ERR_INTERNAL, "tensor %d of array %d: the model has %d tensors in %d arrays",
               tensor, (int)array, m->params.tensors_n, m->memory.slots_n);
}

/* Locates a tensor in an array. */
static int locate_tensor(const struct model *m, enum model_array array, int32_t tensor, float **at,
                         size_t *bytes, struct err *e)
{
    TRY(model_weights_check(m, array, tensor, e));
    float *base = model_array_dev(m, array);
    const struct shape_tensor *t = &m->params.tensor[tensor];
    *at = base + t->offset;
    *bytes = (size_t)t->rows * (size_t)t->cols * sizeof **at;
    return 0;
}

int model_weights_read(struct model *m, enum model_array array, int32_t tensor, float *out_host,
                       struct err *e)
{
    float *at = NULL;
    size_t bytes = 0;
    TRY(locate_tensor(m, array, tensor, &at, &bytes, e));
    return m->b->ops->download(m->b, out_host, at, bytes, e);
}

int model_weights_write(struct model *m, enum model_array array, int32_t tensor,
                        const float *in_host, struct err *e)
{
    float *at = NULL;
    size_t bytes = 0;
    TRY(locate_tensor(m, array, tensor, &at, &bytes, e));
    TRY(m->b->ops->upload(m->b, at, in_host, bytes, e));
    if (array != MODEL_VALUES || m->bf16_dev_own == NULL) return 0;
    const struct shape_tensor *t = &m->params.tensor[tensor];
    struct tensor master = tensor_make(at, t->rows, t->cols, DTYPE_F32);
    struct tensor rounded =
        tensor_make((uint16_t *)m->bf16_dev_own + t->offset, t->rows, t->cols, DTYPE_BF16);
    return OPS(m->b, cast, e, .y = rounded, .x = master);
}

/* to (cols,rows) = transpose of from (rows,cols), with elements of so many bytes. */
static void transpose_elements(char *to, const char *from, int64_t rows, int64_t cols,
                               size_t element)
{
    for (int64_t row = 0; row < rows; row++)
        for (int64_t col = 0; col < cols; col++)
            memcpy(to + (size_t)(col * rows + row) * element,
                   from + (size_t)(row * cols + col) * element, element);
}

int model_weights_transpose(struct model *m, struct err *e)
{
    struct backend *b = m->b;
    if (m->transposed_valid) return 0;
    for (int32_t i = 1; i < m->bands.n; i++) {
        const struct tensor *p = &m->values.projection[i];
        size_t element = dtype_bytes(p->dtype), bytes = (size_t)(p->rows * p->cols) * element;
        char *from = m->transpose_host, *to = m->transpose_host + bytes;
        TRY(b->ops->download(b, from, p->data, bytes, e));
        transpose_elements(to, from, p->rows, p->cols, element);
        TRY(b->ops->upload(b, m->buffers.transposed[i].data, to, bytes, e));
    }
    m->transposed_valid = true;
    return 0;
}
