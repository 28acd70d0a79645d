/* lease.c - starting, listening, judging.
 *
 *   1. claim   mkdir of a number that no folder has: neither an attempt of a database that was
 *              deleted nor one that never got as far as its row is written over
 *   2. write   spec, and beside it perhaps fresh (see worker.h), each whole or absent
 *   3. start   the worker
 *   4. record  a running row for every run, with the worker's number and start time
 */
#include "scheduler/lease.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/str.h"

enum { ATTEMPT_LOG_TAIL_BYTES = 2048 };

/* Step 2. */
static int attempt_write_files(struct attempt *at, const struct attempt_context *place,
                               struct err *e)
{
    const struct queue *q = place->queue;
    const char *dir = project_path(place->project, &at->arena, at->dir);
    const struct spec **spec = arena_array(&at->arena, (size_t)at->n, sizeof *spec);

    for (int32_t i = 0; i < at->n; i++) spec[i] = &q->job[at->task[i]].spec;
    if (q->task[at->task[0]].fresh) TRY(run_folder_set_fresh(dir, e));
    return run_folder_write_specs(dir, spec, at->n, e);
}

/* Step 3. */
static int attempt_spawn(struct attempt *at, const struct attempt_context *place, struct err *e)
{
    const struct slot *slot = &place->slots->slot[at->slot];
    const char *path = project_path(place->project, &at->arena, at->dir);
    struct execution *x = &at->work;
    struct process_options o = {
        .program = place->program,
        .root = place->project->root,
        .dir = at->dir,
        .attempt_dir = path,
        /* A worker that sees one GPU sees it as its first. */
        .device = slot->cuda >= 0 ? "cuda:0" : place->slots->device[slot->device].name,
        .cpu = slot->cpu,
        .cuda = slot->cuda,
        .cuda_uuid = place->slots->device[slot->device].uuid,
        .alone = place->queue->job[at->task[0]].spec.kind == SPEC_BENCH,
    };
    TRY(journal_open(&at->journal, path, at->run, at->n, e));
    x->by = slot->slurm ? &executor_slurm : &executor_local;
    x->job.cluster = place->slurm;
    return x->by->start(x, &o, e);
}

/* Step 4. number: of each task's attempt. */
static int attempt_record(struct attempt *at, const struct attempt_context *place,
                          const int32_t *number, struct err *e)
{
    const struct slot *slot = &place->slots->slot[at->slot];

    for (int32_t i = 0; i < at->n; i++) {
        struct store_attempt row = {
            .run_id = at->run[i].run_id,
            .attempt = number[i],
            .device = place->slots->device[slot->device].name,
            .host = slot->slurm ? NULL : place->machine->host,
            .boot_id = slot->slurm ? NULL : place->machine->boot_id,
            .pid = at->work.pid,
            .pid_start = at->work.pid_start,
            .dir = at->dir,
        };
        TRY(store_start_attempt(place->store, &row, &at->run[i].attempt_id, e));
    }
    return 0;
}

static struct attempt *attempt_make(const struct attempt_context *place, const int32_t *task,
                                    int32_t n, int32_t slot)
{
    struct attempt *at = calloc(1, sizeof *at);

    if (!at) abort(); /* a few hundred bytes: see arena.h */
    arena_init(&at->arena);
    at->task = arena_array(&at->arena, (size_t)n, sizeof *at->task);
    at->run = arena_array(&at->arena, (size_t)n, sizeof *at->run);
    at->n = at->tasks_n = n;
    at->slot = slot;
    at->work.process = (struct process){.log_pipe = -1, .log_file = -1};
    for (int32_t i = 0; i < n; i++) {
        const struct run *job = &place->queue->job[task[i]];
        at->task[i] = task[i];
        memcpy(at->run[i].run_id, job->run_id, sizeof job->run_id);
        if (job->device_bytes > at->bytes) at->bytes = job->device_bytes;
    }
    at->start_us = at->last_record_us = place->now_us;
    return at;
}

