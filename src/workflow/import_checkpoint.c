/* import_checkpoint.c - registers a published checkpoint as the result of a training.
 *
 *   1. Select the training of the plan by --as, else by the content or name of the file. Exactly
 *      one must match.
 *   2. Compare the file with the training's spec, and its dictionary with the corpus.
 *   3. Write its weights to a folder of the run, and register them as their source. After a failure
 *      neither folder nor rows remain. */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "base/str.h"
#include "data/corpus.h"
#include "interchange/interchange.h"
#include "prepare/dictionary.h"
#include "record/run_folder.h"
#include "source/source.h"
#include "spec/code_id.h"
#include "store/ingest.h"
#include "workflow/workflow.h"

/* --- 1. select the training ------------------------------------------------------------------- */

/* Finds the longest name of a method in the file's name; NULL: none. */
static const char *guess_position(const char *name)
{
    const char *found = NULL;

    for (int32_t p = 0; p < POSITION_METHODS_N; p++) {
        const char *method = position_methods[p].name;
        if (strcasestr(name, method) && (!found || strlen(method) > strlen(found))) found = method;
    }
    return found;
}

/* Reads the number in "_L512" of the file's name; 0: none. */
static int32_t guess_length(const char *name)
{
    const char *at = strstr(name, "_L");
    int32_t L = 0;

    return at && sscanf(at + 2, "%7d", &L) == 1 && L > 0 ? L : 0;
}

/* Adds what --as does not state, as text for the plan's --only. *L: required training length; 0 if
 * --as states it. */
static int complete_selection(struct arena *a, const struct import_options *o,
                              const struct import_facts *facts, const char *path, const char **only,
                              int32_t *L, struct err *e)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

    *only = o->as ? o->as : "";
    if (!strstr(*only, "position=")) {
        const char *position = facts->position ? facts->position : guess_position(name);
        if (!position)
            return ERR(
                e, ERR_USAGE,
                "%s: unknown position method; add --as position=alibi (or sinusoidal, rotary)",
                path);
        log_info("position %s, from the %s", position,
                 facts->position ? "tensors in the file" : "file's name");
        *only = arena_printf(a, "%s%sposition=%s", *only, **only ? "," : "", position);
    }
    *L = 0;
    if (strstr(*only, "L_train=")) return 0;
    *L = facts->L ? facts->L : guess_length(name);
    if (*L == 0) return ERR(e, ERR_USAGE, "%s: unknown training length; add --as L_train=N", path);
    log_info("training length %d, from the %s", *L, facts->L ? "file" : "file's name");
    return 0;
}

/* Finds the training of the plan with this length. */
static int find_training(const struct plan_run **out, const struct plan *p, int32_t L,
                         const char *only, struct err *e)
{
    int32_t n = 0;

    for (int32_t i = 0; i < p->runs_n; i++) {
        const struct plan_run *r = &p->run[i];
        if (r->spec.kind != SPEC_TRAIN || (L > 0 && r->spec.train.L != L)) continue;
        *out = r;
        n++;
    }
    if (n == 1) return 0;
    if (n == 0)
        return ERR(e, ERR_USAGE,
                   "no training of %s (scale %s) with %s has rows of %d tokens; choose another "
                   "plan with --for ARTEFACT and --scale",
                   p->artefact[0].name, p->scale, only, L);
    return ERR(e, ERR_USAGE,
               "%d trainings of %s (scale %s) match %s; add keys to --as until one matches", n,
               p->artefact[0].name, p->scale, only);
}

/* --- 2. the dictionary ---------------------------------------------------------------------- */

static int check_dictionary(const struct project *project, struct arena *a, const char *dict,
                            const struct spec_data *d, struct err *e)
{
    struct dictionary theirs, ours;
    const char *path = arena_printf(a, "%s/data/%s/dict.txt", project->root, d->corpus);

    TRY(dictionary_load(&theirs, a, dict, e));
    if (theirs.entries.n != d->vocab)
        return ERR(e, ERR_DATA, "%s: %d entries including special symbols, expected %d", dict,
                   theirs.entries.n, d->vocab);
    if (!file_exists(path)) {
        log_warn(
            "data/%s is not prepared: only the size of %s was checked; prepare it with --dict %s",
            d->corpus, dict, dict);
        return 0;
    }
    TRY(dictionary_load(&ours, a, path, e));
    if (ours.entries.n != d->vocab)
        return ERR(e, ERR_DATA, "%s: %d entries, expected %d", path, ours.entries.n, d->vocab);
    for (int32_t i = 0; i < d->vocab; i++) {
        const char *x = theirs.entries.item[i].word, *y = ours.entries.item[i].word;
        if (strcmp(x, y) == 0) continue;
        return ERR(e, ERR_DATA,
                   "%s: entry %d is '%.40s', but '%.40s' in data/%s; prepare the corpus with this "
                   "dictionary",
                   dict, i, x, y, d->corpus);
    }
    return 0;
}

/* --- 3. the source -------------------------------------------------------------------------- */

int registration_begin(struct registration *g, struct err *e)
{
    struct store_run_state st;
    char *dir;

    TRY(store_run_state(g->store, g->run->run_id, &st, e));
    TRY(run_folder_claim(&dir, &g->number, g->arena, g->project->root, g->run->run_id,
                         st.attempts_n + 1, e));
    g->dir = dir;
    g->path = project_path(g->project, g->arena, dir);
    return 0;
}

