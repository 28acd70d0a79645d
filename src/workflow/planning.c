/* planning.c - opens a plan, looks up which runs are done, and says why a run would run. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/str.h"
#include "workflow/workflow_internal.h"

/* --- pretrained models ------------------------------------------------------------------------ */

static bool is_pretrained(const struct plan_run *r)
{
    return r->spec.train.origin == SPEC_PRETRAINED;
}

static int find_models(struct planning *p, const struct project *project, struct err *e)
{
    struct arena *a = &p->plan.arena;

    p->model = arena_array(a, (size_t)p->plan.runs_n + 1, sizeof *p->model);
    for (int32_t i = 0; i < p->plan.runs_n; i++) {
        const struct plan_run *r = &p->plan.run[i];
        struct plan_model *m;
        if (r->spec.kind != SPEC_TRAIN || !is_pretrained(r)) continue;
        m = arena_array(a, 1, sizeof *m);
        int rc = plan_model_find(m, project, a, r->spec.model.files, e);
        if (rc < 0 && rc != ERR_NOINPUT) return rc;
        if (rc == 0) p->model[i] = m;
    }
    return 0;
}

/* Checks the tokenizer of a corpus that is there; a run says if it is not. */
static int check_tokenizer(const struct plan_model *m, const struct project *project,
                           struct arena *a, const struct spec *s, struct err *e)
{
    struct manifest corpus;
    const char *path = arena_printf(a, "%s/data/%s/manifest.yaml", project->root, s->data.corpus);

    if (!file_exists(path)) return 0;
    TRY(manifest_read(&corpus, a, path, e));
    if (!corpus.tokenizer)
        return ERR(e, ERR_DATA,
                   "data/%s has the words of a dictionary, not the ids of %s's tokenizer; prepare "
                   "the text with `alibi data prepare NAME --tokenizer %s --text DIR`",
                   s->data.corpus, s->model.name, m->folder);
    if (strcmp(corpus.dictionary_sha256, m->tokenizer) == 0) return 0;
    return ERR(
        e, ERR_DATA,
        "data/%s has the ids of another tokenizer (%s, %.12s…) than %s (%.12s…); prepare the "
        "text with `alibi data prepare NAME --tokenizer %s --text DIR`",
        s->data.corpus, corpus.tokenizer, corpus.dictionary_sha256, s->model.name, m->tokenizer,
        m->folder);
}

/* Names a setting of the model that the grid or --set changes. */
static int check_unchanged(const struct plan_model *m, struct arena *a, const struct spec *s,
                           struct err *e)
{
    const struct spec_key *key = spec_model_difference(s, &m->spec);

    if (!key) return 0;
    return ERR(e, ERR_DATA,
               "%s = %.60s, but %.60s in %s; a pretrained model is evaluated as it is (windows "
               "and scalings are keys of eval.)",
               key->name, spec_get(s, key, a), spec_get(&m->spec, key, a), m->path);
}

int planning_check_models(const struct planning *p, const struct project *project, struct err *e)
{
    struct arena a;
    int rc = 0;

    arena_init(&a);
    for (int32_t i = 0; rc == 0 && i < p->plan.runs_n; i++) {
        const struct plan_run *r = &p->plan.run[i];
        if (p->state[i].done || !is_pretrained(r)) continue;
        int32_t of = r->spec.kind == SPEC_EVAL ? r->train : i;
        const struct plan_model *m = p->model[of];
        if (m) rc = check_tokenizer(m, project, &a, &r->spec, e);
        if (m && rc == 0)
            rc = check_unchanged(m, &a, &p->plan.run[of].spec, e);
        else if (!m)
            rc = ERR(e, ERR_NOINPUT,
                     "%s is not imported: its piece describes a model without its weights; get the "
                     "folder with any download tool, then `alibi import ./%s`, and name "
                     "data/models/%s.yaml in base:",
                     r->spec.model.name, r->spec.model.name, r->spec.model.name);
    }
    arena_fini(&a);
    return rc;
}

/* --- checkpoints that are gone ---------------------------------------------------------------- */

/* Marks done trainings without the checkpoint that a run to do needs. */
static int find_gone(struct planning *p, struct store *store, const struct project *project,
                     struct err *e)
{
    p->gone = arena_array(&p->plan.arena, (size_t)p->plan.runs_n + 1, sizeof *p->gone);
    for (int32_t i = 0; i < p->plan.runs_n; i++) {
        const struct plan_run *r = &p->plan.run[i];
        struct err why = {0};
        enum spec_checkpoint which;
        bool gone;
        spec_needs(&r->spec, &which);
        if (r->train < 0 || p->state[i].done || !p->state[r->train].done) continue;
        if (is_pretrained(r)) continue; /* `alibi run` registers it again */
        if (p->gone[r->train] || !spec_is_defined(&r->spec)) continue;
        TRY(scheduler_find_checkpoint(store, project, p->plan.run[r->train].run_id, which, &gone,
                                      &why, e));
        if (gone) p->gone[r->train] = arena_strdup(&p->plan.arena, why.text);
    }
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
    TRY_OUT(rc, find_models(p, project, e));
    TRY_OUT(rc, find_gone(p, store, project, e));
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

    return !p->state[run].done && s->kind == SPEC_TRAIN && s->train.origin == SPEC_AUTHORS;
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
    if (p->plan.run[run].spec.kind == SPEC_TRAIN && is_pretrained(&p->plan.run[run]))
        return arena_strdup(a, p->model[run] ? "imported" : "not imported");
    if (s->last == STORE_NONE)
        return p->changed[run] ? arena_printf(a, "new: %s", p->changed[run])
                               : arena_strdup(a, "new");
    if (s->last == STORE_CANCELLED) return arena_strdup(a, "cancelled; resumes");
    if (s->last == STORE_RUNNING) return arena_strdup(a, "running, or its scheduler died");
    if (s->last == STORE_DONE) return arena_strdup(a, "will be redone");
    return arena_printf(a, "%s%s: %s", store_state_name(s->last), again, s->last_message);
}
