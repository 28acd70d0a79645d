/* oracle_position.c - files without a model: bias tables with the gradients of their parameters,
 * and tables of rotations. Each case's settings are the JSON that metadata has under its name. */
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "model/oracle.h"

/* One case: its settings as text, and its method. */
struct table_case {
    struct oracle *o;
    const char *name;
    json_t *json_own;
    struct spec spec;
    struct position_shape shape;
    const struct position_functions *functions;
    int32_t length; /* distances, or tokens */
};

static const char *json_text(const struct oracle_texts *texts, const char *key)
{
    const struct table_case *k = texts->from;
    const json_t *value = json_object_get(k->json_own, key);
    char number[STR_DOUBLE_BYTES];
    if (value == NULL || json_is_string(value)) return json_string_value(value);
    str_from_double(number, json_number_value(value));
    return arena_strdup(&k->o->arena, number);
}

static int case_number(int32_t *out, const struct table_case *k, const char *key, struct err *e)
{
    const struct oracle_texts texts = {.get = json_text, .from = k};
    const char *text = json_text(&texts, key);
    int64_t value = 0;
    if (text == NULL || !str_to_int(&value, text) || value < 1 || value > 65536)
        return ERR(e, ERR_DATA, "metadata %s: %s is %s, expected a number from 1 to 65536", k->name,
                   key, text == NULL ? "absent" : text);
    *out = (int32_t)value;
    return 0;
}

static int case_read(struct table_case *k, struct oracle *o, const char *name, struct err *e)
{
    const char *text = safetensors_metadata(o->file_own, name);
    *k = (struct table_case){.o = o, .name = name};
    if (text == NULL) return ERR(e, ERR_DATA, "there is no metadata %s", name);
    k->json_own = json_loads(text, 0, NULL);
    if (!json_is_object(k->json_own))
        return ERR(e, ERR_DATA, "metadata %s is not a JSON object", name);
    spec_init(&k->spec);
    return 0;
}

static int case_method(struct table_case *k, struct err *e)
{
    TRY(oracle_position(&k->spec, &(struct oracle_texts){.get = json_text, .from = k}, e));
    k->shape = spec_position_shape(&k->spec);
    k->shape.length = k->length;
    k->functions = position_methods[k->spec.model.position].functions;
    return position_check((int32_t)k->spec.model.position, &k->shape, e);
}

/* Numbers of a bias in this case; zeroed. */
static struct position_bias case_bias(const struct table_case *k)
{
    size_t n = (size_t)position_table_length(k->functions, &k->shape, k->length);
    size_t heads = (size_t)k->spec.model.heads;
    return (struct position_bias){
        .table_n = (int32_t)n,
        .table = arena_array(&k->o->arena, heads * n + 1, sizeof(float)),
        .tail = arena_array(&k->o->arena, heads, sizeof(float)),
    };
}

/* The softmax ignores a constant: tables are compared relative to distance 0. */
static float *from_first(struct oracle *o, const float *table, int32_t heads, int32_t n)
{
    float *out = arena_array(&o->arena, (size_t)heads * (size_t)n, sizeof *out);
    for (int64_t i = 0; i < (int64_t)heads * n; i++)
        out[i] = (float)((double)table[i] - (double)table[i / n * n]);
    return out;
}

static int check_table(struct table_case *k, const struct position_bias *bias,
                       const struct safetensors_entry *want)
{
    int32_t H = k->spec.model.heads, n = k->length;
    float *got = arena_array(&k->o->arena, (size_t)H * (size_t)n, sizeof *got);
    for (int64_t h = 0; h < H; h++)
        for (int32_t d = 0; d < n; d++) {
            float tail = bias->table_n > 0 ? bias->tail[h] : bias->tail[h] * (float)d;
            got[h * n + d] = d < bias->table_n ? bias->table[h * bias->table_n + d] : tail;
        }
    oracle_compare(k->o, ORACLE_TABLE, want->name, from_first(k->o, got, H, n),
                   from_first(k->o, want->data, H, n), (int64_t)H * n);
    return 0;
}

/* The gradient of head h is row h, modulo their number, of dtable. */
static void case_gradient(const struct table_case *k, struct position_bias *grad,
                          const struct safetensors_entry *dtable)
{
    int64_t rows = dtable->dims[0], cols = dtable->dims[1];
    for (int64_t h = 0; h < k->spec.model.heads; h++)
        for (int32_t d = 0; d < k->length; d++) {
            float g = ((const float *)dtable->data)[h % rows * cols + d];
            if (d < grad->table_n)
                grad->table[h * grad->table_n + d] = g;
            else
                grad->tail[h] += g;
        }
}

