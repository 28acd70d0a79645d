/* torch_file.c - reads the zip in two passes: first the list of files and the pickle, then the
 * needed storages. Between them, nodes of the pickle are converted to checked views. */
#include "interchange/torch_file.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/map.h"

enum {
    TORCH_BLOCK_BYTES = 1 << 20,
    TORCH_STORAGES_MAX = 1 << 16,
    TORCH_NAME_MAX = 512,
    TORCH_ELEMENTS_MAX_LOG2 = 40
};

/* --- the zip -------------------------------------------------------------------------------- */

static int zip_error(const struct torch_file *f, struct archive *zip, struct err *e)
{
    const char *why = archive_error_string(zip);
    return ERR(e, ERR_DATA, "%s: damaged or truncated: %s", f->path, why ? why : "unreadable zip");
}

/* Checks that the file is a zip; torch.save before PyTorch 1.6 wrote plain pickles. */
static int check_magic(const char *path, int64_t *bytes, struct err *e)
{
    unsigned char head[4] = {0};
    int fd = file_open_read(path, e);

    if (fd < 0) return fd;
    ssize_t n = pread(fd, head, sizeof head, 0);
    *bytes = lseek(fd, 0, SEEK_END);
    close(fd);
    if (n < 0) return ERR(e, ERR_IO, "%s: %s", path, strerror(errno));
    if (memcmp(head, "PK\3\4", sizeof head) == 0) return 0;
    if (head[0] == 0x80)
        return ERR(e, ERR_DATA,
                   "%s: written by torch.save before PyTorch 1.6; load it and save it again with a "
                   "newer PyTorch",
                   path);
    return ERR(e, ERR_DATA, "%s: not a PyTorch checkpoint: not a zip file", path);
}

/* A file in the zip. */
struct zip_member {
    const char *name; /* without the folder */
    int64_t bytes;    /* -1: not stated */
};
typedef int (*zip_member_fn)(void *context, struct archive *zip, const struct zip_member *member,
                             struct err *e);

/* Calls fn for each file of the zip. */
static int zip_each(const struct torch_file *f, zip_member_fn fn, void *context, struct err *e)
{
    struct archive *zip = archive_read_new();
    struct archive_entry *entry;
    int rc = 0, next;

    if (!zip) return ERR(e, ERR_NOMEM, "out of memory while reading %s", f->path);
    if (archive_read_support_format_zip_seekable(zip) != ARCHIVE_OK ||
        archive_read_open_filename(zip, f->path, TORCH_BLOCK_BYTES) != ARCHIVE_OK) {
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
        const struct zip_member member = {
            slash ? slash + 1 : path,
            archive_entry_size_is_set(entry) ? (int64_t)archive_entry_size(entry) : -1};
        TRY_OUT(rc, fn(context, zip, &member, e));
    }
    if (next != ARCHIVE_EOF) rc = zip_error(f, zip, e);
out:
    archive_read_free(zip);
    return rc;
}

/* Reads exactly the stated bytes of a file; libarchive verifies the checksum. */
static int zip_read(const struct torch_file *f, struct archive *zip,
                    const struct zip_member *member, void *out, struct err *e)
{
    int64_t done = 0;
    char more;

    while (done < member->bytes) {
        la_ssize_t n = archive_read_data(zip, (char *)out + done, (size_t)(member->bytes - done));
        if (n < 0) return zip_error(f, zip, e);
        if (n == 0)
            return ERR(e, ERR_DATA, "%s: %s ends after %" PRId64 " of %" PRId64 " bytes", f->path,
                       member->name, done, member->bytes);
        done += n;
    }
    la_ssize_t left = archive_read_data(zip, &more, 1);
    if (left < 0) return zip_error(f, zip, e);
    if (left > 0)
        return ERR(e, ERR_DATA, "%s: %s is longer than the %" PRId64 " bytes it states", f->path,
                   member->name, member->bytes);
    return 0;
}

/* --- listing -------------------------------------------------------------------------- */

