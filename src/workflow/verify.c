/* verify.c - checks results.db against checkpoints, records and repeated computation:
 *
 *   1. results.db itself (integrity, foreign keys)
 *   2. the checkpoints of every training, by their recorded hashes
 *   3. every current result against its event record in the attempt's folder
 *   4. with updates: reproduces runs bit for bit (worker/reproduce.c) */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "interchange/interchange.h"
#include "record/run_folder.h"
#include "source/source.h"
#include "worker/worker.h"
#include "workflow/workflow.h"

struct verify {
    const struct project *project;
    struct arena *arena;
    struct store *store;
    const struct verify_options *options;
    struct verify_summary *sum;
    const char *kind; /* of the source being verified */
};

/* The selected run and its training. */
#define VERIFY_CHOSEN(id) " (:run IS NULL OR " id " = :run)"

static void report_check(struct verify *v, enum verify_verdict verdict, const char *what,
                         const char *detail)
{
    v->options->report(v->options->context, verdict, what, detail);
    v->sum->wrong_n += verdict == VERIFY_WRONG;
}

/* --- 2. checkpoints ------------------------------------------------------------------------- */

/* Hashes the file of a checkpoint, or a source whose files are elsewhere. */
static int verify_weights(struct verify *v, const char *run_id, enum spec_checkpoint which,
                          const char *path, const char *sha256, struct err *e)
{
    struct safetensors *file;
    struct source source;
    struct spec spec;

    if (source_is_folder(v->kind)) {
        TRY(source_open(&source, v->project, run_id, which, NULL, NULL, e));
        source_close(&source);
        return 0;
    }
    TRY(checkpoint_open(&file, &spec, project_path(v->project, v->arena, path), sha256, run_id, e));
    safetensors_close(file);
    return 0;
}

