/* safetensors_writer.c - the writer: the header is known before the first tensor, so a file of any
 * size is written in one pass, hashed on the way, and appears under its name only when complete. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/file.h"
#include "interchange/safetensors.h"

/* Tensors begin at a multiple of this, so that a mapped file can be used in place. */
enum { SAFETENSORS_ALIGNMENT = 8 };

struct safetensors_writer {
    struct file_writer *file;
    struct hash_state *hash;
    json_t *header_own, *metadata; /* metadata is a loan from the header */
    int64_t *elements_own;         /* of each declared tensor */
    int32_t declared_n, added_n, room;
    uint64_t declared_bytes;
    int64_t bytes; /* written so far */
};

static int safetensors_writer_make(struct safetensors_writer **out, const char *path,
                                   int (*open)(struct file_writer **, const char *, struct err *),
                                   struct err *e)
{
    int rc = 0;
    struct safetensors_writer *w = calloc(1, sizeof *w);

    *out = NULL;
    if (!w) return ERR(e, ERR_NOMEM, "%s: no memory to write it", path);
    w->header_own = json_object();
    w->metadata = json_object();
    if (!w->header_own || json_object_set_new(w->header_own, "__metadata__", w->metadata) < 0) {
        rc = ERR(e, ERR_NOMEM, "%s: no memory to write it", path);
        goto out;
    }
    TRY_OUT(rc, hash_open(&w->hash, e));
    TRY_OUT(rc, open(&w->file, path, e));
    *out = w;
    w = NULL;
out:
    safetensors_writer_abandon(w);
    return rc;
}

int safetensors_writer_open(struct safetensors_writer **out, const char *path, struct err *e)
{
    return safetensors_writer_make(out, path, file_writer_open, e);
}

int safetensors_writer_open_named(struct safetensors_writer **out, const char *path, struct err *e)
{
    return safetensors_writer_make(out, path, file_writer_open_named, e);
}

int safetensors_writer_metadata(struct safetensors_writer *w, const char *key, const char *text,
                                struct err *e)
{
    if (json_object_set_new(w->metadata, key, json_string(text)) < 0)
        return ERR(e, ERR_INTERNAL, "the metadata \"%s\" is not UTF-8 or there is no memory", key);
    return 0;
}

int safetensors_writer_declare(struct safetensors_writer *w, const char *name, const int64_t *dims,
                               int32_t dims_n, struct err *e)
{
    int64_t elements_n = 1;
    json_t *shape = json_array();

    for (int32_t i = 0; i < dims_n; i++) {
        elements_n *= dims[i];
        json_array_append_new(shape, json_integer(dims[i]));
    }
    if (w->declared_n == w->room) {
        int32_t room = w->room ? 2 * w->room : 64;
        int64_t *grown = realloc(w->elements_own, (size_t)room * sizeof *grown);
        if (!grown) {
            json_decref(shape);
            return ERR(e, ERR_NOMEM, "no memory for the table of %d tensors", room);
        }
        w->elements_own = grown;
        w->room = room;
    }
    uint64_t end = w->declared_bytes + (uint64_t)elements_n * sizeof(float);
    json_t *entry = json_pack("{s:s, s:o, s:[I,I]}", "dtype", "F32", "shape", shape, "data_offsets",
                              (json_int_t)w->declared_bytes, (json_int_t)end);
    if (!entry || json_object_set_new(w->header_own, name, entry) < 0)
        return ERR(e, ERR_INTERNAL, "the tensor name \"%s\" is not UTF-8 or there is no memory",
                   name);
    w->elements_own[w->declared_n++] = elements_n;
    w->declared_bytes = end;
    return 0;
}

static int safetensors_writer_put(struct safetensors_writer *w, const void *data, size_t n,
                                  struct err *e)
{
    TRY(hash_add(w->hash, data, n, e));
    TRY(file_writer_add(w->file, data, n, e));
    w->bytes += (int64_t)n;
    return 0;
}

static int safetensors_writer_put_header(struct safetensors_writer *w, struct err *e)
{
    static const char spaces[SAFETENSORS_ALIGNMENT] = "       ";
    unsigned char length[SAFETENSORS_ALIGNMENT];
    char *text = json_dumps(w->header_own, JSON_COMPACT);

    if (!text) return ERR(e, ERR_NOMEM, "no memory for a header of %d tensors", w->declared_n);
    size_t n = strlen(text);
    size_t padding = (SAFETENSORS_ALIGNMENT - n % SAFETENSORS_ALIGNMENT) % SAFETENSORS_ALIGNMENT;
    for (int i = 0; i < SAFETENSORS_ALIGNMENT; i++)
        length[i] = (unsigned char)((uint64_t)(n + padding) >> (8 * i));
    int rc = safetensors_writer_put(w, length, sizeof length, e);
    if (rc == 0) rc = safetensors_writer_put(w, text, n, e);
    if (rc == 0) rc = safetensors_writer_put(w, spaces, padding, e);
    free(text);
    return rc;
}

int safetensors_writer_add(struct safetensors_writer *w, const float *values, int64_t elements_n,
                           struct err *e)
{
    if (w->added_n == w->declared_n || w->elements_own[w->added_n] != elements_n)
        return ERR(e, ERR_INTERNAL, "tensor %d of %d has %lld elements, not as declared",
                   w->added_n, w->declared_n, (long long)elements_n);
    if (w->added_n == 0) TRY(safetensors_writer_put_header(w, e));
    w->added_n++;
    return safetensors_writer_put(w, values, (size_t)elements_n * sizeof *values, e);
}

int safetensors_writer_commit(struct safetensors_writer *w, char sha256[HASH_HEX_BYTES],
                              int64_t *bytes, struct err *e)
{
    int rc = 0;

    if (w->added_n != w->declared_n) {
        rc = ERR(e, ERR_INTERNAL, "only %d of %d declared tensors were written", w->added_n,
                 w->declared_n);
        goto out;
    }
    if (w->declared_n == 0) TRY_OUT(rc, safetensors_writer_put_header(w, e));
    struct hash_state *hash = w->hash;
    w->hash = NULL;
    TRY_OUT(rc, hash_close(hash, sha256, e));
    if (bytes) *bytes = w->bytes;
    struct file_writer *file = w->file;
    w->file = NULL;
    rc = file_writer_commit(file, e);
out:
    safetensors_writer_abandon(w);
    return rc;
}

void safetensors_writer_abandon(struct safetensors_writer *w)
{
    if (!w) return;
    file_writer_abandon(w->file);
    hash_close(w->hash, NULL, NULL);
    json_decref(w->header_own);
    free(w->elements_own);
    free(w);
}