static int check_bias_case(struct oracle *o, const char *name,
                           const struct safetensors_entry *dtable, struct err *e)
{
    int rc = 0;
    struct table_case k;
    struct position_tensor tensor[POSITION_TENSORS_MAX];
    const struct safetensors_entry *table = NULL, *t = NULL;
    const float *values[POSITION_TENSORS_MAX];
    float *gradients[POSITION_TENSORS_MAX];
    TRY_OUT(rc, case_read(&k, o, name, e));
    TRY_OUT(rc, case_number(&k.spec.model.heads, &k, "heads", e));
    k.spec.model.dim = 8 * k.spec.model.heads;
    TRY_OUT(rc, oracle_take(&table, o, "F32", -1, e, "%s.table", name));
    if (table->dims_n != 2 || table->dims[0] != k.spec.model.heads || table->dims[1] < 1 ||
        table->dims[1] > dtable->dims[1]) {
        rc = ERR(e, ERR_DATA, "%s is not (heads, distances)", table->name);
        goto out;
    }
    k.length = (int32_t)table->dims[1];
    TRY_OUT(rc, case_method(&k, e));
    if (k.functions->fill == NULL) {
        rc = ERR(e, ERR_DATA, "metadata %s: the method has no bias", name);
        goto out;
    }
    int32_t n = k.functions->tensors != NULL ? k.functions->tensors(&k.shape, tensor) : 0;
    for (int32_t i = 0; i < n; i++) {
        int64_t elements_n = (int64_t)tensor[i].rows * tensor[i].cols;
        TRY_OUT(rc, oracle_take(&t, o, "F32", elements_n, e, "%s.w.%s", name, tensor[i].name));
        values[i] = t->data;
        gradients[i] = arena_array(&o->arena, (size_t)elements_n, sizeof *gradients[i]);
    }
    struct position_bias bias = case_bias(&k), grad = case_bias(&k);
    k.functions->fill(&k.shape, values, &bias);
    check_table(&k, &bias, table);
    if (n == 0) goto out;
    case_gradient(&k, &grad, dtable);
    k.functions->pullback(&k.shape, values, &grad, gradients);
    for (int32_t i = 0; i < n; i++) {
        int64_t elements_n = (int64_t)tensor[i].rows * tensor[i].cols;
        TRY_OUT(rc, oracle_take(&t, o, "F32", elements_n, e, "%s.g.%s", name, tensor[i].name));
        oracle_compare(o, ORACLE_GRADIENT, t->name, gradients[i], t->data, elements_n);
    }
out:
    json_decref(k.json_own);
    return rc;
}

static int each_case(struct oracle *o, const struct safetensors_entry *shared,
                     int (*check)(struct oracle *, const char *, const struct safetensors_entry *,
                                  struct err *),
                     struct err *e)
{
    const char *list = safetensors_metadata(o->file_own, "cases");
    if (list == NULL) return ERR(e, ERR_DATA, "there is no metadata cases");
    char *copy = arena_strdup(&o->arena, list), *rest = NULL;
    for (char *name = strtok_r(copy, ", ", &rest); name != NULL; name = strtok_r(NULL, ", ", &rest))
        TRY(check(o, name, shared, e));
    return 0;
}

int oracle_bias_tables(struct oracle *o, struct err *e)
{
    const struct safetensors_entry *dtable = NULL;
    TRY(oracle_take(&dtable, o, "F32", -1, e, "dtable"));
    if (dtable->dims_n != 2 || dtable->dims[0] < 1)
        return ERR(e, ERR_DATA, "dtable has %d dimensions, expected 2", dtable->dims_n);
    return each_case(o, dtable, check_bias_case, e);
}

static int check_rope_case(struct oracle *o, const char *name,
                           const struct safetensors_entry *shared, struct err *e)
{
    int rc = 0;
    struct table_case k;
    const struct safetensors_entry *t = NULL;
    double want = 0.0, theta[POSITION_WIDTH_MAX / 2];
    (void)shared;
    TRY_OUT(rc, case_read(&k, o, name, e));
    json_object_set_new(k.json_own, "position", json_string("rotary"));
    TRY_OUT(rc, case_number(&k.spec.model.dim, &k, "width", e));
    TRY_OUT(rc, case_number(&k.length, &k, "length", e));
    k.spec.model.heads = 1;
    if (k.spec.model.dim > POSITION_WIDTH_MAX) {
        rc = ERR(e, ERR_DATA, "metadata %s: heads of width %d", name, k.spec.model.dim);
        goto out;
    }
    TRY_OUT(rc, case_method(&k, e));
    int64_t half = k.spec.model.dim / 2, n = k.length * half;
    float *cosine = arena_array(&o->arena, (size_t)n, sizeof *cosine);
    float *sine = arena_array(&o->arena, (size_t)n, sizeof *sine);
    float *frequency = arena_array(&o->arena, (size_t)half, sizeof *frequency);
    double factor = k.functions->frequencies(&k.shape, theta);
    for (int64_t p = 0; p < half; p++) frequency[p] = (float)theta[p];
    position_rotation(k.functions, &k.shape, k.length, cosine, sine);
    TRY_OUT(rc, oracle_take(&t, o, "F32", half, e, "%s.frequency", name));
    oracle_compare(o, ORACLE_TABLE, t->name, frequency, t->data, half);
    TRY_OUT(rc, oracle_take(&t, o, "F32", n, e, "%s.cosine", name));
    oracle_compare(o, ORACLE_TABLE, t->name, cosine, t->data, n);
    TRY_OUT(rc, oracle_take(&t, o, "F32", n, e, "%s.sine", name));
    oracle_compare(o, ORACLE_TABLE, t->name, sine, t->data, n);
    TRY_OUT(rc, oracle_number(&want, o, e, "%s.attention_factor", name));
    oracle_compare_number(o, ORACLE_RATE_EXACT, "attention_factor", factor, want);
out:
    json_decref(k.json_own);
    return rc;
}

int oracle_rope_tables(struct oracle *o, struct err *e)
{
    return each_case(o, NULL, check_rope_case, e);
}
