/* settings.c - binds YAML to the spec keys: settings, axes, conditions. */
#include "plan/plan_internal.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/str.h"

/* Short names and initial values of keys in grids. */
static const struct key_note {
    const char *key;
    const char *short_name; /* accepted wherever the key is */
    const char *initial;    /* of a key without a neutral value */
    const char *decided;    /* why neither files nor --set may set it */
} key_notes[] = {
    {"model.position", .short_name = "position"},
    {"train.L", .short_name = "L_train"},
    {"eval.L", .short_name = "L_valid"},
    {"data.dataset", .short_name = "dataset"},
    {"train.seed", .short_name = "seed", .initial = "1"},
    {"eval.split", .short_name = "split", .initial = "valid"},
    {"eval.window", .short_name = "window", .initial = "nonoverlapping"},
    {"eval.stride", .short_name = "stride"},
    {"eval.targets", .short_name = "targets"},
    {"eval.checkpoint", .short_name = "checkpoint"},
    {"bench.mode", .short_name = "mode", .initial = "train"},
    {"kind", .decided = "use kind: bench at the top of a grid or in a block"},
    {"scale", .decided = "choose it with --scale, or with scale: at the top of a grid"},
    {"train.from", .decided = "write from: { L_train: 64 } in a block of grid"},
    {"eval.train_run", .decided = "the grid determines it"},
};
enum { KEY_NOTES_N = sizeof key_notes / sizeof *key_notes };

/* Names that other projects give to some keys. */
static const char *const key_aliases[] = {"learning_rate=train.lr",
                                          "max_lr=train.lr",
                                          "min_lr=train.lr_min",
                                          "warmup_steps=train.warmup",
                                          "warmup_updates=train.warmup",
                                          "batch_size=train.shard_tokens",
                                          "max_tokens=train.shard_tokens",
                                          "accumulation_steps=train.shards",
                                          "update_freq=train.shards",
                                          "steps=train.updates",
                                          "max_steps=train.updates",
                                          "max_update=train.updates",
                                          "iterations=train.updates",
                                          "max_iters=train.updates",
                                          "epochs=train.updates",
                                          "num_epochs=train.updates",
                                          "num_train_epochs=train.updates",
                                          "grad_clip=train.clip",
                                          "clip_norm=train.clip",
                                          "max_grad_norm=train.clip",
                                          "dtype=train.precision",
                                          "n_layer=model.layers",
                                          "n_layers=model.layers",
                                          "num_layers=model.layers",
                                          "depth=model.layers",
                                          "n_head=model.heads",
                                          "n_heads=model.heads",
                                          "num_heads=model.heads",
                                          "n_embd=model.dim",
                                          "d_model=model.dim",
                                          "hidden_size=model.dim",
                                          "embed_dim=model.dim",
                                          "width=model.dim",
                                          "d_ff=model.ffn",
                                          "ffn_dim=model.ffn",
                                          "intermediate_size=model.ffn",
                                          "attention_dropout=model.dropout_attention",
                                          "position_embedding=model.position",
                                          "pos_emb=model.position",
                                          "rope_theta=model.rotary_base",
                                          "sliding_window=model.attention_window",
                                          "block_size=train.L",
                                          "context_length=train.L",
                                          "sequence_length=train.L",
                                          "seq_len=train.L",
                                          "length=train.L",
                                          "vocab_size=data.vocab"};
enum { KEY_ALIASES_N = sizeof key_aliases / sizeof *key_aliases };

static const struct key_note *find_note(const struct spec_key *key)
{
    static const struct key_note none = {0};

    for (int i = 0; i < KEY_NOTES_N; i++)
        if (strcmp(key_notes[i].key, key->name) == 0) return &key_notes[i];
    return &none;
}

void draft_init(struct draft *d)
{
    *d = (struct draft){0};
    spec_init(&d->spec);
    for (int i = 0; i < KEY_NOTES_N; i++)
        if (key_notes[i].initial)
            draft_set(d, spec_key_find(key_notes[i].key), key_notes[i].initial);
}

void draft_set(struct draft *d, const struct spec_key *key, const char *text)
{
    size_t n;
    int rc = spec_set(&d->spec, key, text, NULL);

    assert(rc == 0);
    (void)rc;
    d->given[key - spec_keys(&n)] = true;
}

int draft_complete(const struct draft *d, struct err *e)
{
    size_t n;
    const struct spec_key *keys = spec_keys(&n);

    for (size_t i = 0; i < n; i++) {
        if (keys[i].neutral || d->given[i] || find_note(&keys[i])->decided) continue;
        if (!spec_key_applies(&keys[i], &d->spec)) continue;
        return ERR(e, ERR_DATA,
                   "%s is not set (%s); set it in a piece of base, under set:, or with --set",
                   keys[i].name, keys[i].help);
    }
    return 0;
}

bool settings_mentions(const struct spec_key *key, const char *word)
{
    size_t n = strlen(word);

    for (const char *p = key->name; (p = strstr(p, word)); p++)
        if (p != key->name && strchr("._", p[-1]) && (!p[n] || p[n] == '_')) return true;
    return false;
}

