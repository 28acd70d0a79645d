/* verify.c - checks results.db against checkpoints, records and repeated computation:
 *
 *   1. results.db itself (integrity, foreign keys)
 *   2. the checkpoints of every training, by their recorded hashes
 *   3. every current result against its event record in the attempt's folder
 *   4. with updates: reproduces runs bit for bit (worker/reproduce.h) */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "interchange/checkpoint.h"
#include "record/run_folder.h"
#include "worker/reproduce.h"
#include "workflow/workflow.h"

struct verify {
    const struct project *project;
    struct arena *arena;
    struct store *store;
    const struct verify_options *options;
    struct store_param run; /* NULL: every run */
    struct verify_summary *sum;
};

/* The selected run and its training. */
#define VERIFY_CHOSEN(id) " (:run IS NULL OR " id " = CAST(:run AS TEXT))"

static void report(struct verify *v, enum verify_verdict verdict, const char *what,
                   const char *detail)
{
    v->options->report(v->options->context, verdict, what, detail);
    v->sum->wrong_n += verdict == VERIFY_WRONG;
}

/* --- 2. checkpoints ------------------------------------------------------------------------- */

static int verify_training(void *context, int columns_n, const char *const *names,
                           const struct store_cell *cells, struct err *e)
{
    static const enum spec_checkpoint which[] = {SPEC_BEST, SPEC_LAST};
    struct verify *v = context;
    char path[256], sha256[HASH_HEX_BYTES];
    const char *before = "";

    (void)columns_n;
    (void)names;
    for (size_t i = 0; i < sizeof which / sizeof *which; i++) {
        struct err why = {0};
        struct safetensors *file;
        TRY(store_checkpoint(v->store, cells[0].text, which[i], path, sha256, e));
        if (strcmp(path, before) == 0) continue; /* best and last are the same file */
        before = arena_strdup(v->arena, path);
        int rc = checkpoint_open(&file, NULL, project_path(v->project, v->arena, path), sha256,
                                 cells[0].text, &why);
        safetensors_close(file);
        report(v, rc == 0 ? VERIFY_OK : VERIFY_WRONG, path, rc == 0 ? NULL : why.text);
        v->sum->checkpoints_n++;
    }
    return 0;
}

/* --- 3. records ----------------------------------------------------------------------------- */

static const char result_sql[] =
    "SELECT v.run_id, a.dir, v.sequence, v.* FROM results v"
    " JOIN run_attempts a USING(attempt_id) JOIN runs r USING(run_id)"
    " WHERE v.current = 1 AND (" VERIFY_CHOSEN("v.run_id") ") ORDER BY v.kind DESC, v.run_id";
enum { RESULT_FIRST_FIELD = 3 };

/* The event record of a result. */
struct result_record {
    struct arena *arena;
    const char *run_id;
    int64_t sequence;
    struct record record;
};

static int take_record(void *context, const struct event *ev, struct err *e)
{
    struct result_record *x = context;
    struct record r;

    if ((int64_t)ev->sequence != x->sequence) return 0;
    TRY(record_read(&r, ev, e));
    const char *run_id = record_run_id(&r);
    if (!run_id || strcmp(run_id, x->run_id) != 0)
        return ERR(e, ERR_DATA, "record %lld is not a result of this run", (long long)x->sequence);
    record_copy(&x->record, &r, x->arena);
    return 1;
}

/* Compares the columns of reproducible fields with the record. */
static void compare_result(struct verify *v, const struct record *r, int columns_n,
                           const char *const *names, const struct store_cell *cells)
{
    for (int32_t k = 0; k < record_fields_n; k++) {
        const struct record_field *f = &record_fields[k];
        if (f->type != r->type || !f->column || !f->verified) continue;
        int i = RESULT_FIRST_FIELD;
        while (i < columns_n && strcmp(names[i], f->column) != 0) i++;
        const struct record_value value = record_get(r, f);
        const char *cell = i < columns_n ? cells[i].text : NULL;
        if (record_equals_cell(&value, cell)) continue;
        report(v, VERIFY_WRONG,
               arena_printf(v->arena, "run %s: %s is %s in results.db, but %s in its record",
                            cells[0].text, f->column, cell ? cell : "nothing",
                            record_format(&value, v->arena)),
               NULL);
    }
}

