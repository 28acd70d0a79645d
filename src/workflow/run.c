/* command_run.c - alibi run: plan, corpora, results.db, scheduler. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "cli/planning.h"
#include "data/corpus.h"
#include "prepare/prepare.h"
#include "report/report.h"

static const double day_s = 86400.0;

struct run_options {
    struct planning_options planning;
    int32_t tries;
    bool keep_going, redo, failed, stale, yes;
    double stall_s;
    const char *slurm;
};

static void show_preparation(void *context, const char *what, double share)
{
    (void)context;
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r\033[Kpreparing: %s %3.0f %%%s", what, 100 * share,
                share >= 1 ? "\n" : "");
}

/* Embedded corpora are made here; others must be prepared, and must be the ones the plan was made
 * for. */
static int prepare_one(struct cli *c, const struct spec_data *d, struct err *e)
{
    struct corpus corpus;

    if (prepare_is_embedded(d->corpus)) {
        if (!file_exists(
                arena_printf(&c->arena, "%s/data/%s/manifest.yaml", c->project.root, d->corpus)))
            log_info("preparing the corpus %s under %s/data", d->corpus, c->project.root);
        struct prepare_options o = {.name = d->corpus, .progress = show_preparation};
        TRY(prepare_corpus(&c->project, &o, e));
    }
    TRY(corpus_open(&corpus, &c->project, d->corpus, e));
    int rc = 0;
    if (d->fingerprint[0] && strcmp(d->fingerprint, corpus.fingerprint) != 0)
        rc = ERR(e, ERR_DATA,
                 "data/%s: fingerprint %.16s…, the plan expects %.16s…; prepare it again from the "
                 "right text",
                 d->corpus, corpus.fingerprint, d->fingerprint);
    corpus_close(&corpus);
    return rc;
}

static int prepare_corpora(struct cli *c, const struct planning *p, struct err *e)
{
    const char *last = "";

    for (int32_t i = 0; i < p->plan.runs_n; i++) {
        const struct spec *s = &p->plan.run[i].spec;
        if (p->state[i].done || s->kind == SPEC_BENCH || strcmp(last, s->data.corpus) == 0)
            continue;
        TRY(prepare_one(c, &s->data, e));
        last = s->data.corpus;
    }
    return 0;
}

/* The paper's numbers of every artefact there is, whether it is run or not: claims about the paper
 * compare one artefact's with another's. A bad file that this run does not need does not stop it.
 */
static int register_papers(struct store *store, struct cli *c, const struct plan *p, struct err *e)
{
    char **names, *path;
    int32_t n;

    TRY(plan_list(&names, &n, &c->project, &c->arena, e));
    for (int32_t i = 0; i < n; i++) {
        struct err fault = {0};
        const char *file = arena_printf(&c->arena, "experiments/%s/paper.tsv", names[i]);
        if (project_find(&path, &c->project, &c->arena, file, NULL) < 0) continue;
        if (store_set_paper(store, names[i], path, &fault) < 0) log_warn("%s", fault.text);
    }
    for (int32_t k = 0; k < p->artefacts_n; k++) {
        path = arena_printf(&c->arena, "%s/paper.tsv", p->artefact[k].dir);
        if (file_exists(path)) TRY(store_set_paper(store, p->artefact[k].name, path, e));
    }
    return 0;
}

