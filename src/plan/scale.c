/* scale.c - reads and applies a scale. */
#include "plan/plan_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

int plan_scales(char ***out, int32_t *n, const struct project *project, struct arena *a,
                struct err *e)
{
    return plan_names(out, n, project, a, "configs/scale", ".yaml", e);
}

static int unknown_scale(struct arena *a, const struct project *p, const char *name, struct err *e)
{
    const char *root[2];
    char **names;
    int32_t n;
    int roots_n = plan_roots(root, p);

    TRY(plan_scales(&names, &n, p, a, e));
    return ERR(e, ERR_USAGE, "unknown scale '%.60s' (no configs/scale/%.60s.yaml under %s%s%s)%s",
               name, name, root[0], roots_n > 1 ? " or " : "", roots_n > 1 ? root[1] : "",
               str_hint(name, (const char *const *)names, (size_t)n).text);
}

/* The keys that `multiply_slopes` maps. */
static const char slopes_key[] = "model.alibi_slopes", mean_key[] = "model.alibi_slopes_mean",
                  start_key[] = "model.alibi_start_slopes";

bool scale_is_slope(const struct spec_key *key)
{
    return strcmp(key->name, slopes_key) == 0 || strcmp(key->name, mean_key) == 0 ||
           strcmp(key->name, start_key) == 0;
}

/* Reads a number from low to high; without a node it is 1. */
static int read_factor(double *out, const struct yaml_node *node, const char *name, double low,
                       double high, struct err *e)
{
    *out = 1.0;
    if (!node || (str_to_double(out, node->text) && *out >= low && *out <= high)) return 0;
    return yaml_error(node, e, "%s: expected a number from %g to %.0f, found '%.60s'", name, low,
                      high, node->text);
}

/* A scale cannot set what it multiplies. */
static int check_slopes(const struct scale *s, struct err *e)
{
    for (int32_t i = 0; i < s->rules.n && s->multiply_slopes != 1.0; i++) {
        const struct axes *set = &s->rules.item[i].axes;
        for (int32_t k = 0; k < set->n; k++)
            if (scale_is_slope(set->item[k].key))
                return yaml_error(set->item[k].at, e,
                                  "%s: multiply_slopes determines it; leave out one of the two",
                                  set->item[k].key->name);
    }
    return 0;
}

int scale_read(struct scale *s, struct arena *a, const struct project *p, const char *name,
               struct err *e)
{
    const struct yaml_node *root, *divide, *slopes, *set, *where;
    struct yaml_field fields[] = {YAML_FIELD("divide", YAML_SCALAR, divide),
                                  YAML_FIELD("multiply_slopes", YAML_SCALAR, slopes),
                                  YAML_FIELD("set", YAML_ANY, set),
                                  YAML_FIELD("where", YAML_LIST, where)};
    char *path;

    *s = (struct scale){.name = arena_strdup(a, name),
                        .datasets.key = spec_key_find("data.dataset")};
    if (!str_is_name(name) ||
        project_find(&path, p, a, arena_printf(a, "configs/scale/%s.yaml", name), NULL) < 0)
        return unknown_scale(a, p, name, e);
    TRY(yaml_read(&root, a, path, e));
    TRY(yaml_fields(root, fields, sizeof fields / sizeof *fields, e));
    TRY(read_factor(&s->divide, divide, "divide", 1, 1e6, e));
    TRY(read_factor(&s->multiply_slopes, slopes, "multiply_slopes", 0.001, 1000, e));
    if (set) TRY(settings_read(&vec_push(a, &s->rules)->axes, a, set, e));
    TRY(rules_read(&s->rules, a, where, RULE_SCALE, SPEC_TRAIN, e));
    TRY(check_slopes(s, e));
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
static const char *const lengths[] = {"train.L",        "train.validate_L", "eval.L",
                                      "bench.L",        "eval.stride",      "eval.knn_window",
                                      "eval.knn_stride"};
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

int scale_slopes(const struct scale *s, struct draft *d, struct arena *a, struct err *e)
{
    const struct position_options *o = &d->spec.option;
    bool learned = d->spec.model.position == SPEC_ALIBI_LEARNED;
    const struct position_list *given = learned ? &o->alibi_start_slopes : &o->alibi_slopes;
    bool drawn = !learned && given->n == 0 && o->alibi_slopes_source != POSITION_GEOMETRIC;
    int32_t n = drawn ? 1 : given->n > 0 ? given->n : d->spec.model.heads;
    const char *name = learned ? start_key : drawn ? mean_key : slopes_key;
    struct strbuf b;

    if (s->multiply_slopes == 1.0 || n == 0) return 0;
    if (!learned && d->spec.model.position != SPEC_ALIBI) return 0;
    strbuf_init(&b, a);
    for (int32_t i = 0; i < n; i++) {
        char number[STR_DOUBLE_BYTES];
        double slope = drawn          ? o->alibi_slopes_mean
                       : given->n > 0 ? given->value[i]
                                      : (double)position_alibi_slope(i, n);
        str_from_double(number, s->multiply_slopes * slope);
        strbuf_addf(&b, "%s%s", i ? "," : "", number);
    }
    const struct spec_key *key = spec_key_find(name);
    TRY(settings_value(key, b.text, e));
    draft_set(d, key, b.text);
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
