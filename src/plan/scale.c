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

static int read_rule(void *item, struct arena *a, const struct yaml_node *map, struct err *e)
{
    struct scale_rule *r = item;
    const struct yaml_node *set = yaml_get(map, "set");

    TRY(axes_read_all(&r->where, a, map, "set", NULL, e));
    if (!set) return yaml_error(map, e, "set is missing: give the settings for these runs");
    if (r->where.n == 0)
        return yaml_error(map, e, "no key selects the runs; add a condition such as dataset");
    return settings_read(&r->set, a, set, e);
}

static int read_divide(struct scale *s, const struct yaml_node *root, struct err *e)
{
    const struct yaml_node *node;

    s->divide = 1.0;
    TRY(yaml_take(&node, root, "divide", YAML_SCALAR, e));
    if (!node) return 0;
    if (!str_to_double(&s->divide, node->text) || s->divide < 1.0 || s->divide > 1e6)
        return yaml_error(node, e, "divide: expected a number from 1 to 1000000, found '%.60s'",
                          node->text);
    return 0;
}

int scale_read(struct scale *s, struct arena *a, const struct project *p, const char *name,
               struct err *e)
{
    static const char *const names[] = {"divide", "set", "where"};
    const struct yaml_node *root, *set;
    void *rules = NULL;
    char *path;

    *s = (struct scale){.name = arena_strdup(a, name)};
    if (!str_is_name(name) ||
        project_find(&path, p, a, arena_printf(a, "configs/scale/%s.yaml", name), NULL) < 0)
        return unknown_scale(a, p, name, e);
    TRY(yaml_read(&root, a, path, e));
    TRY(yaml_known(root, names, sizeof names / sizeof *names, e));
    TRY(read_divide(s, root, e));
    set = yaml_get(root, "set");
    if (set) TRY(settings_read(&s->set, a, set, e));
    TRY(yaml_items(&rules, &s->rules_n, sizeof *s->rule, a, root, "where", read_rule, e));
    s->rule = rules;
    return 0;
}

int32_t scale_length(const struct scale *s, int32_t n)
{
    double mapped = floor(n / s->divide + 0.5);

    if (n <= 0) return 0;
    return mapped < 1.0 ? 1 : (int32_t)mapped;
}

static int check_dataset(const struct scale *s, const struct spec *nominal, struct err *e)
{
    char known[256] = "";
    bool any = false;

    for (int32_t i = 0; i < s->rules_n; i++) {
        const struct axis *x = axes_find(&s->rule[i].where, "data.dataset");
        for (int32_t k = 0; x && k < x->n; k++) {
            if (strcmp(x->item[k], nominal->data.dataset) == 0) return 0;
            if (any && strstr(known, x->item[k])) continue;
            size_t used = strlen(known);
            snprintf(known + used, sizeof known - used, "%s%s", any ? ", " : "", x->item[k]);
            any = true;
        }
    }
    if (!any) return 0;
    return ERR(e, ERR_DATA,
               "scale %s has no settings for dataset '%s' (only for %s); use --scale none to run "
               "the grid as written, or add an entry under where: in configs/scale/%s.yaml",
               s->name, nominal->data.dataset, known, s->name);
}

int scale_apply(const struct scale *s, struct draft *d, struct err *e)
{
    struct spec nominal = d->spec;

    TRY(check_dataset(s, &nominal, e));
    d->spec.train.L = scale_length(s, d->spec.train.L);
    d->spec.train.validate_L = scale_length(s, d->spec.train.validate_L);
    d->spec.eval.L = scale_length(s, d->spec.eval.L);
    d->spec.bench_L = scale_length(s, d->spec.bench_L);
    if (d->spec.eval.stride > 1) d->spec.eval.stride = scale_length(s, d->spec.eval.stride);
    axes_apply(&s->set, 0, d);
    for (int32_t i = 0; i < s->rules_n; i++)
        if (where_matches(&s->rule[i].where, &nominal)) axes_apply(&s->rule[i].set, 0, d);
    snprintf(d->spec.scale, sizeof d->spec.scale, "%s", s->name);
    return 0;
}

const char *scale_value(const struct scale *s, const struct spec *nominal,
                        const struct spec_key *key)
{
    const struct axis *x = axes_find(&s->set, key->name);

    for (int32_t i = 0; i < s->rules_n; i++) {
        const struct axis *more = axes_find(&s->rule[i].set, key->name);
        if (more && where_matches(&s->rule[i].where, nominal)) x = more;
    }
    return x ? x->item[0] : NULL;
}
