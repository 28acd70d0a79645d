/* spec.c - reads, writes and checks specs according to the key table.
 *
 * Canonical text: "meaning=N" and the keys that are hashed, apply and are not neutral, sorted by
 * name. */
#include "spec/spec.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/str.h"

enum { SPEC_LINE_BYTES = 2048, SPEC_LIST_MAX = 4096 };

static void *field_of(struct spec *s, const struct spec_key *key)
{
    return (char *)s + key->offset;
}

static const void *field_in(const struct spec *s, const struct spec_key *key)
{
    return (const char *)s + key->offset;
}

void spec_init(struct spec *s)
{
    size_t n;
    const struct spec_key *keys = spec_keys(&n);

    *s = (struct spec){0};
    for (size_t i = 0; i < n; i++)
        if (keys[i].neutral) (void)spec_set(s, &keys[i], keys[i].neutral, NULL);
}

static int set_enum(int *field, const struct spec_key *key, const char *text, struct err *e)
{
    char allowed[512] = "";
    size_t n = 0;

    for (; key->names[n]; n++) {
        if (strcmp(key->names[n], text) == 0) {
            *field = (int)n;
            return 0;
        }
        size_t used = strlen(allowed);
        snprintf(allowed + used, sizeof allowed - used, "%s%s", n ? ", " : "", key->names[n]);
    }
    return ERR(e, ERR_DATA, "%s: expected one of %s, found '%.60s'%s", key->name, allowed, text,
               spec_value_hint(key, text).text);
}

static int range_error(const struct spec_key *key, const char *text, struct err *e)
{
    char low[STR_DOUBLE_BYTES], high[STR_DOUBLE_BYTES];
    str_from_double(low, key->low);
    str_from_double(high, key->high);
    return ERR(e, ERR_DATA, "%s: %.60s is outside %s to %s (%s)", key->name, text, low, high,
               key->help);
}

static int set_int(void *field, const struct spec_key *key, const char *text, struct err *e)
{
    int64_t value;

    double number;

    if (!str_to_int(&value, text) && str_to_double(&number, text) && number == floor(number) &&
        fabs(number) <= 1e15 && strpbrk(text, "eE."))
        return ERR(e, ERR_DATA, "%s: write %.60s as %.0f (%s)", key->name, text, number, key->help);
    if (!str_to_int(&value, text))
        return ERR(e, ERR_DATA, "%s: '%.60s' is not a whole number (%s)", key->name, text,
                   key->help);
    if ((double)value < key->low || (double)value > key->high) return range_error(key, text, e);
    if (key->type == SPEC_T_INT32)
        *(int32_t *)field = (int32_t)value;
    else
        *(int64_t *)field = value;
    return 0;
}

/* Parses a list: "none", or numbers separated by commas; of names: "", or names. Integers are
 * stored in the array at the key's offset and counted in model.cutoffs_n, others in a struct
 * position_list. */
static int set_list(struct spec *s, const struct spec_key *key, const char *text, struct err *e)
{
    bool whole = key->type == SPEC_T_INTS;
    int32_t most = whole ? SPEC_CUTOFFS_MAX : POSITION_LIST_MAX;
    struct position_list list = {0};

    for (const char *p = text; strcmp(text, key->names ? "" : "none") != 0;) {
        char item[STR_DOUBLE_BYTES + 8];
        double number = 0;
        int64_t integer;
        p += strspn(p, " ");
        size_t length = strcspn(p, ","), used = length;
        while (used > 0 && p[used - 1] == ' ') used--;
        if (list.n == most)
            return ERR(e, ERR_DATA, "%s: '%.60s' has more than %d numbers", key->name, text, most);
        snprintf(item, sizeof item, "%.*s", (int)(used < sizeof item ? used : sizeof item - 1), p);
        if (key->names) {
            int name = 0;
            TRY(set_enum(&name, key, item, e));
            list.value[list.n++] = name;
            if (!p[length]) break;
            p += length + 1;
            continue;
        }
        if (whole ? !str_to_int(&integer, item) : !str_to_double(&number, item))
            return ERR(e, ERR_DATA, "%s: '%.60s' is not a list of %s", key->name, text,
                       whole ? "whole numbers such as 20000,60000" : "numbers such as 0.5,0.25");
        if (whole) number = (double)integer;
        if (number < key->low || number > key->high) return range_error(key, item, e);
        list.value[list.n++] = number == 0 ? 0 : number;
        if (!p[length]) break;
        p += length + 1;
    }
    if (!whole) {
        *(struct position_list *)field_of(s, key) = list;
        return 0;
    }
    s->model.cutoffs_n = list.n;
    for (int32_t i = 0; i < most; i++) ((int32_t *)field_of(s, key))[i] = (int32_t)list.value[i];
    return 0;
}

