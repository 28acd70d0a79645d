/* safetensors.c - a reader that checks the whole header against the file's size before it accesses
 * a tensor, and a writer that hashes the file in the same pass.
 *
 * The reader's checks, in order: (1) the header's length fits the file and the limit, (2) the
 * header is one JSON object without duplicate keys and of a size that fits in memory, (3) each
 * tensor has a known dtype, at most eight dimensions whose product fits, and offsets that agree
 * with it, (4) tensors follow each other without a hole or an overlap and end with the file, (5)
 * each begins at a multiple of its element's size. Files of other programs need not have a known
 * dtype in (3), nor (5). */
#include "interchange/safetensors.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "base/file.h"
#include "base/json.h"

/* Much more than any header has, but small enough for a JSON tree in memory: a tensor is nine
 * values. */
enum { SAFETENSORS_HEADER_BYTES_MAX = 16 << 20, SAFETENSORS_VALUES_MAX = 200000 };
/* Alignment of written tensors, so that a mapped file can be used in place. */
enum { SAFETENSORS_ALIGNMENT = 8, SAFETENSORS_ELEMENT_BYTES = 4 /* of written ones */ };

#define SAFETENSORS_METADATA "__metadata__"

static const struct {
    const char *name;
    int bytes; /* of an element */
} safetensors_dtypes[] = {
    {"F32", 4}, {"I32", 4}, {"F16", 2}, {"BF16", 2}, {"F64", 8}, {"I64", 8},  {"U8", 1},
    {"I8", 1},  {"I16", 2}, {"U16", 2}, {"U32", 4},  {"U64", 8}, {"BOOL", 1},
};
enum { SAFETENSORS_DTYPES_N = sizeof safetensors_dtypes / sizeof *safetensors_dtypes };

struct safetensors {
    bool foreign;
    int fd; /* of the mapped file; -1: none */
    struct file_map map;
    json_t *header_own; /* owns the texts of names, dtypes and metadata */
    struct safetensors_entry *entry_own;
    int32_t entries_n;
};

static int safetensors_read_header(struct safetensors *s, uint64_t *data_first, struct err *e)
{
    uint64_t n;

    if (s->map.n < sizeof n)
        return ERR(e, ERR_DATA, "%zu bytes, too short for a safetensors file", s->map.n);
    memcpy(&n, s->map.data, sizeof n);
    n = le64toh(n);
    if (n > s->map.n - sizeof n)
        return ERR(e, ERR_DATA, "header of %" PRIu64 " bytes, but the file has only %zu", n,
                   s->map.n);
    if (n > SAFETENSORS_HEADER_BYTES_MAX)
        return ERR(e, ERR_DATA, "a header of %" PRIu64 " bytes, more than the limit of %d", n,
                   SAFETENSORS_HEADER_BYTES_MAX);
    const char *text = (const char *)s->map.data + sizeof n;
    TRY(json_parse_object(&s->header_own, text, (size_t)n, SAFETENSORS_VALUES_MAX, 0, "the header",
                          e));
    *data_first = sizeof n + n;
    return 0;
}

static int safetensors_check_metadata(json_t *metadata, struct err *e)
{
    const char *key;
    json_t *value;

    if (!json_is_object(metadata))
        return ERR(e, ERR_DATA, "%s is not an object", SAFETENSORS_METADATA);
    json_object_foreach(metadata, key, value)
    {
        if (!json_is_string(value))
            return ERR(e, ERR_DATA, "%s: the value of \"%.60s\" is not text", SAFETENSORS_METADATA,
                       key);
    }
    return 0;
}

/* Sets dims and the number of elements. */
static int safetensors_parse_shape(struct safetensors_entry *out, const json_t *shape,
                                   struct err *e)
{
    size_t n = json_array_size(shape);

    if (!json_is_array(shape) || n > SAFETENSORS_DIMS_MAX)
        return ERR(e, ERR_DATA, "the shape is not a list of at most %d numbers",
                   SAFETENSORS_DIMS_MAX);
    out->dims_n = (int32_t)n;
    out->elements_n = 1;
    for (size_t i = 0; i < n; i++) {
        const json_t *dim = json_array_get(shape, i);
        out->dims[i] = json_integer_value(dim);
        if (!json_is_integer(dim) || out->dims[i] < 0)
            return ERR(e, ERR_DATA, "dimension %zu is not a count", i);
        if (__builtin_mul_overflow(out->elements_n, out->dims[i], &out->elements_n))
            return ERR(e, ERR_DATA, "the shape has too many elements");
    }
    return 0;
}

