/* weights.c - one tensor at a time through one host buffer, whatever the size of the model. */
#include "worker/weights.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WEIGHTS_NAME_BYTES = SHAPE_NAME_BYTES + 16 };

/* What a file holds, in the order of the file. */
struct weights {
    struct model *model;
    const struct shape_params *params;
    int32_t slots_n, n; /* slots_n 0: the parameters; n: tensors */
    float *buffer_own;  /* of the largest tensor; NULL while reading */
};

static struct weights weights_of(struct model *m, int32_t slots_n)
{
    const struct shape_params *p = model_params(m);
    return (struct weights){m, p, slots_n, p->tensors_n * (slots_n ? slots_n : 1), NULL};
}

static enum model_block block_of(const struct weights *w, int32_t i)
{
    if (w->slots_n == 0) return MODEL_VALUES;
    return i < w->params->tensors_n ? MODEL_STATE_0 : MODEL_STATE_1;
}

static const struct shape_tensor *tensor_of(const struct weights *w, int32_t i)
{
    return &w->params->tensor[i % w->params->tensors_n];
}

static void name_of(char out[WEIGHTS_NAME_BYTES], const struct weights *w, int32_t i)
{
    static const char *const prefix[] = {
        [MODEL_VALUES] = "", [MODEL_STATE_0] = "state0.", [MODEL_STATE_1] = "state1."};
    snprintf(out, WEIGHTS_NAME_BYTES, "%s%s", prefix[block_of(w, i)], tensor_of(w, i)->name);
}

/* The shape as a checkpoint writes it: a vector has one dimension. */
static struct safetensors_entry entry_of(const char *name, const struct shape_tensor *t)
{
    struct safetensors_entry x = {
        .name = name, .dims_n = t->dims, .elements_n = (int64_t)t->rows * t->cols};

    x.dims[0] = t->dims == 1 ? x.elements_n : t->rows;
    if (t->dims != 1) x.dims[1] = t->cols;
    return x;
}

static int read_tensor(void *context, int32_t i, const float **out, struct err *e)
{
    const struct weights *w = context;

    *out = w->buffer_own;
    return model_read(w->model, block_of(w, i), i % w->params->tensors_n, w->buffer_own, e);
}

int weights_save(struct model *m, int32_t slots_n, const char *path,
                 const struct safetensors_text *texts, int32_t texts_n, char sha256[HASH_HEX_BYTES],
                 int64_t *bytes, struct err *e)
{
    struct weights w = weights_of(m, slots_n);
    struct safetensors_entry *entry = calloc((size_t)w.n, sizeof *entry);
    char(*name)[WEIGHTS_NAME_BYTES] = calloc((size_t)w.n, sizeof *name);
    int64_t most = 1;
    int rc = ERR_NOMEM;

    for (int32_t i = 0; entry && name && i < w.n; i++) {
        name_of(name[i], &w, i);
        entry[i] = entry_of(name[i], tensor_of(&w, i));
        if (entry[i].elements_n > most) most = entry[i].elements_n;
    }
    w.buffer_own = malloc((size_t)most * sizeof *w.buffer_own);
    if (!entry || !name || !w.buffer_own) {
        ERR(e, ERR_NOMEM, "no memory to write %d tensors of at most %lld elements", w.n,
            (long long)most);
        goto out;
    }
    const struct safetensors_content content = {.text = texts,
                                                .texts_n = texts_n,
                                                .entry = entry,
                                                .entries_n = w.n,
                                                .read = read_tensor,
                                                .context = &w};
    rc = safetensors_write(path, &content, sha256, bytes, e);
out:
    if (rc < 0) err_ctx(e, "checkpoint");
    free(w.buffer_own);
    free(name);
    free(entry);
    return rc;
}

static int check(const struct weights *w, const struct safetensors *s, const char *path,
                 struct err *e)
{
    if (safetensors_count(s) != w->n)
        return ERR(e, ERR_DATA, "%s: %d tensors, but the model has %d", path, safetensors_count(s),
                   w->n);
    for (int32_t i = 0; i < w->n; i++) {
        char name[WEIGHTS_NAME_BYTES];
        const struct shape_tensor *t = tensor_of(w, i);
        name_of(name, w, i);
        const struct safetensors_entry *x = safetensors_find(s, name), want = entry_of(name, t);
        if (!x) return ERR(e, ERR_DATA, "%s: tensor %s is missing", path, name);
        if (strcmp(x->dtype, "F32") != 0)
            return ERR(e, ERR_DATA, "%s: %s is %s, expected F32", path, name, x->dtype);
        if (x->dims_n != want.dims_n || memcmp(x->dims, want.dims, sizeof x->dims) != 0)
            return ERR(e, ERR_DATA, "%s: %s has %lld elements in %d dimensions, expected (%d,%d)",
                       path, name, (long long)x->elements_n, x->dims_n, t->rows, t->cols);
    }
    return 0;
}

static int load(const struct weights *w, const struct safetensors *s, struct err *e)
{
    for (int32_t i = 0; i < w->n; i++) {
        char name[WEIGHTS_NAME_BYTES];
        name_of(name, w, i);
        TRY(model_write(w->model, block_of(w, i), i % w->params->tensors_n,
                        safetensors_find(s, name)->data, e));
    }
    return 0;
}

int weights_load(struct model *m, const struct safetensors *s, const char *path, struct err *e)
{
    const struct weights w = weights_of(m, 0);

    TRY(check(&w, s, path, e));
    return load(&w, s, e);
}

int weights_load_training(struct model *m, int32_t slots_n, const struct safetensors *weights,
                          const char *weights_path, const struct safetensors *state,
                          const char *state_path, struct err *e)
{
    const struct weights values = weights_of(m, 0), slots = weights_of(m, slots_n);

    TRY(check(&values, weights, weights_path, e));
    TRY(check(&slots, state, state_path, e));
    TRY(load(&values, weights, e));
    return load(&slots, state, e);
}
