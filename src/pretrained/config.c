/* config.c - config.json: one JSON object of limited size and depth without duplicate keys, whose
 * values are checked against type and range before anything is done with them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "pretrained/pretrained_internal.h"

/* JSON_VALUES_MAX bounds the memory of the tree. */
enum { CONFIG_BYTES_MAX = 1 << 20, JSON_VALUES_MAX = 100000, CONFIG_SHOWN = 60 };

static const struct {
    const char *name;
    enum spec_activation activation;
} activations[] = {
    {"gelu", SPEC_GELU_ERF},
    {"gelu_new", SPEC_GELU_TANH},
    {"gelu_python", SPEC_GELU_ERF},
    {"gelu_fast", SPEC_GELU_TANH},
    {"relu", SPEC_RELU},
    {"silu", SPEC_SILU},
    {"gelu_pytorch_tanh", SPEC_GELU_TANH},
    {"swish", SPEC_SILU},
};
enum { ACTIVATIONS_N = sizeof activations / sizeof *activations };

int json_read(json_t **out, struct arena *a, const char *path, size_t bytes_max, struct err *e)
{
    char *text;
    size_t n;

    TRY(file_read(a, &text, &n, path, bytes_max, e));
    return json_parse_object(out, text, n, JSON_VALUES_MAX, 0, path, e);
}

int config_open(struct config *c, struct arena *a, const char *folder, struct err *e)
{
    char path[FILE_PATH_BYTES];

    *c = (struct config){.arena = a};
    strbuf_init(&c->sizes, a);
    strbuf_init(&c->lengths, a);
    int rc = file_find_in(path, folder, "config.json", e);
    if (rc == ERR_NOINPUT)
        return ERR(e, rc,
                   "%s contains no config.json; expected a model's folder in Hugging Face format: "
                   "config.json, tokenizer.json and *.safetensors",
                   folder);
    TRY(rc);
    c->path = arena_strdup(a, path);
    return json_read(&c->root_own, a, path, CONFIG_BYTES_MAX, e);
}

void config_close(struct config *c)
{
    json_decref(c->root_own);
    c->root_own = NULL;
}

/* Returns the value of a name. A name with a dot is that of a value in an object. */
static const json_t *find_entry(const struct config *c, const char *name)
{
    const char *dot = strchr(name, '.');
    char object[64];

    if (!dot) return json_object_get(c->root_own, name);
    snprintf(object, sizeof object, "%.*s", (int)(dot - name), name);
    return json_object_get(json_object_get(c->root_own, object), dot + 1);
}

const json_t *config_find(const struct config *c, const char *name)
{
    const json_t *value = find_entry(c, name);
    return json_is_null(value) ? NULL : value;
}

bool config_is_null(const struct config *c, const char *name)
{
    return json_is_null(find_entry(c, name));
}

const char *config_show_real(struct arena *a, double value)
{
    char text[STR_DOUBLE_BYTES];

    str_from_double(text, value);
    return arena_strdup(a, text);
}

const char *config_show(struct arena *a, const json_t *value)
{
    char number[STR_DOUBLE_BYTES];

    if (json_is_string(value))
        return arena_printf(a, "%.*s", CONFIG_SHOWN, json_string_value(value));
    if (json_is_real(value)) {
        str_from_double(number, json_real_value(value));
        return arena_printf(a, "%s%s", number, strpbrk(number, ".e") ? "" : ".0");
    }
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    size_t n = text ? strlen(text) : 0;
    const char *shown =
        arena_printf(a, "%.*s%s", CONFIG_SHOWN, text ? text : "", n > CONFIG_SHOWN ? "…" : "");
    free(text);
    return shown;
}

static int type_error(const struct config *c, const char *name, const json_t *value,
                      const char *expected, struct err *e)
{
    const char *quote = json_is_string(value) ? "\"" : "";
    return ERR(e, ERR_DATA, "%s: %s = %s%s%s, expected %s", c->path, name, quote,
               config_show(c->arena, value), quote, expected);
}

/* --- finding a value --- */

/* Finds whether a name is not in an object, or in one that is there. */
static int find_place(bool *placed, const struct config *c, const char *name, struct err *e)
{
    const char *dot = strchr(name, '.');
    const char *object = arena_strndup(c->arena, name, dot ? (size_t)(dot - name) : 0);
    const json_t *value = config_find(c, object);

    *placed = !dot || value;
    if (!dot || !value || json_is_object(value)) return 0;
    return type_error(c, object, value, "an object", e);
}

/* How a value is checked. */
struct kind {
    bool whole, zero, flag, word;
    double low, high;
};

static int check_value(const struct config *c, const struct kind *k, const char *name,
                       const json_t *value, struct err *e)
{
    const double number = json_number_value(value);

    if (k->flag) return json_is_boolean(value) ? 0 : type_error(c, name, value, "true or false", e);
    if (k->word) return json_is_string(value) ? 0 : type_error(c, name, value, "a text", e);
    bool fits = k->whole ? json_is_integer(value) : json_is_number(value);
    if (fits && number >= k->low && number <= k->high && (k->zero || number != 0)) return 0;
    return type_error(
        c, name, value,
        arena_printf(c->arena, "a %s %s%s to %s", k->whole ? "whole number" : "number",
                     !k->zero && k->low == 0 ? "above " : "from ",
                     config_show_real(c->arena, k->low), config_show_real(c->arena, k->high)),
        e);
}

