/* verify.c - is what results.db shows still what was computed?
 *
 *   1. results.db itself (integrity, foreign keys)
 *   2. the checkpoints of every training, by their recorded hashes
 *   3. every current result against its record in the folder of its attempt
 *   4. if updates are given: the run reproduced bit for bit (worker/again.h) */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/str.h"
#include "record/event.h"
#include "worker/again.h"
#include "workflow/workflow.h"

struct verify {
    const struct project *project;
    struct arena *arena;
    struct store *store;
    const struct verify_options *options;
    struct store_param run; /* NULL: every run */
    struct verify_summary *sum;
};

/* The chosen run, and its training. */
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
    char path[256], want[HASH_HEX_BYTES], got[HASH_HEX_BYTES];
    const char *before = "";

    (void)columns_n;
    (void)names;
    for (size_t i = 0; i < sizeof which / sizeof *which; i++) {
        struct err why = {0};
        TRY(store_checkpoint(v->store, cells[0].text, which[i], path, want, e));
        if (strcmp(path, before) == 0) continue; /* the best is the last */
        before = arena_strdup(v->arena, path);
        int rc = hash_file(got, project_path(v->project, v->arena, path), &why);
        bool ok = rc == 0 && strcmp(got, want) == 0;
        const char *detail = arena_printf(
            v->arena, "hash %s, recorded %s; `alibi run --redo` replaces it", got, want);
        report(v, ok ? VERIFY_OK : VERIFY_WRONG, path, ok ? NULL : rc < 0 ? why.text : detail);
        v->sum->checkpoints_n++;
    }
    return 0;
}

/* --- 3. records ----------------------------------------------------------------------------- */

static const char result_sql[] =
    "SELECT v.run_id, a.dir, v.sequence, v.final_loss_nats, v.best_sha256, v.last_sha256,"
    " v.loss_nats, v.perplexity, v.tokens, v.nonfinite, v.checkpoint_sha256, v.wps FROM results v"
    " JOIN run_attempts a USING(attempt_id) JOIN runs r USING(run_id)"
    " WHERE v.current = 1 AND (" VERIFY_CHOSEN("v.run_id") ") ORDER BY v.kind DESC, v.run_id";
enum { RESULT_FIRST_FIELD = 3 };

/* Whether a cell says what the record says; what neither has is equal. */
static bool cell_is(const struct store_cell *cell, const json_t *value)
{
    double number;

    if (json_is_string(value))
        return cell->text && strcmp(cell->text, json_string_value(value)) == 0;
    if (json_is_number(value))
        return cell->text && str_to_double(&number, cell->text) &&
               number == json_number_value(value);
    return cell->text == NULL;
}

/* The record that a result was made from; 1 found, 0 not. */
static int find_record(struct event_reader **reader, struct event *record, struct verify *v,
                       const struct store_cell *cells, struct err *e)
{
    const char *dir = project_path(v->project, v->arena, cells[1].text);
    int64_t sequence = strtoll(cells[2].text, NULL, 10);
    int rc;

    TRY(event_reader_open(reader, arena_printf(v->arena, "%s/events", dir), e));
    while ((rc = event_read(*reader, record, e)) == 1)
        if ((int64_t)record->sequence == sequence) return 1;
    return rc;
}

static int verify_result(void *context, int columns_n, const char *const *names,
                         const struct store_cell *cells, struct err *e)
{
    struct verify *v = context;
    struct arena *a = v->arena;
    struct event_reader *reader = NULL;
    struct event record;
    const char *dir = project_path(v->project, a, cells[1].text);

    v->sum->results_n++;
    if (!file_exists(arena_printf(a, "%s/events", dir))) {
        report(
            v, VERIFY_MISSING,
            arena_printf(a, "run %s: its records are not on this machine (%s)", cells[0].text, dir),
            NULL);
        return 0;
    }
    int rc = find_record(&reader, &record, v, cells, e);
    const char *run = rc == 1 ? json_string_value(json_object_get(record.json, "run_id")) : NULL;
    if (rc == 0 || (rc == 1 && (!run || strcmp(run, cells[0].text) != 0)))
        report(
            v, VERIFY_WRONG,
            arena_printf(a, "run %s: %s/events holds no record of its result", cells[0].text, dir),
            NULL);
    for (int i = RESULT_FIRST_FIELD; rc == 1 && i < columns_n; i++) {
        const json_t *value = json_object_get(record.json, names[i]);
        if (cell_is(&cells[i], value)) continue;
        char *text = value ? json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(17)) : NULL;
        report(v, VERIFY_WRONG,
               arena_printf(a, "run %s: %s is %s in results.db, %s in its record", cells[0].text,
                            names[i], cells[i].text ? cells[i].text : "nothing",
                            text ? text : "nothing"),
               NULL);
        free(text);
    }
    event_reader_close(reader);
    return rc < 0 ? rc : 0;
}

/* --- 4. reproduction -------------------------------------------------------------------------- */

static int verify_reproduced(void *context, int columns_n, const char *const *names,
                             const struct store_cell *cells, struct err *e)
{
    struct verify *v = context;
    struct arena *a = v->arena;
    struct verify_report r;
    const struct again_options o = {.dir = project_path(v->project, a, cells[1].text),
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
               arena_printf(a,
                            "equal bits are promised only for the same program, device and "
                            "libraries: %s",
                            r.maker));
    }
    return 0;
}

/* --- all of it ------------------------------------------------------------------------------ */

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
