/* import.c - reads a checkpoint's description and fits it to a specification. */
#include "interchange/import.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "interchange/import_internal.h"

int import_open(struct import **out, const char *path, struct err *e)
{
    struct import *im = calloc(1, sizeof *im);
    size_t names_n;
    int rc = 0;

    *out = NULL;
    if (!im) return ERR(e, ERR_NOMEM, "%s: no memory to read it", path);
    arena_init(&im->arena);
    TRY_OUT(rc, import_archive_open(&im->archive, &im->arena, arena_strdup(&im->arena, path), e));
    const struct pickle_name *names = import_names(&names_n);
    TRY_OUT(rc, pickle_read(&im->checkpoint, &im->arena, im->archive.pickle,
                            im->archive.pickle_bytes, names, names_n, path, e));
    TRY_OUT(rc, import_tensors_read(&im->tensor, &im->tensors_n, &im->archive,
                                    pickle_get(im->checkpoint, "model"), e));
    import_facts_read(&im->facts, im->checkpoint);
    *out = im;
    im = NULL;
out:
    import_close(im);
    return rc;
}

void import_close(struct import *im)
{
    if (!im) return;
    arena_fini(&im->arena);
    free(im);
}

const struct import_facts *import_facts(const struct import *im)
{
    return &im->facts;
}

static const struct import_tensor *import_find(const struct import *im, const char *name)
{
    for (int32_t i = 0; i < im->tensors_n; i++)
        if (strcmp(im->tensor[i].name, name) == 0) return &im->tensor[i];
    return NULL;
}

const char *import_position(const struct import *im)
{
    const char *found = NULL;
    struct spec any;

    spec_init(&any);
    const struct position_shape shape = spec_position_shape(&any);
    for (int32_t p = 0; p < POSITION_METHODS_N; p++) {
        const struct position_functions *f = position_methods[p].functions;
        struct position_tensor tensor[POSITION_TENSORS_MAX];
        int32_t has_n = 0, n = f->tensors ? f->tensors(&shape, tensor) : 0;
        for (int32_t i = 0; i < n; i++) has_n += import_find(im, tensor[i].name) != NULL;
        if (n == 0 || has_n < n) continue;
        if (found) return NULL;
        found = position_methods[p].name;
    }
    return found;
}

int32_t import_fp16_count(const struct import *im, int32_t *tensors_n)
{
    int32_t n = 0;

    *tensors_n = im->tensors_n;
    for (int32_t i = 0; i < im->tensors_n; i++)
        n += im->tensor[i].dtype == IMPORT_F16 || im->tensor[i].dtype == IMPORT_BF16;
    return n;
}

/* --- fitting --- */

static void import_shape_text(char *out, size_t room, const struct import_tensor *t)
{
    size_t n = 0;

    out[0] = '\0';
    for (int32_t i = 0; i < t->dims_n && n < room; i++)
        n += (size_t)snprintf(out + n, room - n, "%s%" PRId64, i ? "," : "", t->dims[i]);
}

static int import_fit_one(const struct import_tensor **out, const struct import *im,
                          const struct shape_tensor *p, struct err *e)
{
    const struct import_tensor *t = import_find(im, p->name);
    char shape[128];

    if (!t) return ERR(e, ERR_DATA, "%s: lacks the tensor %s", im->archive.path, p->name);
    if (t->dtype == IMPORT_OTHER)
        return ERR(e, ERR_DATA, "%s: %s is a %s, expected float, half or bfloat16",
                   im->archive.path, t->name, t->type);
    bool same = p->dims == 1 ? t->dims_n == 1 && t->dims[0] == (int64_t)p->rows * p->cols
                             : t->dims_n == 2 && t->dims[0] == p->rows && t->dims[1] == p->cols;
    if (!same) {
        import_shape_text(shape, sizeof shape, t);
        return ERR(e, ERR_DATA, "%s: %s has the shape (%s), the specification's model (%d,%d)",
                   im->archive.path, t->name, shape, p->rows, p->cols);
    }
    *out = t;
    return 0;
}