static int set_text(char *field, const struct spec_key *key, const char *text, struct err *e)
{
    size_t n = strlen(text);

    if (n >= SPEC_TEXT_BYTES)
        return ERR(e, ERR_DATA, "%s: '%.40s…' is longer than %d bytes", key->name, text,
                   SPEC_TEXT_BYTES - 1);
    for (const char *p = text; *p; p++)
        if ((unsigned char)*p < ' ')
            return ERR(e, ERR_DATA, "%s: text contains a control character", key->name);
    bool is_id = key->offset == offsetof(struct spec, eval.train_run) ||
                 key->offset == offsetof(struct spec, train.from);
    if (is_id && n >= SPEC_ID_BYTES)
        return ERR(e, ERR_DATA, "%s: expected a run id of 16 hex digits, found '%.40s'", key->name,
                   text);
    memcpy(field, text, n + 1);
    return 0;
}

bool spec_key_is_list(const struct spec_key *key)
{
    return key->type == SPEC_T_INTS || key->type == SPEC_T_REALS;
}

int spec_set(struct spec *s, const struct spec_key *key, const char *text, struct err *e)
{
    void *field = field_of(s, key);
    double number;

    switch (key->type) {
    case SPEC_T_INT32:
    case SPEC_T_INT64:
        return set_int(field, key, text, e);
    case SPEC_T_DOUBLE:
        if (!str_to_double(&number, text))
            return ERR(e, ERR_DATA, "%s: '%.60s' is not a number (%s)", key->name, text, key->help);
        if (number < key->low || number > key->high) return range_error(key, text, e);
        *(double *)field = number == 0 ? 0 : number; /* hash 0 and -0 alike */
        return 0;
    case SPEC_T_BOOL:
        if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
            return ERR(e, ERR_DATA, "%s: expected true or false, found '%.60s'", key->name, text);
        *(bool *)field = text[0] == 't';
        return 0;
    case SPEC_T_ENUM:
        return set_enum(field, key, text, e);
    case SPEC_T_INTS:
    case SPEC_T_REALS:
        return set_list(s, key, text, e);
    case SPEC_T_TEXT:
        return set_text(field, key, text, e);
    }
    return ERR(e, ERR_INTERNAL, "%s: unknown type %d", key->name, (int)key->type);
}

char *spec_get(const struct spec *s, const struct spec_key *key, struct arena *a)
{
    const void *field = field_in(s, key);
    char number[STR_DOUBLE_BYTES];
    struct strbuf b;

    switch (key->type) {
    case SPEC_T_INT32:
        return arena_printf(a, "%d", *(const int32_t *)field);
    case SPEC_T_INT64:
        return arena_printf(a, "%lld", (long long)*(const int64_t *)field);
    case SPEC_T_DOUBLE:
        str_from_double(number, *(const double *)field);
        return arena_strdup(a, number);
    case SPEC_T_BOOL:
        return arena_strdup(a, *(const bool *)field ? "true" : "false");
    case SPEC_T_ENUM:
        return arena_strdup(a, key->names[*(const int *)field]);
    case SPEC_T_TEXT:
        return arena_strdup(a, field);
    case SPEC_T_INTS:
    case SPEC_T_REALS: {
        const struct position_list *reals = field;
        bool whole = key->type == SPEC_T_INTS;
        int32_t n = whole ? s->model.cutoffs_n : reals->n;
        strbuf_init(&b, a);
        for (int32_t i = 0; i < n; i++) {
            str_from_double(number, whole ? ((const int32_t *)field)[i] : reals->value[i]);
            strbuf_addf(&b, "%s%s", i ? "," : "",
                        key->names ? key->names[(int)reals->value[i]] : number);
        }
        return n ? b.text : arena_strdup(a, key->names ? "" : "none");
    }
    }
    return arena_strdup(a, "");
}