static const char *show_number(const struct config *c, const json_t *value)
{
    return json_is_number(value) ? config_show_real(c->arena, json_number_value(value))
                                 : config_show(c->arena, value);
}

/* Finds the value of names and checks each that is there. NULL: absent. */
static int get_value(const json_t **out, struct config *c, const struct kind *k, const char *names,
                     struct err *e)
{
    bool placed = false;

    *out = NULL;
    c->name = NULL;
    for (const char *at = names; *at;) {
        size_t n = strcspn(at, "|&");
        const char *name = arena_strndup(c->arena, at, n);
        const json_t *value = config_find(c, name);
        bool agrees = at > names && at[-1] == '&', before = placed;
        if (value) TRY(check_value(c, k, name, value, e));
        if (*out && value && agrees && strcmp(show_number(c, *out), show_number(c, value)) != 0)
            return ERR(e, ERR_DATA, "%s: %s = %s, but %s = %s", c->path, c->name,
                       show_number(c, *out), name, show_number(c, value));
        TRY(find_place(&placed, c, name, e));
        if (!*out && (value || !c->name || (placed && !before))) {
            *out = value;
            c->name = name;
        }
        at += n + (at[n] != '\0');
    }
    return 0;
}

/* --- typed readers --- */

/* The range of a number: that of a key of the spec, or any. */
static struct kind kind_of(const char *spec, bool whole, bool zero)
{
    const struct spec_key *key = spec ? spec_key_find(spec) : NULL;
    struct kind k = {.whole = whole, .zero = zero};

    k.low = key ? key->low : 0;
    k.high = key ? key->high : whole ? INT32_MAX : 1e300;
    if (whole && !zero) k.low = fmax(k.low, 1);
    return k;
}

static int get_number(double *out, struct config *c, const struct kind *k, const char *names,
                      double missing, struct err *e)
{
    const json_t *value;

    TRY(get_value(&value, c, k, names, e));
    if (!value && missing == CONFIG_REQUIRED)
        return ERR(e, ERR_DATA, "%s: no %s", c->path, c->name);
    *out = value ? json_number_value(value) : missing;
    return 0;
}

int config_count(int32_t *out, struct config *c, const char *names, const char *spec,
                 int32_t missing, struct err *e)
{
    const struct kind k = kind_of(spec, true, false);
    const json_t *value;

    TRY(get_value(&value, c, &k, names, e));
    *out = value ? (int32_t)json_integer_value(value) : missing;
    if (!value && spec && missing > 0)
        strbuf_addf(strcmp(spec, "train.L") == 0 ? &c->lengths : &c->sizes,
                    "; config.json has no %s: %d is assumed", c->name, missing);
    return 0;
}

int config_whole(int32_t *out, struct config *c, const char *names, int32_t missing, struct err *e)
{
    const struct kind k = kind_of(NULL, true, true);
    double number;

    TRY(get_number(&number, c, &k, names, missing, e));
    *out = (int32_t)number;
    return 0;
}

int config_real(double *out, struct config *c, const char *names, const char *spec, double missing,
                struct err *e)
{
    const struct kind k = kind_of(spec, false, false);
    return get_number(out, c, &k, names, missing, e);
}

int config_real_or_0(double *out, struct config *c, const char *names, const char *spec,
                     double missing, struct err *e)
{
    const struct kind k = kind_of(spec, false, true);
    return get_number(out, c, &k, names, missing, e);
}

int config_flag(bool *out, struct config *c, const char *names, bool missing, struct err *e)
{
    const json_t *value;

    TRY(get_value(&value, c, &(struct kind){.flag = true}, names, e));
    *out = value ? json_is_true(value) : missing;
    return 0;
}

int config_word(const char **out, struct config *c, const char *names, const char *missing,
                struct err *e)
{
    const json_t *value;

    TRY(get_value(&value, c, &(struct kind){.word = true}, names, e));
    *out = value ? json_string_value(value) : missing;
    return 0;
}

int config_activation(enum spec_activation *out, struct config *c, const char *name,
                      enum spec_activation missing, struct err *e)
{
    const json_t *value = config_find(c, name);
    struct strbuf names;

    *out = missing;
    if (!value) return 0;
    strbuf_init(&names, c->arena);
    for (size_t i = 0; i < ACTIVATIONS_N; i++) {
        *out = activations[i].activation;
        if (json_is_string(value) && strcmp(json_string_value(value), activations[i].name) == 0)
            return 0;
        strbuf_addf(&names, "%s%s", i ? ", " : "", activations[i].name);
    }
    return ERR(e, ERR_UNAVAILABLE, "%s: %s = %s, expected %s", c->path, name,
               config_show(c->arena, value), names.text);
}
