/* describe.c - reads the config of a family into a description, by the family's keys and rules
 * (families.c): activations first, then the other keys, the words of rules that hold, the type of
 * rotary scaling, rules that refuse, and last what depends on several keys. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "pretrained/pretrained_internal.h"

enum { KEYS_MAX = 64, WORDS_MAX = 64, FAMILIES_MAX = 32 };

/* A description that is being read. */
struct reader {
    struct arena *a;
    const struct config *c;
    struct family *f;
    struct config_value value[KEYS_MAX];
    bool given[KEYS_MAX];
    int32_t n;
};

/* Whether a key has this name: the one before the first |, or that without the object. */
static bool is_named(const struct config_key *key, const char *name, size_t n)
{
    const char *last = strrchr(key->name, '|');
    size_t first_n = strcspn(key->name, "|");

    if (first_n == n && strncmp(key->name, name, n) == 0) return true;
    return last && strlen(last + 1) == n && strncmp(last + 1, name, n) == 0;
}

static int32_t find_key(const struct reader *r, const char *name, size_t n)
{
    for (int32_t i = 0; i < r->n; i++)
        if (is_named(r->value[i].key, name, n)) return i;
    return -1;
}

/* Returns the value of the key of that name, or the text itself. */
static const char *value_of(const struct reader *r, const char *text, size_t n)
{
    int32_t i = find_key(r, text, n);
    return i < 0 ? arena_strndup(r->a, text, n) : r->value[i].text;
}

/* Returns the value of the key that sets a key of the spec. */
static const struct config_value *for_spec(const struct reader *r, const char *spec)
{
    for (int32_t i = 0; i < r->n; i++)
        if (r->value[i].key->spec && strcmp(r->value[i].key->spec, spec) == 0) return &r->value[i];
    return NULL;
}

static int set_spec(struct reader *r, const char *name, const char *text, struct err *e)
{
    int rc = spec_set(&r->f->spec, spec_key_find(name), text, e);
    if (rc < 0) err_ctx(e, "%s", r->c->path);
    return rc;
}

/* Reads keys; of activations or of all others. */
static int read_keys(struct reader *r, const struct config_key *key, bool activations,
                     struct err *e)
{
    for (; key->name; key++) {
        if ((key->type == CONFIG_ACTIVATION) != activations) continue;
        struct config_value *v = &r->value[r->n];
        TRY(config_get(v, r->a, r->c, key, e));
        r->given[r->n] = v->text != NULL;
        if (!v->text && !key->missing) return ERR(e, ERR_DATA, "%s: no %s", r->c->path, v->name);
        if (!v->text) v->text = value_of(r, key->missing, strlen(key->missing));
        r->n++;
        if (key->spec && *v->text) TRY(set_spec(r, key->spec, v->text, e));
    }
    return 0;
}

/* Sets the words of a text, each KEY=VALUE. */
static int set_words(struct reader *r, const char *text, struct err *e)
{
    struct family *f = r->f;

    for (const char *p = text; *p; p += strspn(p, " ")) {
        size_t n = strcspn(p, " "), name_n = strcspn(p, "=");
        const char *name = arena_strndup(r->a, p, name_n);
        const char *value = arena_strndup(r->a, p + name_n + 1, n - name_n - 1);
        p += n;
        if (strncmp(name, "model.", 6) == 0)
            TRY(set_spec(r, name, value, e));
        else
            f->word[f->words_n++] = (struct family_word){name, value};
    }
    return 0;
}

static bool word_holds(const struct reader *r, const char *word, size_t n)
{
    bool negated = word[0] == '!';
    const char *name = word + negated, *end = word + n;
    size_t name_n = strcspn(name, "!=~ ");
    const char *op = name + name_n, *value = value_of(r, name, name_n);

    if (op >= end) return (strcmp(value, "true") == 0) != negated;
    const char *right = op + 1 + (*op == '!');
    const char *text = value_of(r, right, (size_t)(end - right));
    if (*op == '~') return strstr(value, text) != NULL;
    return (strcmp(value, text) == 0) == (*op == '=');
}

static bool rule_holds(const struct reader *r, const struct family_rule *rule)
{
    for (const char *p = rule->when; *p; p += strspn(p, " ")) {
        size_t n = strcspn(p, " ");
        if (!word_holds(r, p, n)) return false;
        p += n;
    }
    return true;
}

/* --- sizes, rotation, windows --------------------------------------------------------------- */

static int refuse_divisor(const struct reader *r, const struct config_value *whole,
                          const struct config_value *part, struct err *e)
{
    return ERR(e, ERR_DATA, "%s: %s = %s is not a multiple of %s = %s%s", r->c->path, whole->name,
               whole->text, part->name, part->text, r->f->defaults);
}