static int check_cutoffs(const struct spec *s, struct err *e)
{
    const struct spec_model *m = &s->model;
    int64_t width = m->dim;

    for (int32_t i = 0; i < m->cutoffs_n; i++) {
        int32_t before = i ? m->cutoffs[i - 1] : 0;
        if (m->cutoffs[i] <= before || m->cutoffs[i] >= s->data.vocab)
            return ERR(e, ERR_DATA, "model.cutoffs: %d must be above %d and below data.vocab = %d",
                       m->cutoffs[i], before, s->data.vocab);
        width /= m->adaptive_factor;
    }
    if (m->cutoffs_n == 0)
        return ERR(e, ERR_DATA,
                   "model.cutoffs: an adaptive softmax needs at least one cut-off; add one or set "
                   "model.softmax: plain");
    if (width < 1)
        return ERR(e, ERR_DATA,
                   "model.adaptive_factor: %d is too large for %d bands at model.dim = %d: the "
                   "last one has width 0",
                   m->adaptive_factor, m->cutoffs_n + 1, m->dim);
    return 0;
}

static int check_position(const struct spec *s, struct err *e)
{
    const struct spec used = s->kind == SPEC_EVAL ? spec_evaluated(s, &s->eval) : *s;
    struct position_shape shape = spec_position_shape(&used);

    if (spec_is_pretrained(s) && s->kind == SPEC_EVAL && s->eval.scaling != POSITION_UNSCALED &&
        s->option.scaling != POSITION_UNSCALED)
        return ERR(e, ERR_DATA,
                   "eval.position_scaling: %s would replace model.rope_scaling = %s of the "
                   "checkpoint; set it to none",
                   position_scaling_names[s->eval.scaling],
                   position_scaling_names[s->option.scaling]);
    if (s->model.position != SPEC_ALIBI && (used.option.alibi_bias != POSITION_OF_DISTANCE ||
                                            used.option.alibi_format != POSITION_FP32))
        return ERR(e, ERR_DATA,
                   "eval.alibi_bias and eval.alibi_precision do not apply to model.position = %s; "
                   "leave them out",
                   position_methods[s->model.position].name);
    if (spec_valid_length(s) > shape.length) shape.length = spec_valid_length(s);
    if (position_methods[s->model.position].bounded && s->kind == SPEC_TRAIN &&
        s->train.validate_L > s->train.L)
        return ERR(e, ERR_DATA,
                   "train.validate_L: %d is longer than train.L = %d, and model.position = %s is "
                   "not defined beyond it",
                   s->train.validate_L, s->train.L, position_methods[s->model.position].name);
    return position_check((int32_t)s->model.position, &shape, e);
}

static int check_mask(const char *part, const struct spec *s, const struct spec_mask *m,
                      struct err *e)
{
    const struct position_functions *f = position_methods[s->model.position].functions;
    const struct position_shape shape = spec_position_shape(s);

