/* torch_file.c - reads the zip in two passes: first the list of files and the pickle, then the
 * needed storages. Between them, nodes of the pickle are converted to checked views. */
#include "interchange/torch_file.h"

#include <archive.h>
#include <archive_entry.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { TORCH_STORAGES_MAX = 1 << 16, TORCH_NAME_MAX = 512, TORCH_ELEMENTS_MAX_LOG2 = 40 };

/* --- the zip -------------------------------------------------------------------------------- */

/* A file in the zip. */
struct member {
    struct archive *zip;
    const char *name; /* without the folder */
    int64_t bytes;    /* -1: not stated */
};

static int zip_error(const struct torch_file *f, struct archive *zip, struct err *e)
{
    const char *why = archive_error_string(zip);
    return ERR(e, ERR_DATA, "%s: damaged or truncated: %s", f->path, why ? why : "unreadable zip");
}

/* Calls fn for each file of the zip. */
static int zip_each(struct torch_file *f,
                    int (*fn)(struct torch_file *, const struct member *, struct err *),
                    struct err *e)
{
    struct archive *zip = archive_read_new();
    struct archive_entry *entry;
    int rc = 0, next;

    if (!zip) return ERR(e, ERR_NOMEM, "out of memory while reading %s", f->path);
    if (archive_read_support_format_zip_seekable(zip) != ARCHIVE_OK ||
        archive_read_open_memory(zip, f->map.data, f->map.n) != ARCHIVE_OK) {
        rc = zip_error(f, zip, e);
        goto out;
    }
    while ((next = archive_read_next_header(zip, &entry)) == ARCHIVE_OK) {
        const char *path = archive_entry_pathname(entry);
        const char *slash = path ? strchr(path, '/') : NULL;
        if (!path || strlen(path) > TORCH_NAME_MAX) {
            rc = ERR(e, ERR_DATA, "%s: contains a file without a valid name", f->path);
            goto out;
        }
        const struct member member = {
            zip, slash ? slash + 1 : path,
            archive_entry_size_is_set(entry) ? (int64_t)archive_entry_size(entry) : -1};
        TRY_OUT(rc, fn(f, &member, e));
    }
    if (next != ARCHIVE_EOF) rc = zip_error(f, zip, e);
out:
    archive_read_free(zip);
    return rc;
}

/* Reads exactly the stated bytes of a file into a buffer with one more; libarchive verifies the
 * checksum. */
static int zip_read(const struct torch_file *f, const struct member *member, void *out,
                    struct err *e)
{
    la_ssize_t n = archive_read_data(member->zip, out, (size_t)member->bytes + 1);

    if (n < 0) return zip_error(f, member->zip, e);
    if (n == member->bytes) return 0;
    return ERR(e, ERR_DATA, "%s: %s does not have the %" PRId64 " bytes it states", f->path,
               member->name, member->bytes);
}

/* --- listing -------------------------------------------------------------------------- */

static int list_member(struct torch_file *f, const struct member *member, struct err *e)
{
    const char *name = member->name;
    bool pickle = strcmp(name, "data.pkl") == 0, added;

    if (strcmp(name, "byteorder") == 0) { /* PyTorch 2 states the byte order */
        char text[8] = "";
        if (member->bytes == 6) TRY(zip_read(f, member, text, e));
        if (strcmp(text, "little") == 0) return 0;
        return ERR(e, ERR_DATA, "%s: byte order is not little-endian", f->path);
    }
    if (!pickle && strncmp(name, "data/", 5) != 0) return 0; /* version, code: ignore */
    if (member->bytes < 0 || (uint64_t)member->bytes > f->map.n)
        return ERR(e, ERR_DATA, "%s: %s states %" PRId64 " bytes, but the whole file has %zu",
                   f->path, name, member->bytes, f->map.n);
    if (pickle) {
        if (f->pickle) return ERR(e, ERR_DATA, "%s: contains data.pkl twice", f->path);
        if (member->bytes > PICKLE_BYTES_MAX)
            return ERR(e, ERR_DATA, "%s: data.pkl has %" PRId64 " bytes, more than the limit of %d",
                       f->path, member->bytes, PICKLE_BYTES_MAX);
        void *data = arena_alloc(f->arena, (size_t)member->bytes + 1);
        f->pickle = data;
        f->pickle_bytes = (size_t)member->bytes;
        return zip_read(f, member, data, e);
    }
    if (f->storages.n == TORCH_STORAGES_MAX)
        return ERR(e, ERR_DATA, "%s: more than %d storages", f->path, TORCH_STORAGES_MAX);
    int32_t *at = map_put(&f->storage_of, name + 5, strlen(name + 5), &added);
    if (!added) return ERR(e, ERR_DATA, "%s: contains %s twice", f->path, name);
    *at = f->storages.n;
    *vec_push(f->arena, &f->storages) =
        (struct torch_storage){.key = map_key(at), .bytes = member->bytes};
    return 0;
}

