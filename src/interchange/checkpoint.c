/* checkpoint.c - opens checkpoints: hash and run of a file must match the records. */
#include "interchange/interchange.h"

#include <string.h>

static int check_run(struct spec *trained, const struct safetensors *s, const char *path,
                     const char *run_id, struct err *e)
{
    char parsed[SPEC_ID_BYTES];
    const char *found = safetensors_metadata(s, "run_id");

    if (trained) {
        const char *text = safetensors_metadata(s, "spec");
        if (!text) return ERR(e, ERR_DATA, "%s: contains no spec", path);
        TRY(spec_parse(trained, text, e));
        spec_run_id(trained, parsed);
        found = parsed;
    }
    if (found && strcmp(found, run_id) == 0) return 0;
    return ERR(e, ERR_DATA, "%s: belongs to run %.16s, expected %s", path, found ? found : "(none)",
               run_id);
}

int checkpoint_open(struct safetensors **out, struct spec *trained, const char *path,
                    const char *sha256, const char *run_id, struct err *e)
{
    *out = NULL;
    TRY(hash_check(path, sha256, "the file is damaged; `alibi run --redo` replaces it", e));
    TRY(safetensors_open(out, path, e));
    int rc = check_run(trained, *out, path, run_id, e);
    if (rc < 0) {
        safetensors_close(*out);
        *out = NULL;
    }
    return rc;
}

void checkpoint_entries(struct safetensors_entry *out, const struct shape_params *p)
{
    for (int32_t i = 0; i < p->tensors_n; i++) {
        const struct shape_tensor *t = &p->tensor[i];
        struct safetensors_entry *x = &out[i];
        *x = (struct safetensors_entry){
            .name = t->name, .elements_n = (int64_t)t->rows * t->cols, .dims_n = t->dims};
        /* A checkpoint's vector has one dimension. */
        x->dims[0] = t->dims == 1 ? x->elements_n : t->rows;
        if (t->dims != 1) x->dims[1] = t->cols;
    }
}

int checkpoint_check(const struct safetensors *s, const struct safetensors_entry *want, int32_t n,
                     struct err *e)
{
    if (safetensors_count(s) != n)
        return ERR(e, ERR_DATA, "%d tensors, but the model has %d", safetensors_count(s), n);
    for (int32_t i = 0; i < n; i++) {
        const struct safetensors_entry *x = safetensors_find(s, want[i].name);
        if (!x) return ERR(e, ERR_DATA, "tensor %s is missing", want[i].name);
        if (strcmp(x->dtype, "F32") != 0)
            return ERR(e, ERR_DATA, "%s is %s, expected F32", x->name, x->dtype);
        if (x->dims_n != want[i].dims_n || memcmp(x->dims, want[i].dims, sizeof x->dims) != 0)
            return ERR(e, ERR_DATA, "%s has %lld elements in %d dimensions, expected %lld in %d",
                       x->name, (long long)x->elements_n, x->dims_n, (long long)want[i].elements_n,
                       want[i].dims_n);
    }
    return 0;
}