struct torch_listing {
    struct torch_file *file;
    int64_t file_bytes;
    struct {
        struct torch_storage *item;
        int32_t n, capacity;
    } storages;
};

static int list_member(void *context, struct archive *zip, const struct zip_member *member,
                       struct err *e)
{
    struct torch_listing *l = context;
    struct torch_file *f = l->file;
    const char *name = member->name;
    bool pickle = strcmp(name, "data.pkl") == 0;

    if (strcmp(name, "byteorder") == 0) { /* PyTorch 2 states the byte order */
        char text[8] = "";
        if (member->bytes == 6) TRY(zip_read(f, zip, member, text, e));
        if (strcmp(text, "little") == 0) return 0;
        return ERR(e, ERR_DATA, "%s: byte order is not little-endian", f->path);
    }
    if (!pickle && strncmp(name, "data/", 5) != 0) return 0; /* version, code: ignore */
    if (member->bytes < 0 || member->bytes > l->file_bytes)
        return ERR(e, ERR_DATA, "%s: %s states %" PRId64 " bytes, but the whole file has %" PRId64,
                   f->path, name, member->bytes, l->file_bytes);
    if (!pickle) {
        if (l->storages.n == TORCH_STORAGES_MAX)
            return ERR(e, ERR_DATA, "%s: more than %d storages", f->path, TORCH_STORAGES_MAX);
        *vec_push(f->arena, &l->storages) =
            (struct torch_storage){.key = arena_strdup(f->arena, name + 5), .bytes = member->bytes};
        return 0;
    }
    if (f->pickle) return ERR(e, ERR_DATA, "%s: contains data.pkl twice", f->path);
    if (member->bytes > PICKLE_BYTES_MAX)
        return ERR(e, ERR_DATA, "%s: data.pkl has %" PRId64 " bytes, more than the limit of %d",
                   f->path, member->bytes, PICKLE_BYTES_MAX);
    void *data = arena_alloc(f->arena, (size_t)member->bytes + 1);
    TRY(zip_read(f, zip, member, data, e));
    f->pickle = data;
    f->pickle_bytes = (size_t)member->bytes;
    return 0;
}

static int compare_storages(const void *a, const void *b)
{
    return strcmp(((const struct torch_storage *)a)->key, ((const struct torch_storage *)b)->key);
}

int torch_file_open(struct torch_file *f, struct arena *a, const char *path, struct err *e)
{
    struct torch_listing l = {.file = f};

    *f = (struct torch_file){.path = path, .arena = a};
    TRY(check_magic(path, &l.file_bytes, e));
    TRY(zip_each(f, list_member, &l, e));
    if (!f->pickle)
        return ERR(e, ERR_DATA, "%s: not a file of torch.save: contains no data.pkl", f->path);
    f->storage = l.storages.item;
    f->storages_n = l.storages.n;
    if (f->storages_n == 0) return 0;
    qsort(f->storage, (size_t)f->storages_n, sizeof *f->storage, compare_storages);
    for (int32_t i = 1; i < f->storages_n; i++)
        if (strcmp(f->storage[i - 1].key, f->storage[i].key) == 0)
            return ERR(e, ERR_DATA, "%s: contains data/%s twice", f->path, f->storage[i].key);
    return 0;
}

/* The storage data/KEY; NULL: none. */
static struct torch_storage *find_storage(const struct torch_file *f, const char *key)
{
    const struct torch_storage named = {.key = key};

    if (f->storages_n == 0) return NULL;
    return bsearch(&named, f->storage, (size_t)f->storages_n, sizeof named, compare_storages);
}

/* --- tensors -------------------------------------------------------------------------------- */