int attempt_start(struct attempt **out, const struct attempt_context *place, const int32_t *task,
                  int32_t n, int32_t slot, struct err *e)
{
    int rc = 0;
    struct attempt *at = attempt_make(place, task, n, slot);
    int32_t *number = arena_array(&at->arena, (size_t)n, sizeof *number);

    *out = NULL;
    for (int32_t i = 0; i < n; i++) {
        struct store_run_state st;
        TRY_OUT(rc, store_run_state(place->store, at->run[i].run_id, &st, e));
        number[i] = st.attempts_n + 1;
    }
    char *dir;
    TRY_OUT(rc, run_folder_claim(&dir, &number[0], &at->arena, place->project->root,
                                 at->run[0].run_id, number[0], e));
    at->dir = dir;
    TRY_OUT(rc, attempt_write_files(at, place, e));
    TRY_OUT(rc, attempt_spawn(at, place, e));
    rc = attempt_record(at, place, number, e);
out:
    if (rc < 0) {
        /* What never began cannot begin later, whatever sbatch made of it. */
        if (at->dir)
            unlink(run_folder_path(&at->arena, project_path(place->project, &at->arena, at->dir),
                                   RUN_SPEC));
        attempt_free(at);
        return rc;
    }
    *out = at;
    return 0;
}

/* Where the queue has this run, or -1. */
static int32_t attempt_find_run(const struct queue *q, const char *run_id)
{
    for (int32_t i = 0; i < q->n; i++)
        if (strcmp(q->job[i].run_id, run_id) == 0) return i;
    return -1;
}

int attempt_recover(struct attempt **out, const struct attempt_context *place,
                    const struct store_running *row, int32_t n, const struct slurm_row *found,
                    struct err *e)
{
    int rc = 0;
    struct arena a;
    int32_t tasks_n = 0;

    *out = NULL;
    arena_init(&a);
    int32_t *task = arena_array(&a, (size_t)n, sizeof *task);
    const struct store_running **of = arena_array(&a, (size_t)n, sizeof(struct store_running *));
    /* Rows whose runs are wanted come first, in their order; the others' records are heard too. */
    for (int32_t i = 0, others_n = 0; i < n; i++) {
        int32_t k = attempt_find_run(place->queue, row[i].run_id);
        of[k >= 0 ? tasks_n : n - ++others_n] = &row[i];
        if (k >= 0) task[tasks_n++] = k;
    }
    if (tasks_n == 0) goto out;
    struct attempt *at = attempt_make(place, task, tasks_n, -1);
    at->n = n;
    at->run = arena_array(&at->arena, (size_t)n, sizeof *at->run);
    for (int32_t i = 0; i < n; i++) {
        memcpy(at->run[i].run_id, of[i]->run_id, sizeof of[i]->run_id);
        at->run[i].attempt_id = of[i]->attempt_id;
    }
    at->dir = arena_strdup(&at->arena, row->dir);
    at->work.by = &executor_slurm;
    at->work.job.cluster = place->slurm;
    slurm_watch(&at->work.job, found, project_path(place->project, &at->arena, at->dir));
    rc = journal_open(&at->journal, at->work.job.attempt_dir, at->run, n, e);
    if (rc < 0)
        attempt_free(at);
    else
        *out = at;
out:
    arena_fini(&a);
    return rc;
}

int attempt_poll(struct attempt *at, struct store *s, int64_t now_us, bool *batch, struct err *e)
{
    int64_t before = at->journal.records_n;

    TRY(journal_ingest(&at->journal, s, batch, e));
    if (at->journal.records_n > before) at->last_record_us = now_us;
    return 0;
}

void attempt_free(struct attempt *at)
{
    if (!at) return;
    if (at->work.by) at->work.by->close(&at->work);
    journal_close(&at->journal);
    arena_fini(&at->arena);
    free(at);
}

