/* tensors.c - the tensors of a folder under this program's names and in its order of rows.
 *
 * A tensor of the model is strips of rows of a tensor of the file: all of it; q, k or v of a fused
 * map, a strip in each of its bundles; the learned positions without their first rows. A map may be
 * stored transposed; the strips are then columns. Values are read with pread, not through a map: a
 * file that becomes shorter is an error, and the pages never belong to this process. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pretrained/pretrained_internal.h"

enum {
    CHUNK_BYTES = 1 << 17, /* of a file at a time: within the cache */
    TILE_ROWS = 16         /* of a transposed map at a time: a cache line of its result */
};

/* Values of a tensor of the model in one of the file. */
struct source {
    const struct folder_tensor *tensor;
    int64_t first, strip, stride; /* rows: before the first strip, of a strip, between their starts
                                   */
    int32_t strips_n;
    int64_t rows, cols; /* of the file's tensor; cols 1: a vector */
    bool transposed;
};

struct pretrained {
    struct arena arena;
    struct config config;
    struct folder folder;
    struct family family;
    struct pretrained_facts facts;
    struct source *source; /* of facts.params.tensor */
    char *chunk_own;       /* CHUNK_BYTES */
    float *tile_own;       /* TILE_ROWS of the widest transposed map */
};

/* --- matching ------------------------------------------------------------------------------- */

/* The parts of an internal name: decoder.[layers.LAYER.]ROLE.END. */
struct part_name {
    int layer; /* -1: outside the layers */
    char role[SHAPE_NAME_BYTES];
    const char *end; /* weight or bias */
};

static struct part_name split_name(const char *name)
{
    struct part_name out = {.layer = -1};
    const char *p = name + strlen("decoder."), *dot = strrchr(name, '.');
    int used = 0;

    if (sscanf(p, "layers.%d.%n", &out.layer, &used) == 1) p += used;
    snprintf(out.role, sizeof out.role, "%.*s", (int)(dot - p), p);
    out.end = dot + 1;
    return out;
}

