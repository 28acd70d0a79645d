/* shape.c - the parameters of a model: names, shapes, offsets in one block, initialisation.
 *
 * 1. Names and shapes are as in oracle SPEC.md section 14; tied tensors are listed once.
 * 2. The same walk counts and lists. */
#include "shape/shape.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

enum { SHAPE_ALIGN = 16 };

static int64_t aligned(int64_t elements_n)
{
    return (elements_n + SHAPE_ALIGN - 1) / SHAPE_ALIGN * SHAPE_ALIGN;
}

int32_t shape_shard_rows(const struct spec_train *t)
{
    return t->L > 0 ? t->shard_tokens / t->L : 0;
}

void shape_bands(struct shape_bands *out, const struct spec_model *m, int32_t vocab)
{
    *out = (struct shape_bands){.n = 1, .head_n = vocab};
    if (m->softmax == SPEC_PLAIN) {
        out->band[0] = (struct shape_band){.last = vocab, .width = m->dim};
        return;
    }
    int32_t first = 0, width = m->dim;
    out->n = m->cutoffs_n + 1;
    for (int32_t i = 0; i < out->n; i++) {
        int32_t last = i < m->cutoffs_n ? m->cutoffs[i] : vocab;
        out->band[i] = (struct shape_band){.first = first, .last = last, .width = width};
        first = last;
        width /= m->adaptive_factor;
    }
    out->head_n = out->band[0].last + out->n - 1;
}

/* Adds a tensor; its group begins at an aligned offset. */
static void walk_add(struct shape_params *w, struct shape_tensor t, const char *format, ...)
    ERR_PRINTF(3, 4);

static void walk_add(struct shape_params *w, struct shape_tensor t, const char *format, ...)
{
    int64_t n = (int64_t)t.rows * t.cols;

    t.offset = t.joined ? w->elements_n : aligned(w->elements_n);
    if (w->tensor) {
        va_list args;
        va_start(args, format);
        vsnprintf(t.name, sizeof t.name, format, args);
        va_end(args);
        w->tensor[w->tensors_n] = t;
    }
    w->tensors_n++;
    w->elements_n = t.offset + n;
    w->parameters_n += n;
}

static struct shape_tensor form_vector(int32_t n, enum shape_init init, double value)
{
    return (struct shape_tensor){
        .rows = 1, .cols = n, .dims = 1, .init = init, .init_value = value, .init_zero_row = -1};
}

static struct shape_tensor form_uniform(int32_t rows, int32_t cols, double bound)
{
    return (struct shape_tensor){.rows = rows,
                                 .cols = cols,
                                 .dims = 2,
                                 .init = SHAPE_UNIFORM,
                                 .init_value = bound,
                                 .init_zero_row = -1};
}

/* Describes an (out, in) matrix with Xavier's uniform distribution. */
static struct shape_tensor form_xavier(int32_t rows, int32_t cols, double gain)
{
    return form_uniform(rows, cols, gain * sqrt(6.0 / ((double)rows + cols)));
}

/* Marks the tensor as the continuation of the one before it. */
static struct shape_tensor joined(struct shape_tensor t, bool joined)
{
    t.joined = joined;
    return t;
}

/* Describes the embedding table of a band: normal, with row 1 zero. In band 0 that is the pad id;
 * the authors' code does the same in every other band. */
static struct shape_tensor form_table(int32_t rows, int32_t width)
{
    return (struct shape_tensor){.rows = rows,
                                 .cols = width,
                                 .dims = 2,
                                 .init = SHAPE_NORMAL,
                                 .init_value = 1.0 / sqrt((double)width),
                                 .init_zero_row = rows > 1 ? 1 : -1};
}

static void walk_embedding(struct shape_params *w, const struct spec *s)
{
    const struct spec_model *m = &s->model;
    struct shape_bands bands;

    shape_bands(&bands, m, s->data.vocab);
    if (m->softmax == SPEC_PLAIN) {
        walk_add(w, form_table(s->data.vocab, m->dim), "decoder.embed_tokens.weight");
        return;
    }
    for (int32_t i = 0; i < bands.n; i++) {
        const struct shape_band *b = &bands.band[i];
        walk_add(w, form_table(b->last - b->first, b->width),
                 "decoder.embed_tokens.embeddings.%d.0.weight", i);
        if (i == 0 && bands.n > 1) /* the class rows: one head matrix with band 0's table */
            walk_add(w, joined(form_xavier(bands.n - 1, m->dim, 1.0), true),
                     "decoder.adaptive_softmax.head.class_proj.weight");
        walk_add(w, form_xavier(m->dim, b->width, 1.0),
                 "decoder.embed_tokens.embeddings.%d.1.weight", i);
    }
}

static void walk_norm(struct shape_params *w, int32_t dim, const char *place, const char *name)
{
    walk_add(w, form_vector(dim, SHAPE_ONES, 0.0), "%s.%s.weight", place, name);
    walk_add(w, form_vector(dim, SHAPE_ZEROS, 0.0), "%s.%s.bias", place, name);
}

