/* shape.c - the parameters of a model: names, shapes, offsets in one array, initialisation.
 *
 * 1. Names and shapes are as in oracle SPEC.md section 14; tied tensors are listed once.
 * 2. The same walk counts and lists. */
#include "shape/shape.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

enum { SHAPE_ALIGN = 16, SHAPE_SLICE_MULTIPLE = 64 };

static int64_t aligned(int64_t elements_n)
{
    return (elements_n + SHAPE_ALIGN - 1) / SHAPE_ALIGN * SHAPE_ALIGN;
}

int32_t shape_shard_rows(const struct spec_train *t)
{
    return t->L > 0 ? t->shard_tokens / t->L : 0;
}

int32_t shape_leaves(int32_t shards)
{
    int32_t leaves = 1;
    while (leaves < shards) leaves *= 2;
    return leaves;
}

int64_t shape_slice(int64_t elements_n)
{
    int64_t step = (int64_t)SHAPE_SLICES * SHAPE_SLICE_MULTIPLE;
    return (elements_n + step - 1) / step * SHAPE_SLICE_MULTIPLE;
}

int shape_check_ranks(int32_t shards, int32_t ranks_n, struct err *e)
{
    int32_t leaves = shape_leaves(shards), most = leaves < SHAPE_SLICES ? leaves : SHAPE_SLICES;
    int32_t below = 1;
    while (2 * below <= ranks_n && 2 * below <= most) below *= 2;
    if (below == ranks_n) return 0;
    if (most == 1)
        return ERR(e, ERR_USAGE, "%d ranks for train.shards = %d; use 1", ranks_n, shards);
    if (below == most) below /= 2;
    return ERR(e, ERR_USAGE, "%d ranks for train.shards = %d; use %d or %d", ranks_n, shards, below,
               2 * below);
}