/* Finds the target of an alias, whatever section was written in front of it; NULL: not an alias. */
static const char *find_alias(const char *word)
{
    for (int i = 0; i < KEY_ALIASES_N; i++) {
        size_t n = strcspn(key_aliases[i], "=");
        if (strlen(word) == n && strncasecmp(word, key_aliases[i], n) == 0)
            return key_aliases[i] + n + 1;
    }
    return NULL;
}

/* Reports a name that is not a key, with the key of this last part or alias, all keys that contain
 * its last part as a word, or the nearest name. */
static int unknown_key(const char *name, struct err *e)
{
    const char *names[KEY_NOTES_N + KEY_ALIASES_N + SPEC_KEYS_MAX];
    char list[256] = "";
    size_t n, names_n = 0, used = 0, found = 0;
    const struct spec_key *keys = spec_keys(&n);
    const char *dot = strrchr(name, '.'), *word = dot ? dot + 1 : name, *meant = find_alias(word);

    for (size_t i = 0; i < n && !meant; i++)
        if (!dot &&
            strcmp(strchr(keys[i].name, '.') ? strchr(keys[i].name, '.') + 1 : "", word) == 0)
            meant = keys[i].name;
    for (size_t i = 0; i < n && !meant && *word && used < sizeof list; i++) {
        if (!settings_mentions(&keys[i], word)) continue;
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", found++ ? ", " : "",
                                 keys[i].name);
    }
    if (found > 1)
        return ERR(e, ERR_DATA, "unknown key '%.60s'; keys with '%.60s': %s", name, word, list);
    if (meant || found)
        return ERR(e, ERR_DATA, "unknown key '%.60s'; did you mean '%s'?", name,
                   meant ? meant : list);
    for (int i = 0; i < KEY_NOTES_N; i++)
        if (key_notes[i].short_name) names[names_n++] = key_notes[i].short_name;
    for (size_t i = 0; i < n; i++) names[names_n++] = keys[i].name;
    for (int i = 0; i < KEY_ALIASES_N; i++) names[names_n++] = key_aliases[i];
    return ERR(e, ERR_DATA, "unknown key '%.60s'%s", name, str_hint(name, names, names_n).text);
}

int settings_key(const struct spec_key **out, const char *name, struct err *e)
{
    *out = spec_key_find(name);
    for (int i = 0; i < KEY_NOTES_N && !*out; i++)
        if (key_notes[i].short_name && strcmp(key_notes[i].short_name, name) == 0)
            *out = spec_key_find(key_notes[i].key);
    if (!*out) return unknown_key(name, e);
    const char *why = find_note(*out)->decided;
    return why ? ERR(e, ERR_DATA, "%s cannot be set: %s", (*out)->name, why) : 0;
}

int settings_value(const struct spec_key *key, const char *text, struct err *e)
{
    struct spec probe;

    spec_init(&probe);
    return spec_set(&probe, key, text, e);
}

bool settings_belongs(const struct spec_key *key, const char *part)
{
    return strncmp(key->name, part, strlen(part)) == 0;
}

const char *settings_default(const struct spec_key *key)
{
    return key->neutral ? key->neutral : find_note(key)->initial;
}

const char *settings_short(const struct spec_key *key)
{
    const char *name = find_note(key)->short_name;
    return name ? name : key->name;
}

/* --- axes ----------------------------------------------------------------------------------- */

/* Adds a value: a scalar; for a key with list values, such as model.cutoffs, also a YAML list. */
static int add_value(struct axis *x, struct arena *a, const struct yaml_node *value, struct err *e)
{
    struct strbuf b;
    int32_t n = 1;
    bool is_list = spec_key_is_list(x->key) && value->kind == YAML_LIST;
    const struct yaml_node *const *item = is_list ? yaml_each(&value, &n) : &value;

    strbuf_init(&b, a);
    for (int32_t i = 0; i < n; i++) {
        TRY(yaml_want(item[i], YAML_SCALAR, x->key->name, e));
        strbuf_addf(&b, "%s%s", i ? "," : "", item[i]->text);
    }
    if (n == 0) strbuf_add(&b, "none");
    *vec_push(a, x) = b.text;
    return yaml_place(value, settings_value(x->key, b.text, e), e);
}

/* Adds the axis of pair i of a mapping, which its file may give once. prefix: of its keys, "" or
 * "model."; many: a list is several values, else a mapping is further settings. */