static int safetensors_parse_entry(struct safetensors_entry *out, json_t *value, const char *data,
                                   size_t data_bytes, bool foreign, struct err *e)
{
    const char *dtype;
    json_t *shape;
    json_int_t begin, end;
    json_error_t fault;
    int64_t expected;
    size_t i = 0;

    if (json_unpack_ex(value, &fault, JSON_STRICT, "{s:s, s:o, s:[I,I]}", "dtype", &dtype, "shape",
                       &shape, "data_offsets", &begin, &end) < 0)
        return ERR(e, ERR_DATA,
                   "expected exactly dtype, shape and data_offsets, which are two numbers: %s",
                   fault.text);
    while (i < SAFETENSORS_DTYPES_N && strcmp(dtype, safetensors_dtypes[i].name) != 0) i++;
    bool known = i < SAFETENSORS_DTYPES_N;
    if (!known && !foreign) return ERR(e, ERR_DATA, "dtype \"%.20s\" is not known", dtype);
    TRY(safetensors_parse_shape(out, shape, e));
    if (begin < 0 || end < begin || (uint64_t)end > data_bytes)
        return ERR(e, ERR_DATA, "bytes %lld to %lld are outside the %zu bytes of data",
                   (long long)begin, (long long)end, data_bytes);
    out->dtype = dtype;
    out->data = data + begin;
    out->data_bytes = (size_t)(end - begin);
    if (!known) return 0;
    if (__builtin_mul_overflow(out->elements_n, safetensors_dtypes[i].bytes, &expected) ||
        end - begin != expected)
        return ERR(e, ERR_DATA,
                   "%lld bytes, but %" PRId64 " elements of %s need a different number",
                   (long long)(end - begin), out->elements_n, dtype);
    if (!foreign && (uintptr_t)out->data % (size_t)safetensors_dtypes[i].bytes != 0)
        return ERR(e, ERR_DATA, "not aligned to its %d byte elements", safetensors_dtypes[i].bytes);
    return 0;
}

/* Sorts by offset; an empty tensor precedes one with the same offset. */
static int safetensors_compare(const void *a, const void *b)
{
    const struct safetensors_entry *x = a, *y = b;
    if (x->data != y->data) return (uintptr_t)x->data < (uintptr_t)y->data ? -1 : 1;
    return (x->data_bytes > y->data_bytes) - (x->data_bytes < y->data_bytes);
}

static int safetensors_check_order(const struct safetensors *s, const char *data, struct err *e)
{
    const char *expected = data, *end = (const char *)s->map.data + s->map.n;

    for (int32_t i = 0; i < s->entries_n; i++) {
        const struct safetensors_entry *x = &s->entry_own[i];
        if ((const char *)x->data != expected)
            return ERR(e, ERR_DATA, "tensor \"%.80s\": %s the previous one", x->name,
                       (const char *)x->data < expected ? "overlaps" : "leaves a gap after");
        expected += x->data_bytes;
    }
    if (expected != end)
        return ERR(e, ERR_DATA, "%lld bytes after the last tensor", (long long)(end - expected));
    return 0;
}

static int safetensors_read(struct safetensors *s, struct err *e)
{
    const char *key;
    json_t *value;
    uint64_t data_first = 0;

    TRY(safetensors_read_header(s, &data_first, e));
    const char *data = (const char *)s->map.data + data_first;
    size_t capacity = json_object_size(s->header_own);
    s->entry_own = calloc(capacity + 1, sizeof *s->entry_own);
    if (!s->entry_own) return ERR(e, ERR_NOMEM, "out of memory for %zu tensors", capacity);
    json_object_foreach(s->header_own, key, value)
    {
        struct safetensors_entry *x = &s->entry_own[s->entries_n];
        if (strcmp(key, SAFETENSORS_METADATA) == 0) {
            TRY(safetensors_check_metadata(value, e));
            continue;
        }
        x->name = key;
        int rc = safetensors_parse_entry(x, value, data, s->map.n - data_first, s->foreign, e);
        if (rc < 0) err_ctx(e, "tensor \"%.80s\"", key);
        TRY(rc);
        s->entries_n++;
    }
    qsort(s->entry_own, (size_t)s->entries_n, sizeof *s->entry_own, safetensors_compare);
    return safetensors_check_order(s, data, e);
}

static int safetensors_open_by(struct safetensors **out, const char *path, bool foreign,
                               struct err *e)
{
    int rc = 0;
    struct safetensors *s = calloc(1, sizeof *s);

    *out = NULL;
    if (!s) return ERR(e, ERR_NOMEM, "out of memory while opening %s", path);
    s->foreign = foreign;
    s->fd = file_map_open_kept(&s->map, path, e);
    TRY_OUT(rc, s->fd);
    rc = safetensors_read(s, e);
    if (rc < 0) {
        err_ctx(e, "%s", path);
        goto out;
    }
    *out = s;
    s = NULL;
out:
    safetensors_close(s);
    return rc;
}

int safetensors_open(struct safetensors **out, const char *path, struct err *e)
{
    return safetensors_open_by(out, path, false, e);
}

int safetensors_open_foreign(struct safetensors **out, const char *path, struct err *e)
{
    return safetensors_open_by(out, path, true, e);
}

void safetensors_close(struct safetensors *s)
{
    if (!s) return;
    if (s->fd >= 0) close(s->fd);
    free(s->entry_own);
    json_decref(s->header_own);
    file_map_close(&s->map);
    free(s);
}

int32_t safetensors_count(const struct safetensors *s)
{
    return s->entries_n;
}

