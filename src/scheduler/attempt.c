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
#include "scheduler/attempt.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/str.h"
#include "record/run_folder.h"
#include "scheduler/call.h"
#include "scheduler/executor.h"
#include "scheduler/queue.h"
#include "scheduler/slots.h"

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
static struct worker_device attempt_device(struct attempt *at, const struct slots *sl, int32_t i)
{
    const struct slot *slot = &sl->slot[at->slot[i]];
    const struct device *device = &sl->device[slot->device];

    return (struct worker_device){
        .name = slot->cuda >= 0 ? "cuda:0" : device->name,
        .gpu = slot->cuda < 0  ? ""
               : *device->uuid ? device->uuid
                               : arena_printf(&at->arena, "%ld", (long)slot->cuda),
        .cpu = slot->cpu,
    };
}

/* Starts the worker (step 3). */
static int attempt_spawn(struct attempt *at, const struct scheduler *sc, struct err *e)
{
    struct worker_device *device = arena_array(&at->arena, (size_t)at->slots_n, sizeof *device);

    for (int32_t i = 0; i < at->slots_n; i++) device[i] = attempt_device(at, &sc->slots, i);
    const struct worker_command o = {
        .dir = at->dir,
        .attempt_dir = at->path,
        .device = device,
        .devices_n = at->slots_n,
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

/* Deletes the key of a meeting in which rank 0 was killed. */
static void attempt_forget_meeting(struct attempt *at)
{
    unlink(run_folder_path(&at->arena, at->path, RUN_MEET));
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
    bool is_own = run_folder_parse_own(row->dir, NULL, NULL);
    if (is_own) rc = x->kind->recover(x->self, &at->worker, &at->id, row, at->path, e);
    if (rc > 0)
        rc = journal_open(&at->journal, at->path, at->run, n, e);
    else if (rc == 0)
        rc = ingest_abandoned(sc->store, at->path, row, n, NULL, e);
    if (rc == 0 && !at->worker && is_own) attempt_forget_meeting(at);
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

/* The outcomes, by the first row whose facts all hold: what nobody observed ends as the records
 * say, what was observed must agree with them, and done needs exit status 0, the last record and
 * the results. */
const struct attempt_outcome attempt_outcomes[] = {
    {FACT_BROKEN, 0, STORE_FAILED, ATTEMPT_RECORD},
    {FACT_STALLED, FACT_DONE, STORE_LOST, ATTEMPT_STALLED}, /* even if it recorded an end */
    {FACT_KILLED | FACT_STOPPED, 0, STORE_CANCELLED, ATTEMPT_SIGNAL},
    {FACT_KILLED, 0, STORE_LOST, ATTEMPT_SIGNAL},
    {FACT_FAILED, 0, STORE_FAILED, ATTEMPT_RECORD},
    {FACT_DIVERGED, 0, STORE_DIVERGED, ATTEMPT_RECORD},
    {FACT_LOST, 0, STORE_LOST, ATTEMPT_RECORD},
    {FACT_DONE | FACT_RESULTS, FACT_EXIT_NOT_0, STORE_DONE, ATTEMPT_RECORD},
    {FACT_UNSEEN | FACT_STOPPED, 0, STORE_CANCELLED, ATTEMPT_WHY},
    {FACT_UNSEEN, 0, STORE_LOST, ATTEMPT_WHY},
    {FACT_STOPPED, FACT_DONE, STORE_CANCELLED, ATTEMPT_RECORD},
    {FACT_CANCELLED, 0, STORE_LOST, ATTEMPT_STOPPED},
    {FACT_DONE | FACT_RESULTS, 0, STORE_FAILED, ATTEMPT_NO_SUCCESS},
    {FACT_DONE, 0, STORE_FAILED, ATTEMPT_NO_RESULT},
    {0, FACT_EXIT_NOT_0, STORE_FAILED, ATTEMPT_NO_RECORD},
    {FACT_GAVE_UP, 0, STORE_LOST, ATTEMPT_LOG}, /* without a record, the log may tell why */
    {0, 0, STORE_FAILED, ATTEMPT_LOG},
};

const struct attempt_outcome *attempt_judge(uint32_t facts)
{
    const struct attempt_outcome *o = attempt_outcomes;

    while ((facts & o->all) != o->all || (facts & o->none)) o++;
    return o;
}

/* True if the record of an error blames the process of this rank: it reported the error, or its
 * connection broke. One that was silent or absent is only missed by another one. */
static bool attempt_blames(const struct journal *j, int32_t rank)
{
    return j->rank == rank && (j->cause == ERR_CAUSE_OWN || j->cause == ERR_CAUSE_LOST);
}

/* True if a signal explains the end. Rank 0 may have recorded another cause before a rank crashed.
 */
static bool attempt_was_killed(const struct attempt *at, const struct exit_info *end)
{
    const struct journal *j = &at->journal;
    bool has_cause = j->reported != STORE_NONE && j->reported != STORE_DONE;

    return end->signal >= 0 && !(has_cause && end->rank > 0 && !attempt_blames(j, end->rank));
}

/* True if a process could not use its device. One that is not rank 0 says so by its exit status, if
 * it ends before it has met the others. */
static bool attempt_gave_up(const struct attempt *at, const struct exit_info *end)
{
    const struct journal *j = &at->journal;

    if (j->broken || at->killed_stalled_us > 0 || attempt_was_killed(at, end)) return false;
    if (j->reported == STORE_NONE)
        return end->rank > 0 && end->exit_code == err_exit_code(ERR_UNAVAILABLE);
    return j->code == ERR_UNAVAILABLE && j->cause == ERR_CAUSE_OWN &&
           (j->reported == STORE_FAILED || j->reported == STORE_LOST);
}

static uint32_t attempt_facts(const struct attempt *at, const struct exit_info *end)
{
    static const uint32_t reports[] = {[STORE_DONE] = FACT_DONE,
                                       [STORE_FAILED] = FACT_FAILED,
                                       [STORE_DIVERGED] = FACT_DIVERGED,
                                       [STORE_CANCELLED] = FACT_CANCELLED,
                                       [STORE_LOST] = FACT_LOST};
    const struct journal *j = &at->journal;
    uint32_t facts = j->reported == STORE_NONE ? 0 : reports[j->reported];

    if (j->broken) facts |= FACT_BROKEN;
    if (journal_has_results(j)) facts |= FACT_RESULTS;
    if (at->killed_stalled_us > 0) facts |= FACT_STALLED;
    if (at->stop_sent) facts |= FACT_STOPPED;
    if (at->gave_up) facts |= FACT_GAVE_UP;
    if (attempt_was_killed(at, end)) facts |= FACT_KILLED;
    if (end->exit_code < 0) facts |= FACT_UNSEEN;
    if (end->exit_code > 0) facts |= FACT_EXIT_NOT_0;
    return facts;
}

/* Writes the message of an outcome. */
static void attempt_explain(struct attempt *at, const struct attempt_outcome *o,
                            const struct exit_info *end)
{
    char tail[ATTEMPT_LOG_TAIL_BYTES + 1], rank[32] = "", *out = at->message;
    enum { N = sizeof at->message };

    if (at->ranks_n > 1) snprintf(rank, sizeof rank, "rank %ld", (long)end->rank);
    switch (o->message) {
    case ATTEMPT_RECORD:
        snprintf(out, N, "%s", at->journal.message);
        break;
    case ATTEMPT_STALLED:
        snprintf(out, N, "no record for %.0f s: killed",
                 (double)(at->killed_stalled_us - at->last_record_us) / 1e6);
        break;
    case ATTEMPT_SIGNAL:
        if (at->stop_sent)
            snprintf(out, N, "stopped by signal %d (%s)", end->signal, strsignal(end->signal));
        else
            snprintf(out, N, "%s%skilled by signal %d (%s)", rank, *rank ? " was " : "",
                     end->signal, strsignal(end->signal));
        break;
    case ATTEMPT_WHY:
        snprintf(out, N, "%s", end->why);
        break;
    case ATTEMPT_STOPPED:
        snprintf(out, N, "stopped by a signal from elsewhere");
        break;
    case ATTEMPT_NO_SUCCESS:
        snprintf(out, N, "exit %d without success, though its last record says done",
                 end->exit_code);
        break;
    case ATTEMPT_NO_RESULT:
        snprintf(out, N, "exit %d without the result it was started for", end->exit_code);
        break;
    case ATTEMPT_NO_RECORD:
        snprintf(out, N, "exit %d without a last record", end->exit_code);
        break;
    case ATTEMPT_LOG:
        file_read_tail(tail, sizeof tail, attempt_log(at, &at->arena, at->path));
        snprintf(out, N, "%s%sexit %d: %.255s", rank, *rank ? ": " : "", end->exit_code,
                 *str_last_line(tail) ? str_last_line(tail) : "no message");
        break;
    }
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
    const struct journal *j = &at->journal;
    bool is_told = j->reported != STORE_NONE && !attempt_was_killed(at, how);
    at->rank = !is_told ? how->rank : j->rank > 0 ? j->rank : 0;
    at->gave_up = attempt_gave_up(at, how);
    const struct attempt_outcome *o = attempt_judge(attempt_facts(at, how));
    at->state = o->state;
    attempt_explain(at, o, how);
    attempt_forget_meeting(at);
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

bool attempt_is_hopeless(const struct attempt *at)
{
    const struct journal *j = &at->journal;

    return at->ranks_n > 1 && at->state == STORE_FAILED && j->reported == STORE_FAILED &&
           j->code == ERR_NOINPUT && !(j->share > 0);
}

int attempt_code(const struct attempt *at)
{
    const struct journal *j = &at->journal;
    bool is_input = j->code == ERR_DATA || j->code == ERR_NOINPUT;

    return at->state == STORE_FAILED && j->reported == STORE_FAILED && is_input ? j->code
                                                                                : ERR_INTERNAL;
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