static int read_pair(struct axes *x, struct arena *a, const char *prefix,
                     const struct yaml_node *map, int32_t i, bool many, struct err *e)
{
    const struct yaml_node *value = map->item[i];
    const char *name = arena_printf(a, "%s%s", prefix, map->key[i]->text);
    struct axis one = {.at = map->key[i]};
    int32_t n = 1;

    for (int32_t k = 0; !many && value->kind == YAML_MAP && k < value->n; k++)
        TRY(read_pair(x, a, arena_printf(a, "%s.", name), value, k, false, e));
    if (!many && value->kind == YAML_MAP) return 0;
    TRY(yaml_place(one.at, settings_key(&one.key, name, e), e));
    /* For a key with list values, a flat list is one value and a list of lists is an axis. */
    bool flat = value->kind == YAML_LIST && spec_key_is_list(one.key) && value->n > 0 &&
                value->item[0]->kind == YAML_SCALAR && !strchr(value->item[0]->text, ',');
    const struct yaml_node *const *item = many && !flat ? yaml_each(&value, &n) : &value;
    if (n == 0) return yaml_error(value, e, "%s: the list is empty", name);
    for (int32_t k = 0; k < n; k++) {
        TRY(add_value(&one, a, item[k], e));
        struct axis before = one;
        before.n--;
        if (axis_has(&before, one.item[k]))
            return yaml_error(item[k], e, "%s: %.60s is in the list twice", name, one.item[k]);
    }
    const struct axis *before = axes_find(x, one.key->name);
    if (before)
        return yaml_error(one.at, e, "%s is already given at line %d, column %d", one.key->name,
                          before->at->line, before->at->column);
    *vec_push(a, x) = one;
    return 0;
}

int settings_read_pair(struct axes *x, struct arena *a, const struct yaml_node *map, int32_t i,
                       struct err *e)
{
    return read_pair(x, a, "", map, i, false, e);
}

int settings_read(struct axes *x, struct arena *a, const struct yaml_node *map, struct err *e)
{
    TRY(yaml_want(map, YAML_MAP, "settings", e));
    for (int32_t i = 0; i < map->n; i++) TRY(settings_read_pair(x, a, map, i, e));
    return 0;
}

int axes_read(struct axes *x, struct arena *a, const struct yaml_node *map, int32_t i,
              struct err *e)
{
    return read_pair(x, a, "", map, i, true, e);
}

int settings_add_text(struct axes *x, struct arena *a, const char *option, const char *text,
                      struct err *e)
{
    const char *equals = strchr(text, '=');
    struct axis one = {0};
    int rc;

    if (!equals)
        return ERR(e, ERR_USAGE, "%s %.60s: expected key=value, such as train.updates=1600", option,
                   text);
    rc = settings_key(&one.key, arena_strndup(a, text, (size_t)(equals - text)), e);
    if (rc == 0) rc = settings_value(one.key, equals + 1, e);
    if (rc < 0 && e && one.key && strchr(equals, ',') && strcmp(option, "--set") == 0)
        err_set(e, rc,
                "%s; several values are an axis: `%s: [%s]` under grid:", arena_strdup(a, e->text),
                settings_short(one.key), equals + 1);
    if (rc < 0) {
        err_ctx(e, "%s %.80s", option, text);
        if (e) e->code = ERR_USAGE;
        return ERR_USAGE;
    }
    *vec_push(a, &one) = arena_strdup(a, equals + 1);
    *vec_push(a, x) = one;
    return 0;
}

struct axis *axes_find(const struct axes *x, const char *key_name)
{
    for (int32_t i = 0; i < x->n; i++)
        if (strcmp(x->item[i].key->name, key_name) == 0) return &x->item[i];
    return NULL;
}

bool axis_has(const struct axis *x, const char *text)
{
    int32_t i = 0;

    while (i < x->n && strcmp(x->item[i], text) != 0) i++;
    return i < x->n;
}

int64_t axes_size(const struct axes *x)
{
    int64_t size = 1;

    for (int32_t i = 0; i < x->n && size <= PLAN_MAX_RUNS; i++) size *= x->item[i].n;
    return size;
}

void axes_apply(const struct axes *x, int64_t index, struct draft *d)
{
    int64_t step = axes_size(x);

    for (int32_t i = 0; i < x->n; i++) {
        const struct axis *one = &x->item[i];
        step /= one->n;
        draft_set(d, one->key, one->item[index / step % one->n]);
    }
}

bool spec_key_equals(const struct spec *s, const struct spec_key *key, const char *text)
{
    struct spec changed;

    memcpy(&changed, s, sizeof changed); /* restore the field */
    return spec_set(&changed, key, text, NULL) == 0 && memcmp(&changed, s, sizeof changed) == 0;
}

bool axis_applies(const struct axis *x, const struct spec *s)
{
    return s->kind == SPEC_EVAL || !settings_belongs(x->key, "eval.");
}

bool axis_matches(const struct axis *x, const struct spec *s)
{
    int32_t i = axis_applies(x, s) ? 0 : x->n;

    while (i < x->n && !spec_key_equals(s, x->key, x->item[i])) i++;
    return i < x->n;
}

bool axes_match(const struct axes *where, const struct spec *s)
{
    int32_t i = 0;

    while (i < where->n && axis_matches(&where->item[i], s)) i++;
    return i == where->n;
}

char *axes_text(const struct axis *x, int32_t n, struct arena *a)
{
    struct strbuf b;

    strbuf_init(&b, a);
    for (int32_t i = 0; i < n; i++) {
        strbuf_addf(&b, "%s%s=", i ? ", " : "", settings_short(x[i].key));
        for (int32_t k = 0; k < x[i].n; k++) strbuf_addf(&b, "%s%s", k ? "|" : "", x[i].item[k]);
    }
    return b.text;
}