void shape_bands(struct shape_bands *out, const struct spec_model *m, int32_t vocab)
{
    *out = (struct shape_bands){.n = 1, .head_n = vocab};
    if (m->softmax == SPEC_PLAIN) {
        int32_t given = m->form.embedding_width;
        out->band[0] = (struct shape_band){.last = vocab, .width = given > 0 ? given : m->dim};
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

/* A walk over all tensors. Streamed, the stages share the elements from 0 on. */
struct walk {
    struct shape_params *out;
    bool streamed;
    int32_t stage;           /* of the tensors to come */
    int64_t end_n, shared_n; /* elements of this stage, of the largest one */
    int64_t kept_n, fp32_n;  /* ends of the tensors that stay, of those read in fp32 */
};

/* Adds a tensor, at an aligned offset unless it is joined to the one before. */
static void walk_add(struct walk *w, struct shape_tensor t, const char *format, ...)
    ERR_PRINTF(3, 4);

static void walk_add(struct walk *w, struct shape_tensor t, const char *format, ...)
{
    int64_t n = (int64_t)t.rows * t.cols;
    int64_t *end = t.fp32                                   ? &w->fp32_n
                   : w->streamed && w->stage != SHAPE_STAYS ? &w->end_n
                                                            : &w->kept_n;

    t.offset = t.joined ? *end : aligned(*end);
    *end = t.offset + n;
    if (w->end_n > w->shared_n) w->shared_n = w->end_n;
    t.stage = w->stage;
    if (w->out->tensor) {
        va_list args;
        va_start(args, format);
        vsnprintf(t.name, sizeof t.name, format, args);
        va_end(args);
        w->out->tensor[w->out->tensors_n] = t;
    }
    w->out->tensors_n++;
    w->out->parameters_n += n;
    if (n > w->out->largest_n) w->out->largest_n = n;
}

static void walk_stage(struct walk *w, int32_t stage)
{
    w->stage = stage;
    w->end_n = 0;
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

/* Marks the tensor as one that is read in fp32. */
static struct shape_tensor fp32(struct shape_tensor t)
{
    t.fp32 = true;
    return t;
}

/* Marks the tensor as one of the position method. */
static struct shape_tensor positioned(struct shape_tensor t)
{
    t.position = true;
    return t;
}

/* Describes the embedding table of a band: normal, with the row of the pad id zero, if any. The
 * authors' code does the same in the bands after the first. */
static struct shape_tensor form_table(int32_t rows, int32_t width, int32_t pad)
{
    return (struct shape_tensor){.rows = rows,
                                 .cols = width,
                                 .dims = 2,
                                 .init = SHAPE_NORMAL,
                                 .init_value = 1.0 / sqrt((double)width),
                                 .init_zero_row = pad < rows ? pad : -1};
}

/* Norms stay in memory, for the pass computes them with the sum of the layer before. */
static void walk_norm(struct walk *w, const struct spec_model *m, const char *prefix,
                      const char *name)
{
    int32_t stage = w->stage;

    w->stage = SHAPE_STAYS;
    walk_add(w, fp32(form_vector(m->dim, SHAPE_ONES, 0.0)), "%s.%s.weight", prefix, name);
    if (m->form.norm == SPEC_LAYERNORM && m->form.norm_bias)
        walk_add(w, fp32(form_vector(m->dim, SHAPE_ZEROS, 0.0)), "%s.%s.bias", prefix, name);
    w->stage = stage;
}

/* The table, what follows it, and a head of its own. */
static void walk_plain(struct walk *w, const struct spec *s)
{
    const struct spec_model *m = &s->model;
    struct shape_bands bands;

    shape_bands(&bands, m, s->data.vocab);
    int32_t V = s->data.vocab, E = bands.band[0].width;
    walk_stage(w, SHAPE_TABLE);
    walk_add(w, form_table(V, E, spec_pad(s)), "decoder.embed_tokens.weight");
    walk_stage(w, SHAPE_LAYER_0 + m->layers);
    if (!m->form.tied) walk_add(w, form_table(V, E, -1), "decoder.head.weight");
    walk_stage(w, SHAPE_STAYS);
    if (m->form.head_bias) walk_add(w, fp32(form_vector(V, SHAPE_ZEROS, 0.0)), "decoder.head.bias");
    if (E != m->dim) {
        walk_add(w, form_xavier(m->dim, E, 1.0), "decoder.project_in.weight");
        walk_add(w, form_xavier(E, m->dim, 1.0), "decoder.project_out.weight");
    }
    if (m->form.embedding_norm) walk_norm(w, m, "decoder", "embed_norm");
}

static void walk_adaptive(struct walk *w, const struct spec *s)
{
    const struct spec_model *m = &s->model;
    struct shape_bands bands;

    shape_bands(&bands, m, s->data.vocab);
    for (int32_t i = 0; i < bands.n; i++) {
        const struct shape_band *b = &bands.band[i];
        walk_add(w, form_table(b->last - b->first, b->width, spec_pad(s)),
                 "decoder.embed_tokens.embeddings.%d.0.weight", i);
        if (i == 0 && bands.n > 1) /* the class rows: one head matrix with band 0's table */
            walk_add(w, joined(form_xavier(bands.n - 1, m->dim, 1.0), true),
                     "decoder.adaptive_softmax.head.class_proj.weight");
        walk_add(w, form_xavier(m->dim, b->width, 1.0),
                 "decoder.embed_tokens.embeddings.%d.1.weight", i);
    }
}

static void walk_attention(struct walk *w, const struct spec_model *m, const char *prefix)
{
    static const char parts[] = "qkv";
    int32_t D = m->dim, width = spec_head_width(m), q = m->heads * width;
    int32_t rows[] = {q, spec_kv_heads(m) * width, spec_kv_heads(m) * width};
    double by_dim = 1.0 / sqrt((double)D);

    for (int i = 0; i < 3; i++)
        walk_add(w, joined(form_xavier(rows[i], D, sqrt(0.5)), i > 0),
                 "%s.self_attn.%c_proj.weight", prefix, parts[i]);
    for (int i = 0; i < 3 && m->form.qkv_bias; i++)
        walk_add(w, joined(form_vector(rows[i], SHAPE_UNIFORM, by_dim), i > 0),
                 "%s.self_attn.%c_proj.bias", prefix, parts[i]);
    walk_add(w, form_xavier(D, q, 1.0), "%s.self_attn.out_proj.weight", prefix);
    if (m->form.out_bias)
        walk_add(w, form_vector(D, SHAPE_ZEROS, 0.0), "%s.self_attn.out_proj.bias", prefix);
}

/* A linear map of the feed-forward layers. */
static void walk_map(struct walk *w, const struct spec_model *m, int32_t rows, int32_t cols,
                     const char *prefix, const char *name)
{
    double by_input = 1.0 / sqrt((double)cols);

    walk_add(w, form_uniform(rows, cols, by_input), "%s.%s.weight", prefix, name);
    if (m->form.ffn_bias)
        walk_add(w, form_vector(rows, SHAPE_UNIFORM, by_input), "%s.%s.bias", prefix, name);
}

static void walk_layer(struct walk *w, const struct spec *s, int32_t layer)
{
    const struct spec_model *m = &s->model;
    enum position_gates gates = spec_layer_gates(s, layer);
    char prefix[SHAPE_NAME_BYTES / 2];

    walk_stage(w, SHAPE_LAYER_0 + layer);
    snprintf(prefix, sizeof prefix, "decoder.layers.%d", layer);
    walk_attention(w, m, prefix);
    walk_norm(w, m, prefix, "self_attn_layer_norm");
    if (m->form.gated) walk_map(w, m, m->ffn, m->dim, prefix, "fc_gate");
    walk_map(w, m, m->ffn, m->dim, prefix, "fc1");
    walk_map(w, m, m->dim, m->ffn, prefix, "fc2");
    if (m->form.block != SPEC_PARALLEL) walk_norm(w, m, prefix, "final_layer_norm");
    if (gates == POSITION_TOKEN_GATES)
        walk_add(w, positioned(form_xavier(m->heads, m->dim, sqrt(0.5))),
                 "%s.self_attn.forget_gate.weight", prefix);
    if (gates != POSITION_FIXED_GATES)
        walk_add(w, fp32(positioned(form_vector(m->heads, SHAPE_OWN, 0.0))),
                 "%s.self_attn.forget_gate.bias", prefix);
    if (m->temperature.kind != SPEC_SSMAX) return;
    struct shape_tensor scale = form_vector(m->heads, SHAPE_UNIFORM, 0.0);
    scale.init_mean = m->temperature.start;
    scale.position = scale.fp32 = true;
    walk_add(w, scale, "%s.self_attn.ssmax_scale", prefix);
}

static void walk_position(struct walk *w, const struct spec *s)
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
                                       .fp32 = true,
                                       .init = starts[t->start],
                                       .init_mean = t->mean,
                                       .init_value = t->spread,
                                       .init_zero_row = -1},
                 "%s", t->name);
    }
}

