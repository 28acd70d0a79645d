/* run.c - runs a plan: corpora, registration, scheduler, claims. */
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "data/corpus.h"
#include "prepare/prepare.h"
#include "report/report.h"
#include "workflow/workflow.h"

/* Embedded corpora are made here; others must be prepared, and must be the ones the plan was made
 * for. Every file is hashed once a call: workers only compare sizes, and a changed byte would be
 * trained on. */
static int prepare_one(const struct project *project, struct arena *a, const struct spec_data *d,
                       workflow_progress_fn progress, struct err *e)
{
    struct corpus corpus;

    if (prepare_is_embedded(d->corpus)) {
        if (!file_exists(arena_printf(a, "%s/data/%s/manifest.yaml", project->root, d->corpus)))
            log_info("preparing the corpus %s under %s/data", d->corpus, project->root);
        struct prepare_options o = {.name = d->corpus, .progress = progress};
        TRY(prepare_corpus(project, &o, e));
    }
    TRY(corpus_verify(project, d->corpus, e));
    TRY(corpus_open(&corpus, project, d->corpus, e));
    int rc = 0;
    if (d->fingerprint[0] && strcmp(d->fingerprint, corpus.fingerprint) != 0)
        rc = ERR(e, ERR_DATA,
                 "data/%s: fingerprint %.16s…, the plan expects %.16s…; prepare it again from the "
                 "right text",
                 d->corpus, corpus.fingerprint, d->fingerprint);
    corpus_close(&corpus);
    return rc;
}

static int prepare_corpora(const struct project *project, struct arena *a, const struct planning *p,
                           workflow_progress_fn progress, struct err *e)
{
    const char *last = "";

    for (int32_t i = 0; i < p->plan.runs_n; i++) {
        const struct spec *s = &p->plan.run[i].spec;
        if (p->state[i].done || s->kind == SPEC_BENCH || strcmp(last, s->data.corpus) == 0)
            continue;
        TRY(prepare_one(project, a, &s->data, progress, e));
        last = s->data.corpus;
    }
    return 0;
}

static struct run *make_runs(struct arena *a, const struct plan *p)
{
    struct run *runs = arena_array(a, (size_t)p->runs_n + 1, sizeof *runs);

    for (int32_t i = 0; i < p->runs_n; i++) {
        const struct plan_run *r = &p->run[i];
        runs[i] = (struct run){.spec = r->spec,
                               .train = r->train,
                               .flops = r->cost.flops,
                               .device_bytes = r->cost.device_bytes,
                               .disk_bytes = r->cost.disk_running_bytes};
        memcpy(runs[i].run_id, r->run_id, sizeof runs[i].run_id);
    }
    return runs;
}

/* What the progress line calls the work: "table5 figure1 (mini)". */
static char *headline(struct arena *a, const struct plan *p)
{
    char *text = arena_strdup(a, "");
    for (int32_t i = 0; i < p->artefacts_n && i < 4; i++)
        text = arena_printf(a, "%s%s%s", text, i ? " " : "", p->artefact[i].name);
    return arena_printf(a, "%s%s (%s)", text, p->artefacts_n > 4 ? " …" : "", p->scale);
}

int workflow_run(struct store *store, const struct project *project, const struct planning *p,
                 const struct plan_options *o, const struct scheduler_options *so,
                 workflow_progress_fn progress, struct err *e)
{
    const struct plan *plan = &p->plan;
    struct scheduler_options options = *so;
    struct scheduler_result result;
    struct arena a;
    int rc = 0;

    arena_init(&a);
    if (!options.devices) options.devices = "auto";
    options.headline = headline(&a, plan);
    for (int32_t i = 0; i < plan->notes.n; i++) log_info("note: %s", plan->notes.item[i]);
    TRY_OUT(rc, prepare_corpora(project, &a, p, progress, e));
    TRY_OUT(rc, workflow_register(store, project, p, o, e));
    TRY_OUT(rc,
            scheduler_run(store, project, make_runs(&a, plan), plan->runs_n, &options, &result, e));
    /* The verdicts of the view `claims` follow the results they rest on: those of the artefact as
     * it is. */
    for (int32_t i = 0; i < plan->artefacts_n && !*plan->variant; i++)
        TRY_OUT(rc, report_judge(store, project, plan->artefact[i].name, plan->artefact[i].dir,
                                 plan->artefact[i].scale, e));
out:
    arena_fini(&a);
    return rc;
}
