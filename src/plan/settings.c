/* settings.c - binds YAML to the spec keys: settings, axes, conditions. */
#include "plan/plan_internal.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

/* Short names, accepted wherever a key is. */
static const struct {
    const char *name, *key;
} short_names[] = {
    {"position", "model.position"},    {"L_train", "train.L"},    {"L_valid", "eval.L"},
    {"dataset", "data.dataset"},       {"seed", "train.seed"},    {"split", "eval.split"},
    {"window", "eval.window"},         {"stride", "eval.stride"}, {"targets", "eval.targets"},
    {"checkpoint", "eval.checkpoint"}, {"mode", "bench.mode"},
};
enum { SHORT_NAMES_N = sizeof short_names / sizeof *short_names };

/* Keys that neither files nor --set may set, and why. */
static const struct {
    const char *key, *why;
} decided_keys[] = {
    {"kind", "use kind: bench at the top of a grid or in a block"},
    {"scale", "choose it with --scale, or with scale: at the top of a grid"},
    {"eval.train_run", "the grid determines it"},
};

/* Default values of keys without a neutral value. */
static const struct {
    const char *key, *text;
} draft_defaults[] = {
    {"train.seed", "1"},
    {"eval.split", "valid"},
    {"eval.window", "nonoverlapping"},
    {"bench.mode", "train"},
};

static size_t key_index(const struct spec_key *key)
{
    size_t n;
    const struct spec_key *keys = spec_keys(&n);

    assert(n <= SETTINGS_KEYS_MAX);
    return (size_t)(key - keys);
}

void draft_init(struct draft *d)
{
    *d = (struct draft){0};
    spec_init(&d->spec);
    for (size_t i = 0; i < sizeof draft_defaults / sizeof *draft_defaults; i++)
        draft_set(d, spec_key_find(draft_defaults[i].key), draft_defaults[i].text);
}

void draft_set(struct draft *d, const struct spec_key *key, const char *text)
{
    int rc = spec_set(&d->spec, key, text, NULL);

    assert(rc == 0);
    (void)rc;
    d->given[key_index(key)] = true;
}

static const char *decided_why(const struct spec_key *key)
{
    for (size_t i = 0; i < sizeof decided_keys / sizeof *decided_keys; i++)
        if (strcmp(decided_keys[i].key, key->name) == 0) return decided_keys[i].why;
    return NULL;
}

int draft_complete(const struct draft *d, struct err *e)
{
    size_t n;
    const struct spec_key *keys = spec_keys(&n);

    for (size_t i = 0; i < n; i++) {
        if (keys[i].neutral || d->given[i] || decided_why(&keys[i])) continue;
        if (keys[i].applies && !keys[i].applies(&d->spec)) continue;
        return ERR(e, ERR_DATA,
                   "%s is not set (%s); set it in a piece of base, under set:, or with --set",
                   keys[i].name, keys[i].help);
    }
    return 0;
}