    if (m->sinks == 0) return 0;
    if (f->narrow_heads && f->narrow_heads(&shape) > 0)
        return ERR(e, ERR_DATA,
                   "%s.attention_sinks: %d, but the narrow heads of model.position = %s see no "
                   "sinks; set it to 0",
                   part, m->sinks, position_methods[s->model.position].name);
    if (f->gates && m->sink_positions == SPEC_SINKS_CACHE)
        return ERR(
            e, ERR_DATA,
            "%s.sink_positions: cache, but the gates of model.position = %s follow the text; "
            "set it to text",
            part, position_methods[s->model.position].name);
    if (position_has_key_bias(f, &shape) && m->sink_positions == SPEC_SINKS_CACHE)
        return ERR(e, ERR_DATA,
                   "%s.sink_positions: cache does not apply: the bias is a number of the key; set "
                   "it to text",
                   part);
    if (m->window > 0 || (m == &s->model.mask && s->model.window_layers.n > 0)) return 0;
    return ERR(e, ERR_DATA,
               "%s.attention_sinks: %d has no effect without %s.attention_window; set a window",
               part, m->sinks, part);
}

static int check_temperature(const struct spec *s, struct err *e)
{
    const struct spec used = s->kind == SPEC_EVAL ? spec_evaluated(s, &s->eval) : *s;
    const struct spec_temperature *own = &s->model.temperature, *t = &used.model.temperature;
    const struct position_method *method = &position_methods[s->model.position];

    if (t->kind == SPEC_LOG && own->kind != SPEC_NO_TEMPERATURE)
        return ERR(e, ERR_DATA,
                   "eval.temperature: log would replace model.temperature = %s of the training",
                   own->kind == SPEC_SSMAX ? "ssmax" : "steps");
    if (t->kind == SPEC_LOG && t->length < 2)
        return ERR(e, ERR_DATA, "eval.temperature_length: %d (0: train.L), expected at least 2",
                   t->length);
    bool has_bare = s->model.position == SPEC_NONE;
    for (int32_t l = 0; l < s->model.layers; l++)
        has_bare = has_bare || !spec_layer_has_position(&s->model, l);
    if (t->kind == SPEC_STEPS && !has_bare)
        return ERR(e, ERR_DATA,
                   "model.temperature: steps applies to layers without position, and "
                   "model.position = %s has none; add model.position_layers",
                   method->name);
    if (t->kind != SPEC_NO_TEMPERATURE && t->bias == SPEC_BIAS_INSIDE && method->functions->gates)
        return ERR(e, ERR_DATA,
                   "%s.temperature_bias: inside does not apply to model.position = %s, whose gates "
                   "stay outside",
                   t->kind == SPEC_LOG ? "eval" : "model", method->name);
    if (t->kind == SPEC_SSMAX && method->functions->narrow_heads)
        return ERR(e, ERR_DATA,
                   "model.temperature: ssmax counts the keys of a query, whose number differs "
                   "between the heads of model.position = %s",
                   method->name);
    return 0;
}

/* Without the training, as in an attempt's file, its text is not known. */
static int check_datastore(const struct spec *s, struct err *e)
{
    const struct spec_knn *k = &s->eval.knn;
    int64_t all = s->data.train_tokens, keys = k->keys > 0 ? k->keys : all;

    if (s->kind != SPEC_EVAL || k->neighbours == 0) return 0;
    if (s->eval.split == SPEC_TRAIN_SPLIT)
        return ERR(
            e, ERR_DATA,
            "eval.split: train is the text of the datastore, where each target finds itself; "
            "set eval.split: valid or test");
    if (s->eval.precision != SPEC_FP32)
        return ERR(e, ERR_DATA,
                   "eval.precision: bf16 has no keys for eval.knn_neighbours = %d; set "
                   "eval.precision: fp32",
                   k->neighbours);
    if (k->window > 0 && k->stride > k->window)
        return ERR(e, ERR_DATA,
                   "eval.knn_stride: %d is longer than the window eval.knn_window = %d", k->stride,
                   k->window);
    if (all > 0 && k->keys > all)
        return ERR(e, ERR_DATA,
                   "eval.knn_keys: %lld is more than the %lld tokens of the training text; set "
                   "eval.knn_keys: 0 for all",
                   (long long)k->keys, (long long)all);
    if (keys > 0 && k->neighbours > keys)
        return ERR(e, ERR_DATA,
                   "eval.knn_neighbours: %d is more than the %lld keys of the datastore; set fewer",
                   k->neighbours, (long long)keys);
    return 0;
}