static void walk_layer(struct shape_params *w, const struct spec_model *m, int32_t layer)
{
    static const char parts[] = "qkv";
    int32_t D = m->dim, F = m->ffn;
    double by_dim = 1.0 / sqrt((double)D), by_ffn = 1.0 / sqrt((double)F);
    char place[SHAPE_NAME_BYTES / 2];

    snprintf(place, sizeof place, "decoder.layers.%d", layer);
    for (int i = 0; i < 3; i++)
        walk_add(w, joined(form_xavier(D, D, sqrt(0.5)), i > 0), "%s.self_attn.%c_proj.weight",
                 place, parts[i]);
    for (int i = 0; i < 3; i++)
        walk_add(w, joined(form_vector(D, SHAPE_UNIFORM, by_dim), i > 0),
                 "%s.self_attn.%c_proj.bias", place, parts[i]);
    walk_add(w, form_xavier(D, D, 1.0), "%s.self_attn.out_proj.weight", place);
    walk_add(w, form_vector(D, SHAPE_ZEROS, 0.0), "%s.self_attn.out_proj.bias", place);
    walk_norm(w, D, place, "self_attn_layer_norm");
    walk_add(w, form_uniform(F, D, by_dim), "%s.fc1.weight", place);
    walk_add(w, form_vector(F, SHAPE_UNIFORM, by_dim), "%s.fc1.bias", place);
    walk_add(w, form_uniform(D, F, by_ffn), "%s.fc2.weight", place);
    walk_add(w, form_vector(D, SHAPE_UNIFORM, by_ffn), "%s.fc2.bias", place);
    walk_norm(w, D, place, "final_layer_norm");
}

static void walk_position(struct shape_params *w, const struct spec *s)
{
    static const enum shape_init starts[] = {[POSITION_ZEROS] = SHAPE_ZEROS,
                                             [POSITION_UNIFORM] = SHAPE_UNIFORM,
                                             [POSITION_NORMAL] = SHAPE_NORMAL,
                                             [POSITION_OWN] = SHAPE_OWN};
    const struct position_functions *f = position_methods[s->model.position].functions;
    const struct position_shape shape = spec_position_shape(s);
    struct position_tensor tensor[POSITION_TENSORS_MAX];
    int32_t n = f->tensors ? f->tensors(&shape, tensor) : 0;

    for (int32_t i = 0; i < n; i++) {
        const struct position_tensor *t = &tensor[i];
        walk_add(w,
                 (struct shape_tensor){.rows = t->rows,
                                       .cols = t->cols,
                                       .dims = t->dims,
                                       .position = true,
                                       .init = starts[t->start],
                                       .init_mean = t->mean,
                                       .init_value = t->spread,
                                       .init_zero_row = -1},
                 "%s", t->name);
    }
}

/* Counts the tensors, and lists them if there is room. */
static void walk(struct shape_params *w, const struct spec *s)
{
    const struct spec_model *m = &s->model;

    walk_embedding(w, s);
    for (int32_t l = 0; l < m->layers; l++) walk_layer(w, m, l);
    if (m->final_norm) walk_norm(w, m->dim, "decoder", "layer_norm");
    walk_position(w, s);
    w->elements_n = aligned(w->elements_n);
}

void shape_params(struct shape_params *out, struct arena *a, const struct spec *s)
{
    *out = (struct shape_params){0};
    walk(out, s);
    if (!a) return;
    *out = (struct shape_params){.tensor =
                                     arena_array(a, (size_t)out->tensors_n, sizeof *out->tensor)};
    walk(out, s);
}

int32_t shape_find(const struct shape_params *p, const char *name)
{
    for (int32_t i = 0; i < p->tensors_n; i++)
        if (strcmp(p->tensor[i].name, name) == 0) return i;
    return -1;
}

/* Adds the name of a tensor that only one of the two trainings has. */
static int add_lone(struct strbuf *names, const struct shape_tensor *t, const char *where,
                    struct err *e)
{
    if (!t->position)
        return ERR(e, ERR_DATA, "tensor %s: only the %s has it, and it is not of a position method",
                   t->name, where);
    strbuf_addf(names, "%s%s", names->n ? " " : "", t->name);
    return 0;
}

int shape_inherit(struct shape_inheritance *out, struct arena *a, const struct shape_params *child,
                  const struct shape_params *parent, struct err *e)
{
    struct strbuf fresh, dropped;

    strbuf_init(&fresh, a);
    strbuf_init(&dropped, a);
    out->from = arena_array(a, (size_t)child->tensors_n, sizeof *out->from);
    for (int32_t i = 0; i < child->tensors_n; i++) {
        const struct shape_tensor *t = &child->tensor[i];
        int32_t k = out->from[i] = shape_find(parent, t->name);
        if (k < 0) TRY(add_lone(&fresh, t, "child", e));
        if (k >= 0 && (t->rows != parent->tensor[k].rows || t->cols != parent->tensor[k].cols))
            return ERR(e, ERR_DATA,
                       "tensor %s: %d x %d, but %d x %d in the parent; set the options of the "
                       "position method, or L_train, as there",
                       t->name, t->rows, t->cols, parent->tensor[k].rows, parent->tensor[k].cols);
    }
    for (int32_t k = 0; k < parent->tensors_n; k++)
        if (shape_find(child, parent->tensor[k].name) < 0)
            TRY(add_lone(&dropped, &parent->tensor[k], "parent", e));
    out->fresh = fresh.n ? fresh.text : "";
    out->dropped = dropped.n ? dropped.text : "";
    return 0;
}