/* Runs, points and the paper's numbers, in one transaction. */
static int register_plan(struct store *store, struct cli *c, const struct plan *p, struct err *e)
{
    struct store_point *points = arena_array(&c->arena, (size_t)p->points_n + 1, sizeof *points);
    int rc = 0;

    TRY(store_begin(store, e));
    for (int32_t i = 0; i < p->runs_n; i++) {
        const struct plan_run *r = &p->run[i];
        struct store_run row = {.spec = &r->spec,
                                .run_id = r->run_id,
                                .config_id = r->config_id,
                                .train_run_id = r->train >= 0 ? p->run[r->train].run_id : NULL,
                                .parameters_n = r->cost.parameters_n,
                                .flops = r->cost.flops};
        TRY_OUT(rc, store_add_run(store, &row, e));
    }
    for (int32_t k = 0; k < p->artefacts_n; k++) {
        int32_t n = 0;
        for (int32_t i = 0; i < p->points_n; i++) {
            const struct plan_point *t = &p->point[i];
            if (strcmp(t->artefact, p->artefact[k].name) != 0) continue;
            points[n++] = (struct store_point){t->point, p->run[t->run].run_id, t->L_train_nominal,
                                               t->L_valid_nominal, t->stride_nominal};
        }
        TRY_OUT(rc,
                store_set_points(store, p->artefact[k].name, p->artefact[k].scale, points, n, e));
    }
    TRY_OUT(rc, register_papers(store, c, p, e));
    return store_commit(store, e);
out:
    store_rollback(store);
    return rc;
}

/* Points are those of the whole grid also when --only runs a part of it. Settings that suit the
 * part but no other point (rows longer than train.shard_tokens, say) leave the part alone. */
static int register_whole(struct store *store, struct cli *c, const struct planning *p,
                          const struct planning_options *o, struct err *e)
{
    const char *dirs[CLI_LIST_MAX];
    struct plan whole;
    struct plan_options po = {
        .scale = o->scale, .set = o->set.item, .set_n = o->set.n, .seeds = o->seeds};

    if (!o->only) return register_plan(store, c, &p->plan, e);
    for (int32_t i = 0; i < p->plan.artefacts_n; i++) dirs[i] = p->plan.artefact[i].dir;
    struct err why = {0};
    if (plan_open(&whole, &c->project, dirs, p->plan.artefacts_n, &po, &why) < 0) {
        log_info("note: only the part asked for is registered: %s", why.text);
        return register_plan(store, c, &p->plan, e);
    }
    int rc = register_plan(store, c, &whole, e);
    plan_close(&whole);
    return rc;
}

static struct run *make_jobs(struct cli *c, const struct planning *p)
{
    struct run *jobs = arena_array(&c->arena, (size_t)p->plan.runs_n + 1, sizeof *jobs);

    for (int32_t i = 0; i < p->plan.runs_n; i++) {
        const struct plan_run *r = &p->plan.run[i];
        jobs[i] = (struct run){.spec = r->spec,
                               .train = r->train,
                               .flops = r->cost.flops,
                               .device_bytes = r->cost.device_bytes,
                               .disk_bytes = r->cost.disk_running_bytes};
        memcpy(jobs[i].run_id, r->run_id, sizeof jobs[i].run_id);
    }
    return jobs;
}

static int ask_for_long_work(const struct planning *p, bool yes, struct err *e)
{
    char time[CLOCK_TEXT_BYTES];

    if (p->seconds_left <= day_s || yes) return 0;
    clock_duration(time, p->seconds_left);
    return ERR(e, ERR_USAGE,
               "scale %s is about %s of work on %s (%s); add --yes to start it, cut it down with "
               "--only and "
               "--set, or take --scale mini",
               p->plan.scale, time, p->device.name, p->device.description);
}

static char *headline(struct cli *c, const struct plan *p)
{
    char *text = arena_strdup(&c->arena, "");
    for (int32_t i = 0; i < p->artefacts_n && i < 4; i++)
        text = arena_printf(&c->arena, "%s%s%s", text, i ? " " : "", p->artefact[i].name);
    return arena_printf(&c->arena, "%s%s (%s)", text, p->artefacts_n > 4 ? " …" : "", p->scale);
}

/* The verdicts of the view `claims` follow the results they rest on. */
static int judge_claims(struct cli *c, struct store *store, const struct plan *p, struct err *e)
{
    for (int32_t i = 0; i < p->artefacts_n; i++)
        TRY(report_judge(store, &c->project, p->artefact[i].name, p->artefact[i].dir,
                         p->artefact[i].scale, e));
    return 0;
}

