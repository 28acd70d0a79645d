/* planning.c - opens a plan, looks up which runs are done, estimates the remaining time, and
 * explains why a run would run: earlier attempts, and settings that differ from the run that its
 * point needed last. */
#include "workflow/workflow.h"

#include <string.h>

#include "base/map.h"
#include "base/str.h"

/* The device for estimates: the first of --devices; without one, a GPU if found, else the CPU. */
static int planning_device(struct planning *p, const char *devices, struct err *e)
{
    struct device list[PLANNING_DEVICES_MAX];
    int32_t n;

    TRY(device_list(list, PLANNING_DEVICES_MAX, &n, e));
    for (int32_t i = 0; i < n; i++) {
        bool any = !devices || strcmp(devices, "auto") == 0;
        bool wanted = any ? !list[i].is_test && !list[i].is_cluster
                          : strncmp(devices, list[i].name, strlen(list[i].name)) == 0;
        if (!wanted || list[i].unusable[0]) continue;
        if (!p->device.name[0] || strncmp(list[i].name, "cuda", 4) == 0) p->device = list[i];
    }
    p->device_named = p->device.name[0] != '\0';
    if (!p->device_named) p->device = list[0];
    return 0;
}

static int planning_estimate(struct planning *p, struct store *store, struct err *e)
{
    double total = 0, longest = 0;

    if (store) TRY(store_flops_rate(store, SPEC_TRAIN, p->device.name, &p->rate_measured, e));
    double rate = p->rate_measured > 0 ? p->rate_measured : p->device.flops_per_s;
    for (int32_t i = 0; i < p->plan.runs_n; i++) {
        const struct plan_run *r = &p->plan.run[i];
        double flops = r->cost.flops;
        if (p->state[i].done) continue;
        p->seconds[i] = rate > 0 ? flops / rate : 0;
        total += p->seconds[i];
        if (p->seconds[i] > longest) longest = p->seconds[i];
    }
    int32_t slots = p->device.slots > 0 ? p->device.slots : 1;
    p->seconds_left = total / slots > longest ? total / slots : longest;
    return 0;
}

/* --- settings that distinguish runs ----------------------------------------------------------- */

/* Whether the key is part of a run's identity. */
static bool counts(const struct spec_key *key, const struct spec *s)
{
    return key->hashed && (!key->applies || key->applies(s));
}

/* Whether a key is a setting of trainings without a column in the plan's list. */
static bool is_setting(const struct spec_key *key, const struct spec *s)
{
    static const char *const columns[] = {
        "kind",         "scale",       "model.name", "model.position", "train.L", "train.seed",
        "data.dataset", "data.corpus", "bench.mode", "bench.rows",     "bench.L"};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        if (strcmp(columns[i], key->name) == 0) return false;
    return counts(key, s);
}

/* Marks the keys in which trainings with equal columns differ: each is compared with the first one
 * with these columns. */
static void find_varying(bool *varying, const struct plan *p, struct arena *scratch)
{
    struct map first;
    size_t n;
    const struct spec_key *keys = spec_keys(&n);
    bool added;

    map_init(&first, scratch);
    for (int32_t i = 0; i < p->runs_n; i++) {
        const struct spec *s = &p->run[i].spec;
        if (s->kind == SPEC_EVAL) continue;
        const char *columns =
            arena_printf(scratch, "%d %s %s %s %d %d", (int)s->kind, s->data.dataset,
                         s->data.corpus, s->model.name, (int)s->model.position, s->train.L);
        int32_t *at = map_put(&first, columns, strlen(columns), &added);
        if (added) *at = i;
        const struct spec *other = &p->run[*at].spec;
        for (size_t k = 0; k < n; k++)
            if (!varying[k] && is_setting(&keys[k], s) && is_setting(&keys[k], other))
                varying[k] =
                    strcmp(spec_get(s, &keys[k], scratch), spec_get(other, &keys[k], scratch)) != 0;
    }
}

static void planning_find_settings(struct planning *p, struct arena *scratch)
{
    struct arena *a = &p->plan.arena;
    size_t n;
    const struct spec_key *keys = spec_keys(&n);
    bool *varying = arena_array(scratch, n, sizeof *varying);

    find_varying(varying, &p->plan, scratch);
    p->settings = arena_array(a, (size_t)p->plan.runs_n + 1, sizeof *p->settings);
    for (int32_t i = 0; i < p->plan.runs_n; i++) {
        const struct plan_run *r = &p->plan.run[i];
        struct strbuf text;
        strbuf_init(&text, a);
        for (size_t k = 0; k < n && r->train < 0; k++)
            if (varying[k] && is_setting(&keys[k], &r->spec))
                strbuf_addf(&text, "%s%s=%s", text.n ? " " : "", keys[k].name,
                            spec_get(&r->spec, &keys[k], a));
        p->settings[i] = r->train < 0 ? text.text : p->settings[r->train];
    }
}

/* --- checkpoints that are gone ---------------------------------------------------------------- */

/* Marks done trainings without the checkpoint that an evaluation to do needs. */
static int find_gone(struct planning *p, struct store *store, const struct project *project,
                     struct err *e)
{
    p->gone = arena_array(&p->plan.arena, (size_t)p->plan.runs_n + 1, sizeof *p->gone);
    for (int32_t i = 0; i < p->plan.runs_n; i++) {
        const struct plan_run *r = &p->plan.run[i];
        struct err why = {0};
        bool gone;
        if (r->train < 0 || p->state[i].done || !p->state[r->train].done) continue;
        if (p->gone[r->train] || !spec_is_defined(&r->spec)) continue;
        TRY(scheduler_find_checkpoint(store, project, p->plan.run[r->train].run_id,
                                      r->spec.eval.checkpoint, &gone, &why, e));
        if (gone) p->gone[r->train] = arena_strdup(&p->plan.arena, why.text);
    }
    return 0;
}

