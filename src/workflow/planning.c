/* planning.c - opens a plan, looks up what is done, estimates what is left. */
#include "workflow/planning.h"

#include <string.h>

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
    }
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
