/* weights.c - transfers one tensor at a time through a host buffer. */
#include "worker/weights.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "interchange/interchange.h"
#include "model/model.h"
#include "shape/shape.h"
#include "source/source.h"
#include "worker/state.h"

/* The tensors of a file, in their order. */
struct weights {
    struct arena arena;
    struct safetensors_entry *entry;
    int32_t n, tensors_n; /* tensors_n: of an array */
    const enum model_array *array;
};

static void weights_init(struct weights *w, const struct shape_params *p, int32_t slots_n)
{
    static const enum model_array values[] = {MODEL_VALUES};
    static const enum model_array states[] = {MODEL_STATE_0, MODEL_STATE_1};
    int32_t arrays_n = slots_n > 0 ? slots_n : 1;

    *w = (struct weights){.n = arrays_n * p->tensors_n,
                          .tensors_n = p->tensors_n,
                          .array = slots_n > 0 ? states : values};
    arena_init(&w->arena);
    w->entry = arena_array(&w->arena, (size_t)w->n, sizeof *w->entry);
    for (int32_t i = 0; i < arrays_n; i++) checkpoint_entries(w->entry + i * p->tensors_n, p);
    for (int32_t i = 0; slots_n > 0 && i < w->n; i++)
        w->entry[i].name =
            arena_printf(&w->arena, "state%d.%s", i / p->tensors_n, w->entry[i].name);
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
        rc = model_read(m, w.array[i / w.tensors_n], i % w.tensors_n, buffer, e);
        if (rc == 0 && path) rc = safetensors_writer_add(&file, buffer, w.entry[i].elements_n, e);
    }
    if (path) rc = safetensors_writer_close(&file, rc, sha256, bytes, e);
    if (rc < 0) err_ctx(e, "checkpoint");
    free(buffer);
    arena_fini(&w.arena);
    return rc;
}

int weights_load(struct model *m, int32_t slots_n, const struct safetensors *s, const char *path,
                 struct err *e)
{
    struct weights w;

    weights_init(&w, model_params(m), slots_n);
    int rc = checkpoint_check(s, w.entry, w.n, e);
    if (rc < 0) err_ctx(e, "%s", path);
    for (int32_t i = 0; rc == 0 && i < w.n; i++) {
        const struct safetensors_entry *x = safetensors_find(s, w.entry[i].name);
        rc = model_write(m, w.array[i / w.tensors_n], i % w.tensors_n, x->data, e);
        safetensors_release(s, x); /* the file is as large as the model */
    }
    arena_fini(&w.arena);
    return rc;
}

/* --- sources -------------------------------------------------------------------------------- */

bool weights_are_streamed(const struct source *s, const struct worker *a)
{
    return s->is_folder && !a->backend->ops->graph_begin; /* graphs need weights that stay */
}

/* Reads tensor i of a streamed model, when a pass needs it. */
static int read_tensor(void *context, int32_t i, float *out, struct err *e)
{
    return source_read(context, i, out, e);
}

int weights_of_source(const struct source *s, const struct worker *a, struct model *m,
                      struct err *e)
{
    int rc = 0;

    if (weights_are_streamed(s, a)) return model_stream(m, read_tensor, (void *)(uintptr_t)s, e);
    float *values = malloc((size_t)s->params.largest_n * sizeof *values);
    if (!values)
        return ERR(e, ERR_NOMEM, "out of memory for a tensor of %lld elements",
                   (long long)s->params.largest_n);
    for (int32_t i = 0; rc == 0 && i < s->params.tensors_n; i++) {
        rc = source_read(s, i, values, e);
        if (rc == 0) rc = model_write(m, MODEL_VALUES, i, values, e);
    }
    free(values);
    return rc;
}

/* --- a parent's weights ----------------------------------------------------------------------- */

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
    int rc = checkpoint_check(s, w.entry, w.n, e);
    for (int32_t i = 0; rc == 0 && i < w.n; i++)
        rc = check_finite(safetensors_find(s, w.entry[i].name)->data, &w.entry[i], e);
    if (rc < 0) err_ctx(e, "%s", path);
    for (int32_t array = 0; array < w.n / w.tensors_n; array++)
        for (int32_t i = 0; rc == 0 && i < tensors_n; i++) {
            if (h->from[i] < 0) continue;
            const char *name = w.entry[array * w.tensors_n + h->from[i]].name;
            rc = model_write(m, w.array[array], i, safetensors_find(s, name)->data, e);
        }
    arena_fini(&w.arena);
    return rc;
}