/* The parameter that a tied tensor's name repeats (oracle SPEC.md section 14); false: none. */
static bool import_twin_name(char out[SHAPE_NAME_BYTES], const char *name)
{
    static const char head[] = "decoder.adaptive_softmax.head.word_proj.weight";
    static const char tail[] = "decoder.adaptive_softmax.tail.";
    int band = 0, used = 0;

    if (strcmp(name, head) == 0)
        snprintf(out, SHAPE_NAME_BYTES, "decoder.embed_tokens.embeddings.0.0.weight");
    else if (strcmp(name, "decoder.output_projection.weight") == 0)
        snprintf(out, SHAPE_NAME_BYTES, "decoder.embed_tokens.weight");
    else if (strncmp(name, tail, sizeof tail - 1) == 0 && name[sizeof tail - 1] >= '0' &&
             name[sizeof tail - 1] < '0' + SPEC_CUTOFFS_MAX) {
        band = name[sizeof tail - 1] - '0' + 1;
        const char *rest = name + sizeof tail;
        used = strcmp(rest, ".0.weight") == 0 ? 1 : strcmp(rest, ".2.weight") == 0 ? 0 : -1;
        if (used < 0) return false;
        snprintf(out, SHAPE_NAME_BYTES, "decoder.embed_tokens.embeddings.%d.%d.weight", band, used);
    } else {
        return false;
    }
    return true;
}

/* A tensor that is no parameter: a twin, bookkeeping, or the sign of another architecture. */
static int import_fit_other(struct import_fit *fit, const struct import *im,
                            const struct import_tensor *t, struct err *e)
{
    static const char *const bookkeeping[] = {".version", "._float_tensor", ".buffer"};
    char name[SHAPE_NAME_BYTES];
    size_t n = strlen(t->name);

    for (size_t i = 0; i < sizeof bookkeeping / sizeof *bookkeeping; i++) {
        size_t k = strlen(bookkeeping[i]);
        if (t->elements_n <= 1 && n > k && strcmp(t->name + n - k, bookkeeping[i]) == 0) return 0;
    }
    if (import_twin_name(name, t->name)) {
        int32_t k = shape_find(&fit->params, name);
        if (k >= 0 && t->dims_n == 2 && t->dims[0] == fit->of[k]->dims[0] &&
            t->dims[1] == fit->of[k]->dims[1] && t->dtype != IMPORT_OTHER) {
            fit->twin[fit->twins_n++] = (struct tied_alias){t, fit->of[k]};
            return 0;
        }
    }
    return ERR(e, ERR_DATA, "%s: holds the tensor %.80s, which the specification's model has not",
               im->archive.path, t->name);
}

int import_fit(struct import_fit *out, struct arena *a, const struct import *im,
               const struct spec *s, struct err *e)
{
    *out = (struct import_fit){0};
    shape_params(&out->params, a, s);
    out->of = arena_array(a, (size_t)out->params.tensors_n + 1, sizeof *out->of);
    out->twin = arena_array(a, (size_t)im->tensors_n + 1, sizeof *out->twin);
    for (int32_t i = 0; i < out->params.tensors_n; i++)
        TRY(import_fit_one(&out->of[i], im, &out->params.tensor[i], e));
    for (int32_t i = 0; i < im->tensors_n; i++)
        if (shape_find(&out->params, im->tensor[i].name) < 0)
            TRY(import_fit_other(out, im, &im->tensor[i], e));
    return 0;
}

int import_check(const struct import *im, const struct spec *s, struct err *e)
{
    struct import_fit fit;
    struct arena arena;

    arena_init(&arena);
    int rc = import_settings_check(im->checkpoint, s, im->archive.path, e);
    if (rc == 0) rc = import_fit(&fit, &arena, im, s, e);
    arena_fini(&arena);
    return rc;
}