/* Checks sizes against each other and gives those that follow from others their neutral values. */
static int check_sizes(struct reader *r, struct err *e)
{
    struct spec_model *m = &r->f->spec.model;
    const struct config_value *dim = for_spec(r, "model.dim"), *heads = for_spec(r, "model.heads");

    if (m->form.head_width == 0 && m->dim % m->heads != 0) return refuse_divisor(r, dim, heads, e);
    if (m->heads % spec_kv_heads(m) != 0)
        return refuse_divisor(r, heads, for_spec(r, "model.kv_heads"), e);
    if (spec_head_width(m) > POSITION_WIDTH_MAX)
        return ERR(e, ERR_UNAVAILABLE,
                   "%s: %s = %s and %s = %s make heads of %d features, more than %d%s", r->c->path,
                   dim->name, dim->text, heads->name, heads->text, spec_head_width(m),
                   POSITION_WIDTH_MAX, r->f->defaults);
    if (m->ffn == 0) m->ffn = 4 * m->dim;
    if (m->form.kv_heads == m->heads) m->form.kv_heads = 0;
    if (m->form.embedding_width == m->dim) m->form.embedding_width = 0;
    if (m->heads * m->form.head_width == m->dim) m->form.head_width = 0;
    return 0;
}

/* Returns the name of one of the two objects of rotary parameters that is there; NULL: none. */
static const char *rope_object(const struct config *c, int i)
{
    static const char *const names[] = {"rope_parameters", "rope_scaling"};
    return config_find(c, names[i]) ? names[i] : NULL;
}

/* Finds the type that both objects agree on, as an index of rope_types. */
static int find_rope_type(int *type, const struct reader *r, struct err *e)
{
    const char *found = NULL, *at = NULL, *key;
    json_t *value;

    *type = 0;
    for (int i = 0; i < 2; i++) {
        const char *object = rope_object(r->c, i);
        const json_t *in = object ? config_find(r->c, object) : NULL, *named = NULL;
        if (!object) continue;
        json_object_foreach((json_t *)(uintptr_t)in, key, value)
        {
            if (json_is_object(value))
                return ERR(
                    e, ERR_UNAVAILABLE,
                    "%s: %s.%s is an object: parameters of each layer type are not supported",
                    r->c->path, object, key);
        }
        const char *name = arena_printf(r->a, "%s.rope_type", object);
        named = config_find(r->c, name);
        if (!named) named = config_find(r->c, name = arena_printf(r->a, "%s.type", object));
        const char *text = named ? config_show(r->a, named) : rope_types[0].name;
        if (found && strcmp(found, text) != 0)
            return ERR(e, ERR_DATA, "%s: %s = %s, but %s = %s", r->c->path, at, found, name, text);
        found = text;
        at = name;
    }
    while (found && *type < rope_types_n && strcmp(rope_types[*type].name, found) != 0) ++*type;
    if (*type < rope_types_n) return 0;
    return ERR(e, ERR_UNAVAILABLE, "%s: %s = %s, expected default, linear, dynamic, yarn or llama3",
               r->c->path, at, found);
}

/* Returns what YaRN's cosines and sines are multiplied by. */
static double growth(double mscale, double factor)
{
    return factor <= 1 ? 1 : 0.1 * mscale * log(factor) + 1;
}

static double real_of(const struct reader *r, const char *name)
{
    double value = 0;
    (void)str_to_double(&value, value_of(r, name, strlen(name)));
    return value;
}

static int read_rope(struct reader *r, int type, struct err *e)
{
    struct position_options *o = &r->f->spec.option;

    TRY(set_words(r, rope_types[type].words, e));
    TRY(read_keys(r, rope_types[type].keys, false, e));
    if (o->scaling == POSITION_LLAMA3 && o->llama3_low >= o->llama3_high) {
        const struct config_value *low = for_spec(r, "model.llama3_low_freq_factor");
        const struct config_value *high = for_spec(r, "model.llama3_high_freq_factor");
        return ERR(e, ERR_DATA, "%s: %s = %s is not below %s = %s", r->c->path, low->name,
                   low->text, high->name, high->text);
    }
    if (o->scaling != POSITION_YARN || o->yarn_attention_factor > 0) return 0;
    double some = real_of(r, "rope_scaling.mscale"),
           all = real_of(r, "rope_scaling.mscale_all_dim");
    if (some > 0 && all > 0)
        o->yarn_attention_factor = growth(some, o->scaling_factor) / growth(all, o->scaling_factor);
    return 0;
}

