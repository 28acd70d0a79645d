/* changes.c - the settings that distinguish the runs of a plan, and those that changed since its
 * artefact was last run. */
#include <string.h>

#include "base/map.h"
#include "base/str.h"
#include "workflow/workflow_internal.h"

/* True if the key is part of a run's identity. */
static bool counts(const struct spec_key *key, const struct spec *s)
{
    return key->hashed && (!key->applies || key->applies(s));
}

/* True if a key is a setting of the run without a column in the plan's list. */
static bool is_setting(const struct spec_key *key, const struct spec *s)
{
    static const char *const columns[] = {
        "kind",       "scale",          "model.name",  "model.position", "train.L",
        "train.seed", "data.dataset",   "data.corpus", "bench.mode",     "bench.rows",
        "bench.L",    "eval.train_run", "eval.window", "eval.L",         "eval.stride"};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        if (strcmp(columns[i], key->name) == 0) return false;
    return counts(key, s);
}

/* True if two trainings differ in a setting that both have or in their parents, or two evaluations
 * in any setting: one without the key has its neutral value. */
static bool specs_differ(const struct spec_key *key, const struct spec *s, const struct spec *other,
                         struct arena *scratch)
{
    bool here = is_setting(key, s), there = is_setting(key, other);

    if (!here && !there) return false;
    bool counts_alone = s->kind == SPEC_EVAL || strcmp(key->name, "train.from") == 0;
    if ((!here || !there) && (!counts_alone || !key->neutral)) return false;
    return strcmp(here ? spec_get(s, key, scratch) : key->neutral,
                  there ? spec_get(other, key, scratch) : key->neutral) != 0;
}

/* Marks the keys in which trainings with equal columns differ, or any evaluations: each is compared
 * with the first one. */
static void find_varying(bool *varying, const struct plan *p, struct arena *scratch)
{
    struct map first;
    size_t n;
    const struct spec_key *keys = spec_keys(&n);
    bool added;

    map_init(&first, scratch);
    for (int32_t i = 0; i < p->runs_n; i++) {
        const struct spec *s = &p->run[i].spec;
        const char *columns =
            s->kind == SPEC_EVAL
                ? "evaluation"
                : arena_printf(scratch, "%d %s %s %s %d %d", (int)s->kind, s->data.dataset,
                               s->data.corpus, s->model.name, (int)s->model.position, s->train.L);
        int32_t *at = map_put(&first, columns, strlen(columns), &added);
        if (added) *at = i;
        for (size_t k = 0; k < n; k++)
            varying[k] = varying[k] || specs_differ(&keys[k], s, &p->run[*at].spec, scratch);
    }
}

/* Lists the run's settings that vary. An evaluation's neutral ones are left out, because most
 * evaluations of a grid have them. */
static const char *varying_settings(const bool *varying, const struct spec *s, struct arena *a)
{
    struct strbuf text;
    size_t n;
    const struct spec_key *keys = spec_keys(&n);

    strbuf_init(&text, a);
    for (size_t k = 0; k < n; k++) {
        if (!varying[k] || !is_setting(&keys[k], s)) continue;
        const char *value = spec_get(s, &keys[k], a);
        if (s->kind != SPEC_EVAL || !str_same(value, keys[k].neutral))
            strbuf_addf(&text, "%s%s=%s", text.n ? " " : "", keys[k].name, value);
    }
    return text.text;
}

void planning_find_settings(struct planning *p, struct arena *scratch)
{
    struct arena *a = &p->plan.arena;
    size_t n;

    spec_keys(&n);
    bool *varying = arena_array(scratch, n, sizeof *varying);
    find_varying(varying, &p->plan, scratch);
    p->settings = arena_array(a, (size_t)p->plan.runs_n + 1, sizeof *p->settings);
    for (int32_t i = 0; i < p->plan.runs_n; i++) {
        const struct plan_run *r = &p->plan.run[i];
        const char *own = varying_settings(varying, &r->spec, a);
        const char *trained = r->spec.kind == SPEC_EVAL ? p->settings[r->train] : "";
        p->settings[i] = arena_printf(a, "%s%s%s", trained, *trained && *own ? " " : "", own);
    }
}

/* --- changes since the artefact was last run ------------------------------------------------- */

enum { WHY_SETTINGS_MAX = 3 };

/* Describes a change: "train.lr 2, was 3; model.dropout 0.1, was 0; and 2 more"; NULL: the specs
 * are equal. */
static char *describe_change(const struct spec *now, const struct spec *before, struct arena *a)
{
    size_t n;
    const struct spec_key *keys = spec_keys(&n);
    int32_t found = 0;
    struct strbuf b;

    strbuf_init(&b, a);
    for (size_t i = 0; i < n; i++) {
        bool is = counts(&keys[i], now), was = counts(&keys[i], before);
        const char *value = is ? spec_get(now, &keys[i], a) : "not set";
        const char *earlier = was ? spec_get(before, &keys[i], a) : "not set";
        if (strcmp(value, earlier) == 0 || found++ >= WHY_SETTINGS_MAX) continue;
        if (strcmp(keys[i].name, "eval.train_run") == 0)
            strbuf_addf(&b, "%sits training changed", b.n ? "; " : "");
        else if (strcmp(keys[i].name, "train.from") == 0)
            strbuf_addf(&b, "%sits parent changed", b.n ? "; " : "");
        else
            strbuf_addf(&b, "%s%s %s, was %s", b.n ? "; " : "", keys[i].name, value, earlier);
    }
    if (found > WHY_SETTINGS_MAX) strbuf_addf(&b, "; and %d more", found - WHY_SETTINGS_MAX);
    return found ? b.text : NULL;
}

/* A point is known by its artefact and its number. */
int planning_find_changes(struct planning *p, struct arena *scratch, struct store *store,
                          struct err *e)
{
    static const char sql[] = "SELECT p.artefact || ' ' || p.point, p.scale, r.spec"
                              " FROM artefact_points p JOIN run_list r ON r.run_id = p.run_id"
                              " ORDER BY p.artefact, p.point";
    struct map points; /* index of the run */
    struct rows rows;

    p->changed = arena_array(&p->plan.arena, (size_t)p->plan.runs_n + 1, sizeof *p->changed);
    if (!store || p->plan.points_n == 0 || p->done_n == p->runs_n) return 0;
    map_init(&points, scratch);
    for (int32_t i = 0; i < p->plan.points_n; i++) {
        const struct plan_point *t = &p->plan.point[i];
        const char *key = arena_printf(scratch, "%s %d", t->artefact, t->point);
        *map_put(&points, key, strlen(key), NULL) = t->run;
    }
    TRY(rows_read(&rows, scratch, store, sql, NULL, 0, e));
    for (int32_t i = 0; i < rows.rows_n; i++) {
        const char *key = store_text(&rows.row[i][0]);
        struct spec before;
        int32_t k;
        if (!map_get(&points, key, strlen(key), &k)) continue;
        const struct spec *now = &p->plan.run[k].spec;
        if (p->changed[k] || p->state[k].last != STORE_NONE || p->state[k].done ||
            strcmp(now->scale, store_text(&rows.row[i][1])) != 0)
            continue;
        /* Specs written by a program of another meaning cannot be compared. */
        if (spec_parse(&before, store_text(&rows.row[i][2]), NULL) < 0 || before.kind != now->kind)
            continue;
        p->changed[k] = describe_change(now, &before, &p->plan.arena);
    }
    return 0;
}
