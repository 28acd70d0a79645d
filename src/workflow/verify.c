/* command_verify.c - alibi verify: is what results.db shows still what was computed?
 *
 *   1. results.db itself (integrity, foreign keys)
 *   2. the checkpoints of every training, by their recorded hashes
 *   3. every current result against its record in the folder of its attempt
 *   4. with RUN, or --updates: the run done again, bit for bit (worker/again.h)
 * What is wrong is named and makes the exit status 65. What cannot be checked here is said and is
 * no fault. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/str.h"
#include "cli/cli.h"
#include "record/event.h"
#include "store/store.h"
#include "worker/again.h"

enum { VERIFY_UPDATES = 5 };

struct verify {
    struct cli *cli;
    struct store *store;
    struct store_param prefix; /* of run ids; "" for all */
    int64_t updates;           /* to do again; 0: none */
    int32_t checkpoints_n, results_n, again_n, wrong_n;
};

/* Runs that are meant: those whose id begins so, and the training of such an evaluation. */
#define VERIFY_MEANT(id)                                                                           \
    " (substr(" id ", 1, length(CAST(:prefix AS TEXT))) = CAST(:prefix AS TEXT))"

static void say(struct verify *v, bool ok, const char *what, const char *detail)
{
    printf("%-5s %s\n", ok ? "ok" : "WRONG", what);
    if (detail && *detail) printf("      %s\n", detail);
    v->wrong_n += !ok;
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
        before = arena_strdup(&v->cli->arena, path);
        int rc = hash_file(got, project_path(&v->cli->project, &v->cli->arena, path), &why);
        bool ok = rc == 0 && strcmp(got, want) == 0;
        const char *detail = arena_printf(
            &v->cli->arena, "hash %s, recorded %s; run the artefact with --redo", got, want);
        say(v, ok, path, ok ? NULL : rc < 0 ? why.text : detail);
        v->checkpoints_n++;
    }
    return 0;
}

/* --- 3. records ----------------------------------------------------------------------------- */

static const char result_sql[] =
    "SELECT v.run_id, a.dir, v.sequence, v.final_loss_nats, v.best_sha256, v.last_sha256,"
    " v.loss_nats, v.perplexity, v.tokens, v.nonfinite, v.checkpoint_sha256, v.wps FROM results v"
    " JOIN run_attempts a USING(attempt_id) JOIN runs r USING(run_id)"
    " WHERE v.current = 1 AND (" VERIFY_MEANT("v.run_id") ") ORDER BY v.kind DESC, v.run_id";
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
    const char *dir = project_path(&v->cli->project, &v->cli->arena, cells[1].text);
    int64_t sequence = strtoll(cells[2].text, NULL, 10);
    int rc;

    TRY(event_reader_open(reader, arena_printf(&v->cli->arena, "%s/events", dir), e));
    while ((rc = event_read(*reader, record, e)) == 1)
        if ((int64_t)record->sequence == sequence) return 1;
    return rc;
}

static int verify_result(void *context, int columns_n, const char *const *names,
                         const struct store_cell *cells, struct err *e)
{
    struct verify *v = context;
    struct arena *a = &v->cli->arena;
    struct event_reader *reader = NULL;
    struct event record;
    const char *dir = project_path(&v->cli->project, a, cells[1].text);

    v->results_n++;
    if (!file_exists(arena_printf(a, "%s/events", dir))) {
        printf("gone  run %s: its records are not here (%s)\n", cells[0].text, dir);
        return 0;
    }
    int rc = find_record(&reader, &record, v, cells, e);
    const char *run = rc == 1 ? json_string_value(json_object_get(record.json, "run_id")) : NULL;
    if (rc == 0 || (rc == 1 && (!run || strcmp(run, cells[0].text) != 0)))
        say(v, false,
            arena_printf(a, "run %s: %s/events holds no record of its result", cells[0].text, dir),
            NULL);
    for (int i = RESULT_FIRST_FIELD; rc == 1 && i < columns_n; i++) {
        const json_t *value = json_object_get(record.json, names[i]);
        if (cell_is(&cells[i], value)) continue;
        char *text = value ? json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(17)) : NULL;
        say(v, false,
            arena_printf(a, "run %s: %s is %s in results.db, %s in its record", cells[0].text,
                         names[i], cells[i].text ? cells[i].text : "nothing",
                         text ? text : "nothing"),
            NULL);
        free(text);
    }
    event_reader_close(reader);
    return rc < 0 ? rc : 0;
}

