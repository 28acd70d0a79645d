/* run.c - runs a plan: corpora, registration of runs, points and the paper's numbers, scheduler,
 * claims. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "data/corpus.h"
#include "prepare/prepare.h"
#include "report/report.h"
#include "workflow/workflow.h"

int workflow_corpus(struct plan_corpus *out, struct manifest *known, const struct project *project,
                    struct arena *a, const char *name, struct err *e)
{
    int rc = plan_corpus_read(out, project, a, name, e);

    *known = (struct manifest){0};
    if (rc == ERR_NOINPUT) {
        *out = (struct plan_corpus){0};
        return 0;
    }
    if (rc == 0 && out->url[0])
        *known = (struct manifest){
            .vocab = out->data.vocab,
            .tokens_n = {out->data.train_tokens, out->data.valid_tokens, out->data.test_tokens}};
    return rc;
}

/* --- progress ------------------------------------------------------------------------------- */

void workflow_show_bytes(void *context, int64_t done, int64_t total)
{
    struct workflow_bytes *d = context;
    char left[CLOCK_TEXT_BYTES] = "unknown time", what[256];
    int64_t now_us = clock_monotonic_us();

    if (d->first < 0) {
        d->first = done;
        d->started_us = d->shown_us = now_us;
    }
    bool terminal = isatty(STDERR_FILENO), ends = done == total && d->shown != done;
    if (!ends && now_us - d->shown_us < (terminal ? 250000 : 60000000)) return;
    d->shown_us = now_us;
    d->shown = done;
    if (total > done && done > d->first)
        clock_duration(left, (double)(total - done) * 1e-6 * (double)(now_us - d->started_us) /
                                 (double)(done - d->first));
    snprintf(what, sizeof what, "%s: %.1f of %.1f MB, about %s left,", d->name, (double)done / 1e6,
             (double)total / 1e6, ends ? "0s" : left);
    if (!terminal)
        log_info("%s %.0f %%", what, total > 0 ? 100.0 * (double)done / (double)total : 0.0);
    else if (d->progress)
        d->progress(NULL, what, total > 0 ? (double)done / (double)total : 0);
}

/* --- corpora -------------------------------------------------------------------------------- */

/* Prepares embedded corpora; others must be prepared already and match the plan. Hashes every file
 * once per call, because workers only compare sizes. */