static int check_attention(const struct spec_eval *s, struct err *e)
{
    if (s->attention_rows > 0 && s->L > SPEC_ATTENTION_MAX)
        return ERR(
            e, ERR_DATA,
            "eval.attention_rows: rows of eval.L = %d tokens are longer than the limit of %d", s->L,
            SPEC_ATTENTION_MAX);
    if (s->attention_rows > 0 && s->precision == SPEC_BF16)
        return ERR(e, ERR_DATA,
                   "eval.attention_rows: attention weights are not recorded in bf16; set "
                   "eval.precision: fp32");
    return 0;
}

int spec_check_layers(const struct spec *s, struct err *e)
{
    const struct spec_model *m = &s->model;
    const struct {
        const char *key;
        const struct position_list *list;
    } lists[] = {{"position_layers", &m->position_layers},
                 {"attention_window_layers", &m->window_layers},
                 {"rotary_base_layers", &s->option.rotary_base_layers}};
    const struct position_shape shape = spec_position_shape(s);
    const char *method = position_methods[m->position].name;

    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (lists[i].list->n > 0 && lists[i].list->n != m->layers)
            return ERR(e, ERR_DATA, "model.%s: %d entries for model.layers = %d", lists[i].key,
                       lists[i].list->n, m->layers);
    for (int32_t l = 0; l < m->window_layers.n; l++)
        if (m->window_layers.value[l] != floor(m->window_layers.value[l]))
            return ERR(e, ERR_DATA, "model.attention_window_layers: %g is not a number of keys",
                       m->window_layers.value[l]);
    for (int32_t l = 0; l < m->position_layers.n; l++)
        if (!spec_layer_has_position(m, l) && m->position_layers.value[l] != SPEC_NONE)
            return ERR(e, ERR_DATA,
                       "model.position_layers: %s, but layers have model.position = %s or none",
                       position_methods[(int32_t)m->position_layers.value[l]].name, method);
    if (m->position_layers.n > 0 && position_adds_to_embedding((int32_t)m->position, &shape))
        return ERR(e, ERR_DATA,
                   "model.position_layers: model.position = %s is added to the embeddings, not to "
                   "layers; leave the list out",
                   method);
    return 0;
}

static int check_child(const struct spec *s, struct err *e)
{
    const struct spec_train *t = &s->train;

    if (!t->from[0]) return 0;
    if (spec_is_source(s))
        return ERR(
            e, ERR_DATA,
            "train.origin: a published checkpoint is not trained and cannot continue %s; set "
            "train.origin: trained",
            t->from);
    if (t->continues == SPEC_CONTINUES_ALL && t->from_checkpoint != SPEC_LAST)
        return ERR(e, ERR_DATA,
                   "train.from_checkpoint: only the last checkpoint has the optimiser state that "
                   "train.continues: all needs; set train.continues: weights");
    if (s->option.scaling != POSITION_UNSCALED && s->option.original_length == 0)
        return ERR(e, ERR_DATA,
                   "model.rope_original_length: 0 is not the length of the parent %s; state it",
                   t->from);
    return 0;
}

int32_t spec_first_update(const struct spec *child, const struct spec *parent)
{
    return child->train.continues == SPEC_CONTINUES_ALL ? parent->train.updates : 0;
}

