/* planning.c - opens a plan, looks up what is done, estimates what is left. */
#include "cli/planning.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int planning_artefacts(struct cli *c, const struct cli_list *given, struct cli_list *out,
                       struct err *e)
{
    char **all;
    int32_t all_n;

    out->n = 0;
    for (int32_t i = 0; i < given->n; i++) {
        if (strcmp(given->item[i], "all") != 0) {
            if (out->n == CLI_LIST_MAX)
                return ERR(e, ERR_USAGE, "more than %d artefacts", CLI_LIST_MAX);
            out->item[out->n++] = given->item[i];
            continue;
        }
        TRY(plan_list(&all, &all_n, &c->project, &c->arena, e));
        for (int32_t k = 0; k < all_n && out->n < CLI_LIST_MAX; k++) out->item[out->n++] = all[k];
    }
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

int planning_open(struct planning *p, struct cli *c, const struct cli_list *artefacts,
                  const struct planning_options *o, struct store *store, struct err *e)
{
    struct cli_list names;
    int rc = 0;

    *p = (struct planning){0};
    TRY(planning_artefacts(c, artefacts, &names, e));
    struct plan_options po = {.scale = o->scale,
                              .set = o->set.item,
                              .set_n = o->set.n,
                              .only = o->only,
                              .seeds = o->seeds};
    TRY(plan_open(&p->plan, &c->project, names.item, names.n, &po, e));
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

char *planning_thousands(struct arena *a, int64_t n)
{
    char digits[32], *out = arena_alloc(a, 48);
    int length = snprintf(digits, sizeof digits, "%lld", (long long)n), k = 0;

    for (int i = 0; i < length; i++) {
        out[k++] = digits[i];
        int left = length - 1 - i;
        if (left > 0 && left % 3 == 0 && digits[i] != '-') out[k++] = ',';
    }
    return out;
}

char *planning_bytes(struct arena *a, double bytes)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB"};
    size_t u = 0;
    while (bytes >= 999.5 && u + 1 < sizeof units / sizeof *units) {
        bytes /= 1000;
        u++;
    }
    return arena_printf(a, u && bytes < 9.95 ? "%.1f %s" : "%.0f %s", bytes, units[u]);
}
