/* attempt.c - the life of an attempt.
 *
 * Start:
 * 1. Claim the first free number. Neither an attempt of a deleted database nor a folder without a
 *    row is overwritten.
 * 2. Write `spec`, and `fresh` for a redo.
 * 3. Start the worker with the executor of its slot.
 * 4. Sync the folder while the worker starts, and add a running row for every run.
 *
 * Recover: take control of a worker that an earlier scheduler left running.
 * Poll: ingest records first; they decide whether a worker is stalled and what its end means. */
#include "scheduler/scheduler_internal.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/str.h"
#include "record/run_folder.h"

enum { ATTEMPT_LOG_TAIL_BYTES = 2048 };

/* --- start ---------------------------------------------------------------------------------- */

static struct attempt *attempt_make(const struct scheduler *sc, struct executor_open *x, int32_t n)
{
    struct attempt *at = calloc(1, sizeof *at);

    if (!at) abort(); /* a few hundred bytes: see arena.h */
    arena_init(&at->arena);
    at->run = arena_array(&at->arena, (size_t)n, sizeof *at->run);
    at->entry = arena_array(&at->arena, (size_t)n, sizeof *at->entry);
    at->n = n;
    at->executor = x;
    at->start_us = at->last_record_us = scheduler_now_us(sc);
    return at;
}

void attempt_free(struct attempt *at)
{
    if (!at) return;
    if (at->worker) at->executor->kind->release(at->worker);
    journal_close(&at->journal);
    arena_fini(&at->arena);
    free(at);
}

char *attempt_log(const struct attempt *at, struct arena *a, const char *dir)
{
    return worker_log(a, dir, at->rank);
}

/* Writes `spec` and `fresh` (step 2). */
static int attempt_write_files(struct attempt *at, const struct queue *q, struct err *e)
{
    const struct spec **spec = arena_array(&at->arena, (size_t)at->n, sizeof *spec);

    for (int32_t i = 0; i < at->n; i++) spec[i] = &q->run[at->entry[i]].spec;
    if (q->entry[at->entry[0]].fresh) TRY(run_folder_set_fresh(at->path, e));
    return run_folder_write_specs(at->path, spec, at->n, e);
}

/* The device of a process. A GPU is named by its UUID: numbers change when one fails. A worker that
 * sees one GPU sees it as its first. */
static struct worker_place attempt_place(struct attempt *at, const struct slots *sl, int32_t i)
{
    const struct slot *slot = &sl->slot[at->slot[i]];
    const struct device *device = &sl->device[slot->device];

    return (struct worker_place){
        .device = slot->cuda >= 0 ? "cuda:0" : device->name,
        .gpu = slot->cuda < 0  ? ""
               : *device->uuid ? device->uuid
                               : arena_printf(&at->arena, "%ld", (long)slot->cuda),
        .cpu = slot->cpu,
    };
}

/* Starts the worker (step 3). */
static int attempt_spawn(struct attempt *at, const struct scheduler *sc, struct err *e)
{
    struct worker_place *place = arena_array(&at->arena, (size_t)at->slots_n, sizeof *place);

    for (int32_t i = 0; i < at->slots_n; i++) place[i] = attempt_place(at, &sc->slots, i);
    const struct worker_command o = {
        .dir = at->dir,
        .attempt_dir = at->path,
        .place = place,
        .places_n = at->slots_n,
        .ranks_n = at->ranks_n,
        .alone = sc->queue.run[at->entry[0]].spec.kind == SPEC_BENCH,
        .avoid_blas = sc->queue.entry[at->entry[0]].avoid_blas,
    };
    TRY(journal_open(&at->journal, at->path, at->run, at->n, e));
    return at->executor->kind->start(at->executor->self, &at->worker, &at->id, &o, e);
}

