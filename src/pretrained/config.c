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
    const char *name, *spec;
} activations[] = {
    {"gelu", "gelu_erf"},
    {"gelu_new", "gelu_tanh"},
    {"gelu_python", "gelu_erf"},
    {"gelu_fast", "gelu_tanh"},
    {"relu", "relu"},
    {"silu", "silu"},
    {"gelu_pytorch_tanh", "gelu_tanh"},
    {"swish", "silu"},
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

    *c = (struct config){0};
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
static const json_t *find(const struct config *c, const char *name)
{
    const char *dot = strchr(name, '.');
    char object[64];

    if (!dot) return json_object_get(c->root_own, name);
    snprintf(object, sizeof object, "%.*s", (int)(dot - name), name);
    return json_object_get(json_object_get(c->root_own, object), dot + 1);
}

const json_t *config_find(const struct config *c, const char *name)
{
    const json_t *value = find(c, name);
    return json_is_null(value) ? NULL : value;
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

static int type_error(const struct config *c, struct arena *a, const char *name,
                      const json_t *value, const char *expected, struct err *e)
{
    const char *quote = json_is_string(value) ? "\"" : "";
    return ERR(e, ERR_DATA, "%s: %s = %s%s%s, expected %s", c->path, name, quote,
               config_show(a, value), quote, expected);
}

/* Reads a number within the range of the key of the spec that gets it. */
static int get_number(struct config_value *out, struct arena *a, const struct config *c,
                      const json_t *value, struct err *e)
{
    const struct config_key *key = out->key;
    const struct spec_key *spec = key->spec ? spec_key_find(key->spec) : NULL;
    bool whole = key->type == CONFIG_COUNT || key->type == CONFIG_WHOLE;
    bool zero = key->type == CONFIG_WHOLE || key->type == CONFIG_REAL_OR_0;
    double number = json_number_value(value), low = spec ? spec->low : 0;
    double high = spec ? spec->high : whole ? INT32_MAX : 1e300;
    char least[STR_DOUBLE_BYTES], most[STR_DOUBLE_BYTES], text[STR_DOUBLE_BYTES];

    if (!zero && whole) low = fmax(low, 1);
    bool fits = whole ? json_is_integer(value) : json_is_number(value);
    if (!fits || number < low || number > high || (!zero && number == 0)) {
        str_from_double(least, low);
        str_from_double(most, high);
        return type_error(c, a, out->name, value,
                          arena_printf(a, "a %s %s%s to %s", whole ? "whole number" : "number",
                                       !zero && low == 0 ? "above " : "from ", least, most),
                          e);
    }
    str_from_double(text, number);
    out->text = whole ? arena_printf(a, "%lld", (long long)json_integer_value(value))
                      : arena_strdup(a, text);
    return 0;
}

static int get_activation(struct config_value *out, struct arena *a, const struct config *c,
                          const json_t *value, struct err *e)
{
    struct strbuf names;

    strbuf_init(&names, a);
    for (size_t i = 0; i < ACTIVATIONS_N; i++) {
        strbuf_addf(&names, "%s%s", i ? ", " : "", activations[i].name);
        if (json_is_string(value) && strcmp(json_string_value(value), activations[i].name) == 0)
            out->text = activations[i].spec;
    }
    if (out->text) return 0;
    return ERR(e, ERR_UNAVAILABLE, "%s: %s = %s, expected %s", c->path, out->name,
               config_show(a, value), names.text);
}

static int get_value(struct config_value *out, struct arena *a, const struct config *c,
                     const json_t *value, struct err *e)
{
    switch (out->key->type) {
    case CONFIG_FLAG:
        if (!json_is_boolean(value)) return type_error(c, a, out->name, value, "true or false", e);
        out->text = json_is_true(value) ? "true" : "false";
        return 0;
    case CONFIG_WORD:
        if (!json_is_string(value)) return type_error(c, a, out->name, value, "a text", e);
        out->text = json_string_value(value);
        return 0;
    case CONFIG_ANY:
        out->text = config_show(a, value);
        return 0;
    case CONFIG_ACTIVATION:
        return get_activation(out, a, c, value, e);
    default:
        return get_number(out, a, c, value, e);
    }
}

/* Finds whether a name is not in an object, or in one that is there. */
static int find_place(bool *placed, struct arena *a, const struct config *c, const char *name,
                      struct err *e)
{
    const char *dot = strchr(name, '.');
    const char *object = arena_strndup(a, name, dot ? (size_t)(dot - name) : 0);
    const json_t *value = config_find(c, object);

    *placed = !dot || value;
    if (!dot || !value || json_is_object(value)) return 0;
    return type_error(c, a, object, value, "an object", e);
}

int config_get(struct config_value *out, struct arena *a, const struct config *c,
               const struct config_key *key, struct err *e)
{
    int number = 0;
    bool placed = false;

    *out = (struct config_value){.key = key};
    for (const char *name = key->name; *name; number++) {
        size_t n = strcspn(name, "|");
        struct config_value one = {.key = key, .name = arena_strndup(a, name, n)};
        const json_t *value = find(c, one.name);
        if (json_is_null(value) && key->null)
            one.text = key->null;
        else if (value && !json_is_null(value))
            TRY(get_value(&one, a, c, value, e));
        if (out->text && one.text && number < key->agree && strcmp(out->text, one.text) != 0)
            return ERR(e, ERR_DATA, "%s: %s = %s, but %s = %s", c->path, out->name, out->text,
                       one.name, one.text);
        bool before = placed;
        TRY(find_place(&placed, a, c, one.name, e));
        if (!out->text && (one.text || !out->name || (placed && !before))) *out = one;
        name += n + (name[n] == '|');
    }
    return 0;
}