/* Checks the features that rotate. A width is made the share of a head. */
static int check_rotation(struct reader *r, struct err *e)
{
    struct spec *s = &r->f->spec;
    const char *key = family_word(r->f, "width", NULL);
    const struct config_value *share = for_spec(r, "model.rotary_share");
    int32_t width = spec_head_width(&s->model);
    int32_t least = s->option.scaling == POSITION_DYNAMIC_NTK ? 4 : 2;
    double rotated = key ? real_of(r, key) : floor(s->option.rotary_share * width);

    const char *text = key ? value_of(r, key, strlen(key)) : share ? share->text : "";
    if (rotated < least || rotated > width || fmod(rotated, 2) != 0)
        return ERR(e, ERR_DATA,
                   "%s: %s%s%s%s%g of %d features of a head rotate, expected an even number from "
                   "%d up",
                   r->c->path,
                   key     ? key
                   : share ? share->name
                           : "",
                   *text ? " = " : "", text, *text ? ": " : "", rotated, width, least);
    if (!key) return 0;
    s->option.rotary_share = rotated / width;
    while (floor(s->option.rotary_share * width) < rotated)
        s->option.rotary_share = nextafter(s->option.rotary_share, 2);
    return 0;
}

/* Whether layer l has the window of the model. *types: layer_types of the config, or NULL. */
static int layer_has_window(bool *has, const struct reader *r, const json_t *types, int32_t l,
                            struct err *e)
{
    const char *type = json_string_value(json_array_get(types, (size_t)l));

    *has = !types && l >= (int32_t)real_of(r, "max_window_layers");
    if (!types) return 0;
    *has = type && strcmp(type, "sliding_attention") == 0;
    if (*has || (type && strcmp(type, "full_attention") == 0)) return 0;
    return ERR(e, ERR_DATA,
               "%s: layer_types = %s: expected full_attention or sliding_attention for each of %d "
               "layers",
               r->c->path, config_show(r->a, types), r->f->spec.model.layers);
}

static int read_windows(struct reader *r, struct err *e)
{
    struct spec_model *m = &r->f->spec.model;
    const char *use = family_word(r->f, "layer_types", "");
    const json_t *types = config_find(r->c, "layer_types");
    int32_t with_n = 0, window = m->mask.window;
    bool decides = strcmp(use, "windows") == 0 && window > 0, has;

    if (!*use || (!types && !decides)) return 0;
    for (int32_t l = 0; l < m->layers; l++) {
        TRY(layer_has_window(&has, r, types, l, e));
        with_n += has;
        if (l < POSITION_LIST_MAX) m->window_layers.value[l] = has ? window : 0;
    }
    bool mixed = with_n > 0 && with_n < m->layers;
    if (types && json_array_size(types) != (size_t)m->layers)
        return ERR(e, ERR_DATA, "%s: layer_types has %zu entries for %d layers", r->c->path,
                   json_array_size(types), m->layers);
    if (!decides && mixed && strcmp(use, "alike") == 0)
        return ERR(e, ERR_UNAVAILABLE,
                   "%s: layer_types = %s is not supported: all layers of this family are alike",
                   r->c->path, config_show(r->a, types));
    if (!decides) return 0;
    if (mixed && m->layers > POSITION_LIST_MAX)
        return ERR(e, ERR_UNAVAILABLE, "%s: windows of more than %d layers are not supported",
                   r->c->path, POSITION_LIST_MAX);
    m->window_layers.n = mixed ? m->layers : 0;
    if (with_n < m->layers) m->mask.window = 0;
    return 0;
}

/* --- families ------------------------------------------------------------------------------- */

static int refuse_type(const struct config *c, struct arena *a, const char *type, struct err *e)
{
    const char *names[FAMILIES_MAX], *file = NULL, *key;
    struct strbuf why;
    json_t *value;

    for (int32_t i = 0; i < family_rows_n; i++) names[i] = family_rows[i].name;
    strbuf_init(&why, a);
    strbuf_add(&why, str_hint(type, names, (size_t)family_rows_n).text);
    json_object_foreach((json_t *)(uintptr_t)config_find(c, "auto_map"), key, value)
    {
        if (json_is_string(value) && (!file || strncmp(key, "AutoModel", 9) == 0))
            file = json_string_value(value);
    }
    const char *end = file ? strrchr(file, '.') : NULL;
    if (file)
        strbuf_addf(&why,
                    "; its code is remote (auto_map names %.*s.py), and this program runs none",
                    end ? (int)(end - file < 100 ? end - file : 100) : 100, file);
    if (config_find(c, "num_local_experts") || config_find(c, "num_experts"))
        strbuf_add(&why, "; mixtures of experts are not supported");
    return ERR(e, ERR_UNAVAILABLE, "%s: model_type = %s is not supported%s", c->path, type,
               why.text);
}