/* 0, 1 or 2 if the role is q, k or v, else -1. */
static int attention_part(const char *role)
{
    static const char *const roles[] = {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"};
    int i = 2;
    while (i >= 0 && strcmp(roles[i], role) != 0) i--;
    return i;
}

/* Returns the name in the file of a part of the head: the first of the alternatives that is there,
 * else the first. */
static const char *head_name(struct pretrained *p, const char *end)
{
    const char *const *head = p->family.tensors.head, *first = NULL;

    for (int i = 0; i < 2 && (i == 0 || head[i]); i++) {
        const char *name = arena_printf(&p->arena, "%s.%s", head[i] ? head[i] : "lm_head", end);
        if (folder_find(&p->folder, name)) return name;
        if (!first) first = name;
    }
    return first;
}

static const char *file_name(struct pretrained *p, const struct part_name *part, const char *prefix)
{
    const struct family *f = &p->family;
    const char *fused = attention_part(part->role) < 0 ? NULL : f->tensors.fused;
    const char *role = fused ? fused : family_tensor(f, part->role);

    if (part->layer < 0 && strcmp(part->role, "head") == 0) return head_name(p, part->end);
    if (part->layer < 0) return arena_printf(&p->arena, "%s%s.%s", prefix, role, part->end);
    return arena_printf(&p->arena, "%s%s.%d.%s.%s", prefix, f->tensors.layers, part->layer, role,
                        part->end);
}

/* Sets the strips of q, k or v in a fused map. */
static void fuse(struct source *s, const struct pretrained *p, int part)
{
    const struct spec_model *m = &p->facts.spec.model;
    int64_t width = spec_head_width(m), K = spec_kv_heads(m);
    int64_t bundles = p->family.tensors.fused_by_key_head ? K : 1, q = m->heads / bundles * width,
            k = K / bundles * width;

    s->strips_n = (int32_t)bundles;
    s->strip = part == 0 ? q : k;
    s->stride = q + 2 * k;
    s->first = part == 0 ? 0 : q + (part - 1) * k;
    s->rows = bundles * s->stride;
}

/* Writes a shape as (8,7). */
static const char *show_shape(struct arena *a, const int64_t *dims, int32_t n)
{
    struct strbuf b;

    strbuf_init(&b, a);
    strbuf_add(&b, "(");
    for (int32_t i = 0; i < n; i++) strbuf_addf(&b, "%s%lld", i ? "," : "", (long long)dims[i]);
    strbuf_add(&b, ")");
    return b.text;
}

static int check_shape(struct pretrained *p, const struct source *s, int32_t dims_n,
                       const char *name, struct err *e)
{
    const struct safetensors_entry *x = s->tensor->entry;
    int64_t expected[2] = {s->transposed ? s->cols : s->rows, s->transposed ? s->rows : s->cols};

    if (x->dims_n == dims_n && x->dims[0] == expected[0] &&
        (dims_n == 1 || x->dims[1] == expected[1]))
        return 0;
    return ERR(e, ERR_DATA, "%s: %s has shape %s, expected %s%s", s->tensor->file->path, name,
               show_shape(&p->arena, x->dims, x->dims_n), show_shape(&p->arena, expected, dims_n),
               p->family.defaults);
}

/* Finds the source of tensor i. */
static int match_tensor(struct pretrained *p, int32_t i, const char *prefix, struct err *e)
{
    const struct shape_tensor *t = &p->facts.params.tensor[i];
    const struct part_name part = split_name(t->name);
    const char *name = file_name(p, &part, prefix);
    struct folder_tensor *found = folder_find(&p->folder, name);
    struct source *s = &p->source[i];
    bool map = part.layer >= 0 && t->dims == 2;

    if (!found && strcmp(part.role, "embed_tokens") == 0 && p->facts.spec.model.form.tied) {
        name = head_name(p, "weight");
        found = folder_find(&p->folder, name);
    }
    if (!found)
        return ERR(e, ERR_DATA, "%s: no tensor %s%s", p->folder.list, file_name(p, &part, prefix),
                   p->family.defaults);
    int64_t rows = t->dims == 1 ? t->cols : t->rows;
    *s = (struct source){.tensor = found, .strips_n = 1, .strip = rows, .rows = rows};
    s->cols = t->dims == 1 ? 1 : t->cols;
    s->transposed = map && p->family.tensors.transposed;
    if (attention_part(part.role) >= 0 && p->family.tensors.fused)
        fuse(s, p, attention_part(part.role));
    if (strcmp(part.role, "embed_positions") == 0) s->first = p->family.tensors.first_row;
    if (part.layer < 0) s->rows += s->first;
    found->used = true;
    return check_shape(p, s, t->dims, name, e);
}

/* Decides whether the head is the table (section 1, Head). */
static int find_head(struct pretrained *p, const char *prefix, struct err *e)
{
    struct spec_form *form = &p->facts.spec.model.form;
    const struct part_name table = {.layer = -1, .role = "embed_tokens", .end = "weight"};
    const char *name = head_name(p, "weight");
    bool has_head = folder_find(&p->folder, name) != NULL;
    bool has_table = folder_find(&p->folder, file_name(p, &table, prefix)) != NULL;

    if (!has_head && !form->tied)
        return ERR(e, ERR_DATA, "%s: no tensor %s, and tie_word_embeddings is false",
                   p->folder.list, name);
    form->tied = form->tied && !(has_head && has_table);
    return 0;
}

/* Returns the family's prefix, or "" if no tensor has it. */
static const char *find_prefix(const struct pretrained *p)
{
    const char *prefix = p->family.tensors.prefix;
    size_t n = strlen(prefix);

    for (int32_t i = 0; i < p->folder.tensors_n; i++)
        if (strncmp(p->folder.tensor[i].entry->name, prefix, n) == 0) return prefix;
    return "";
}

static int match_all(struct pretrained *p, struct err *e)
{
    struct pretrained_facts *facts = &p->facts;
    const char *prefix = find_prefix(p);
    const struct safetensors_entry *largest = NULL;

    TRY(find_head(p, prefix, e));
    shape_params(&facts->params, &p->arena, &facts->spec);
    p->source = arena_array(&p->arena, (size_t)facts->params.tensors_n, sizeof *p->source);
    for (int32_t i = 0; i < facts->params.tensors_n; i++) TRY(match_tensor(p, i, prefix, e));
    for (int32_t i = 0; i < p->folder.tensors_n; i++) {
        const struct folder_tensor *t = &p->folder.tensor[i];
        if (!t->used)
            return ERR(e, ERR_DATA, "%s: %.200s is not a tensor of this model (%s)", t->file->path,
                       t->entry->name, p->config.path);
        if (!largest || t->entry->elements_n > largest->elements_n) largest = t->entry;
    }
    facts->dtype = largest->dtype;
    for (int32_t i = 0; i < p->folder.files_n; i++)
        facts->weight_bytes += (int64_t)safetensors_bytes(p->folder.file[i].file_own);
    return 0;
}

static int allocate_buffers(struct pretrained *p, struct err *e)
{
    int64_t widest = 1;

    for (int32_t i = 0; i < p->facts.params.tensors_n; i++)
        if (p->source[i].transposed && p->source[i].strip > widest) widest = p->source[i].strip;
    p->chunk_own = malloc(CHUNK_BYTES);
    p->tile_own = malloc((size_t)widest * TILE_ROWS * sizeof *p->tile_own);
    return p->chunk_own && p->tile_own ? 0
                                       : ERR(e, ERR_NOMEM, "out of memory while opening a model");
}

int pretrained_open(struct pretrained **out, const char *folder, struct err *e)
{
    int rc = 0;
    struct pretrained *p = calloc(1, sizeof *p);

    *out = NULL;
    if (!p) return ERR(e, ERR_NOMEM, "out of memory while opening %s", folder);
    arena_init(&p->arena);
    TRY_OUT(rc, config_open(&p->config, &p->arena, folder, e));
    TRY_OUT(rc, family_find(&p->family, &p->arena, &p->config, e));
    TRY_OUT(rc, folder_open(&p->folder, &p->arena, folder, e));
    TRY_OUT(rc, family_describe(&p->family, &p->config, e));
    p->facts.family = p->family.name;
    p->facts.note = p->family.note;
    p->facts.spec = p->family.spec;
    TRY_OUT(rc, match_all(p, e));
    TRY_OUT(rc, allocate_buffers(p, e));
    *out = p;
    p = NULL;
out:
    pretrained_close(p);
    return rc;
}

void pretrained_close(struct pretrained *p)
{
    if (!p) return;
    folder_close(&p->folder);
    config_close(&p->config);
    free(p->chunk_own);
    free(p->tile_own);
    arena_fini(&p->arena);
    free(p);
}

const struct pretrained_facts *pretrained_facts(const struct pretrained *p)
{
    return &p->facts;
}

/* --- values --------------------------------------------------------------------------------- */

/* Converters of n values. Each returns true if all are finite in fp32. */
static bool from_f32(float *out, const void *in, int64_t n)
{
    const uint32_t *bits = in;
    uint32_t bad = 0;

    (void)out; /* is `in`: see read_run */
#pragma omp simd reduction(| : bad)
    for (int64_t i = 0; i < n; i++) bad |= (bits[i] & 0x7F800000u) == 0x7F800000u;
    return !bad;
}

static bool from_bf16(float *out, const void *in, int64_t n)
{
    const uint16_t *bits = in;
    uint32_t bad = 0, *to = (uint32_t *)(void *)out;

#pragma omp simd reduction(| : bad)
    for (int64_t i = 0; i < n; i++) {
        to[i] = (uint32_t)bits[i] << 16;
        bad |= (bits[i] & 0x7F80u) == 0x7F80u;
    }
    return !bad;
}

/* A normal number has a smaller exponent than in fp32, a subnormal one is a multiple of 2^-24. No
 * step has a subnormal result, which the processor may be set to flush to 0. */
static bool from_f16(float *out, const void *in, int64_t n)
{
    const uint16_t *bits = in;
    uint32_t bad = 0;

#pragma omp simd reduction(| : bad)
    for (int64_t i = 0; i < n; i++) {
        union {
            uint32_t u;
            float f;
        } normal = {.u = ((bits[i] & 0x7FFFu) << 13) + (112u << 23)}, small;
        small.f = (float)(int32_t)(bits[i] & 0x3FFu) * 0x1p-24f;
        uint32_t magnitude = (bits[i] & 0x7C00u) == 0 ? small.u : normal.u;
        small.u = magnitude | (uint32_t)(bits[i] & 0x8000u) << 16;
        out[i] = small.f;
        bad |= (bits[i] & 0x7C00u) == 0x7C00u;
    }
    return !bad;
}

static bool from_f64(float *out, const void *in, int64_t n)
{
    const double *values = in;
    bool good = true;

    for (int64_t i = 0; i < n; i++) {
        out[i] = (float)values[i];
        good = good && isfinite(out[i]);
    }
    return good;
}

static const struct conversion {
    const char *dtype;
    int bytes; /* of an element */
    bool (*convert)(float *, const void *, int64_t);
} conversions[] = {
    {"F32", 4, from_f32}, {"BF16", 2, from_bf16}, {"F16", 2, from_f16}, {"F64", 8, from_f64}};

/* Reads n values from element `first` of a tensor on. */
static int read_run(struct pretrained *p, const struct folder_tensor *t, int64_t first, int64_t n,
                    float *out, struct err *e)
{
    const struct conversion *c = conversions;
    int rc = 0;

    while (strcmp(c->dtype, t->entry->dtype) != 0) c++;
    size_t bytes = (size_t)c->bytes;
    bool same = c->convert == from_f32;
    for (int64_t done = 0, most = CHUNK_BYTES / c->bytes; done < n; done += most) {
        int64_t now = n - done < most ? n - done : most;
        void *in = same ? (void *)(out + done) : p->chunk_own;
        TRY_OUT(rc, safetensors_copy(t->file->file_own, t->entry, (size_t)(first + done) * bytes,
                                     in, (size_t)now * bytes, e));
        if (!c->convert(out + done, in, now))
            TRY_OUT(rc,
                    ERR(e, ERR_DATA, "%s has a value that is not finite in fp32", t->entry->name));
    }
out:
    if (rc < 0) err_ctx(e, "%s", t->file->path);
    return rc;
}

/* Reads strips of columns: TILE_ROWS rows of the file are TILE_ROWS columns of the result. */
static int read_transposed(struct pretrained *p, const struct source *s, float *out, struct err *e)
{
    for (int32_t b = 0; b < s->strips_n; b++)
        for (int64_t at = 0; at < s->cols; at += TILE_ROWS) {
            int64_t n = s->cols - at < TILE_ROWS ? s->cols - at : TILE_ROWS;
            for (int64_t i = 0; i < n; i++)
                TRY(read_run(p, s->tensor, (at + i) * s->rows + s->first + b * s->stride, s->strip,
                             p->tile_own + i * s->strip, e));
            float *to = out + b * s->strip * s->cols + at;
            for (int64_t c = 0; c < s->strip; c++)
                for (int64_t i = 0; i < n; i++) to[c * s->cols + i] = p->tile_own[i * s->strip + c];
        }
    return 0;
}

int pretrained_read(struct pretrained *p, int32_t i, float *out, struct err *e)
{
    const struct source *s = &p->source[i];

    if (s->transposed) return read_transposed(p, s, out, e);
    for (int32_t b = 0; b < s->strips_n; b++)
        TRY(read_run(p, s->tensor, (s->first + b * s->stride) * s->cols, s->strip * s->cols,
                     out + b * s->strip * s->cols, e));
    return 0;
}