static int add_source(struct registration *g, const struct record_source *source, struct err *e)
{
    const struct plan_run *r = g->run;
    const struct store_run run = {.spec = &r->spec,
                                  .run_id = r->run_id,
                                  .config_id = r->config_id,
                                  .parameters_n = r->cost.parameters_n,
                                  .flops = r->cost.flops};
    int rc = 0;

    TRY(source_register(g->path, &r->spec, source, e));
    TRY(store_begin(g->store, e));
    TRY_OUT(rc, store_add_run(g->store, &run, e));
    TRY_OUT(rc, store_ingest_source(g->store, g->dir, g->path, g->number, e));
out:
    return store_finish(g->store, rc, e);
}

int registration_end(struct registration *g, int rc, const struct record_source *source,
                     struct err *e)
{
    struct record_source own = *source;

    own.run_id = g->run->run_id;
    own.code_id = code_id();
    if (rc == 0) rc = add_source(g, &own, e);
    if (rc < 0) dir_remove_tree(AT_FDCWD, g->path, NULL, NULL);
    return rc;
}

/* Takes the last training loss from the file, else from the user. */
static int choose_loss(double *out, const struct import_options *o, const struct import *im,
                       const char *path, struct err *e)
{
    const struct import_facts *f = import_facts(im);

    *out = o->loss_nats > 0 ? o->loss_nats : f->train_loss_nats;
    if (isfinite(*out)) return 0;
    *out = f->valid_loss_nats;
    if (!isfinite(*out))
        return ERR(e, ERR_USAGE,
                   "%s: no training loss in the file; give it with --loss NATS (per token)", path);
    log_info("no training loss in the file; using its validation loss");
    return 0;
}

/* Returns a training's L_train as --only expects it. */
static int32_t nominal_length(const struct plan *p, const struct plan_run *r)
{
    for (int32_t i = 0; i < p->points_n; i++) {
        const struct plan_run *run = &p->run[p->point[i].run];
        bool of_r = run->spec.kind == SPEC_EVAL && &p->run[run->train] == r;
        if (run == r || of_r) return p->point[i].L_train_nominal;
    }
    return r->spec.train.L;
}

static int import_checkpoint(struct import_result *out, struct registration *g, struct import *im,
                             const char *path, const struct import_options *o, struct err *e)
{
    const char *slash = strrchr(path, '/'), *run_id = g->run->run_id;
    struct store_run_state st;
    struct import_written w = {0};
    double loss_nats;

    TRY(import_check(im, &g->run->spec, e));
    TRY(choose_loss(&loss_nats, o, im, path, e));
    TRY(store_run_state(g->store, run_id, &st, e));
    if (st.done && !o->force)
        return ERR(e, ERR_USAGE,
                   "run %s is already done (see `alibi show %s`); --force replaces its result",
                   run_id, run_id);
    TRY(registration_begin(g, e));
    out->dir = g->dir;
    out->was_fp16 = import_facts(im)->was_fp16;
    out->heads_recorded = import_facts(im)->heads_recorded;
    int rc = import_write(im, g->path, &w, e);
    const struct record_source source = {.name = slash ? slash + 1 : path,
                                         .path = w.file,
                                         .sha256 = w.sha256,
                                         .updates = w.updates,
                                         .tokens_per_update = g->run->cost.tokens_per_update,
                                         .final_loss_nats = loss_nats,
                                         .parameters = w.parameters_n};
    return registration_end(g, rc, &source, e);
}

static void fill_result(struct import_result *out, const struct plan *p, const struct plan_run *r)
{
    out->spec = r->spec;
    memcpy(out->run_id, r->run_id, sizeof out->run_id);
    out->parameters_n = r->cost.parameters_n;
    out->L_train_nominal = nominal_length(p, r);
}

int workflow_import_training(struct import_result *out, struct registration *g, const char *path,
                             const struct import_options *o, const struct plan *p, struct err *e)
{
    struct import *im = NULL;

    *out = (struct import_result){0};
    int rc = import_open(&im, path, e);
    if (rc == 0) rc = import_checkpoint(out, g, im, path, o, e);
    if (rc == 0) fill_result(out, p, g->run);
    import_close(im);
    return rc;
}

static bool is_log(const char *path)
{
    size_t n = strlen(path);
    return n > 4 && strcmp(path + n - 4, ".log") == 0;
}

int workflow_import(struct import_result *out, const struct project *project, struct arena *a,
                    const char *path, const struct import_options *o, struct err *e)
{
    struct registration g = {.project = project, .arena = a};
    struct import *im = NULL;
    struct plan plan = {0};
    const char *only = NULL;
    int32_t L = 0;
    int rc = 0;

    *out = (struct import_result){0};
    if (is_log(path))
        return ERR(e, ERR_USAGE,
                   "%s: a training log cannot be imported; import the training's checkpoint", path);
    TRY_OUT(rc, import_open(&im, path, e));
    TRY_OUT(rc, complete_selection(a, o, import_facts(im), path, &only, &L, e));
    const struct plan_options po = {.scale = o->scale, .only = (const char *[]){only, NULL}};
    TRY_OUT(rc, plan_open(&plan, project, &o->artefact, 1, &po, e));
    TRY_OUT(rc, find_training(&g.run, &plan, L, only, e));
    TRY_OUT(rc, import_check(im, &g.run->spec, e));
    if (o->dict) TRY_OUT(rc, check_dictionary(project, a, o->dict, &g.run->spec.data, e));
    TRY_OUT(rc, store_open(&g.store, project_path(project, a, "results.db"), STORE_WRITE, e));
    TRY_OUT(rc, import_checkpoint(out, &g, im, path, o, e));
    fill_result(out, &plan, g.run);
out:
    store_close(g.store);
    plan_close(&plan);
    import_close(im);
    return rc;
}
