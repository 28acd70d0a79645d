/* weights.c - one tensor at a time through one host buffer, whatever the size of the model. */
#include "worker/weights.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A block of the model and the prefix of its tensors' names in a file. */
struct weights_part {
    enum model_block block;
    const char *prefix;
};

static const struct weights_part weights_values[] = {{MODEL_VALUES, ""}};
static const struct weights_part weights_states[] = {{MODEL_STATE_0, "state0."},
                                                     {MODEL_STATE_1, "state1."}};

enum { WEIGHTS_NAME_BYTES = SHAPE_NAME_BYTES + 16 };

static int64_t weights_elements(const struct shape_tensor *t)
{
    return (int64_t)t->rows * t->cols;
}

static int weights_buffer(float **out, const struct shape_params *p, struct err *e)
{
    int64_t most = 1;

    for (int32_t i = 0; i < p->tensors_n; i++) {
        int64_t n = weights_elements(&p->tensor[i]);
        if (n > most) most = n;
    }
    *out = malloc((size_t)most * sizeof **out);
    if (!*out) return ERR(e, ERR_NOMEM, "no memory for a tensor of %lld elements", (long long)most);
    return 0;
}

static void weights_name(char out[WEIGHTS_NAME_BYTES], const struct weights_part *part,
                         const struct shape_tensor *t)
{
    snprintf(out, WEIGHTS_NAME_BYTES, "%s%s", part->prefix, t->name);
}

/* The shape as a checkpoint writes it: a vector has one dimension. */
static int32_t weights_dims(int64_t out[2], const struct shape_tensor *t)
{
    if (t->dims == 1) {
        out[0] = weights_elements(t);
        return 1;
    }
    out[0] = t->rows;
    out[1] = t->cols;
    return 2;
}

static int weights_put_header(struct safetensors_writer *w, const struct shape_params *p,
                              const struct weights_part *parts, int32_t parts_n,
                              const struct weights_metadata *texts, int32_t texts_n, struct err *e)
{
    for (int32_t i = 0; i < texts_n; i++)
        TRY(safetensors_writer_metadata(w, texts[i].key, texts[i].text, e));
    for (int32_t k = 0; k < parts_n; k++) {
        for (int32_t i = 0; i < p->tensors_n; i++) {
            char name[WEIGHTS_NAME_BYTES];
            int64_t dims[2];
            weights_name(name, &parts[k], &p->tensor[i]);
            int32_t dims_n = weights_dims(dims, &p->tensor[i]);
            TRY(safetensors_writer_declare(w, name, dims, dims_n, e));
        }
    }
    return 0;
}

static int weights_put(struct model *m, const struct weights_part *parts, int32_t parts_n,
                       const char *path, const struct weights_metadata *texts, int32_t texts_n,
                       char sha256[HASH_HEX_BYTES], int64_t *bytes, struct err *e)
{
    const struct shape_params *p = model_params(m);
    struct safetensors_writer *w = NULL;
    float *buffer = NULL;
    int rc = 0;

    TRY_OUT(rc, weights_buffer(&buffer, p, e));
    TRY_OUT(rc, safetensors_writer_open(&w, path, e));
    TRY_OUT(rc, weights_put_header(w, p, parts, parts_n, texts, texts_n, e));
    for (int32_t k = 0; k < parts_n; k++) {
        for (int32_t i = 0; i < p->tensors_n; i++) {
            TRY_OUT(rc, model_read(m, parts[k].block, i, buffer, e));
            TRY_OUT(rc, safetensors_writer_add(w, buffer, weights_elements(&p->tensor[i]), e));
        }
    }
    rc = safetensors_writer_commit(w, sha256, bytes, e);
    w = NULL;
out:
    if (rc < 0) err_ctx(e, "checkpoint");
    safetensors_writer_abandon(w);
    free(buffer);
    return rc;
}

int weights_save(struct model *m, const char *path, const struct weights_metadata *texts,
                 int32_t texts_n, char sha256[HASH_HEX_BYTES], int64_t *bytes, struct err *e)
{
    return weights_put(m, weights_values, 1, path, texts, texts_n, sha256, bytes, e);
}

int weights_save_state(struct model *m, int32_t slots_n, const char *path,
                       const struct weights_metadata *texts, int32_t texts_n,
                       char sha256[HASH_HEX_BYTES], int64_t *bytes, struct err *e)
{
    return weights_put(m, weights_states, slots_n, path, texts, texts_n, sha256, bytes, e);
}

static int weights_check_tensor(const struct safetensors_entry *x, const char *name,
                                const struct shape_tensor *t, const char *path, struct err *e)
{
    int64_t dims[2];
    int32_t dims_n = weights_dims(dims, t);

    if (!x) return ERR(e, ERR_DATA, "%s: the tensor %s is missing", path, name);
    if (strcmp(x->dtype, "F32") != 0)
        return ERR(e, ERR_DATA, "%s: %s is %s, expected F32", path, name, x->dtype);
    if (x->dims_n != dims_n || memcmp(x->dims, dims, (size_t)dims_n * sizeof *dims) != 0)
        return ERR(e, ERR_DATA, "%s: %s has %lld elements in %d dimensions, expected (%d,%d)", path,
                   name, (long long)x->elements_n, x->dims_n, t->rows, t->cols);
    return 0;
}

static int weights_check(struct model *m, const struct weights_part *parts, int32_t parts_n,
                         const struct safetensors *s, const char *path, struct err *e)
{
    const struct shape_params *p = model_params(m);
    char name[WEIGHTS_NAME_BYTES];

    if (safetensors_count(s) != parts_n * p->tensors_n)
        return ERR(e, ERR_DATA, "%s: %d tensors, but the model has %d", path, safetensors_count(s),
                   parts_n * p->tensors_n);
    for (int32_t k = 0; k < parts_n; k++) {
        for (int32_t i = 0; i < p->tensors_n; i++) {
            weights_name(name, &parts[k], &p->tensor[i]);
            TRY(weights_check_tensor(safetensors_find(s, name), name, &p->tensor[i], path, e));
        }
    }
    return 0;
}

static int weights_get(struct model *m, const struct weights_part *parts, int32_t parts_n,
                       const struct safetensors *s, struct err *e)
{
    const struct shape_params *p = model_params(m);
    char name[WEIGHTS_NAME_BYTES];

    for (int32_t k = 0; k < parts_n; k++) {
        for (int32_t i = 0; i < p->tensors_n; i++) {
            weights_name(name, &parts[k], &p->tensor[i]);
            TRY(model_write(m, parts[k].block, i, safetensors_find(s, name)->data, e));
        }
    }
    return 0;
}

int weights_load(struct model *m, const struct safetensors *s, const char *path, struct err *e)
{
    TRY(weights_check(m, weights_values, 1, s, path, e));
    return weights_get(m, weights_values, 1, s, e);
}

int weights_load_training(struct model *m, int32_t slots_n, const struct safetensors *weights,
                          const char *weights_path, const struct safetensors *state,
                          const char *state_path, struct err *e)
{
    TRY(weights_check(m, weights_values, 1, weights, weights_path, e));
    TRY(weights_check(m, weights_states, slots_n, state, state_path, e));
    TRY(weights_get(m, weights_values, 1, weights, e));
    return weights_get(m, weights_states, slots_n, state, e);
}
