/* axes.c - products of axes, and conditions, which are axes read as "one of". */
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "plan/settings.h"

enum { AXES_SIZE_MAX_BITS = 61 };

void axis_add(struct axis *x, struct arena *a, const char *text)
{
    if (x->n == x->room) {
        int32_t room = x->room ? 2 * x->room : 8;
        const char **grown = arena_array(a, (size_t)room, sizeof *grown);
        if (x->n) memcpy(grown, x->text, (size_t)x->n * sizeof *grown);
        x->text = grown;
        x->room = room;
    }
    x->text[x->n++] = text;
}

/* A value or a list of values. */
static int axis_read(struct axis *out, struct arena *a, const struct yaml_node *key,
                     const struct yaml_node *value, struct err *e)
{
    char *text;
    int rc;

    *out = (struct axis){.at = key};
    rc = settings_key(&out->key, key->text, e);
    if (rc < 0) {
        yaml_place(key, e);
        return rc;
    }
    /* A flat list under a key that takes lists is one value; a list of lists is an axis. */
    bool one = value->kind != YAML_LIST ||
               (spec_key_is_list(out->key) && value->n > 0 && value->item[0]->kind == YAML_SCALAR &&
                !strchr(value->item[0]->text, ','));
    if (one) {
        TRY(settings_read_value(&text, a, out->key, value, e));
        axis_add(out, a, text);
        return 0;
    }
    if (value->n == 0) return yaml_error(value, e, "%s: the list is empty", key->text);
    for (int32_t i = 0; i < value->n; i++) {
        TRY(settings_read_value(&text, a, out->key, value->item[i], e));
        axis_add(out, a, text);
    }
    return 0;
}

struct axis *axes_add(struct axes *x, struct arena *a)
{
    if (x->n == x->room) {
        int32_t room = x->room ? 2 * x->room : 8;
        struct axis *grown = arena_array(a, (size_t)room, sizeof *grown);
        if (x->n) memcpy(grown, x->item, (size_t)x->n * sizeof *grown);
        x->item = grown;
        x->room = room;
    }
    struct axis *last = &x->item[x->n++];
    *last = (struct axis){0};
    return last;
}

struct axis *axes_find(const struct axes *x, const char *key_name)
{
    for (int32_t i = 0; i < x->n; i++)
        if (strcmp(x->item[i].key->name, key_name) == 0) return &x->item[i];
    return NULL;
}

int axes_read(struct axes *x, struct arena *a, const struct yaml_node *key,
              const struct yaml_node *value, struct err *e)
{
    struct axis one;

    TRY(axis_read(&one, a, key, value, e));
    const struct axis *before = axes_find(x, one.key->name);
    if (before)
        return yaml_error(key, e, "%s is already given at line %d, column %d", one.key->name,
                          before->at->line, before->at->column);
    *axes_add(x, a) = one;
    return 0;
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
    for (int32_t i = x->n - 1; i >= 0; i--) {
        const struct axis *one = &x->item[i];
        draft_set(d, one->key, one->text[index % one->n]);
        index /= one->n;
    }
}

bool spec_key_equals(const struct spec *s, const struct spec_key *key, const char *text)
{
    struct spec probe;
    const char *ours = (const char *)s + key->offset, *theirs = (const char *)&probe + key->offset;

    if (key->type == SPEC_T_INTS) probe.model.cutoffs_n = 0;
    if (spec_set(&probe, key, text, NULL) < 0) return false;
    switch (key->type) {
    case SPEC_T_INT32:
        return *(const int32_t *)(const void *)ours == *(const int32_t *)(const void *)theirs;
    case SPEC_T_INT64:
        return *(const int64_t *)(const void *)ours == *(const int64_t *)(const void *)theirs;
    case SPEC_T_DOUBLE:
        return *(const double *)(const void *)ours == *(const double *)(const void *)theirs;
    case SPEC_T_BOOL:
        return *(const bool *)ours == *(const bool *)theirs;
    case SPEC_T_ENUM:
        return *(const int *)(const void *)ours == *(const int *)(const void *)theirs;
    case SPEC_T_TEXT:
        return strcmp(ours, theirs) == 0;
    case SPEC_T_INTS:
        return s->model.cutoffs_n == probe.model.cutoffs_n &&
               memcmp(ours, theirs, sizeof s->model.cutoffs) == 0;
    case SPEC_T_REALS:
        return memcmp(ours, theirs, sizeof(struct position_list)) == 0;
    }
    return false;
}

static bool axis_matches(const struct axis *x, const struct spec *s)
{
    if (settings_belongs(x->key, "eval.") && s->kind != SPEC_EVAL) return false;
    for (int32_t i = 0; i < x->n; i++)
        if (spec_key_equals(s, x->key, x->text[i])) return true;
    return false;
}

bool where_matches(const struct axes *where, const struct spec *s)
{
    for (int32_t i = 0; i < where->n; i++)
        if (!axis_matches(&where->item[i], s)) return false;
    return true;
}

bool where_of_training(const struct axes *where, const struct spec *s)
{
    for (int32_t i = 0; i < where->n; i++) {
        const struct axis *x = &where->item[i];
        if (!settings_belongs(x->key, "eval.") && !axis_matches(x, s)) return false;
    }
    return true;
}

bool where_has_eval(const struct axes *where)
{
    for (int32_t i = 0; i < where->n; i++)
        if (settings_belongs(where->item[i].key, "eval.")) return true;
    return false;
}

char *where_text(const struct axes *where, struct arena *a)
{
    struct strbuf b;

    strbuf_init(&b, a);
    for (int32_t i = 0; i < where->n; i++) {
        const struct axis *x = &where->item[i];
        strbuf_addf(&b, "%s%s=", i ? ", " : "", settings_short(x->key));
        for (int32_t k = 0; k < x->n; k++) strbuf_addf(&b, "%s%s", k ? "|" : "", x->text[k]);
    }
    return b.text;
}
