/* planning.c - opens a plan, looks up which runs are done, and says why a run would run. */
#include "workflow/workflow_internal.h"

/* Marks the done training without the checkpoint that a run to do needs. */
static int find_gone(struct planning *p, int32_t run, struct store *store,
                     const struct project *project, struct err *e)
{
    const struct spec *s = &p->plan.run[run].spec;
    int32_t train = p->plan.run[run].train;
    struct err why = {0};
    enum spec_checkpoint which;
    bool gone;

    spec_needs(s, &which);
    if (train < 0 || p->state[run].done || !p->state[train].done) return 0;
    if (p->gone[train] || !spec_is_defined(s)) return 0;
    TRY(scheduler_find_checkpoint(store, project, p->plan.run[train].run_id, which, &gone, &why,
                                  e));
    if (gone) p->gone[train] = arena_strdup(&p->plan.arena, why.text);
    return 0;
}

/* `alibi run` registers a pretrained model again if its folder has moved. */
static int find_weights(struct planning *p, struct store *store, const struct project *project,
                        struct err *e)
{
    p->model = arena_array(&p->plan.arena, (size_t)p->plan.runs_n + 1, sizeof *p->model);
    p->gone = arena_array(&p->plan.arena, (size_t)p->plan.runs_n + 1, sizeof *p->gone);
    for (int32_t i = 0; i < p->plan.runs_n; i++)
        TRY(spec_is_pretrained(&p->plan.run[i].spec) ? planning_find_model(p, project, i, e)
                                                     : find_gone(p, i, store, project, e));
    return 0;
}

int planning_open(struct planning *p, const struct project *project, const char *const *artefacts,
                  int32_t n, const struct plan_options *o, const char *devices, struct store *store,
                  struct err *e)
{
    struct arena scratch;
    int rc = 0;

    *p = (struct planning){.ranks_n = o->ranks_n > 0 ? o->ranks_n : 1};
    arena_init(&scratch);
    TRY_OUT(rc, plan_open(&p->plan, project, artefacts, n, o, e));
    p->state = arena_array(&p->plan.arena, (size_t)p->plan.runs_n + 1, sizeof *p->state);
    p->seconds = arena_array(&p->plan.arena, (size_t)p->plan.runs_n + 1, sizeof *p->seconds);
    for (int32_t i = 0; i < p->plan.runs_n; i++) {
        const struct plan_run *r = &p->plan.run[i];
        if (store) TRY_OUT(rc, store_run_state(store, r->run_id, &p->state[i], e));
        if (spec_is_source(&r->spec)) continue; /* no work of this program */
        p->runs_n++;
        p->trainings_n += r->spec.kind == SPEC_TRAIN;
        p->evaluations_n += r->spec.kind == SPEC_EVAL;
        p->benchmarks_n += r->spec.kind == SPEC_BENCH;
        p->done_n += p->state[i].done;
        p->undefined_n += !p->state[i].done && !spec_is_defined(&r->spec);
    }
    TRY_OUT(rc, find_weights(p, store, project, e));
    planning_find_settings(p, &scratch);
    TRY_OUT(rc, planning_find_changes(p, &scratch, store, e));
    TRY_OUT(rc, planning_find_device(p, devices, &scratch, e));
    TRY_OUT(rc, planning_find_rate(p, store, e));
    TRY_OUT(rc, planning_estimate(p, e));
out:
    arena_fini(&scratch);
    if (rc < 0) plan_close(&p->plan);
    return rc;
}

int planning_check_precision(const struct planning *p, struct err *e)
{
    for (int32_t i = 0; p->unusable.code == 0 && i < p->plan.runs_n; i++)
        if (!p->state[i].done) TRY(spec_check_device(&p->plan.run[i].spec, p->device.name, e));
    return 0;
}

bool planning_is_published(const struct planning *p, int32_t run)
{
    const struct spec *s = &p->plan.run[run].spec;

    return !p->state[run].done && spec_is_source(s) && !spec_is_pretrained(s);
}

/* Returns the nearest training that this run needs and that diverged, or -1. */
static int32_t needs_diverged(const struct planning *p, int32_t run)
{
    int32_t i = p->plan.run[run].train;

    while (i >= 0 && (p->state[i].done || p->state[i].last != STORE_DIVERGED))
        i = p->plan.run[i].train;
    return i;
}

char *planning_why(const struct planning *p, int32_t run, struct arena *a)
{
    const struct store_run_state *s = &p->state[run];
    int32_t train = p->plan.run[run].train, diverged = needs_diverged(p, run);
    const char *again = s->failures_n > 1 ? arena_printf(a, " %d times", s->failures_n) : "";

    if (s->done) return arena_strdup(a, p->gone[run] ? "done, but its checkpoint is gone" : "done");
    if (train >= 0 && p->gone[train] && spec_is_defined(&p->plan.run[run].spec))
        return arena_printf(a, "cannot run: the checkpoint of its %s is gone",
                            p->plan.run[run].spec.kind == SPEC_EVAL ? "training" : "parent");
    if (diverged >= 0)
        return arena_printf(a, "cannot run: %s diverged", p->plan.run[diverged].run_id);
    if (!spec_is_defined(&p->plan.run[run].spec))
        return arena_strdup(a, "not defined beyond L_train; will not run");
    if (planning_is_published(p, run)) return arena_strdup(a, "to fetch by `alibi run`");
    if (spec_is_source(&p->plan.run[run].spec))
        return arena_strdup(a, p->model[run] ? "imported" : "not imported");
    if (s->last == STORE_NONE)
        return p->changed[run] ? arena_printf(a, "new: %s", p->changed[run])
                               : arena_strdup(a, "new");
    if (s->last == STORE_CANCELLED) return arena_strdup(a, "cancelled; resumes");
    if (s->last == STORE_RUNNING) return arena_strdup(a, "running, or its scheduler died");
    if (s->last == STORE_DONE) return arena_strdup(a, "will be redone");
    return arena_printf(a, "%s%s: %s", store_state_name(s->last), again, s->last_message);
}