static int verify_result(void *context, int columns_n, const char *const *names,
                         const struct store_cell *cells, struct err *e)
{
    struct verify *v = context;
    struct arena *a = v->arena;
    struct err why = {0};
    const char *dir = project_path(v->project, a, cells[1].text);
    const char *events = run_folder_path(a, dir, RUN_EVENTS);
    struct result_record x = {
        .arena = a, .run_id = cells[0].text, .sequence = strtoll(cells[2].text, NULL, 10)};

    v->sum->results_n++;
    if (!file_exists(events)) {
        report(
            v, VERIFY_MISSING,
            arena_printf(a, "run %s: its records are not on this machine (%s)", cells[0].text, dir),
            NULL);
        return 0;
    }
    int rc = run_folder_each(dir, take_record, &x, &why);
    if (rc < 0 && rc != ERR_DATA) return ERR(e, rc, "%s", why.text);
    if (rc == 1)
        compare_result(v, &x.record, columns_n, names, cells);
    else
        report(
            v, VERIFY_WRONG,
            arena_printf(a, "run %s: %s contains no record of its result", cells[0].text, events),
            rc < 0 ? why.text : NULL);
    return 0;
}

/* --- 4. reproduction -------------------------------------------------------------------------- */

static int verify_reproduced(void *context, int columns_n, const char *const *names,
                             const struct store_cell *cells, struct err *e)
{
    struct verify *v = context;
    struct arena *a = v->arena;
    struct verify_report r;
    const struct verify_run_options o = {.dir = project_path(v->project, a, cells[1].text),
                                         .run_id = cells[0].text,
                                         .updates = v->options->updates};

    (void)columns_n;
    (void)names;
    TRY(verify_run(&r, v->project, &o, e));
    if (!r.ran) {
        report(v, VERIFY_SKIPPED,
               arena_printf(a, "run %s was not reproduced: %s", cells[0].text, r.why), NULL);
        return 0;
    }
    v->sum->reproduced_n++;
    const char *what = r.updates ? arena_printf(a, "run %s, first %lld updates reproduced",
                                                cells[0].text, (long long)r.updates)
                                 : arena_printf(a, "run %s, evaluation reproduced", cells[0].text);
    if (r.differ_n == 0) {
        report(v, VERIFY_OK,
               arena_printf(
                   a, "%s: %lld records agree bit for bit, %lld of them the hash of a checkpoint",
                   what, (long long)r.compared_n, (long long)r.hashes_n),
               NULL);
    } else if (r.same_maker) {
        report(v, VERIFY_WRONG, what, r.why);
    } else {
        report(v, VERIFY_DIFFERENT,
               arena_printf(a, "%s: %lld records differ; %s", what, (long long)r.differ_n, r.why),
               arena_printf(
                   a, "bits are only guaranteed for the same program, device and libraries: %s",
                   r.maker));
    }
    return 0;
}

/* --- all steps ------------------------------------------------------------------------------ */

int workflow_verify(struct verify_summary *out, const struct project *project, struct arena *a,
                    struct store *store, const struct verify_options *o, struct err *e)
{
    static const char trainings_sql[] =
        "SELECT run_id FROM trainings WHERE run_id IN (SELECT coalesce(train_run_id, run_id) FROM"
        " run_list WHERE" VERIFY_CHOSEN("run_id") ") ORDER BY run_id";
    static const char runs_sql[] =
        "SELECT v.run_id, a.dir FROM results v JOIN run_attempts a USING(attempt_id) WHERE"
        " v.current = 1 AND v.kind <> 'bench' AND" VERIFY_CHOSEN(
            "v.run_id") " ORDER BY v.kind DESC, v.run_id";
    struct verify v = {project, a, store, o, {"run", o->run_id}, out};

    *out = (struct verify_summary){0};
    TRY(store_check(store, e));
    TRY(store_query(store, trainings_sql, &v.run, 1, 0, verify_training, &v, e));
    TRY(store_query(store, result_sql, &v.run, 1, 0, verify_result, &v, e));
    if (o->updates > 0) TRY(store_query(store, runs_sql, &v.run, 1, 0, verify_reproduced, &v, e));
    if (o->run_id && out->results_n == 0)
        return ERR(e, ERR_NOINPUT, "run %s has no finished attempt to verify", o->run_id);
    return 0;
}