int settings_key(const struct spec_key **out, const char *name, struct err *e)
{
    const char *names[SHORT_NAMES_N + SETTINGS_KEYS_MAX];
    size_t n, names_n = 0;
    const struct spec_key *keys = spec_keys(&n), *key = spec_key_find(name);

    for (size_t i = 0; i < SHORT_NAMES_N && !key; i++)
        if (strcmp(short_names[i].name, name) == 0) key = spec_key_find(short_names[i].key);
    if (key) {
        const char *why = decided_why(key);
        *out = key;
        return why ? ERR(e, ERR_DATA, "%s cannot be set: %s", key->name, why) : 0;
    }
    for (size_t i = 0; i < SHORT_NAMES_N; i++) names[names_n++] = short_names[i].name;
    for (size_t i = 0; i < n; i++) names[names_n++] = keys[i].name;
    return ERR(e, ERR_DATA, "unknown key '%.60s'%s", name, str_hint(name, names, names_n).text);
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

const char *settings_short(const struct spec_key *key)
{
    for (size_t i = 0; i < SHORT_NAMES_N; i++)
        if (strcmp(short_names[i].key, key->name) == 0) return short_names[i].name;
    return key->name;
}

/* Adds a value: a scalar; for a key with list values, such as model.cutoffs, also a YAML list. */
static int axis_read_value(struct axis *x, struct arena *a, const struct yaml_node *value,
                           struct err *e)
{
    struct strbuf b;

    strbuf_init(&b, a);
    if (spec_key_is_list(x->key) && value->kind == YAML_LIST) {
        for (int32_t i = 0; i < value->n; i++) {
            TRY(yaml_want(value->item[i], YAML_SCALAR, x->key->name, e));
            strbuf_addf(&b, "%s%s", i ? "," : "", value->item[i]->text);
        }
        if (value->n == 0) strbuf_add(&b, "none");
    } else {
        TRY(yaml_want(value, YAML_SCALAR, x->key->name, e));
        strbuf_add(&b, value->text);
    }
    *vec_push(a, x) = b.text;
    return yaml_place(value, settings_value(x->key, b.text, e), e);
}

/* Adds an axis. Those from `first` on are from the same file and must not repeat. */
static int axes_add(struct axes *x, int32_t first, struct arena *a, const struct axis *one,
                    struct err *e)
{
    for (int32_t i = first; i < x->n; i++)
        if (x->item[i].key == one->key)
            return yaml_error(one->at, e, "%s is already given at line %d, column %d",
                              one->key->name, x->item[i].at->line, x->item[i].at->column);
    *vec_push(a, x) = *one;
    return 0;
}

/* Adds the settings of a mapping; its keys have the prefix "" or "model.". */
static int read_nested(struct axes *x, int32_t first, struct arena *a, const char *prefix,
                       const struct yaml_node *map, struct err *e)
{
    for (int32_t i = 0; i < map->n; i++) {
        const char *name = arena_printf(a, "%s%s", prefix, map->key[i]->text);
        struct axis one = {.at = map->key[i]};
        if (map->item[i]->kind == YAML_MAP) {
            TRY(read_nested(x, first, a, arena_printf(a, "%s.", name), map->item[i], e));
            continue;
        }
        TRY(yaml_place(one.at, settings_key(&one.key, name, e), e));
        TRY(axis_read_value(&one, a, map->item[i], e));
        TRY(axes_add(x, first, a, &one, e));
    }
    return 0;
}

int settings_read(struct axes *x, struct arena *a, const struct yaml_node *map, struct err *e)
{
    TRY(yaml_want(map, YAML_MAP, "settings", e));
    return read_nested(x, x->n, a, "", map, e);
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
    if (rc < 0) {
        err_ctx(e, "%s %.80s", option, text);
        if (e) e->code = ERR_USAGE;
        return ERR_USAGE;
    }
    *vec_push(a, &one) = arena_strdup(a, equals + 1);
    *vec_push(a, x) = one;
    return 0;
}

/* --- axes and conditions ---------------------------------------------------------------------- */

enum { AXES_SIZE_MAX_BITS = 61 };

int axes_read(struct axes *x, struct arena *a, const struct yaml_node *key,
              const struct yaml_node *value, struct err *e)
{
    struct axis one = {.at = key};

    TRY(yaml_place(key, settings_key(&one.key, key->text, e), e));
    /* For a key with list values, a flat list is one value and a list of lists is an axis. */
    bool whole = value->kind == YAML_LIST && spec_key_is_list(one.key) && value->n > 0 &&
                 value->item[0]->kind == YAML_SCALAR && !strchr(value->item[0]->text, ',');
    int32_t n = 1;
    const struct yaml_node *const *item = whole ? &value : yaml_each(&value, &n);
    if (n == 0) return yaml_error(value, e, "%s: the list is empty", key->text);
    for (int32_t i = 0; i < n; i++) TRY(axis_read_value(&one, a, item[i], e));
    return axes_add(x, 0, a, &one, e);
}

int axes_read_all(struct axes *x, struct arena *a, const struct yaml_node *map, const char *except,
                  const char *other, struct err *e)
{
    for (int32_t i = 0; i < map->n; i++) {
        const char *key = map->key[i]->text;
        if ((except && strcmp(key, except) == 0) || (other && strcmp(key, other) == 0)) continue;
        TRY(axes_read(x, a, map->key[i], map->item[i], e));
    }
    return 0;
}

struct axis *axes_find(const struct axes *x, const char *key_name)
{
    for (int32_t i = 0; i < x->n; i++)
        if (strcmp(x->item[i].key->name, key_name) == 0) return &x->item[i];
    return NULL;
}

int64_t axes_size(const struct axes *x)
{
    int64_t size = 1;

    for (int32_t i = 0; i < x->n; i++) {
        if (size > (INT64_C(1) << AXES_SIZE_MAX_BITS) / x->item[i].n)
            return INT64_C(1) << AXES_SIZE_MAX_BITS;
        size *= x->item[i].n;
    }
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

bool where_matches(const struct axes *where, const struct spec *s)
{
    for (const struct axis *x = where->item; x < where->item + where->n; x++) {
        int32_t i = 0;
        if (settings_belongs(x->key, "eval.") && s->kind != SPEC_EVAL) return false;
        while (i < x->n && !spec_key_equals(s, x->key, x->item[i])) i++;
        if (i == x->n) return false;
    }
    return true;
}

const struct axis *axes_evaluation(const struct axes *x)
{
    for (int32_t i = 0; i < x->n; i++)
        if (settings_belongs(x->item[i].key, "eval.")) return &x->item[i];
    return NULL;
}

char *where_text(const struct axes *where, struct arena *a)
{
    struct strbuf b;

    strbuf_init(&b, a);
    for (int32_t i = 0; i < where->n; i++) {
        const struct axis *x = &where->item[i];
        strbuf_addf(&b, "%s%s=", i ? ", " : "", settings_short(x->key));
        for (int32_t k = 0; k < x->n; k++) strbuf_addf(&b, "%s%s", k ? "|" : "", x->item[k]);
    }
    return b.text;
}
