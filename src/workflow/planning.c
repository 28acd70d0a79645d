/* planning.c - opens a plan, looks up what is done, estimates what is left. */
#include "workflow/planning.h"

#include <string.h>

#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"

int planning_artefacts(const char *const **out, int32_t *out_n, const struct project *project,
                       struct arena *a, const char *const *given, int32_t n, struct err *e)
{
    struct {
        const char **item;
        int32_t n, capacity;
    } names = {0};
    char **all;
    int32_t all_n;

    for (int32_t i = 0; i < n; i++) {
        if (strcmp(given[i], "all") != 0) {
            *vec_push(a, &names) = given[i];
            continue;
        }
        TRY(plan_list(&all, &all_n, project, a, e));
        for (int32_t k = 0; k < all_n; k++) *vec_push(a, &names) = all[k];
    }
    *out = names.item;
    *out_n = names.n;
    return 0;
}

/* The first device of --devices, for estimates: a CPU unless a GPU is named or found. */
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

/* --- settings that differ ------------------------------------------------------------------- */

/* Whether a key is a setting of trainings that no column of a plan shows. */
static bool is_setting(const struct spec_key *key, const struct spec *s)
{
    static const char *const columns[] = {
        "kind",         "scale",       "model.name", "model.position", "train.L", "train.seed",
        "data.dataset", "data.corpus", "bench.mode", "bench.rows",     "bench.L"};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        if (strcmp(columns[i], key->name) == 0) return false;
    return key->hashed && (!key->applies || key->applies(s));
}

/* Marks the keys in which two runs differ. */
static void mark_varying(bool *varying, const struct spec *a, const struct spec *b,
                         struct arena *scratch)
{
    size_t n;
    const struct spec_key *keys = spec_keys(&n);

    for (size_t k = 0; k < n; k++)
        if (!varying[k] && is_setting(&keys[k], a) && is_setting(&keys[k], b))
            varying[k] =
                strcmp(spec_get(a, &keys[k], scratch), spec_get(b, &keys[k], scratch)) != 0;
}

/* The keys in which any two trainings differ that have the same columns: compared with the first
 * training of these columns. */
static void planning_find_settings(struct planning *p)
{
    struct arena scratch;
    struct map first;
    size_t n;
    const struct spec_key *keys = spec_keys(&n);
    bool added, *varying = arena_array(&p->plan.arena, n, sizeof *varying);

    arena_init(&scratch);
    map_init(&first, &scratch);
    p->settings = arena_array(&p->plan.arena, (size_t)p->plan.runs_n + 1, sizeof *p->settings);
    for (int32_t i = 0; i < p->plan.runs_n; i++) {
        const struct spec *s = &p->plan.run[i].spec;
        if (s->kind == SPEC_EVAL) continue;
        const char *columns =
            arena_printf(&scratch, "%d %s %s %s %d %d", (int)s->kind, s->data.dataset,
                         s->data.corpus, s->model.name, (int)s->model.position, s->train.L);
        int32_t *at = map_put(&first, columns, strlen(columns), &added);
        if (added)
            *at = i;
        else
            mark_varying(varying, &p->plan.run[*at].spec, s, &scratch);
    }
    arena_fini(&scratch);
    for (int32_t i = 0; i < p->plan.runs_n; i++) {
        const struct plan_run *r = &p->plan.run[i];
        struct strbuf text;
        if (r->train >= 0) {
            p->settings[i] = p->settings[r->train];
            continue;
        }
        strbuf_init(&text, &p->plan.arena);
        for (size_t k = 0; k < n; k++)
            if (varying[k] && is_setting(&keys[k], &r->spec))
                strbuf_addf(&text, "%s%s=%s", text.n ? " " : "", keys[k].name,
                            spec_get(&r->spec, &keys[k], &p->plan.arena));
        p->settings[i] = text.text;
    }
}

int planning_open(struct planning *p, const struct project *project, const char *const *artefacts,
                  int32_t n, const struct planning_options *o, struct store *store, struct err *e)
{
    struct arena scratch;
    const char *const *names;
    int32_t names_n;

    *p = (struct planning){0};
    arena_init(&scratch);
    int rc = planning_artefacts(&names, &names_n, project, &scratch, artefacts, n, e);
    if (rc == 0) rc = plan_open(&p->plan, project, names, names_n, &o->plan, e);
    arena_fini(&scratch);
    if (rc < 0) return rc;
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
    planning_find_settings(p);
    TRY_OUT(rc, planning_find_changes(p, store, e));
    TRY_OUT(rc, planning_device(p, o->devices, e));
    TRY_OUT(rc, planning_estimate(p, store, e));
out:
    if (rc < 0) planning_close(p);
    return rc;
}

int planning_check_precision(const struct planning *p, struct err *e)
{
    for (int32_t i = 0; p->device_named && i < p->plan.runs_n; i++)
        if (!p->state[i].done) TRY(spec_check_device(&p->plan.run[i].spec, p->device.name, e));
    return 0;
}

void planning_close(struct planning *p)
{
    if (!p) return;
    plan_close(&p->plan);
}