static const struct torch_type {
    const char *name;
    enum torch_dtype dtype;
    int64_t bytes; /* of an element */
} torch_types[] = {
    {"torch FloatStorage", TORCH_F32, 4},     {"torch HalfStorage", TORCH_F16, 2},
    {"torch BFloat16Storage", TORCH_BF16, 2}, {"torch DoubleStorage", TORCH_OTHER, 8},
    {"torch LongStorage", TORCH_OTHER, 8},    {"torch IntStorage", TORCH_OTHER, 4},
    {"torch ShortStorage", TORCH_OTHER, 2},   {"torch CharStorage", TORCH_OTHER, 1},
    {"torch ByteStorage", TORCH_OTHER, 1},    {"torch BoolStorage", TORCH_OTHER, 1},
};
enum { TORCH_TYPES_N = sizeof torch_types / sizeof *torch_types };

/* The other names allowed in the pickle of a checkpoint. */
static const struct pickle_name torch_names[] = {
    {"torch float32", PICKLE_USE_NAME},
    {"torch float16", PICKLE_USE_NAME},
    {"torch device", PICKLE_USE_OBJECT},
    {"torch._utils _rebuild_tensor_v2", PICKLE_USE_OBJECT},
    {"torch._utils _rebuild_parameter", PICKLE_USE_OBJECT},
    {"collections OrderedDict", PICKLE_USE_DICT},
    {"collections defaultdict", PICKLE_USE_DICT},
    {"argparse Namespace", PICKLE_USE_OBJECT},
    /* Training statistics that fairseq stores beside the weights; ignored. */
    {"numpy dtype", PICKLE_USE_OBJECT},
    {"numpy.core.multiarray scalar", PICKLE_USE_OBJECT},
    {"numpy._core.multiarray scalar", PICKLE_USE_OBJECT},
    {"_codecs encode", PICKLE_USE_OBJECT},
    {"__builtin__ set", PICKLE_USE_OBJECT},
    {"__builtin__ list", PICKLE_USE_NAME},
    {"__builtin__ dict", PICKLE_USE_NAME},
    {"__builtin__ int", PICKLE_USE_NAME},
    {"__builtin__ float", PICKLE_USE_NAME},
    {"__builtin__ bool", PICKLE_USE_NAME},
    {"__builtin__ str", PICKLE_USE_NAME},
    {"__builtin__ unicode", PICKLE_USE_NAME},
    /* The configuration of fairseq 0.10, in containers of omegaconf. */
    {"typing Any", PICKLE_USE_NAME},
    {"omegaconf.dictconfig DictConfig", PICKLE_USE_OBJECT},
    {"omegaconf.listconfig ListConfig", PICKLE_USE_OBJECT},
    {"omegaconf.base ContainerMetadata", PICKLE_USE_OBJECT},
    {"omegaconf.base Metadata", PICKLE_USE_OBJECT},
    {"omegaconf.nodes AnyNode", PICKLE_USE_OBJECT},
    {"omegaconf.nodes StringNode", PICKLE_USE_OBJECT},
    {"omegaconf.nodes IntegerNode", PICKLE_USE_OBJECT},
    {"omegaconf.nodes FloatNode", PICKLE_USE_OBJECT},
    {"omegaconf.nodes BooleanNode", PICKLE_USE_OBJECT},
    {"omegaconf.nodes EnumNode", PICKLE_USE_OBJECT},
};
enum { TORCH_NAMES_N = sizeof torch_names / sizeof *torch_names };

int torch_file_describe(struct pickle_value **out, const struct torch_file *f, struct err *e)
{
    struct pickle_name names[TORCH_TYPES_N + TORCH_NAMES_N];

    for (int i = 0; i < TORCH_TYPES_N; i++)
        names[i] = (struct pickle_name){torch_types[i].name, PICKLE_USE_NAME};
    memcpy(names + TORCH_TYPES_N, torch_names, sizeof torch_names);
    return pickle_read(out, f->arena, f->pickle, f->pickle_bytes, names,
                       TORCH_TYPES_N + TORCH_NAMES_N, f->path, e);
}

static bool is_call(const struct pickle_value *v, const char *name, int32_t arguments_n)
{
    return v->type == PICKLE_OBJECT && strcmp(v->text, name) == 0 && v->arguments->n >= arguments_n;
}

