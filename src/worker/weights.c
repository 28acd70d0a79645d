/* weights.c - transfers one tensor at a time through a host buffer. */
#include "worker/worker_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

/* The tensors of a file, in their order. */
struct weights {
    struct arena arena;
    struct safetensors_entry *entry;
    int32_t n, tensors_n; /* tensors_n: of a block */
    const enum model_block *block;
};

static void weights_init(struct weights *w, const struct shape_params *p, int32_t slots_n)
{
    static const enum model_block values[] = {MODEL_VALUES};
    static const enum model_block states[] = {MODEL_STATE_0, MODEL_STATE_1};
    int32_t blocks_n = slots_n > 0 ? slots_n : 1;

    *w = (struct weights){.n = blocks_n * p->tensors_n,
                          .tensors_n = p->tensors_n,
                          .block = slots_n > 0 ? states : values};
    arena_init(&w->arena);
    w->entry = arena_array(&w->arena, (size_t)w->n, sizeof *w->entry);
    for (int32_t i = 0; i < w->n; i++) {
        const struct shape_tensor *t = &p->tensor[i % p->tensors_n];
        struct safetensors_entry *x = &w->entry[i];
        x->name = slots_n == 0 ? t->name
                               : arena_printf(&w->arena, "state%d.%s", i / p->tensors_n, t->name);
        x->elements_n = (int64_t)t->rows * t->cols;
        x->dims_n = t->dims;
        /* A checkpoint's vector has one dimension. */
        x->dims[0] = t->dims == 1 ? x->elements_n : t->rows;
        if (t->dims != 1) x->dims[1] = t->cols;
    }
}

int weights_save(struct model *m, int32_t slots_n, const char *path,
                 const struct safetensors_text *texts, int32_t texts_n, char sha256[HASH_HEX_BYTES],
                 int64_t *bytes, struct err *e)
{
    struct safetensors_writer file;
    struct weights w;
    int64_t most = model_params(m)->largest_n;

    weights_init(&w, model_params(m), slots_n);
    float *buffer = malloc((size_t)most * sizeof *buffer);
    const struct safetensors_content content = {
        .text = texts, .texts_n = texts_n, .entry = w.entry, .entries_n = w.n};
    int rc = path ? safetensors_writer_open(&file, path, &content, e) : 0;
    if (rc == 0 && !buffer)
        rc = ERR(e, ERR_NOMEM, "out of memory for a tensor of %lld elements", (long long)most);
    for (int32_t i = 0; rc == 0 && i < w.n; i++) {
        rc = model_read(m, w.block[i / w.tensors_n], i % w.tensors_n, buffer, e);
        if (rc == 0 && path) rc = safetensors_writer_add(&file, buffer, w.entry[i].elements_n, e);
    }
    if (path) rc = safetensors_writer_close(&file, rc, sha256, bytes, e);
    if (rc < 0) err_ctx(e, "checkpoint");
    free(buffer);
    arena_fini(&w.arena);
    return rc;
}

static int check(const struct weights *w, const struct safetensors *s, struct err *e)
{
    if (safetensors_count(s) != w->n)
        return ERR(e, ERR_DATA, "%d tensors, but the model has %d", safetensors_count(s), w->n);
    for (int32_t i = 0; i < w->n; i++) {
        const struct safetensors_entry *want = &w->entry[i], *x = safetensors_find(s, want->name);
        if (!x) return ERR(e, ERR_DATA, "tensor %s is missing", want->name);
        if (strcmp(x->dtype, "F32") != 0)
            return ERR(e, ERR_DATA, "%s is %s, expected F32", x->name, x->dtype);
        if (x->dims_n != want->dims_n || memcmp(x->dims, want->dims, sizeof x->dims) != 0)
            return ERR(e, ERR_DATA, "%s has %lld elements in %d dimensions, expected %lld in %d",
                       x->name, (long long)x->elements_n, x->dims_n, (long long)want->elements_n,
                       want->dims_n);
    }
    return 0;
}

int weights_load(struct model *m, int32_t slots_n, const struct safetensors *s, const char *path,
                 struct err *e)
{
    struct weights w;

    weights_init(&w, model_params(m), slots_n);
    int rc = check(&w, s, e);
    if (rc < 0) err_ctx(e, "%s", path);
    for (int32_t i = 0; rc == 0 && i < w.n; i++) {
        const struct safetensors_entry *x = safetensors_find(s, w.entry[i].name);
        rc = model_write(m, w.block[i / w.tensors_n], i % w.tensors_n, x->data, e);
        safetensors_release(s, x); /* the file is as large as the model */
    }
    arena_fini(&w.arena);
    return rc;
}

static int check_finite(const float *value, const struct safetensors_entry *x, struct err *e)
{
    for (int64_t i = 0; i < x->elements_n; i++)
        if (!isfinite(value[i]))
            return ERR(e, ERR_DATA, "%s is %g at element %lld", x->name, (double)value[i],
                       (long long)i);
    return 0;
}

int weights_inherit(struct model *m, int32_t slots_n, const struct shape_inheritance *h,
                    const struct shape_params *parent, const struct safetensors *s,
                    const char *path, struct err *e)
{
    struct weights w;
    int32_t tensors_n = model_params(m)->tensors_n;

    weights_init(&w, parent, slots_n);
    int rc = check(&w, s, e);
    for (int32_t i = 0; rc == 0 && i < w.n; i++)
        rc = check_finite(safetensors_find(s, w.entry[i].name)->data, &w.entry[i], e);
    if (rc < 0) err_ctx(e, "%s", path);
    for (int32_t block = 0; block < w.n / w.tensors_n; block++)
        for (int32_t i = 0; rc == 0 && i < tensors_n; i++) {
            if (h->from[i] < 0) continue;
            const char *name = w.entry[block * w.tensors_n + h->from[i]].name;
            rc = model_write(m, w.block[block], i, safetensors_find(s, name)->data, e);
        }
    arena_fini(&w.arena);
    return rc;
}