/* Adds the rows (step 4). number: the attempt's number in each run. */
static int attempt_record(struct attempt *at, const struct scheduler *sc, const int32_t *number,
                          struct err *e)
{
    TRY(run_folder_sync(at->path, e));
    for (int32_t i = 0; i < at->n; i++) {
        struct store_attempt row = {
            .run_id = at->run[i].run_id,
            .attempt = number[i],
            .device = sc->slots.device[sc->slots.slot[at->slot[0]].device].name,
            .host = at->id.host,
            .boot_id = at->id.boot_id,
            .pid = at->id.pid,
            .pid_start = at->id.pid_start,
            .dir = at->dir,
        };
        TRY(store_start_attempt(sc->store, &row, &at->run[i].attempt_id, e));
    }
    return 0;
}

int attempt_start(struct attempt **out, struct scheduler *sc, int32_t n, const int32_t *slot,
                  int32_t slots_n, struct err *e)
{
    int rc = 0;
    char *dir;
    struct attempt *at = attempt_make(sc, &sc->executor[slots_executor(&sc->slots, slot[0])], n);
    int32_t *number = arena_array(&at->arena, (size_t)n, sizeof *number);

    at->slot = arena_array(&at->arena, (size_t)slots_n, sizeof *slot);
    memcpy(at->slot, slot, (size_t)slots_n * sizeof *slot);
    at->slots_n = slots_n;
    at->ranks_n = slots_ranks(&sc->slots, &sc->queue.run[sc->queue.pick[0]].spec);
    at->entries_n = n;
    for (int32_t i = 0; i < n; i++) {
        struct store_run_state st;
        at->entry[i] = sc->queue.pick[i];
        memcpy(at->run[i].run_id, sc->queue.run[at->entry[i]].run_id, SPEC_ID_BYTES);
        TRY_OUT(rc, store_run_state(sc->store, at->run[i].run_id, &st, e));
        number[i] = st.attempts_n + 1;
    }
    TRY_OUT(rc, run_folder_claim(&dir, &number[0], &at->arena, sc->project->root, at->run[0].run_id,
                                 number[0], e));
    at->dir = dir;
    at->path = project_path(sc->project, &at->arena, dir);
    TRY_OUT(rc, attempt_write_files(at, &sc->queue, e));
    TRY_OUT(rc, attempt_spawn(at, sc, e));
    rc = attempt_record(at, sc, number, e);
out:
    if (rc < 0) {
        /* An attempt without a row must not start later, even if a cluster has accepted it. */
        if (at->path) unlink(run_folder_path(&at->arena, at->path, RUN_SPEC));
        attempt_free(at);
        at = NULL;
    }
    *out = at;
    return rc;
}

/* --- recover -------------------------------------------------------------------------------- */

int attempt_recover(struct attempt **out, struct scheduler *sc, const struct store_running *row,
                    int32_t n, struct err *e)
{
    struct executor_open *x = &sc->executor[executor_find(sc->table, row->slot)];
    struct attempt *at = attempt_make(sc, x, n);

    for (int32_t i = 0; i < n; i++) {
        memcpy(at->run[i].run_id, row[i].run_id, sizeof row[i].run_id);
        at->run[i].attempt_id = row[i].attempt_id;
    }
    at->dir = arena_strdup(&at->arena, row->dir);
    at->path = project_path(sc->project, &at->arena, at->dir);
    int rc = 0; /* the workers of another project are not killed or adopted */
    if (run_folder_parse_own(row->dir, NULL, NULL))
        rc = x->kind->recover(x->self, &at->worker, &at->id, row, at->path, e);
    if (rc > 0)
        rc = journal_open(&at->journal, at->path, at->run, n, e);
    else if (rc == 0)
        rc = ingest_abandoned(sc->store, at->path, row, n, NULL, e);
    if (rc < 0) err_ctx(e, "%s", row->dir);
    if (rc < 0 || !at->worker) {
        attempt_free(at);
        at = NULL;
    }
    *out = at;
    return rc;
}

void attempt_find_entries(struct attempt *at, const struct queue *q)
{
    for (int32_t i = 0; i < at->n; i++)
        for (int32_t k = 0; k < q->n; k++)
            if (strcmp(q->run[k].run_id, at->run[i].run_id) == 0) at->entry[at->entries_n++] = k;
}