/* --- 4. done again -------------------------------------------------------------------------- */

static int verify_again(void *context, int columns_n, const char *const *names,
                        const struct store_cell *cells, struct err *e)
{
    struct verify *v = context;
    struct arena *a = &v->cli->arena;
    struct verify_report r;
    const struct again_options o = {.dir = project_path(&v->cli->project, a, cells[1].text),
                                    .run_id = cells[0].text,
                                    .updates = v->updates};

    (void)columns_n;
    (void)names;
    TRY(verify_run(&r, &v->cli->project, &o, e));
    if (!r.ran) {
        printf("      run %s was not done again: %s\n", cells[0].text, r.why);
        return 0;
    }
    v->again_n++;
    const char *what = r.updates ? arena_printf(a, "run %s, its first %lld updates done again",
                                                cells[0].text, (long long)r.updates)
                                 : arena_printf(a, "run %s, evaluated again", cells[0].text);
    if (r.differ_n == 0) {
        say(v, true,
            arena_printf(
                a, "%s: %lld records agree bit for bit, %lld of them the hash of a checkpoint",
                what, (long long)r.compared_n, (long long)r.hashes_n),
            NULL);
    } else if (r.same_maker) {
        say(v, false, what, r.why);
    } else {
        printf("other %s: %lld records differ; %s\n      the bits are only promised for the same "
               "program, device and libraries: %s\n",
               what, (long long)r.differ_n, r.why, r.maker);
    }
    return 0;
}

/* --- all of it ------------------------------------------------------------------------------ */

static int verify_all(struct verify *v, struct err *e)
{
    static const char trainings_sql[] =
        "SELECT run_id FROM trainings WHERE run_id IN (SELECT coalesce(train_run_id, run_id) FROM"
        " run_list WHERE" VERIFY_MEANT("run_id") ") ORDER BY run_id";
    static const char again_sql[] =
        "SELECT v.run_id, a.dir FROM results v JOIN run_attempts a USING(attempt_id) WHERE"
        " v.current = 1 AND v.kind <> 'bench' AND" VERIFY_MEANT(
            "v.run_id") " ORDER BY v.kind DESC, v.run_id";

    TRY(store_check(v->store, e));
    TRY(store_query(v->store, trainings_sql, &v->prefix, 1, 0, verify_training, v, e));
    TRY(store_query(v->store, result_sql, &v->prefix, 1, 0, verify_result, v, e));
    if (v->updates > 0) TRY(store_query(v->store, again_sql, &v->prefix, 1, 0, verify_again, v, e));
    printf("results.db is whole; %d checkpoints hashed, %d results compared with their records, %d "
           "runs done again, %d wrong\n",
           v->checkpoints_n, v->results_n, v->again_n, v->wrong_n);
    if (v->wrong_n)
        return ERR(e, ERR_DATA,
                   "%d things are not what was recorded; run the artefact with --redo to "
                   "make them again",
                   v->wrong_n);
    if (*v->prefix.value && v->results_n == 0)
        return ERR(e, ERR_NOINPUT, "%s: no finished run begins so", v->prefix.value);
    return 0;
}

int cli_verify(struct cli *c, const struct cli_command *self, int argc, char **argv, struct err *e)
{
    struct cli_list rest;
    struct verify v = {.cli = c, .prefix = {"prefix", ""}};
    const char *updates = NULL;
    const struct cli_option options[] = {
        {"updates", 'u', CLI_TEXT, &updates, "K",
         "updates of a training to do again; 0: none (default 5 with RUN, else 0)"},
        {0}};
    int rc = cli_parse(c, self, options, argc, argv, &rest, 0, 1, e);

    if (rc != 0) return rc < 0 ? rc : 0;
    if (rest.n) v.prefix.value = rest.item[0];
    if (strspn(v.prefix.value, "0123456789abcdef") != strlen(v.prefix.value))
        return ERR(e, ERR_USAGE, "%.40s: a run id is hex digits", v.prefix.value);
    v.updates = rest.n ? VERIFY_UPDATES : 0;
    if (updates && (!str_to_int(&v.updates, updates) || v.updates < 0))
        return ERR(e, ERR_USAGE, "--updates %.40s: not a whole number from 0", updates);
    TRY(cli_open(c, e));
    TRY(store_open(&v.store, cli_results(c), STORE_READ, e));
    rc = verify_all(&v, e);
    store_close(v.store);
    return rc;
}
