/* shape.c - the parameters of a model: names, shapes, offsets in one block, initialisation.
 *
 * 1. Names and shapes are as in oracle SPEC.md section 14; tied tensors are listed once.
 * 2. Tensors used as one matrix form a group, without gaps; every group starts at a multiple of
 *    SHAPE_ALIGN elements.
 * 3. The same walk counts and lists. */
#include "shape/shape.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "shape/walk.h"

enum { SHAPE_ALIGN = 16 };

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

/* Starts a group: the next tensor has an aligned offset. */
static void walk_group(struct shape_walk *w)
{
    w->elements_n = (w->elements_n + SHAPE_ALIGN - 1) / SHAPE_ALIGN * SHAPE_ALIGN;
}

/* Shape and initialisation of a tensor. */
struct walk_form {
    int32_t rows, cols, dims;
    enum shape_init init;
    double mean, value;
    int32_t zero_row;
};

static void walk_add(struct shape_walk *w, struct walk_form form, const char *format, ...)
    ERR_PRINTF(3, 4);

static void walk_add(struct shape_walk *w, struct walk_form form, const char *format, ...)
{
    if (w->tensor) {
        struct shape_tensor *t = &w->tensor[w->tensors_n];
        va_list args;
        va_start(args, format);
        vsnprintf(t->name, sizeof t->name, format, args);
        va_end(args);
        t->rows = form.rows;
        t->cols = form.cols;
        t->dims = form.dims;
        t->offset = w->elements_n;
        t->init = form.init;
        t->init_mean = form.mean;
        t->init_value = form.value;
        t->init_zero_row = form.zero_row;
    }
    int64_t n = (int64_t)form.rows * form.cols;
    w->tensors_n++;
    w->elements_n += n;
    w->parameters_n += n;
}

static struct walk_form form_vector(int32_t n, enum shape_init init, double value)
{
    return (struct walk_form){
        .rows = 1, .cols = n, .dims = 1, .init = init, .value = value, .zero_row = -1};
}

static struct walk_form form_uniform(int32_t rows, int32_t cols, double bound)
{
    return (struct walk_form){.rows = rows,
                              .cols = cols,
                              .dims = 2,
                              .init = SHAPE_UNIFORM,
                              .value = bound,
                              .zero_row = -1};
}

/* The bound of Xavier's uniform distribution for an (out, in) matrix. */
static struct walk_form form_xavier(int32_t rows, int32_t cols, double gain)
{
    return form_uniform(rows, cols, gain * sqrt(6.0 / ((double)rows + cols)));
}

/* The embedding table of a band: normal, with row 1 zero. In band 0 that is the pad id; the
 * authors' code does the same in every other band. */
static struct walk_form form_table(int32_t rows, int32_t width)
{
    double std = 1.0 / sqrt((double)width);
    return (struct walk_form){.rows = rows,
                              .cols = width,
                              .dims = 2,
                              .init = SHAPE_NORMAL,
                              .value = std,
                              .zero_row = rows > 1 ? 1 : -1};
}

static void walk_embedding(struct shape_walk *w, const struct spec *s)
{
    const struct spec_model *m = &s->model;
    struct shape_bands bands;

    shape_bands(&bands, m, s->data.vocab);
    if (m->softmax == SPEC_PLAIN) {
        walk_group(w);
        walk_add(w, form_table(s->data.vocab, m->dim), "decoder.embed_tokens.weight");
        return;
    }
    for (int32_t i = 0; i < bands.n; i++) {
        const struct shape_band *b = &bands.band[i];
        walk_group(w);
        walk_add(w, form_table(b->last - b->first, b->width),
                 "decoder.embed_tokens.embeddings.%d.0.weight", i);
        if (i == 0 && bands.n > 1) /* the class rows: one head matrix with band 0's table */
            walk_add(w, form_xavier(bands.n - 1, m->dim, 1.0),
                     "decoder.adaptive_softmax.head.class_proj.weight");
        walk_group(w);
        walk_add(w, form_xavier(m->dim, b->width, 1.0),
                 "decoder.embed_tokens.embeddings.%d.1.weight", i);
    }
}

