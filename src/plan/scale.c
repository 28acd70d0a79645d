/* scale.c - reads and applies a scale. */
#include "plan/plan_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

static int unknown_scale(struct arena *a, const struct project *p, const char *name, struct err *e)
{
    const char *root[2];
    char **names;
    int32_t n;
    int roots_n = plan_roots(root, p);

    TRY(plan_names(&names, &n, p, a, "configs/scale", ".yaml", e));
    return ERR(e, ERR_USAGE, "unknown scale '%.60s' (no configs/scale/%.60s.yaml under %s%s%s)%s",
               name, name, root[0], roots_n > 1 ? " or " : "", roots_n > 1 ? root[1] : "",
               str_hint(name, (const char *const *)names, (size_t)n).text);
}

static int read_divide(struct scale *s, const struct yaml_node *node, struct err *e)
{
    s->divide = 1.0;
    if (node && (!str_to_double(&s->divide, node->text) || s->divide < 1.0 || s->divide > 1e6))
        return yaml_error(node, e, "divide: expected a number from 1 to 1000000, found '%.60s'",
                          node->text);
    return 0;
}

int scale_read(struct scale *s, struct arena *a, const struct project *p, const char *name,
               struct err *e)
{
    const struct yaml_node *root, *divide, *set, *where;
    const struct yaml_field fields[] = {
        {"divide", YAML_SCALAR, &divide}, {"set", YAML_ANY, &set}, {"where", YAML_LIST, &where}};
    char *path;

    *s = (struct scale){.name = arena_strdup(a, name),
                        .datasets.key = spec_key_find("data.dataset")};
    if (!str_is_name(name) ||
        project_find(&path, p, a, arena_printf(a, "configs/scale/%s.yaml", name), NULL) < 0)
        return unknown_scale(a, p, name, e);
    TRY(yaml_read(&root, a, path, e));
    TRY(yaml_fields(root, fields, sizeof fields / sizeof *fields, e));
    TRY(read_divide(s, divide, e));
    if (set) TRY(settings_read(&vec_push(a, &s->rules)->axes, a, set, e));
    TRY(rules_read(&s->rules, a, where, RULE_SCALE, SPEC_TRAIN, e));
    for (int32_t i = 0; i < s->rules.n; i++) {
        const struct axis *x = axes_find(&s->rules.item[i].where, s->datasets.key->name);
        for (int32_t k = 0; x && k < x->n; k++) {
            if (axis_has(&s->datasets, x->item[k])) continue;
            *vec_push(a, &s->datasets) = x->item[k];
            s->known = s->known ? arena_printf(a, "%s, %s", s->known, x->item[k]) : x->item[k];
        }
    }
    return 0;
}

/* Divides a length and rounds half up, to at least 1; 0 stays 0. */
static int32_t scale_length(const struct scale *s, int32_t n)
{
    double mapped = floor(n / s->divide + 0.5);

    if (n <= 0) return 0;
    return mapped < 1.0 ? 1 : (int32_t)mapped;
}

/* The keys that `divide` maps. */
static const char *const lengths[] = {"train.L", "train.validate_L", "eval.L", "bench.L",
                                      "eval.stride"};
enum { LENGTHS_N = sizeof lengths / sizeof *lengths };

static bool is_length(const struct spec_key *key)
{
    int i = 0;

    while (i < LENGTHS_N && strcmp(lengths[i], key->name) != 0) i++;
    return i < LENGTHS_N;
}

bool scale_has(const struct scale *s, const struct spec *nominal)
{
    return !s->known || axis_matches(&s->datasets, nominal);
}

int scale_apply(const struct scale *s, struct draft *d, struct err *e)
{
    const struct spec nominal = d->spec;

    if (!scale_has(s, &nominal))
        return ERR(e, ERR_DATA,
                   "scale %s has no text for dataset '%s' (only for %s); choose another scale, "
                   "such as none for the grid as written, or add an entry under where: in "
                   "configs/scale/%s.yaml",
                   s->name, nominal.data.dataset, s->known, s->name);
    for (int i = 0; i < LENGTHS_N; i++) {
        int32_t *length = (int32_t *)((char *)&d->spec + spec_key_find(lengths[i])->offset);
        *length = scale_length(s, *length);
    }
    for (int32_t i = 0; i < s->rules.n; i++) {
        const struct rule *r = &s->rules.item[i];
        if (axes_match(&r->where, &nominal)) axes_apply(&r->axes, 0, d);
    }
    snprintf(d->spec.scale, sizeof d->spec.scale, "%s", s->name);
    return 0;
}

const char *scale_value(const struct scale *s, const struct spec *nominal,
                        const struct spec_key *key, bool *maps)
{
    const char *value = NULL;

    *maps = is_length(key);
    for (int32_t i = 0; i < s->rules.n; i++) {
        const struct rule *r = &s->rules.item[i];
        const struct axis *x = axes_find(&r->axes, key->name);
        if (!x || !axes_match(&r->where, nominal)) continue;
        value = x->item[0];
        *maps = is_length(key) || axes_find(&r->where, key->name);
    }
    return value;
}