int spec_continue(struct spec *child, const struct spec *parent, struct err *e)
{
    static const char *const same[] = {
        "model.layers",  "model.dim",     "model.heads",           "model.ffn",
        "model.softmax", "model.cutoffs", "model.adaptive_factor", "model.final_norm",
        "data.vocab",    "data.corpus",   "data.fingerprint",      "model.rotary_layout"};
    struct spec_train *t = &child->train;
    bool all = t->continues == SPEC_CONTINUES_ALL;
    char id[SPEC_ID_BYTES];
    struct arena a;
    int rc = 0;

    spec_run_id(parent, id);
    if (spec_is_pretrained(parent))
        return ERR(e, ERR_DATA,
                   "train.from: the parent %s is a pretrained model, which is evaluated only", id);
    arena_init(&a);
    for (size_t i = 0; rc == 0 && i < sizeof same / sizeof *same; i++) {
        const struct spec_key *key = spec_key_find(same[i]);
        const char *own = spec_get(child, key, &a), *theirs = spec_get(parent, key, &a);
        bool both = spec_key_applies(key, child) && spec_key_applies(key, parent);
        if (both && strcmp(own, theirs) != 0)
            rc = ERR(e, ERR_DATA,
                     "%s: %.40s, but %.40s in the parent %s; a training continues one of the same "
                     "model and text",
                     same[i], own, theirs, id);
    }
    arena_fini(&a);
    TRY(rc);
    if (all && spec_is_source(parent))
        return ERR(
            e, ERR_DATA,
            "train.continues: the parent %s is a published checkpoint, which has no optimiser "
            "state; set train.continues: weights",
            id);
    if (all && t->optimizer != parent->train.optimizer)
        return ERR(e, ERR_DATA,
                   "train.optimizer: the parent %s has another one, whose state is of no use; set "
                   "train.continues: weights",
                   id);
    if (all && t->updates <= parent->train.updates)
        return ERR(
            e, ERR_DATA,
            "train.updates: %d is the total, with the %d of the parent %s; it must be larger",
            t->updates, parent->train.updates, id);
    if (child->option.scaling == POSITION_UNSCALED || child->option.original_length > 0) return 0;
    bool scaled = parent->option.scaling != POSITION_UNSCALED && parent->option.original_length > 0;
    child->option.original_length = scaled ? parent->option.original_length : parent->train.L;
    return 0;
}

int spec_check_paper_form(const struct spec *s, struct err *e)
{
    const size_t first = offsetof(struct spec, model.form);
    size_t n;
    const struct spec_key *keys = spec_keys(&n);
    struct arena a;
    int rc = 0;

    arena_init(&a);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        if (keys[i].offset < first || keys[i].offset >= first + sizeof s->model.form) continue;
        const char *value = spec_get(s, &keys[i], &a);
        if (strcmp(value, keys[i].neutral) != 0)
            rc = ERR(e, ERR_DATA,
                     "%s = %s: only pretrained models have it (train.origin = pretrained); a "
                     "training needs %s",
                     keys[i].name, value, keys[i].neutral);
    }
    arena_fini(&a);
    return rc;
}

static int check_form(const struct spec *s, struct err *e)
{
    if (s->model.heads % spec_kv_heads(&s->model) != 0)
        return ERR(e, ERR_DATA, "model.kv_heads: %d does not divide model.heads = %d",
                   s->model.form.kv_heads, s->model.heads);
    if (!spec_is_pretrained(s)) return spec_check_paper_form(s, e);
    if (s->kind == SPEC_BENCH)
        return ERR(e, ERR_DATA,
                   "train.origin: a pretrained model is evaluated only, without kind: bench; the "
                   "speed of its evaluations is eval_wps");
    if (s->model.softmax == SPEC_PLAIN) return 0;
    return ERR(e, ERR_DATA,
               "model.softmax: adaptive, but a pretrained model (train.origin) has one table; set "
               "model.softmax: plain");
}