/* The last line of the log that is not empty: all that a worker without records may have said. */
static void attempt_last_line(char *out, size_t room, const char *path)
{
    char text[ATTEMPT_LOG_TAIL_BYTES + 1];

    file_read_tail(text, sizeof text, path);
    snprintf(out, room, "%.*s", (int)room - 1, str_last_line(text));
}

/* It was ended because it was silent, whatever it made of that. */
static enum store_state attempt_outcome_of_silence(const struct attempt *at, char *message)
{
    snprintf(message, ATTEMPT_MESSAGE_BYTES, "no record for %.0f s: killed",
             (double)(at->killed_stalled_us - at->last_record_us) / 1e6);
    return STORE_LOST;
}

/* The worker ended by a signal. */
static enum store_state attempt_outcome_of_signal(const struct attempt *at, int signal,
                                                  char *message)
{
    snprintf(message, ATTEMPT_MESSAGE_BYTES, "%s by signal %d (%s)",
             at->told ? "stopped" : "killed", signal, strsignal(signal));
    return at->told ? STORE_CANCELLED : STORE_LOST;
}

/* The worker ended by itself. message holds its own sentence where it left one. */
static enum store_state attempt_outcome_of_exit(const struct attempt *at, const char *log_path,
                                                int exit_code, char *message)
{
    const struct journal *j = &at->journal;
    char line[256];

    if (j->said == STORE_CANCELLED && !at->told) {
        snprintf(message, ATTEMPT_MESSAGE_BYTES, "stopped by a signal from elsewhere");
        return STORE_LOST;
    }
    if (j->said != STORE_NONE && j->said != STORE_DONE) return j->said;
    if (j->said == STORE_DONE && exit_code == 0 && journal_has_results(j)) return STORE_DONE;
    if (j->said == STORE_NONE && at->told) return STORE_CANCELLED;
    attempt_last_line(line, sizeof line, log_path);
    if (exit_code == 0 || j->said == STORE_DONE)
        snprintf(message, ATTEMPT_MESSAGE_BYTES, "exit %d without %s", exit_code,
                 j->said == STORE_NONE    ? "saying that it was done"
                 : journal_has_results(j) ? "a success, though it said it was done"
                                          : "the result it was started for");
    else
        snprintf(message, ATTEMPT_MESSAGE_BYTES, "exit %d: %s", exit_code,
                 *line ? line : "it said nothing");
    return STORE_FAILED;
}

/* Nobody saw how the worker ended: its last word counts, and done needs the results too. */
static enum store_state attempt_outcome_of_record(const struct attempt *at, const char *why,
                                                  char *message)
{
    const struct journal *j = &at->journal;

    if (j->said == STORE_DONE && journal_has_results(j)) return STORE_DONE;
    if (j->said == STORE_FAILED || j->said == STORE_DIVERGED) return j->said;
    snprintf(message, ATTEMPT_MESSAGE_BYTES, "%s", why);
    return at->told ? STORE_CANCELLED : STORE_LOST;
}

void attempt_set_outcome(struct attempt *at, const struct project *p, const struct exit_info *end)
{
    const char *log_path =
        run_folder_path(&at->arena, project_path(p, &at->arena, at->dir), RUN_LOG);

    at->ended = true;
    snprintf(at->message, sizeof at->message, "%s", at->journal.message);
    if (at->journal.broken)
        at->state = STORE_FAILED;
    else if (at->killed_stalled_us > 0 && at->journal.said != STORE_DONE)
        at->state = attempt_outcome_of_silence(at, at->message);
    else if (end->exit_code >= 0)
        at->state = attempt_outcome_of_exit(at, log_path, end->exit_code, at->message);
    else if (end->signal >= 0)
        at->state = attempt_outcome_of_signal(at, end->signal, at->message);
    else
        at->state = attempt_outcome_of_record(at, end->why, at->message);
}

bool attempt_was_preempted(const struct attempt *at)
{
    return at->state == STORE_LOST && at->killed_stalled_us == 0 &&
           at->journal.said == STORE_CANCELLED && at->journal.has_checkpoint;
}
