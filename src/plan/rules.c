/* rules.c - the evaluation rules of a grid: conditions, products, and the forms of L_valid. */
#include "plan/rules.h"

#include <string.h>

#include "base/str.h"

int rules_read_where(struct axes *out, struct arena *a, const struct yaml_node *map, struct err *e)
{
    TRY(yaml_want(map, YAML_MAP, "where", e));
    for (int32_t i = 0; i < map->n; i++) TRY(axes_read(out, a, map->key[i], map->item[i], e));
    return 0;
}

/* --- L_valid -------------------------------------------------------------------------------- */

/* A number of tokens, or L_train. An offset may be 0. */
static int read_length(struct grid_length *out, const struct yaml_node *node, bool offset,
                       struct err *e)
{
    *out = (struct grid_length){0};
    TRY(yaml_want(node, YAML_SCALAR, offset ? "an offset" : "a length", e));
    if (!offset && strcmp(node->text, "L_train") == 0) {
        out->of_train = true;
        return 0;
    }
    if (offset && strcmp(node->text, "0") == 0) return 0;
    int rc = settings_value(spec_key_find("eval.L"), node->text, e);
    if (rc < 0) {
        yaml_place(node, e);
        return rc;
    }
    (void)str_to_int(&out->tokens, node->text); /* settings_value has just read it */
    return 0;
}

/* One length or a list of them. */
static int read_lengths(struct grid_lengths *l, struct arena *a, const struct yaml_node *node,
                        bool offsets, struct err *e)
{
    const struct yaml_node *const *item = node->kind == YAML_LIST ? node->item : &node;
    int32_t n = node->kind == YAML_LIST ? node->n : 1;

    if (n == 0) return yaml_error(node, e, "L_valid: the list is empty");
    l->item = arena_array(a, (size_t)n, sizeof *l->item);
    l->n = n;
    for (int32_t i = 0; i < n; i++) TRY(read_length(&l->item[i], item[i], offsets, e));
    return 0;
}

/* { list: […], at_least: L } or { from: L, add: […] }. */
static int read_length_map(struct grid_lengths *l, struct arena *a, const struct yaml_node *map,
                           struct err *e)
{
    static const char *const names[] = {"list", "at_least", "from", "add"};
    const struct yaml_node *list = yaml_get(map, "list"), *least = yaml_get(map, "at_least");
    const struct yaml_node *from = yaml_get(map, "from"), *add = yaml_get(map, "add");

    TRY(yaml_known(map, names, sizeof names / sizeof *names, e));
    if (list && !from && !add) {
        TRY(read_lengths(l, a, list, false, e));
        l->has_least = least != NULL;
        return least ? read_length(&l->least, least, false, e) : 0;
    }
    if (from && add && !list && !least) {
        l->is_from = true;
        TRY(read_length(&l->from, from, false, e));
        return read_lengths(l, a, add, true, e);
    }
    return yaml_error(map, e,
                      "L_valid: write a length, a list, { list: [...], at_least: L_train } or "
                      "{ from: L_train, add: [...] }");
}

static int64_t length_of(const struct grid_length *l, int64_t L_train)
{
    return l->of_train ? L_train : l->tokens;
}

int32_t grid_lengths_list(int64_t **out, const struct grid_lengths *l, int64_t L_train,
                          struct arena *a)
{
    int32_t n = 0;

    *out = arena_array(a, (size_t)l->n, sizeof **out);
    for (int32_t i = 0; i < l->n; i++) {
        int64_t tokens = length_of(&l->item[i], L_train);
        if (l->is_from) tokens += length_of(&l->from, L_train);
        if (l->has_least && tokens < length_of(&l->least, L_train)) continue;
        (*out)[n++] = tokens;
    }
    return n;
}

/* --- rules ---------------------------------------------------------------------------------- */

static int read_rule_key(struct grid_rule *r, struct arena *a, const struct yaml_node *key,
                         const struct yaml_node *value, struct err *e)
{
    if (strcmp(key->text, "where") == 0) return rules_read_where(&r->where, a, value, e);
    if (strcmp(key->text, "L_valid") == 0 || strcmp(key->text, "eval.L") == 0) {
        if (r->lengths.n > 0) return yaml_error(key, e, "eval.L is already given in this rule");
        return value->kind == YAML_MAP ? read_length_map(&r->lengths, a, value, e)
                                       : read_lengths(&r->lengths, a, value, false, e);
    }
    TRY(axes_read(&r->axes, a, key, value, e));
    if (!settings_belongs(r->axes.item[r->axes.n - 1].key, "eval."))
        return yaml_error(key, e, "%s is decided by the training: it stands under where or in grid",
                          key->text);
    return 0;
}

static bool axis_has(const struct axis *x, const char *text)
{
    for (int32_t i = 0; x && i < x->n; i++)
        if (strcmp(x->text[i], text) == 0) return true;
    return false;
}

static int read_rule(struct grid_rule *r, struct arena *a, const struct yaml_node *map,
                     struct err *e)
{
    TRY(yaml_want(map, YAML_MAP, "an entry of evaluate", e));
    *r = (struct grid_rule){.at = map};
    for (int32_t i = 0; i < map->n; i++) TRY(read_rule_key(r, a, map->key[i], map->item[i], e));
    if (r->lengths.n == 0) { /* not given: the training's own length */
        r->lengths.item = arena_alloc(a, sizeof *r->lengths.item);
        r->lengths.item[0].of_train = true;
        r->lengths.n = 1;
    }
    for (int32_t i = 0; i < r->where.n; i++)
        if (settings_belongs(r->where.item[i].key, "eval."))
            return yaml_error(r->where.item[i].at, e,
                              "%s describes an evaluation: it stands beside where, not in it",
                              r->where.item[i].at->text);
    const struct axis *stride = axes_find(&r->axes, "eval.stride");
    if (stride && !axis_has(axes_find(&r->axes, "eval.window"), "sliding"))
        return yaml_error(stride->at, e, "a stride needs window: sliding in the same rule");
    return 0;
}

int rules_read(struct grid *g, struct arena *a, const struct yaml_node *node, struct err *e)
{
    if (!node) return 0;
    TRY(yaml_want(node, YAML_LIST, "evaluate", e));
    g->rule = arena_array(a, (size_t)node->n + 1, sizeof *g->rule);
    for (int32_t i = 0; i < node->n; i++) TRY(read_rule(&g->rule[i], a, node->item[i], e));
    g->rules_n = node->n;
    return 0;
}