static int refuse_quantised(const struct config *c, struct arena *a, struct err *e)
{
    const json_t *method = config_find(c, "quantization_config.quant_method");

    if (!config_find(c, "quantization_config")) return 0;
    return ERR(e, ERR_UNAVAILABLE,
               "%s: quantization_config%s%s: quantised weights are not supported; use the original "
               "checkpoint",
               c->path, method ? ".quant_method = " : "", method ? config_show(a, method) : "");
}

/* Returns the index of a family. */
static int32_t find_family(const char *name)
{
    int32_t i = 0;
    while (i < family_rows_n && strcmp(family_rows[i].name, name) != 0) i++;
    return i;
}

int family_find(struct family *f, struct arena *a, const struct config *c, struct err *e)
{
    const json_t *value = config_find(c, "model_type");
    const json_t *encoder = config_find(c, "is_encoder_decoder");
    struct strbuf names;

    *f = (struct family){.note = NULL};
    strbuf_init(&names, a);
    for (int32_t i = 0; i < family_rows_n; i++)
        strbuf_addf(&names, "%s%s", i ? ", " : "", family_rows[i].name);
    if (!value)
        return ERR(e, ERR_DATA, "%s: no model_type; expected one of %s", c->path, names.text);
    const char *type = config_show(a, value);
    bool known = find_family(type) < family_rows_n, two = json_is_true(encoder);
    two = two || strstr(encoder_decoders, arena_printf(a, " %s ", type)) != NULL;
    if (two)
        return ERR(e, ERR_UNAVAILABLE,
                   "%s: model_type = %s is an encoder-decoder; only decoders are supported",
                   c->path, type);
    if (!known || !json_is_string(value)) return refuse_type(c, a, type, e);
    f->name = family_rows[find_family(type)].name;
    return refuse_quantised(c, a, e);
}

const char *family_word(const struct family *f, const char *key, const char *missing)
{
    for (int32_t i = f->words_n - 1; i >= 0; i--)
        if (strcmp(f->word[i].key, key) == 0) return f->word[i].text;
    return missing;
}

/* Notes values that the config does not state. */
static void note_defaults(struct reader *r)
{
    struct strbuf sizes, notes;

    strbuf_init(&sizes, r->a);
    strbuf_init(&notes, r->a);
    for (int32_t i = 0; i < r->n; i++) {
        const struct config_value *v = &r->value[i];
        if (r->given[i] || v->key->type != CONFIG_COUNT || !v->key->spec || !*v->text) continue;
        bool length = strcmp(v->key->spec, "train.L") == 0;
        strbuf_addf(length ? &notes : &sizes, "; config.json has no %s: %s is assumed", v->name,
                    v->text);
    }
    if (r->f->spec.option.alibi_rounding != POSITION_EXACT)
        strbuf_add(&notes, "; the bias of each key is rounded to bf16, so that neighbouring keys "
                           "get equal biases in rows of more than 256 tokens");
    r->f->defaults = sizes.n ? sizes.text : "";
    r->f->note = notes.n ? notes.text + 2 : NULL;
}

int family_describe(struct family *f, struct arena *a, const struct config *c, struct err *e)
{
    int32_t i = find_family(f->name);
    struct reader *r = arena_alloc(a, sizeof *r);
    int type = 0;

    r->a = a;
    r->c = c;
    r->f = f;
    f->word = arena_array(a, WORDS_MAX, sizeof *f->word);
    spec_init(&f->spec);
    TRY(set_words(r, "model.softmax=plain model.final_norm=true model.embedding_scaled=false", e));
    f->spec.kind = SPEC_TRAIN;
    f->spec.train.origin = SPEC_PRETRAINED;
    TRY(read_keys(r, family_rows[i].keys, true, e));
    TRY(read_keys(r, family_rows[i].keys, false, e));
    for (const struct family_rule *rule = family_rows[i].rules; rule->when; rule++)
        if (!rule->refused && rule_holds(r, rule)) TRY(set_words(r, rule->words, e));
    bool has_rope = strcmp(family_word(f, "rope", ""), "read") == 0;
    if (has_rope) TRY(find_rope_type(&type, r, e));
    for (const struct family_rule *rule = family_rows[i].rules; rule->when; rule++) {
        if (!rule->refused || !rule_holds(r, rule)) continue;
        const char *value = value_of(r, rule->refused, strlen(rule->refused));
        return ERR(e, ERR_UNAVAILABLE, "%s: %s = %s is not supported: %s", c->path, rule->refused,
                   *value ? value : "null", rule->reason);
    }
    note_defaults(r);
    TRY(check_sizes(r, e));
    if (has_rope) TRY(read_rope(r, type, e));
    if (f->spec.model.position == SPEC_ROTARY) TRY(check_rotation(r, e));
    TRY(read_windows(r, e));
    int rc = spec_check(&f->spec, e);
    if (rc < 0) err_ctx(e, "%s", c->path);
    return rc;
}