/* --- poll ----------------------------------------------------------------------------------- */

/* Sets the message and returns the state. */
static enum store_state attempt_conclude(struct attempt *at, enum store_state state,
                                         const char *format, ...) ERR_PRINTF(3, 4);
static enum store_state attempt_conclude(struct attempt *at, enum store_state state,
                                         const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(at->message, sizeof at->message, format, args);
    va_end(args);
    return state;
}

/* The rank that a message of the ranks blames ("rank 5 on node7, cuda:3: …"); -1: it blames none,
 * as that of a meeting to which some did not come, or of a rank that waited for another. */
static int32_t attempt_blamed_rank(const char *message)
{
    int rank = -1, n = 0;
    bool found = sscanf(message, "rank %d on %*[^,], %*s%n", &rank, &n) == 1 && n > 0;
    bool is_its_own = found && message[n - 1] == ':' && strncmp(message + n, " rank ", 6) != 0;
    return is_its_own ? (int32_t)rank : -1;
}

/* True if a signal explains the end. Rank 0 may have recorded another cause before a rank crashed.
 */
static bool attempt_was_killed(const struct attempt *at, const struct exit_info *end)
{
    const struct journal *j = &at->journal;
    bool has_cause = j->reported != STORE_NONE && j->reported != STORE_DONE;

    return end->signal >= 0 &&
           !(has_cause && end->rank > 0 && attempt_blamed_rank(j->message) != end->rank);
}

/* True if a process could not use its device. One that is not rank 0 says so by its exit status, if
 * it ends before it has met the others; the messages of a meeting and of a lost connection blame no
 * device. */
static bool attempt_gave_up(const struct attempt *at, const struct exit_info *end)
{
    const struct journal *j = &at->journal;
    bool is_about_ranks = strncmp(j->message, "rank ", 5) == 0;

    if (j->reported == STORE_NONE)
        return end->rank > 0 && end->exit_code == err_exit_code(ERR_UNAVAILABLE);
    if (!j->unavailable || (j->reported != STORE_FAILED && j->reported != STORE_LOST)) return false;
    return !is_about_ranks ||
           (attempt_blamed_rank(j->message) >= 0 && !strstr(j->message, "connection lost"));
}

/* Returns the outcome: done needs exit status 0, the last record and the results. If nobody
 * observed the end, the last record decides. */
static enum store_state attempt_outcome(struct attempt *at, const struct exit_info *end)
{
    const struct journal *j = &at->journal;
    enum store_state cut_off = at->stop_sent ? STORE_CANCELLED : STORE_LOST;
    bool has_results = journal_has_results(j);
    char tail[ATTEMPT_LOG_TAIL_BYTES + 1], rank[32] = "";

    attempt_conclude(at, STORE_NONE, "%s", j->message);
    if (j->broken) return STORE_FAILED;
    if (at->killed_stalled_us > 0 && j->reported != STORE_DONE) /* even if it recorded an end */
        return attempt_conclude(at, STORE_LOST, "no record for %.0f s: killed",
                                (double)(at->killed_stalled_us - at->last_record_us) / 1e6);
    if (at->ranks_n > 1 && !at->stop_sent)
        snprintf(rank, sizeof rank, "rank %ld was ", (long)end->rank);
    if (attempt_was_killed(at, end))
        return attempt_conclude(at, cut_off, "%s%s by signal %d (%s)", rank,
                                at->stop_sent ? "stopped" : "killed", end->signal,
                                strsignal(end->signal));
    at->gave_up = attempt_gave_up(at, end);
    if (j->reported == STORE_FAILED || j->reported == STORE_DIVERGED || j->reported == STORE_LOST)
        return j->reported;
    if (j->reported == STORE_DONE && has_results && end->exit_code <= 0) return STORE_DONE;
    if (end->exit_code < 0) return attempt_conclude(at, cut_off, "%s", end->why);
    if (j->reported != STORE_DONE && at->stop_sent) return STORE_CANCELLED;
    if (j->reported == STORE_CANCELLED)
        return attempt_conclude(at, STORE_LOST, "stopped by a signal from elsewhere");
    if (end->exit_code == 0 || j->reported == STORE_DONE)
        return attempt_conclude(at, STORE_FAILED, "exit %d without %s", end->exit_code,
                                j->reported == STORE_NONE ? "a last record"
                                : has_results ? "success, though its last record says done"
                                              : "the result it was started for");
    /* Without a record, the log may tell why. */
    file_read_tail(tail, sizeof tail, attempt_log(at, &at->arena, at->path));
    const char *line = str_last_line(tail);
    if (at->ranks_n > 1) snprintf(rank, sizeof rank, "rank %ld: ", (long)end->rank);
    return attempt_conclude(at, at->gave_up ? STORE_LOST : STORE_FAILED, "%sexit %d: %.255s", rank,
                            end->exit_code, *line ? line : "no message");
}