int torch_file_open(struct torch_file *f, struct arena *a, const char *path, struct err *e)
{
    *f = (struct torch_file){.path = path, .arena = a};
    map_init(&f->storage_of, a);
    TRY(file_map_open(&f->map, path, e));
    const unsigned char *head = f->map.data;
    if (f->map.n > 0 && head[0] == 0x80)
        return ERR(e, ERR_DATA,
                   "%s: written by torch.save before PyTorch 1.6; load it and save it again with a "
                   "newer PyTorch",
                   path);
    if (f->map.n < 4 || memcmp(head, "PK\3\4", 4) != 0)
        return ERR(e, ERR_DATA, "%s: not a PyTorch checkpoint: not a zip file", path);
    TRY(zip_each(f, list_member, e));
    if (f->pickle) return 0;
    return ERR(e, ERR_DATA, "%s: not a file of torch.save: contains no data.pkl", path);
}

/* Finds the storage data/KEY; NULL: none. */
static struct torch_storage *find_storage(const struct torch_file *f, const char *key)
{
    int32_t i;

    return map_get(&f->storage_of, key, strlen(key), &i) ? &f->storages.item[i] : NULL;
}

/* --- tensors -------------------------------------------------------------------------------- */

static const struct torch_name torch_names[] = {
    {"torch.FloatStorage", TORCH_NAME, TORCH_F32, 4},
    {"torch.HalfStorage", TORCH_NAME, TORCH_F16, 2},
    {"torch.BFloat16Storage", TORCH_NAME, TORCH_BF16, 2},
    {"torch.DoubleStorage", TORCH_NAME, TORCH_OTHER, 8},
    {"torch.LongStorage", TORCH_NAME, TORCH_OTHER, 8},
    {"torch.IntStorage", TORCH_NAME, TORCH_OTHER, 4},
    {"torch.ShortStorage", TORCH_NAME, TORCH_OTHER, 2},
    {"torch.CharStorage", TORCH_NAME, TORCH_OTHER, 1},
    {"torch.ByteStorage", TORCH_NAME, TORCH_OTHER, 1},
    {"torch.BoolStorage", TORCH_NAME, TORCH_OTHER, 1},
    {.name = "torch.float32"},
    {.name = "torch.float16"},
    {"torch.device", .use = TORCH_CALL},
    {"torch._utils._rebuild_tensor_v2", .use = TORCH_CALL},
    {"torch._utils._rebuild_parameter", .use = TORCH_CALL},
    {"collections.OrderedDict", .use = TORCH_DICT},
    {"collections.defaultdict", .use = TORCH_DICT},
    {"argparse.Namespace", .use = TORCH_CALL},
    /* Training statistics that fairseq stores beside the weights; ignored. */
    {"numpy.dtype", .use = TORCH_CALL},
    {"numpy.core.multiarray.scalar", .use = TORCH_CALL},
    {"numpy._core.multiarray.scalar", .use = TORCH_CALL},
    {"_codecs.encode", .use = TORCH_CALL},
    {"__builtin__.set", .use = TORCH_CALL},
    {.name = "__builtin__.list"},
    {.name = "__builtin__.dict"},
    {.name = "__builtin__.int"},
    {.name = "__builtin__.float"},
    {.name = "__builtin__.bool"},
    {.name = "__builtin__.str"},
    {.name = "__builtin__.unicode"},
    /* The configuration of fairseq 0.10, in containers of omegaconf. */
    {.name = "typing.Any"},
    {"omegaconf.dictconfig.DictConfig", .use = TORCH_CALL},
    {"omegaconf.listconfig.ListConfig", .use = TORCH_CALL},
    {"omegaconf.base.ContainerMetadata", .use = TORCH_CALL},
    {"omegaconf.base.Metadata", .use = TORCH_CALL},
    {"omegaconf.nodes.AnyNode", .use = TORCH_CALL},
    {"omegaconf.nodes.StringNode", .use = TORCH_CALL},
    {"omegaconf.nodes.IntegerNode", .use = TORCH_CALL},
    {"omegaconf.nodes.FloatNode", .use = TORCH_CALL},
    {"omegaconf.nodes.BooleanNode", .use = TORCH_CALL},
    {"omegaconf.nodes.EnumNode", .use = TORCH_CALL},
};