int spec_check(const struct spec *s, struct err *e)
{
    const struct spec_model *m = &s->model;

    if (m->heads < 1 || (m->form.head_width == 0 && m->dim % m->heads != 0))
        return ERR(e, ERR_DATA, "model.heads: %d does not divide model.dim = %d", m->heads, m->dim);
    if (m->softmax == SPEC_ADAPTIVE) TRY(check_cutoffs(s, e));
    TRY(check_form(s, e));
    TRY(check_child(s, e));
    TRY(check_position(s, e));
    TRY(check_temperature(s, e));
    TRY(spec_check_layers(s, e));
    TRY(check_mask("model", s, &m->mask, e));
    const struct spec used = s->kind == SPEC_EVAL ? spec_evaluated(s, &s->eval) : *s;
    TRY(check_mask("eval", &used, &s->eval.mask, e));
    TRY(check_datastore(s, e));
    if (!spec_is_pretrained(s) && s->train.shard_tokens < s->train.L)
        return ERR(e, ERR_DATA, "train.shard_tokens: %d is less than one row of train.L = %d",
                   s->train.shard_tokens, s->train.L);
    if (s->kind == SPEC_EVAL && s->eval.window == SPEC_SLIDING && s->eval.stride > s->eval.L)
        return ERR(e, ERR_DATA, "eval.stride: %d is longer than the window eval.L = %d",
                   s->eval.stride, s->eval.L);
    if (s->kind == SPEC_EVAL) TRY(check_attention(&s->eval, e));
    int64_t length = s->bench_L > 0 ? s->bench_L : s->train.L;
    if (s->kind == SPEC_BENCH && s->bench_rows > SPEC_BATCH_MAX / length)
        return ERR(e, ERR_DATA, "bench.rows: %d of %lld tokens are more than %d", s->bench_rows,
                   (long long)length, SPEC_BATCH_MAX);
    return 0;
}

static bool is_neutral(const struct spec *s, const struct spec_key *key, const char *text,
                       struct arena *a)
{
    struct spec other = *s;
    if (!key->neutral || spec_set(&other, key, key->neutral, NULL) < 0) return false;
    return strcmp(spec_get(&other, key, a), text) == 0;
}

struct spec_line *spec_lines(const struct spec *s, size_t *n, struct arena *a)
{
    size_t keys_n;
    const struct spec_key *keys = spec_keys(&keys_n);
    struct spec_line *line = arena_array(a, keys_n + 1, sizeof *line);

    *n = 0;
    for (size_t i = 0; i < keys_n; i++) {
        if (!spec_key_applies(&keys[i], s)) continue;
        const char *text = spec_get(s, &keys[i], a);
        bool hashed = keys[i].hashed && !is_neutral(s, &keys[i], text, a);
        line[(*n)++] = (struct spec_line){keys[i].name, text, hashed};
    }
    line[(*n)++] = (struct spec_line){"meaning", arena_printf(a, "%d", SPEC_MEANING), true};
    return line;
}

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Returns the lines of the canonical text, sorted. skip and swap are for the config id. */
static char *canonical_lines(const struct spec *s, struct arena *a, const char *skip,
                             const char *train_instead)
{
    size_t n, texts_n = 0;
    const struct spec_line *line = spec_lines(s, &n, a);
    char **text = arena_array(a, n, sizeof *text);
    struct strbuf b;

    for (size_t i = 0; i < n; i++) {
        if (!line[i].hashed || (skip && strcmp(line[i].key, skip) == 0)) continue;
        bool swap = train_instead && (strcmp(line[i].key, "eval.train_run") == 0 ||
                                      strcmp(line[i].key, "train.from") == 0);
        text[texts_n++] =
            arena_printf(a, "%s=%s\n", line[i].key, swap ? train_instead : line[i].value);
    }
    qsort(text, texts_n, sizeof *text, compare_lines);
    strbuf_init(&b, a);
    for (size_t i = 0; i < texts_n; i++) strbuf_add(&b, text[i]);
    return b.text;
}

char *spec_canonical(const struct spec *s, struct arena *a)
{
    return canonical_lines(s, a, NULL, NULL);
}

char *spec_text(const struct spec *s, struct arena *a)
{
    size_t n;
    const struct spec_line *line = spec_lines(s, &n, a);
    struct strbuf b;

    strbuf_init(&b, a);
    for (size_t i = 0; i < n; i++) strbuf_addf(&b, "%s=%s\n", line[i].key, line[i].value);
    return b.text;
}

