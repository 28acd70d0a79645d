/* import_tensor.c - from nodes of the pickle to checked views. */
#include "interchange/import_tensor.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { IMPORT_ELEMENTS_MAX_LOG2 = 40 };

static const struct {
    const char *name; /* after "torch " */
    enum import_dtype dtype;
    int64_t bytes;
} import_storages[] = {
    {"FloatStorage", IMPORT_F32, 4},     {"HalfStorage", IMPORT_F16, 2},
    {"BFloat16Storage", IMPORT_BF16, 2}, {"DoubleStorage", IMPORT_OTHER, 8},
    {"LongStorage", IMPORT_OTHER, 8},    {"IntStorage", IMPORT_OTHER, 4},
    {"ShortStorage", IMPORT_OTHER, 2},   {"CharStorage", IMPORT_OTHER, 1},
    {"ByteStorage", IMPORT_OTHER, 1},    {"BoolStorage", IMPORT_OTHER, 1},
};

static const struct pickle_name import_name_table[] = {
    {"torch FloatStorage", PICKLE_USE_NAME},
    {"torch HalfStorage", PICKLE_USE_NAME},
    {"torch BFloat16Storage", PICKLE_USE_NAME},
    {"torch DoubleStorage", PICKLE_USE_NAME},
    {"torch LongStorage", PICKLE_USE_NAME},
    {"torch IntStorage", PICKLE_USE_NAME},
    {"torch ShortStorage", PICKLE_USE_NAME},
    {"torch CharStorage", PICKLE_USE_NAME},
    {"torch ByteStorage", PICKLE_USE_NAME},
    {"torch BoolStorage", PICKLE_USE_NAME},
    {"torch float32", PICKLE_USE_NAME},
    {"torch float16", PICKLE_USE_NAME},
    {"torch device", PICKLE_USE_OBJECT},
    {"torch._utils _rebuild_tensor_v2", PICKLE_USE_OBJECT},
    {"torch._utils _rebuild_parameter", PICKLE_USE_OBJECT},
    {"collections OrderedDict", PICKLE_USE_DICT},
    {"collections defaultdict", PICKLE_USE_DICT},
    {"argparse Namespace", PICKLE_USE_OBJECT},
    /* Statistics of the training, which fairseq keeps beside the weights; skipped. */
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
    /* The configuration of fairseq 0.10, kept in containers of omegaconf. */
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

const struct pickle_name *import_names(size_t *n)
{
    *n = sizeof import_name_table / sizeof *import_name_table;
    return import_name_table;
}

static bool is_call(const struct pickle_value *v, const char *name, int64_t arguments_n)
{
    return v->type == PICKLE_OBJECT && strcmp(v->text, name) == 0 && v->arguments->n >= arguments_n;
}

/* ("storage", type, key, device, elements), as torch.save names a storage. */
static int import_read_storage(struct import_tensor *t, int64_t *elements_n,
                               const struct import_archive *z, const struct pickle_value *v,
                               struct err *e)
{
    const struct pickle_value *id = v->type == PICKLE_PERSISTENT ? v->arguments : NULL;

    if (!id || id->type != PICKLE_TUPLE || id->n != 5 || id->item[1]->type != PICKLE_GLOBAL ||
        id->item[2]->type != PICKLE_TEXT || id->item[4]->type != PICKLE_INT)
        return ERR(e, ERR_DATA, "%s: tensor %s is not a view of a storage", z->path, t->name);
    t->key = id->item[2]->text;
    *elements_n = id->item[4]->integer;
    const char *type = id->item[1]->text;
    for (size_t i = 0; i < sizeof import_storages / sizeof *import_storages; i++) {
        if (strncmp(type, "torch ", 6) != 0 || strcmp(type + 6, import_storages[i].name) != 0)
            continue;
        t->dtype = import_storages[i].dtype;
        t->type = import_storages[i].name;
        const struct import_entry *entry = import_archive_find(z, t->key);
        if (!entry)
            return ERR(e, ERR_DATA, "%s: %s: its storage data/%.40s is missing", z->path, t->name,
                       t->key);
        t->storage_bytes = entry->bytes;
        if (*elements_n >= 0 && *elements_n <= INT64_MAX / 8 &&
            entry->bytes == *elements_n * import_storages[i].bytes)
            return 0;
        return ERR(e, ERR_DATA,
                   "%s: %s: its storage data/%.40s has %" PRId64 " bytes, not %" PRId64
                   " elements of %" PRId64,
                   z->path, t->name, t->key, entry->bytes, *elements_n, import_storages[i].bytes);
    }
    return ERR(e, ERR_DATA, "%s: %s: is of type %.60s, which is unknown", z->path, t->name, type);
}

/* Whether the view stays inside; everything is bounded before it is multiplied. */
static bool import_view_fits(struct import_tensor *t, int64_t storage_n)
{
    const int64_t most = INT64_C(1) << IMPORT_ELEMENTS_MAX_LOG2;
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

static bool import_read_numbers(int64_t *out, const struct pickle_value *v)
{
    for (int64_t i = 0; i < v->n; i++) {
        if (v->item[i]->type != PICKLE_INT) return false;
        out[i] = v->item[i]->integer;
    }
    return true;
}

static int import_read_tensor(struct import_tensor *t, const struct import_archive *z,
                              const struct pickle_value *v, struct err *e)
{
    int64_t storage_n = 0;

    if (is_call(v, "torch._utils _rebuild_parameter", 1)) v = v->arguments->item[0];
    if (!is_call(v, "torch._utils _rebuild_tensor_v2", 4))
        return ERR(e, ERR_DATA, "%s: %s is not a tensor", z->path, t->name);
    struct pickle_value *const *argument = v->arguments->item;
    TRY(import_read_storage(t, &storage_n, z, argument[0], e));
    const struct pickle_value *dims = argument[2], *strides = argument[3];
    if (argument[1]->type != PICKLE_INT || dims->type != PICKLE_TUPLE ||
        strides->type != PICKLE_TUPLE || dims->n > IMPORT_DIMS_MAX || dims->n != strides->n ||
        !import_read_numbers(t->dims, dims) || !import_read_numbers(t->strides, strides))
        return ERR(e, ERR_DATA, "%s: %s: offset, sizes or strides are no numbers", z->path,
                   t->name);
    t->offset = argument[1]->integer;
    t->dims_n = (int32_t)dims->n;
    if (import_view_fits(t, storage_n)) return 0;
    return ERR(e, ERR_DATA, "%s: %s: reaches beyond its storage of %" PRId64 " elements", z->path,
               t->name, storage_n);
}

static int import_name_compare(const void *a, const void *b)
{
    return strcmp((*(const struct import_tensor *const *)a)->name,
                  (*(const struct import_tensor *const *)b)->name);
}

static int import_check_names(const struct import_tensor *t, int32_t n,
                              const struct import_archive *z, struct err *e)
{
    const struct import_tensor **sorted = arena_array(z->arena, (size_t)n + 1, sizeof *sorted);

    for (int32_t i = 0; i < n; i++) sorted[i] = &t[i];
    qsort(sorted, (size_t)n, sizeof *sorted, import_name_compare);
    for (int32_t i = 1; i < n; i++)
        if (strcmp(sorted[i - 1]->name, sorted[i]->name) == 0)
            return ERR(e, ERR_DATA, "%s: holds %s twice", z->path, sorted[i]->name);
    return 0;
}

int import_tensors_read(struct import_tensor **out, int32_t *n, const struct import_archive *z,
                        const struct pickle_value *state_dict, struct err *e)
{
    *n = 0;
    if (!state_dict || state_dict->type != PICKLE_DICT || state_dict->n == 0)
        return ERR(e, ERR_DATA,
                   "%s: holds no dict `model` of tensors, as a checkpoint of fairseq does",
                   z->path);
    *out = arena_array(z->arena, (size_t)state_dict->n, sizeof **out);
    for (int64_t i = 0; i < state_dict->n; i++) {
        const struct pickle_value *name = state_dict->item[2 * i];
        if (name->type != PICKLE_TEXT)
            return ERR(e, ERR_DATA, "%s: a tensor's name is no text", z->path);
        struct import_tensor *t = &(*out)[*n];
        t->name = name->text;
        TRY(import_read_tensor(t, z, state_dict->item[2 * i + 1], e));
        ++*n;
    }
    return import_check_names(*out, *n, z, e);
}

int import_tensor_same_view(const struct import_tensor *x, const struct import_tensor *y)
{
    if (strcmp(x->key, y->key) != 0 || x->offset != y->offset || x->dims_n != y->dims_n) return 0;
    for (int32_t i = 0; i < x->dims_n; i++)
        if (x->dims[i] != y->dims[i] || x->strides[i] != y->strides[i]) return 0;
    return x->dtype == y->dtype;
}

/* --- numbers --- */

/* IEEE half precision, every value exactly; a subnormal is its 10 bits times 2^-24. */
static float import_from_half(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16, exponent = h >> 10 & 31u, fraction = h & 1023u;
    uint32_t bits = sign | (exponent + 112) << 23 | fraction << 13;
    float f;

    if (exponent == 0) {
        f = (float)fraction * 0x1p-24f;
        return sign ? -f : f;
    }
    if (exponent == 31) bits = sign | 255u << 23 | fraction << 13;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static float import_element(enum import_dtype dtype, const unsigned char *storage, int64_t at)
{
    uint32_t bits = 0;
    uint16_t half;
    float f;

    if (dtype == IMPORT_F32) {
        memcpy(&f, storage + 4 * at, sizeof f);
        return f;
    }
    memcpy(&half, storage + 2 * at, sizeof half);
    if (dtype == IMPORT_F16) return import_from_half(half);
    bits = (uint32_t)half << 16;
    memcpy(&f, &bits, sizeof f);
    return f;
}

void import_tensor_widen(float *out, const struct import_tensor *t, const void *storage)
{
    int64_t index[IMPORT_DIMS_MAX] = {0}, at = t->offset;

    for (int64_t i = 0; i < t->elements_n; i++) {
        out[i] = import_element(t->dtype, storage, at);
        for (int32_t k = t->dims_n - 1; k >= 0; k--) {
            at += t->strides[k];
            if (++index[k] < t->dims[k]) break;
            at -= t->dims[k] * t->strides[k];
            index[k] = 0;
        }
    }
}