const struct torch_name *torch_name_find(const char *name)
{
    for (size_t i = 0; i < sizeof torch_names / sizeof *torch_names; i++)
        if (strcmp(torch_names[i].name, name) == 0) return &torch_names[i];
    return NULL;
}

static bool is_call(const struct pickle_value *v, const char *name, int32_t arguments_n)
{
    return v->type == PICKLE_OBJECT && strcmp(v->name->name, name) == 0 &&
           v->arguments->n >= arguments_n;
}

/* Reads the id of a storage: ("storage", type, key, device, elements). */
static int read_storage(struct torch_tensor *t, int64_t *elements_n, const struct torch_file *f,
                        const struct pickle_value *v, struct err *e)
{
    const struct pickle_value *id = v->type == PICKLE_PERSISTENT ? v->arguments : NULL;

    if (!id || id->type != PICKLE_TUPLE || id->n != 5 || id->item[1]->type != PICKLE_GLOBAL ||
        id->item[2]->type != PICKLE_TEXT || id->item[4]->type != PICKLE_INT)
        return ERR(e, ERR_DATA, "not a view of a storage");
    t->type = id->item[1]->name;
    if (t->type->bytes == 0) return ERR(e, ERR_DATA, "unknown type %s", t->type->name);
    const char *key = id->item[2]->text;
    *elements_n = id->item[4]->integer;
    t->storage = find_storage(f, key);
    if (!t->storage) return ERR(e, ERR_DATA, "storage data/%.40s is missing", key);
    if (*elements_n >= 0 && *elements_n <= INT64_MAX / 8 &&
        t->storage->bytes == *elements_n * t->type->bytes)
        return 0;
    return ERR(e, ERR_DATA,
               "storage data/%.40s has %" PRId64 " bytes, expected %" PRId64 " elements of %d", key,
               t->storage->bytes, *elements_n, t->type->bytes);
}

/* True if the view is inside its storage; every factor is bounded before it is multiplied. */
static bool view_fits(struct torch_tensor *t, int64_t storage_n)
{
    const int64_t most = INT64_C(1) << TORCH_ELEMENTS_MAX_LOG2;
    int64_t last = t->offset;

    t->elements_n = 1;
    if (t->offset < 0 || t->offset > most) return false;
    for (int32_t i = 0; i < t->dims_n; i++) {
        if (t->dims[i] < 0 || t->dims[i] > most || t->strides[i] < 0 || t->strides[i] > most)
            return false;
        if (t->dims[i] > 0 && t->elements_n > most / t->dims[i]) return false;
        t->elements_n *= t->dims[i];
        if (t->dims[i] > 1 && t->strides[i] > most / (t->dims[i] - 1)) return false;
        if (t->dims[i] > 1) last += (t->dims[i] - 1) * t->strides[i];
    }
    return t->elements_n == 0 ? t->offset <= storage_n : last < storage_n;
}