/* Sets *given to the line's key, if it has one. */
static int parse_line(struct spec *s, const struct spec_key **given, const char *line,
                      size_t length, int number, struct err *e)
{
    char text[SPEC_LINE_BYTES];

    if (length >= sizeof text)
        return ERR(e, ERR_DATA, "spec line %d: longer than %d bytes", number, SPEC_LINE_BYTES - 1);
    memcpy(text, line, length);
    text[length] = '\0';
    char *equals = strchr(text, '=');
    if (!equals)
        return ERR(e, ERR_DATA, "spec line %d: expected key=value, found '%.60s'", number, text);
    *equals = '\0';
    if (strcmp(text, "meaning") == 0) {
        int64_t meaning;
        if (str_to_int(&meaning, equals + 1) && meaning == SPEC_MEANING) return 0;
        return ERR(e, ERR_DATA, "spec line %d: meaning %.20s, but this program computes meaning %d",
                   number, equals + 1, SPEC_MEANING);
    }
    const struct spec_key *key = *given = spec_key_find(text);
    if (!key)
        return ERR(e, ERR_DATA, "spec line %d: unknown key '%.60s'%s", number, text,
                   spec_key_hint(text).text);
    return spec_set(s, key, equals + 1, e);
}

int spec_parse(struct spec *s, const char *text, struct err *e)
{
    bool stated[SPEC_KEYS_MAX] = {false};
    size_t n;
    const struct spec_key *keys = spec_keys(&n);
    int number = 1;

    spec_init(s);
    for (const char *p = text; *p; number++) {
        size_t length = strcspn(p, "\n");
        const struct spec_key *given = NULL;
        if (length > 0) TRY(parse_line(s, &given, p, length, number, e));
        if (given) stated[given - keys] = true;
        p += length + (p[length] == '\n');
    }
    for (size_t i = 0; i < n; i++)
        if (!stated[i] && !keys[i].neutral && spec_key_applies(&keys[i], s))
            return ERR(e, ERR_DATA, "%s is missing (%s)", keys[i].name, keys[i].help);
    return 0;
}

int spec_parse_list(struct spec **out, int32_t *n, const char *text, const char *name,
                    struct arena *a, struct err *e)
{
    static const char separator[] = "\n---\n";
    int32_t list_n = 1;

    *n = 0;
    for (const char *p = text; (p = strstr(p, separator)); p++) list_n++;
    if (list_n > SPEC_LIST_MAX)
        return ERR(e, ERR_DATA, "%s: %d specs, more than the limit of %d", name, list_n,
                   SPEC_LIST_MAX);
    *out = arena_array(a, (size_t)list_n, sizeof **out);
    for (const char *p = text; p; (*n)++) {
        const char *next = strstr(p, separator);
        size_t length = next ? (size_t)(next - p) + 1 : strlen(p);
        int rc = spec_parse(&(*out)[*n], arena_strndup(a, p, length), e);
        if (rc < 0) {
            err_ctx(e, "%s", name);
            return rc;
        }
        p = next ? next + sizeof separator - 1 : NULL;
    }
    for (int32_t i = 1; i < *n; i++)
        if ((*out)[0].kind != SPEC_EVAL || (*out)[i].kind != SPEC_EVAL)
            return ERR(e, ERR_DATA, "%s: %d specs, but only evaluations may share a worker", name,
                       *n);
    return 0;
}

static void id_of(const char *text, char out[SPEC_ID_BYTES])
{
    char hex[HASH_HEX_BYTES];
    hash_sha256_hex(hex, text, strlen(text));
    memcpy(out, hex, SPEC_ID_BYTES - 1);
    out[SPEC_ID_BYTES - 1] = '\0';
}

void spec_run_id(const struct spec *s, char out[SPEC_ID_BYTES])
{
    struct arena a;
    arena_init(&a);
    id_of(spec_canonical(s, &a), out);
    arena_fini(&a);
}

void spec_config_id(const struct spec *s, const char *config_of_train, char out[SPEC_ID_BYTES])
{
    struct arena a;
    arena_init(&a);
    id_of(canonical_lines(s, &a, "train.seed", config_of_train), out);
    arena_fini(&a);
}