const struct safetensors_entry *safetensors_at(const struct safetensors *s, int32_t i)
{
    return &s->entry_own[i];
}

const struct safetensors_entry *safetensors_find(const struct safetensors *s, const char *name)
{
    for (int32_t i = 0; i < s->entries_n; i++)
        if (strcmp(s->entry_own[i].name, name) == 0) return &s->entry_own[i];
    return NULL;
}

void safetensors_release(const struct safetensors *s, const struct safetensors_entry *tensor)
{
    file_map_release(&s->map, tensor->data, tensor->data_bytes);
}

int safetensors_copy(const struct safetensors *s, const struct safetensors_entry *tensor,
                     size_t first, void *out, size_t n, struct err *e)
{
    const char *from = (const char *)tensor->data + first;
    off_t at = from - (const char *)s->map.data;

    assert(first <= tensor->data_bytes && n <= tensor->data_bytes - first);
    for (size_t done = 0; done < n;) {
        ssize_t got = pread(s->fd, (char *)out + done, n - done, at + (off_t)done);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return ERR(e, ERR_IO, "tensor \"%.80s\": %s", tensor->name, strerror(errno));
        if (got == 0)
            return ERR(e, ERR_DATA, "tensor \"%.80s\": the file has become shorter", tensor->name);
        done += (size_t)got;
    }
    return 0;
}

size_t safetensors_bytes(const struct safetensors *s)
{
    return s->map.n;
}

const char *safetensors_metadata(const struct safetensors *s, const char *key)
{
    const json_t *metadata = json_object_get(s->header_own, SAFETENSORS_METADATA);
    return json_string_value(json_object_get(metadata, key));
}

/* --- writing -------------------------------------------------------------------------------- */

/* Returns the header as JSON text from malloc. NULL: out of memory, or a name or text is not UTF-8.
 */
static char *safetensors_header(const struct safetensors_content *c)
{
    json_t *header = json_object(), *metadata = json_object();
    int64_t begin = 0;
    char *text = NULL;

    if (json_object_set_new(header, SAFETENSORS_METADATA, metadata) < 0) goto out;
    for (int32_t i = 0; i < c->texts_n; i++)
        if (json_object_set_new(metadata, c->text[i].key, json_string(c->text[i].text)) < 0)
            goto out;
    for (int32_t i = 0; i < c->entries_n; i++) {
        const struct safetensors_entry *x = &c->entry[i];
        int64_t end = begin + x->elements_n * SAFETENSORS_ELEMENT_BYTES;
        json_t *shape = json_array();
        for (int32_t k = 0; k < x->dims_n; k++)
            json_array_append_new(shape, json_integer(x->dims[k]));
        json_t *entry =
            json_pack("{s:s, s:o, s:[I,I]}", "dtype", x->dtype ? x->dtype : "F32", "shape", shape,
                      "data_offsets", (json_int_t)begin, (json_int_t)end);
        if (json_object_set_new(header, x->name, entry) < 0) goto out;
        begin = end;
    }
    text = json_dumps(header, JSON_COMPACT);
out:
    json_decref(header);
    return text;
}

static int safetensors_put(struct safetensors_writer *w, const void *data, size_t n, struct err *e)
{
    TRY(hash_add(w->hash_own, data, n, e));
    TRY(file_writer_add(w->file_own, data, n, e));
    w->bytes += (int64_t)n;
    return 0;
}

int safetensors_writer_open(struct safetensors_writer *w, const char *path,
                            const struct safetensors_content *c, struct err *e)
{
    static const char padding[SAFETENSORS_ALIGNMENT] = "        ";
    char *header = safetensors_header(c);
    int rc = 0;

    *w = (struct safetensors_writer){0};
    if (!header)
        return ERR(e, ERR_INTERNAL,
                   "%s: header of %d tensors: a text is not UTF-8, or out of memory", path,
                   c->entries_n);
    size_t n = strlen(header), more = -n % SAFETENSORS_ALIGNMENT;
    uint64_t length = htole64(n + more);
    TRY_OUT(rc, hash_open(&w->hash_own, e));
    TRY_OUT(rc, c->named ? file_writer_open_named(&w->file_own, path, e)
                         : file_writer_open(&w->file_own, path, e));
    TRY_OUT(rc, safetensors_put(w, &length, sizeof length, e));
    TRY_OUT(rc, safetensors_put(w, header, n, e));
    rc = safetensors_put(w, padding, more, e);
out:
    free(header);
    return rc;
}

int safetensors_writer_add(struct safetensors_writer *w, const void *values, int64_t elements_n,
                           struct err *e)
{
    return safetensors_put(w, values, (size_t)elements_n * SAFETENSORS_ELEMENT_BYTES, e);
}

int safetensors_writer_close(struct safetensors_writer *w, int rc, char sha256[HASH_HEX_BYTES],
                             int64_t *bytes, struct err *e)
{
    int hashed = hash_close(w->hash_own, sha256, rc == 0 ? e : NULL);

    if (bytes) *bytes = w->bytes;
    return file_writer_close(w->file_own, rc == 0 ? hashed : rc, e);
}