static bool read_numbers(int64_t out[TORCH_DIMS_MAX], const struct pickle_value *v)
{
    if (v->type != PICKLE_TUPLE || v->n > TORCH_DIMS_MAX) return false;
    for (int32_t i = 0; i < v->n; i++) {
        if (v->item[i]->type != PICKLE_INT) return false;
        out[i] = v->item[i]->integer;
    }
    return true;
}

static int read_tensor(struct torch_tensor *t, const struct torch_file *f,
                       const struct pickle_value *v, struct err *e)
{
    int64_t storage_n = 0;

    if (is_call(v, "torch._utils._rebuild_parameter", 1)) v = v->arguments->item[0];
    if (!is_call(v, "torch._utils._rebuild_tensor_v2", 4)) return ERR(e, ERR_DATA, "not a tensor");
    /* storage, offset, sizes, strides */
    struct pickle_value *const *argument = v->arguments->item;
    TRY(read_storage(t, &storage_n, f, argument[0], e));
    if (argument[1]->type != PICKLE_INT || !read_numbers(t->dims, argument[2]) ||
        !read_numbers(t->strides, argument[3]) || argument[2]->n != argument[3]->n)
        return ERR(e, ERR_DATA, "offset, sizes or strides are not numbers");
    t->offset = argument[1]->integer;
    t->dims_n = argument[2]->n;
    if (view_fits(t, storage_n)) return 0;
    return ERR(e, ERR_DATA, "exceeds its storage of %" PRId64 " elements", storage_n);
}

int torch_tensors_read(struct torch_tensor **out, int32_t *n, const struct torch_file *f,
                       const struct pickle_value *state_dict, struct err *e)
{
    struct map names;
    bool added;

    *n = 0;
    if (!state_dict || state_dict->type != PICKLE_DICT || state_dict->n == 0)
        return ERR(e, ERR_DATA, "%s: contains no dict `model` of tensors; not a fairseq checkpoint",
                   f->path);
    map_init(&names, f->arena);
    *out = arena_array(f->arena, (size_t)state_dict->n / 2, sizeof **out);
    for (; *n < state_dict->n / 2; ++*n) {
        const struct pickle_value *const name = state_dict->item[2 * *n];
        struct torch_tensor *t = &(*out)[*n];
        if (name->type != PICKLE_TEXT)
            return ERR(e, ERR_DATA, "%s: a tensor's name is not text", f->path);
        t->name = name->text;
        int rc = read_tensor(t, f, state_dict->item[2 * *n + 1], e);
        if (rc < 0) err_ctx(e, "%s: tensor %s", f->path, t->name);
        TRY(rc);
        map_put(&names, t->name, strlen(t->name), &added);
        if (!added) return ERR(e, ERR_DATA, "%s: contains %s twice", f->path, t->name);
    }
    return 0;
}

/* --- reading storages ------------------------------------------------------------------------- */

/* Copies the storage from its first block on. */
static int copy_blocks(struct torch_file *f, const struct member *member, struct torch_storage *s,
                       const void *block, size_t n, int64_t at, struct err *e)
{
    int64_t done = 0;
    int rc = ARCHIVE_OK;

    s->data = s->data_own = malloc((size_t)s->bytes + 1);
    if (!s->data_own)
        return ERR(e, ERR_NOMEM, "%s: out of memory for the %" PRId64 " bytes of %s", f->path,
                   s->bytes, member->name);
    for (; rc == ARCHIVE_OK; rc = archive_read_data_block(member->zip, &block, &n, &at)) {
        if (n == 0) continue;
        if (at != done || (uint64_t)n > (uint64_t)(s->bytes - done)) break;
        memcpy((char *)s->data_own + done, block, n);
        done += (int64_t)n;
    }
    if (rc != ARCHIVE_EOF && rc != ARCHIVE_OK) return zip_error(f, member->zip, e);
    if (rc == ARCHIVE_EOF && done == s->bytes) return 0;
    return ERR(e, ERR_DATA, "%s: %s does not have the %" PRId64 " bytes it states", f->path,
               member->name, s->bytes);
}