static int prepare_one(const struct project *project, struct arena *a, const struct spec_data *d,
                       workflow_progress_fn progress, struct err *e)
{
    struct corpus corpus;
    struct plan_corpus file;
    struct manifest known;

    if (prepare_is_embedded(d->corpus)) {
        if (!file_exists(arena_printf(a, "%s/data/%s/manifest.yaml", project->root, d->corpus)))
            log_info("preparing the corpus %s under %s/data", d->corpus, project->root);
        struct prepare_options o = {.name = d->corpus, .progress = progress};
        TRY(prepare_corpus(project, &o, e));
    }
    TRY(workflow_corpus(&file, &known, project, a, d->corpus, e));
    if (file.url[0] &&
        !file_exists(arena_printf(a, "%s/data/%s/manifest.yaml", project->root, d->corpus)))
        return ERR(e, ERR_NOINPUT,
                   "corpus %s (%s) is not in %s/data; run `alibi data fetch %s` and `alibi data "
                   "prepare %s`, or `alibi data prepare %s --text DIR` with train.txt, valid.txt "
                   "and test.txt in DIR",
                   d->corpus, file.title, project->root, d->corpus, d->corpus, d->corpus);
    TRY(corpus_verify(project, d->corpus, &known, e));
    TRY(corpus_open(&corpus, project, d->corpus, e));
    int rc = 0;
    if (d->fingerprint[0] && strcmp(d->fingerprint, corpus.fingerprint) != 0)
        rc = ERR(e, ERR_DATA,
                 "data/%s: fingerprint %.16s…, but the plan expects %.16s…; prepare it from the "
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

/* --- registering points in results.db ------------------------------------ */

/* Registers the paper's numbers of every artefact, because claims compare artefacts. An invalid
 * file of another artefact is only a warning. */
static int register_papers(struct store *store, const struct project *project, struct arena *a,
                           const struct plan *p, struct err *e)
{
    char **names, *path;
    int32_t n;

    TRY(plan_list(&names, &n, project, a, e));
    for (int32_t i = 0; i < n; i++) {
        struct err fault = {0};
        const char *file = arena_printf(a, "experiments/%s/paper.tsv", names[i]);
        if (project_find(&path, project, a, file, NULL) < 0) continue;
        if (store_set_paper(store, names[i], path, &fault) < 0) log_warn("%s", fault.text);
    }
    for (int32_t k = 0; k < p->artefacts_n; k++) {
        path = arena_printf(a, "%s/paper.tsv", p->artefact[k].dir);
        if (file_exists(path)) TRY(store_set_paper(store, p->artefact[k].name, path, e));
    }
    return 0;
}

static int register_points(struct store *store, struct arena *a, const struct plan *p,
                           const struct plan_artefact *artefact, struct err *e)
{
    struct store_point *points = arena_array(a, (size_t)p->points_n + 1, sizeof *points);
    const char *name = arena_printf(a, "%s%s", artefact->name, p->variant);
    int32_t n = 0;

    for (int32_t i = 0; i < p->points_n; i++) {
        const struct plan_point *t = &p->point[i];
        if (strcmp(t->artefact, artefact->name) != 0) continue;
        points[n++] = (struct store_point){t->point, p->run[t->run].run_id, t->L_train_nominal,
                                           t->L_valid_nominal, t->stride_nominal};
    }
    return store_set_points(store, name, artefact->scale, points, n, e);
}

static int register_plan(struct store *store, const struct project *project, struct arena *a,
                         const struct plan *p, struct err *e)
{
    int rc = 0;

    TRY(store_begin(store, e));
    for (const struct plan_run *r = p->run; r < p->run + p->runs_n; r++) {
        const struct store_run row = {
            .spec = &r->spec,
            .run_id = r->run_id,
            .config_id = r->config_id,
            .train_run_id = r->spec.kind == SPEC_EVAL ? p->run[r->train].run_id : NULL,
            .parameters_n = r->cost.parameters_n,
            .flops = r->cost.flops};
        TRY_OUT(rc, store_add_run(store, &row, e));
    }
    for (int32_t k = 0; k < p->artefacts_n; k++)
        TRY_OUT(rc, register_points(store, a, p, &p->artefact[k], e));
    TRY_OUT(rc, register_papers(store, project, a, p, e));
    return store_commit(store, e);
out:
    store_rollback(store);
    return rc;
}

int workflow_register(struct store *store, const struct project *project, struct arena *a,
                      const struct plan *p, const struct plan_options *o, struct err *e)
{
    struct plan whole;
    struct plan_options all = *o;
    struct err why = {0};

    if (!o->only) return register_plan(store, project, a, p, e);
    const char **dirs = arena_array(a, (size_t)p->artefacts_n, sizeof *dirs);
    for (int32_t i = 0; i < p->artefacts_n; i++) dirs[i] = p->artefact[i].dir;
    all.only = NULL;
    if (plan_open(&whole, project, dirs, p->artefacts_n, &all, &why) < 0) {
        log_info("note: only the selected part is registered: %s", why.text);
        return register_plan(store, project, a, p, e);
    }
    int rc = register_plan(store, project, a, &whole, e);
    plan_close(&whole);
    return rc;
}

/* Finds out whether the artefact has points in results.db at this scale. */
static int has_points(bool *out, struct store *store, const struct plan_artefact *artefact,
                      const char *variant, struct err *e)
{
    static const char sql[] =
        "SELECT count(*) FROM artefact_points WHERE artefact = :name AND scale = :scale";
    struct arena a;
    struct rows rows;

    arena_init(&a);
    const struct store_param params[] = {
        {"name", arena_printf(&a, "%s%s", artefact->name, variant), STORE_TEXT},
        {"scale", artefact->scale, STORE_TEXT}};
    int rc = rows_read(&rows, &a, store, sql, params, 2, e);
    if (rc == 0) *out = strcmp(rows.row[0][0].text, "0") != 0;
    arena_fini(&a);
    return rc;
}

int workflow_unregistered(struct plan *p, bool *out, struct store *store,
                          const struct project *project, const struct plan_artefact *artefact,
                          const char *variant, const struct plan_options *o, struct err *e)
{
    struct plan_options whole = *o;
    struct err why = {0};
    bool registered = false;
    int rc = 0;

    *out = false;
    TRY(has_points(&registered, store, artefact, variant, e));
    if (registered) return 0;
    whole.artefacts_only = false;
    whole.scale = artefact->scale;
    rc = plan_open(p, project, &artefact->dir, 1, &whole, &why);
    if (rc < 0 && !artefact->optional) return ERR(e, rc, "%s", why.text);
    if (rc < 0) {
        log_warn("%s", why.text);
        return 0;
    }
    for (int32_t i = 0; !*out && i < p->runs_n; i++) {
        struct store_run_state st;
        if (p->run[i].spec.kind == SPEC_TRAIN) continue; /* a table shows what rests on it */
        TRY_OUT(rc, store_run_state(store, p->run[i].run_id, &st, e));
        *out = st.done;
    }
out:
    if (rc < 0 || !*out) plan_close(p);
    return rc;
}

/* --- the run -------------------------------------------------------------------------------- */

/* The runs of a plan that belong to one training, or, if training is negative, to none of a
 * published checkpoint. A source needs no work: it is registered
 * before the evaluations that read it. */
static struct run *make_runs(int32_t *n, struct arena *a, const struct planning *p,
                             int32_t training)
{
    const struct plan *plan = &p->plan;
    struct run *runs = arena_array(a, (size_t)plan->runs_n + 1, sizeof *runs);
    int32_t *kept = arena_array(a, (size_t)plan->runs_n + 1, sizeof *kept);

    *n = 0;
    for (int32_t i = 0; i < plan->runs_n; i++) {
        const struct plan_run *r = &plan->run[i];
        int32_t of = r->train >= 0 ? r->train : i;
        kept[i] = -1;
        if (training >= 0 ? of != training : planning_is_published(p, of)) continue;
        if (spec_is_source(&r->spec)) continue;
        kept[i] = *n;
        runs[*n] = (struct run){.spec = r->spec,
                                .train = r->train >= 0 ? kept[r->train] : -1,
                                .flops = r->cost.flops,
                                .device_bytes = r->cost.device_bytes,
                                .disk_bytes = r->cost.disk_running_bytes};
        memcpy(runs[(*n)++].run_id, r->run_id, sizeof runs->run_id);
    }
    return runs;
}

/* Names the work in the progress line: "table5 figure1 (mini)". */
static char *headline(struct arena *a, const struct plan *p)
{
    char *text = arena_strdup(a, "");
    for (int32_t i = 0; i < p->artefacts_n && i < 4; i++)
        text = arena_printf(a, "%s%s%s", text, i ? " " : "", p->artefact[i].name);
    return arena_printf(a, "%s%s (%s)", text, p->artefacts_n > 4 ? " …" : "", p->scale);
}

/* The next published training, the shortest first; -1: none. before: the last one. */
static int32_t next_published(const struct planning *p, int32_t before)
{
    int32_t next = -1;

    for (int32_t i = 0; i < p->plan.runs_n; i++) {
        const struct plan_run *run = p->plan.run;
        bool after = before < 0 || run[i].spec.train.L > run[before].spec.train.L ||
                     (run[i].spec.train.L == run[before].spec.train.L && i > before);
        if (!planning_is_published(p, i) || !after) continue;
        if (next < 0 || run[i].spec.train.L < run[next].spec.train.L) next = i;
    }
    return next;
}

/* Adds up what several calls of the scheduler did. */
struct work {
    struct store *store;
    const struct project *project;
    const struct planning *planning;
    struct scheduler_options options;
    workflow_progress_fn progress;
    int32_t diverged;
};

static int run_part(struct work *w, struct arena *a, int32_t training, struct err *e)
{
    struct scheduler_result result;
    int32_t n;
    struct run *runs = make_runs(&n, a, w->planning, training);

    if (n == 0 && training < 0 && next_published(w->planning, -1) >= 0) return 0;
    int rc = scheduler_run(w->store, w->project, runs, n, &w->options, &result, e);
    w->diverged += result.diverged;
    return rc;
}

/* Each published checkpoint is imported and evaluated before the next one is downloaded. With
 * keep_going the others are tried after a failure, and the first error is returned. */
static int run_published(struct work *w, struct arena *a, struct err *e)
{
    const struct planning *p = w->planning;
    struct err first = {0};

    for (int32_t t = next_published(p, -1); t >= 0; t = next_published(p, t)) {
        struct err why = {0};
        int rc = workflow_fetch_training(w->store, w->project, a, &p->plan, t, w->progress, &why);
        if (rc == 0) rc = run_part(w, a, t, &why);
        if (rc == 0) continue;
        if (first.code == 0) first = why;
        if (!w->options.keep_going || rc == ERR_INTERRUPTED) break;
        log_warn("%s", why.text);
    }
    return first.code ? err_set(e, first.code, "%s", first.text) : 0;
}

int workflow_run(struct store *store, const struct project *project, const struct planning *p,
                 const struct plan_options *o, const struct scheduler_options *so,
                 workflow_progress_fn progress, struct err *e)
{
    const struct plan *plan = &p->plan;
    struct work w = {store, project, p, *so, progress, 0};
    struct arena a;
    int rc = 0;

    arena_init(&a);
    if (!w.options.devices) w.options.devices = "auto";
    w.options.headline = headline(&a, plan);
    for (int32_t i = 0; i < plan->notes.n; i++) log_info("note: %s", plan->notes.item[i]);
    file_scratch_sweep(project_path(project, &a, RUN_FOLDERS), RUN_SCRATCH, NULL);
    if (plan->runs_n == 0) {
        rc = ERR(e, ERR_NOINPUT,
                 "nothing to run: each block lacks a piece; the notes say how to get them");
        goto out;
    }
    TRY_OUT(rc, planning_check_models(p, project, e));
    TRY_OUT(rc, prepare_corpora(project, &a, p, progress, e));
    TRY_OUT(rc, workflow_register(store, project, &a, plan, o, e));
    TRY_OUT(rc, workflow_register_models(store, project, &a, p, so->pick != PICK_MISSING, e));
    TRY_OUT(rc, run_part(&w, &a, -1, e));
    TRY_OUT(rc, run_published(&w, &a, e));
    /* Updates the verdicts of the view `claims`; variants have none. */
    for (int32_t i = 0; i < plan->artefacts_n && !*plan->variant; i++)
        TRY_OUT(rc, report_judge(store, project, plan->artefact[i].name, plan->artefact[i].dir,
                                 plan->artefact[i].scale, e));
    if (w.diverged > 0 && !so->keep_going)
        rc = ERR(e, ERR_DATA,
                 "%d run%s diverged and %s not retried (`alibi status` has the reason); change the "
                 "settings, or pass --keep-going to accept it",
                 w.diverged, w.diverged == 1 ? "" : "s", w.diverged == 1 ? "is" : "are");
out:
    arena_fini(&a);
    return rc;
}