/* --- changes since the artefact was last run ------------------------------------------------- */

enum { WHY_SETTINGS_MAX = 3 };

/* "train.lr 2, was 3; model.dropout 0.1, was 0; and 2 more"; NULL of equal specs. */
static char *describe(const struct spec *now, const struct spec *before, struct arena *a)
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
        else
            strbuf_addf(&b, "%s%s %s, was %s", b.n ? "; " : "", keys[i].name, value, earlier);
    }
    if (found > WHY_SETTINGS_MAX) strbuf_addf(&b, "; and %d more", found - WHY_SETTINGS_MAX);
    return found ? b.text : NULL;
}

/* Describes why new runs are new: their points, artefact and number, needed another run last. */
static int find_changes(struct planning *p, struct arena *scratch, struct store *store,
                        struct err *e)
{
    static const char sql[] = "SELECT p.artefact || ' ' || p.point, p.scale, r.spec"
                              " FROM artefact_points p JOIN run_list r ON r.run_id = p.run_id"
                              " ORDER BY p.artefact, p.point";
    struct map points; /* index of the run */
    struct rows rows;

    p->changed = arena_array(&p->plan.arena, (size_t)p->plan.runs_n + 1, sizeof *p->changed);
    if (!store || p->plan.points_n == 0 || p->done_n == p->plan.runs_n) return 0;
    map_init(&points, scratch);
    for (int32_t i = 0; i < p->plan.points_n; i++) {
        const struct plan_point *t = &p->plan.point[i];
        const char *key = arena_printf(scratch, "%s %d", t->artefact, t->point);
        *map_put(&points, key, strlen(key), NULL) = t->run;
    }
    TRY(rows_read(&rows, scratch, store, sql, NULL, 0, e));
    for (int32_t i = 0; i < rows.n; i++) {
        const char *key = rows.row[i][0].text;
        struct spec before;
        int32_t k;
        if (!map_get(&points, key, strlen(key), &k)) continue;
        const struct spec *now = &p->plan.run[k].spec;
        if (p->changed[k] || p->state[k].last != STORE_NONE || p->state[k].done ||
            strcmp(now->scale, rows.row[i][1].text) != 0)
            continue;
        /* Specs written by a program of another meaning cannot be compared. */
        if (spec_parse(&before, rows.row[i][2].text, NULL) < 0 || before.kind != now->kind)
            continue;
        p->changed[k] = describe(now, &before, &p->plan.arena);
    }
    return 0;
}

int planning_open(struct planning *p, const struct project *project, const char *const *artefacts,
                  int32_t n, const struct plan_options *o, const char *devices, struct store *store,
                  struct err *e)
{
    struct arena scratch;
    int rc = 0;

    *p = (struct planning){0};
    arena_init(&scratch);
    TRY_OUT(rc, plan_open(&p->plan, project, artefacts, n, o, e));
    p->state = arena_array(&p->plan.arena, (size_t)p->plan.runs_n + 1, sizeof *p->state);
    p->seconds = arena_array(&p->plan.arena, (size_t)p->plan.runs_n + 1, sizeof *p->seconds);
    for (int32_t i = 0; i < p->plan.runs_n; i++) {
        const struct plan_run *r = &p->plan.run[i];
        if (store) TRY_OUT(rc, store_run_state(store, r->run_id, &p->state[i], e));
        p->trainings_n += r->spec.kind == SPEC_TRAIN;
        p->evaluations_n += r->spec.kind == SPEC_EVAL;
        p->benchmarks_n += r->spec.kind == SPEC_BENCH;
        p->done_n += p->state[i].done;
        p->undefined_n += !p->state[i].done && !spec_is_defined(&r->spec);
    }
    TRY_OUT(rc, find_gone(p, store, project, e));
    planning_find_settings(p, &scratch);
    TRY_OUT(rc, find_changes(p, &scratch, store, e));
    TRY_OUT(rc, planning_device(p, devices, e));
    TRY_OUT(rc, planning_estimate(p, store, e));
out:
    arena_fini(&scratch);
    if (rc < 0) plan_close(&p->plan);
    return rc;
}

int planning_check_precision(const struct planning *p, struct err *e)
{
    for (int32_t i = 0; p->device_named && i < p->plan.runs_n; i++)
        if (!p->state[i].done) TRY(spec_check_device(&p->plan.run[i].spec, p->device.name, e));
    return 0;
}

char *planning_why(const struct planning *p, int32_t run, struct arena *a)
{
    const struct store_run_state *s = &p->state[run];
    int32_t train = p->plan.run[run].train;
    const char *again = s->failures_n > 1 ? arena_printf(a, " %d times", s->failures_n) : "";

    if (s->done) return arena_strdup(a, p->gone[run] ? "done, but its checkpoint is gone" : "done");
    if (train >= 0 && p->gone[train] && spec_is_defined(&p->plan.run[run].spec))
        return arena_strdup(a, "cannot run: the checkpoint of its training is gone");
    if (!spec_is_defined(&p->plan.run[run].spec))
        return arena_strdup(a, "not defined beyond L_train; will not run");
    if (s->last == STORE_NONE)
        return p->changed[run] ? arena_printf(a, "new: %s", p->changed[run])
                               : arena_strdup(a, "new");
    if (s->last == STORE_CANCELLED) return arena_strdup(a, "cancelled; resumes");
    if (s->last == STORE_RUNNING) return arena_strdup(a, "running, or its scheduler died");
    if (s->last == STORE_DONE) return arena_strdup(a, "will be redone");
    return arena_printf(a, "%s%s: %s", store_state_name(s->last), again, s->last_message);
}