/* A storage that the zip does not compress is one block of the map: it is not copied. */
static int read_member(struct torch_file *f, const struct member *member, struct err *e)
{
    struct torch_storage *s = NULL;
    const void *block = NULL;
    size_t n = 0;
    la_int64_t at = 0;

    if (strncmp(member->name, "data/", 5) == 0) s = find_storage(f, member->name + 5);
    if (!s || !s->wanted || s->data || s->bytes != member->bytes) return 0;
    int rc = archive_read_data_block(member->zip, &block, &n, &at);
    if (rc != ARCHIVE_OK && rc != ARCHIVE_EOF) return zip_error(f, member->zip, e);
    if (rc == ARCHIVE_EOF) n = 0;
    if (at != 0 || (int64_t)n != s->bytes || !file_map_has(&f->map, block, n))
        return copy_blocks(f, member, s, block, n, at, e);
    s->data = block;
    /* The end of the entry is where libarchive has compared the checksum. */
    do rc = archive_read_data_block(member->zip, &block, &n, &at);
    while (rc == ARCHIVE_OK && n == 0);
    if (rc != ARCHIVE_EOF) return zip_error(f, member->zip, e);
    torch_storage_release(f, s);
    return 0;
}

void torch_storage_release(const struct torch_file *f, const struct torch_storage *s)
{
    if (!s->data_own) file_map_release(&f->map, s->data, (size_t)s->bytes);
}

int torch_file_read(struct torch_file *f, struct err *e)
{
    TRY(zip_each(f, read_member, e));
    for (int32_t i = 0; i < f->storages.n; i++)
        if (f->storages.item[i].wanted && !f->storages.item[i].data)
            return ERR(e, ERR_DATA, "%s: data/%s is missing", f->path, f->storages.item[i].key);
    return 0;
}

void torch_file_close(struct torch_file *f)
{
    for (int32_t i = 0; i < f->storages.n; i++) free(f->storages.item[i].data_own);
    f->storages.n = 0;
    file_map_close(&f->map);
}

/* Converts fp16 exactly; a subnormal is its 10 bits times 2^-24. */
static float from_fp16(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16, exponent = h >> 10 & 31u, fraction = h & 1023u;
    uint32_t bits = sign | (exponent == 31 ? 255 : exponent + 112) << 23 | fraction << 13;
    float f;

    if (exponent == 0) {
        f = (float)fraction * 0x1p-24f;
        return sign ? -f : f;
    }
    memcpy(&f, &bits, sizeof f);
    return f;
}

static float element(enum torch_dtype dtype, const unsigned char *storage, int64_t at)
{
    uint32_t bits;
    uint16_t upper;
    float f;

    if (dtype == TORCH_F32) {
        memcpy(&f, storage + 4 * at, sizeof f);
        return f;
    }
    memcpy(&upper, storage + 2 * at, sizeof upper);
    if (dtype == TORCH_F16) return from_fp16(upper);
    bits = (uint32_t)upper << 16;
    memcpy(&f, &bits, sizeof f);
    return f;
}

void torch_tensor_widen(float *out, const struct torch_tensor *t, const void *storage)
{
    int64_t index[TORCH_DIMS_MAX] = {0}, at = t->offset;

    for (int64_t i = 0; i < t->elements_n; i++) {
        out[i] = element(t->type->dtype, storage, at);
        for (int32_t k = t->dims_n - 1; k >= 0; k--) {
            at += t->strides[k];
            if (++index[k] < t->dims[k]) break;
            at -= t->dims[k] * t->strides[k];
            index[k] = 0;
        }
    }
}