static int run_plan(struct cli *c, struct store *store, const struct planning *p,
                    const struct run_options *o, struct err *e)
{
    struct scheduler_result result;
    struct scheduler_options so = {.devices = o->planning.devices ? o->planning.devices : "auto",
                                   .slurm = o->slurm,
                                   .tries = o->tries,
                                   .keep_going = o->keep_going,
                                   .pick = o->redo     ? PICK_REDO
                                           : o->failed ? PICK_FAILED
                                           : o->stale  ? PICK_STALE
                                                       : PICK_MISSING,
                                   .stall_s = o->stall_s,
                                   .quiet = c->quiet,
                                   .headline = headline(c, &p->plan)};

    for (int32_t i = 0; i < p->plan.notes_n; i++) log_info("note: %s", p->plan.note[i].text);
    TRY(prepare_corpora(c, p, e));
    TRY(register_whole(store, c, p, &o->planning, e));
    int rc = scheduler_run(store, &c->project, make_jobs(c, p), p->plan.runs_n, &so, &result, e);
    return rc < 0 ? rc : judge_claims(c, store, &p->plan, e);
}

int cli_run(struct cli *c, const struct cli_command *self, int argc, char **argv, struct err *e)
{
    struct run_options o = {.tries = 3, .stall_s = 300};
    struct cli_list artefacts;
    struct store *store = NULL;
    struct planning p = {0};
    const struct cli_option options[] = {
        PLANNING_OPTIONS(o.planning),
        {"tries", 0, CLI_NUMBER, &o.tries, "N", "attempts a failing run may have (default 3)"},
        {"keep-going", 'k', CLI_FLAG, &o.keep_going, NULL, "go on with other runs after a failure"},
        {"redo", 0, CLI_FLAG, &o.redo, NULL, "run again what is done"},
        {"failed", 0, CLI_FLAG, &o.failed, NULL, "only runs that failed, were lost or diverged"},
        {"stale", 0, CLI_FLAG, &o.stale, NULL,
         "only runs that another version of the program made"},
        {"stall", 0, CLI_REAL, &o.stall_s, "S",
         "seconds of silence after which a worker is killed (default 300)"},
        {"slurm", 0, CLI_TEXT, &o.slurm, "WORDS",
         "options of sbatch for --devices slurm, such as \"partition=gpu time=24:00:00\""},
        {"yes", 'y', CLI_FLAG, &o.yes, NULL, "start more than a day of work"},
        {0}};
    int rc = cli_parse(c, self, options, argc, argv, &artefacts, 1, CLI_LIST_MAX, e);

    if (rc != 0) return rc < 0 ? rc : 0;
    if (o.redo + o.failed + o.stale > 1)
        return ERR(e, ERR_USAGE, "--redo, --failed and --stale exclude each other");
    if (o.tries < 1) return ERR(e, ERR_USAGE, "--tries 0: at least 1");
    TRY_OUT(rc, cli_open(c, e));
    /* What is done only serves the estimate here: a file that cannot be read as it is will be made,
     * migrated or refused when it is opened for writing. */
    (void)store_open(&store, cli_results(c), STORE_READ, NULL);
    if (!file_exists(cli_results(c)) && file_exists(project_path(&c->project, &c->arena, "runs")))
        log_warn("results.db is not there, but runs/ is: what it holds is not run again after "
                 "alibi merge runs/");
    TRY_OUT(rc, planning_open(&p, c, &artefacts, &o.planning, store, e));
    TRY_OUT(rc, planning_check_precision(&p, e));
    TRY_OUT(rc, ask_for_long_work(&p, o.yes, e));
    store_close(store);
    store = NULL;
    TRY_OUT(rc, store_open(&store, cli_results(c), STORE_WRITE, e));
    rc = run_plan(c, store, &p, &o, e);
out:
    planning_close(&p);
    store_close(store);
    return rc;
}