/* Counts the tensors, and lists them if there is room. */
static void walk_all(struct walk *w, const struct spec *s)
{
    const struct spec_model *m = &s->model;

    *w->out = (struct shape_params){.tensor = w->out->tensor};
    if (m->softmax == SPEC_PLAIN)
        walk_plain(w, s);
    else
        walk_adaptive(w, s);
    for (int32_t l = 0; l < m->layers; l++) walk_layer(w, s, l);
    walk_stage(w, SHAPE_STAYS);
    if (m->final_norm) walk_norm(w, m, "decoder", "layer_norm");
    walk_position(w, s);
    w->out->elements_n = aligned(w->fp32_n);
}

static void list_tensors(struct shape_params *out, struct arena *a, const struct spec *s,
                         bool streamed)
{
    struct walk count = {.out = out, .streamed = streamed};

    *out = (struct shape_params){0};
    walk_all(&count, s);
    int64_t shared_n = aligned(count.shared_n), first = shared_n + aligned(count.kept_n);
    out->elements_n += first;
    out->fp32_first = first;
    if (!a) return;
    struct walk w = {.out = out, .streamed = streamed, .kept_n = shared_n, .fp32_n = first};
    out->tensor = arena_array(a, (size_t)out->tensors_n, sizeof *out->tensor);
    walk_all(&w, s);
    out->fp32_first = first;
}

void shape_params(struct shape_params *out, struct arena *a, const struct spec *s)
{
    list_tensors(out, a, s, false);
}

void shape_params_streamed(struct shape_params *out, struct arena *a, const struct spec *s)
{
    list_tensors(out, a, s, true);
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