static int verify_training(struct verify *v, const char *run_id, struct err *e)
{
    static const enum spec_checkpoint which[] = {SPEC_BEST, SPEC_LAST};
    char path[256], sha256[HASH_HEX_BYTES];
    const char *before = "";

    for (size_t i = 0; i < sizeof which / sizeof *which; i++) {
        struct err why = {0};
        TRY(store_checkpoint(v->store, run_id, which[i], path, sha256, e));
        if (strcmp(path, before) == 0) continue; /* best and last are the same file */
        before = arena_strdup(v->arena, path);
        int rc = verify_weights(v, run_id, which[i], path, sha256, &why);
        report_check(v, rc == 0 ? VERIFY_OK : VERIFY_WRONG, path, rc == 0 ? NULL : why.text);
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

/* Compares the columns of reproducible fields with the record. */
static void compare_result(struct verify *v, const struct record *r, const struct rows *rows,
                           const struct store_cell *row)
{
    for (int32_t k = 0; k < record_fields_n; k++) {
        const struct record_field *f = &record_fields[k];
        if (f->type != r->type || !f->column || !f->verified) continue;
        int i = RESULT_FIRST_FIELD;
        while (i < rows->columns_n && strcmp(rows->name[i], f->column) != 0) i++;
        const struct record_value value = record_get(r, f);
        const char *cell = i < rows->columns_n ? row[i].text : NULL;
        if (record_equals_cell(&value, cell)) continue;
        report_check(v, VERIFY_WRONG,
                     arena_printf(v->arena, "run %s: %s is %s in results.db, but %s in its record",
                                  store_text(&row[0]), f->column, cell ? cell : "nothing",
                                  record_format(&value, v->arena)),
                     NULL);
    }
}

static int verify_result(struct verify *v, const struct rows *rows, const struct store_cell *row,
                         struct err *e)
{
    struct arena *a = v->arena;
    struct err why = {0};
    const char *dir = project_path(v->project, a, store_text(&row[1]));
    const char *run_id = store_text(&row[0]);
    const char *events = run_folder_path(a, dir, RUN_EVENTS);
    const char *sequence = store_text(&row[2]);
    struct record r;

    v->sum->results_n++;
    if (!file_exists(events)) {
        report_check(
            v, VERIFY_MISSING,
            arena_printf(a, "run %s: its records are not on this machine (%s)", run_id, dir), NULL);
        return 0;
    }
    int rc = run_folder_record(&r, a, dir, strtoull(sequence, NULL, 10), &why);
    if (rc == 1 && (!record_is_result(&r) || strcmp(record_run_id(&r), run_id) != 0))
        rc = ERR(&why, ERR_DATA, "record %s is not a result of this run", sequence);
    if (rc < 0 && rc != ERR_DATA) return ERR(e, rc, "%s", why.text);
    if (rc == 1)
        compare_result(v, &r, rows, row);
    else
        report_check(v, VERIFY_WRONG,
                     arena_printf(a, "run %s: %s contains no record of its result", run_id, events),
                     rc < 0 ? why.text : NULL);
    return 0;
}

/* --- 4. reproduction -------------------------------------------------------------------------- */

static int verify_reproduced(struct verify *v, const char *run_id, const char *dir, struct err *e)
{
    struct arena *a = v->arena;
    struct reproduce_report r;
    const struct reproduce_options o = {
        .dir = project_path(v->project, a, dir), .run_id = run_id, .updates = v->options->updates};

    TRY(reproduce_run(&r, v->project, &o, e));
    if (!r.ran) {
        report_check(v, VERIFY_SKIPPED,
                     arena_printf(a, "run %s was not reproduced: %s", run_id, r.why), NULL);
        return 0;
    }
    v->sum->reproduced_n++;
    const char *what = r.updates ? arena_printf(a, "run %s, first %lld updates reproduced", run_id,
                                                (long long)r.updates)
                                 : arena_printf(a, "run %s, evaluation reproduced", run_id);
    if (r.differ_n == 0) {
        report_check(
            v, VERIFY_OK,
            arena_printf(
                a, "%s: %lld records agree bit for bit, %lld of them the hash of a checkpoint",
                what, (long long)r.compared_n, (long long)r.hashes_n),
            NULL);
    } else if (r.same_maker) {
        report_check(v, VERIFY_WRONG, what, r.why);
    } else {
        report_check(
            v, VERIFY_DIFFERENT,
            arena_printf(a, "%s: %lld records differ; %s", what, (long long)r.differ_n, r.why),
            arena_printf(a,
                         "bits are only guaranteed for the same program, device and libraries: %s",
                         r.maker));
    }
    return 0;
}

/* --- all steps ------------------------------------------------------------------------------ */

int workflow_verify(struct verify_summary *out, const struct project *project, struct arena *a,
                    struct store *store, const struct verify_options *o, struct err *e)
{
    static const char trainings_sql[] =
        "SELECT run_id, kind FROM trainings LEFT JOIN sources ON id = run_id AND current"
        " WHERE run_id IN (SELECT coalesce(train_run_id, run_id) FROM"
        " run_list WHERE" VERIFY_CHOSEN("run_id") ") ORDER BY run_id";
    static const char runs_sql[] =
        "SELECT v.run_id, a.dir FROM results v JOIN run_attempts a USING(attempt_id) WHERE"
        " v.current = 1 AND v.kind <> 'bench' AND" VERIFY_CHOSEN(
            "v.run_id") " ORDER BY v.kind DESC, v.run_id";
    static const char sources_sql[] =
        "SELECT id FROM sources WHERE current AND"
        " id NOT IN (SELECT run_id FROM results WHERE current = 1) AND" VERIFY_CHOSEN(
            "id") " ORDER BY id";
    struct verify v = {project, a, store, o, out, NULL};
    const struct store_param run = {"run", o->run_id, STORE_TEXT}; /* NULL: every run */
    struct rows rows;

    *out = (struct verify_summary){0};
    TRY(store_check(store, e));
    TRY(rows_read(&rows, a, store, trainings_sql, &run, 1, e));
    for (int32_t i = 0; i < rows.rows_n; i++) {
        v.kind = rows.row[i][1].text;
        TRY(verify_training(&v, store_text(&rows.row[i][0]), e));
    }
    TRY(rows_read(&rows, a, store, result_sql, &run, 1, e));
    for (int32_t i = 0; i < rows.rows_n; i++) TRY(verify_result(&v, &rows, rows.row[i], e));
    if (o->updates > 0) {
        TRY(rows_read(&rows, a, store, sources_sql, &run, 1, e));
        for (int32_t i = 0; i < rows.rows_n; i++)
            report_check(&v, VERIFY_SKIPPED,
                         arena_printf(a,
                                      "run %s was not reproduced: its weights were imported, not "
                                      "trained here",
                                      store_text(&rows.row[i][0])),
                         NULL);
        TRY(rows_read(&rows, a, store, runs_sql, &run, 1, e));
        for (int32_t i = 0; i < rows.rows_n; i++)
            TRY(verify_reproduced(&v, store_text(&rows.row[i][0]), store_text(&rows.row[i][1]), e));
    }
    if (o->run_id && out->results_n == 0 && out->checkpoints_n == 0)
        return ERR(e, ERR_NOINPUT, "run %s has no finished attempt to verify", o->run_id);
    return 0;
}