/* Reads the id of a storage: ("storage", type, key, device, elements). */
static int read_storage(struct torch_tensor *t, int64_t *elements_n, const struct torch_file *f,
                        const struct pickle_value *v, struct err *e)
{
    const struct pickle_value *id = v->type == PICKLE_PERSISTENT ? v->arguments : NULL;
    const struct torch_type *type = torch_types;

    if (!id || id->type != PICKLE_TUPLE || id->n != 5 || id->item[1]->type != PICKLE_GLOBAL ||
        id->item[2]->type != PICKLE_TEXT || id->item[4]->type != PICKLE_INT)
        return ERR(e, ERR_DATA, "not a view of a storage");
    while (type < torch_types + TORCH_TYPES_N && strcmp(type->name, id->item[1]->text) != 0) type++;
    if (type == torch_types + TORCH_TYPES_N)
        return ERR(e, ERR_DATA, "unknown type %.60s", id->item[1]->text);
    t->dtype = type->dtype;
    t->type = type->name + strlen("torch ");
    const char *key = id->item[2]->text;
    *elements_n = id->item[4]->integer;
    t->storage = find_storage(f, key);
    if (!t->storage) return ERR(e, ERR_DATA, "storage data/%.40s is missing", key);
    if (*elements_n >= 0 && *elements_n <= INT64_MAX / 8 &&
        t->storage->bytes == *elements_n * type->bytes)
        return 0;
    return ERR(e, ERR_DATA,
               "storage data/%.40s has %" PRId64 " bytes, expected %" PRId64
               " elements of %" PRId64,
               key, t->storage->bytes, *elements_n, type->bytes);
}

/* Whether the view is inside its storage; every factor is bounded before it is multiplied. */
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

    if (is_call(v, "torch._utils _rebuild_parameter", 1)) v = v->arguments->item[0];
    if (!is_call(v, "torch._utils _rebuild_tensor_v2", 4)) return ERR(e, ERR_DATA, "not a tensor");
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

bool torch_tensor_same_view(const struct torch_tensor *x, const struct torch_tensor *y)
{
    size_t n = (size_t)x->dims_n * sizeof *x->dims;

    return x->storage == y->storage && x->dtype == y->dtype && x->offset == y->offset &&
           x->dims_n == y->dims_n && memcmp(x->dims, y->dims, n) == 0 &&
           memcmp(x->strides, y->strides, n) == 0;
}

/* --- reading storages ------------------------------------------------------------------------- */

static int read_member(void *context, struct archive *zip, const struct zip_member *member,
                       struct err *e)
{
    struct torch_file *f = context;

    if (strncmp(member->name, "data/", 5) != 0) return 0;
    struct torch_storage *s = find_storage(f, member->name + 5);
    if (!s || !s->wanted || s->data_own) return 0;
    if (member->bytes != s->bytes)
        return ERR(e, ERR_DATA, "%s: %s changed while being read", f->path, member->name);
    s->data_own = malloc((size_t)s->bytes + 1);
    if (!s->data_own)
        return ERR(e, ERR_NOMEM, "%s: out of memory for the %" PRId64 " bytes of %s", f->path,
                   s->bytes, member->name);
    return zip_read(f, zip, member, s->data_own, e);
}

int torch_file_read(struct torch_file *f, struct err *e)
{
    TRY(zip_each(f, read_member, f, e));
    for (const struct torch_storage *s = f->storage; s < f->storage + f->storages_n; s++)
        if (s->wanted && !s->data_own)
            return ERR(e, ERR_DATA, "%s: data/%s is missing", f->path, s->key);
    return 0;
}

void torch_file_close(struct torch_file *f)
{
    for (int32_t i = 0; i < f->storages_n; i++) {
        free(f->storage[i].data_own);
        f->storage[i].data_own = NULL;
    }
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
        out[i] = element(t->dtype, storage, at);
        for (int32_t k = t->dims_n - 1; k >= 0; k--) {
            at += t->strides[k];
            if (++index[k] < t->dims[k]) break;
            at -= t->dims[k] * t->strides[k];
            index[k] = 0;
        }
    }
}