enum store_state attempt_run_state(const struct attempt *at, const char *run_id)
{
    int32_t i = 0;

    while (strcmp(at->run[i].run_id, run_id) != 0) i++;
    return journal_state(&at->journal, &at->run[i], at->state);
}

/* Ends the rows of the attempt. */
static int attempt_end(struct attempt *at, struct scheduler *sc, const struct exit_info *how,
                       struct err *e)
{
    int32_t blamed = attempt_blamed_rank(at->journal.message);
    bool is_told = at->journal.reported != STORE_NONE && !attempt_was_killed(at, how);
    at->rank = !is_told ? how->rank : blamed > 0 ? blamed : 0;
    at->state = attempt_outcome(at, how);
    /* Without SIGABRT, by which the program itself ends: most often it is out of memory. */
    at->crashed = how->signal == SIGSEGV || how->signal == SIGBUS || how->signal == SIGILL ||
                  how->signal == SIGFPE;
    if (!sc->batch) TRY(store_begin(sc->store, e));
    sc->batch = true;
    struct store_end end = {.exit_code = how->exit_code,
                            .signal = how->signal,
                            .message = *at->message ? at->message : NULL};
    for (int32_t i = 0; i < at->n; i++) {
        end.state = attempt_run_state(at, at->run[i].run_id);
        TRY(store_end_attempt(sc->store, at->run[i].attempt_id, &end, e));
    }
    return 0;
}

int attempt_poll(struct attempt *at, struct scheduler *sc, struct err *e)
{
    struct exit_info how;
    const struct executor *x = at->executor->kind;
    int64_t before, now_us = scheduler_now_us(sc), first = at->journal.records_n;
    enum worker_state state = x->poll(at->worker, at->journal.reported != STORE_NONE, &how);

    do {
        before = at->journal.records_n;
        TRY(ingest_new_records(&at->journal, sc->store, &sc->batch, e));
    } while (state == WORKER_ENDED && at->journal.records_n > before);
    if (at->journal.records_n > first) at->last_record_us = now_us;
    if (state == WORKER_ENDED) return attempt_end(at, sc, &how, e);
    if (at->journal.records_n == 0 && state == WORKER_QUEUED)
        at->start_us = at->last_record_us = now_us;
    bool stalled = (double)(now_us - at->last_record_us) / 1e6 > sc->stall_s;
    if (stalled && at->killed_stalled_us == 0) at->killed_stalled_us = now_us;
    if (at->killed_stalled_us > 0 || at->journal.broken) x->signal(at->worker, WORKER_KILL);
    return 0;
}

bool attempt_was_preempted(const struct attempt *at)
{
    return at->state == STORE_LOST && at->killed_stalled_us == 0 &&
           at->journal.reported == STORE_CANCELLED && at->journal.has_checkpoint;
}

const char *attempt_failed_blas(const struct attempt *at)
{
    /* It is not known whether the library or the device of one of several ranks gave up. */
    bool refused = at->gave_up && at->state == STORE_FAILED;

    return (at->crashed || refused) && *at->journal.blas ? at->journal.blas : NULL;
}