static void walk_norm(struct shape_walk *w, int32_t dim, const char *name)
{
    walk_group(w);
    walk_add(w, form_vector(dim, SHAPE_ONES, 0.0), "%s.weight", name);
    walk_group(w);
    walk_add(w, form_vector(dim, SHAPE_ZEROS, 0.0), "%s.bias", name);
}

static void walk_layer(struct shape_walk *w, const struct spec_model *m, int32_t layer)
{
    static const char *const parts[] = {"q", "k", "v"};
    double by_dim = 1.0 / sqrt((double)m->dim), by_ffn = 1.0 / sqrt((double)m->ffn);
    char place[SHAPE_NAME_BYTES / 2], name[SHAPE_NAME_BYTES];

    snprintf(place, sizeof place, "decoder.layers.%d", layer);
    walk_group(w);
    for (int i = 0; i < 3; i++)
        walk_add(w, form_xavier(m->dim, m->dim, sqrt(0.5)), "%s.self_attn.%s_proj.weight", place,
                 parts[i]);
    walk_group(w);
    for (int i = 0; i < 3; i++)
        walk_add(w, form_vector(m->dim, SHAPE_UNIFORM, by_dim), "%s.self_attn.%s_proj.bias", place,
                 parts[i]);
    walk_group(w);
    walk_add(w, form_xavier(m->dim, m->dim, 1.0), "%s.self_attn.out_proj.weight", place);
    walk_group(w);
    walk_add(w, form_vector(m->dim, SHAPE_ZEROS, 0.0), "%s.self_attn.out_proj.bias", place);
    snprintf(name, sizeof name, "%s.self_attn_layer_norm", place);
    walk_norm(w, m->dim, name);
    walk_group(w);
    walk_add(w, form_uniform(m->ffn, m->dim, by_dim), "%s.fc1.weight", place);
    walk_group(w);
    walk_add(w, form_vector(m->ffn, SHAPE_UNIFORM, by_dim), "%s.fc1.bias", place);
    walk_group(w);
    walk_add(w, form_uniform(m->dim, m->ffn, by_ffn), "%s.fc2.weight", place);
    walk_group(w);
    walk_add(w, form_vector(m->dim, SHAPE_UNIFORM, by_ffn), "%s.fc2.bias", place);
    snprintf(name, sizeof name, "%s.final_layer_norm", place);
    walk_norm(w, m->dim, name);
}

static void walk_position(struct shape_walk *w, const struct spec *s)
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
        walk_group(w);
        walk_add(w,
                 (struct walk_form){.rows = t->rows,
                                    .cols = t->cols,
                                    .dims = t->dims,
                                    .init = starts[t->start],
                                    .mean = t->mean,
                                    .value = t->spread,
                                    .zero_row = -1},
                 "%s", t->name);
    }
}

void shape_walk(struct shape_walk *w, const struct spec *s)
{
    const struct spec_model *m = &s->model;

    walk_embedding(w, s);
    for (int32_t l = 0; l < m->layers; l++) walk_layer(w, m, l);
    if (m->final_norm) walk_norm(w, m->dim, "decoder.layer_norm");
    walk_position(w, s);
    walk_group(w);
}

void shape_params(struct shape_params *out, struct arena *a, const struct spec *s)
{
    struct shape_walk count = {.tensor = NULL};

    shape_walk(&count, s);
    struct shape_walk list = {.tensor =
                                  arena_array(a, (size_t)count.tensors_n, sizeof *list.tensor)};
    shape_walk(&list, s);
    *out = (struct shape_params){.tensor = list.tensor,
                                 .tensors_n = list.tensors_n,
                                 .elements_n = list.elements_n,
                                 .parameters_n = list.parameters_n};
}

int32_t shape_find(const struct shape_params *p, const char *name)
{
    for (int32_t i = 0; i < p->tensors_n; i++)
        if (strcmp(p->tensor[i].name, name) == 0) return i;
    return -1;
}
