/* lease.c - starting, listening, judging.
 *
 *   1. claim   mkdir of a number that no folder has: neither an attempt of a database that was
 *              deleted nor one that never got as far as its row is written over
 *   2. write   spec, and beside it perhaps fresh (see worker.h), each whole or absent
 *   3. start   the worker
 *   4. record  a running row for every run, with the worker's number and start time
 */
#include "scheduler/lease.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/str.h"

enum { LEASE_NUMBER_MAX = 1000000, LEASE_LOG_TAIL_BYTES = 2048 };

/* Step 1. *number: at least `from`. */
static int lease_claim(struct lease *at, const struct project *p, const char *run_id, int32_t from,
                       int32_t *number, struct err *e)
{
    char *folder = arena_printf(&at->arena, "%s/runs/%s", p->root, run_id);

    TRY(file_make_dirs(folder, e));
    for (*number = from; *number <= LEASE_NUMBER_MAX; ++*number) {
        at->dir = arena_printf(&at->arena, "runs/%s/%ld", run_id, (long)*number);
        const char *path = project_path(p, &at->arena, at->dir);
        if (mkdir(path, 0777) == 0) return 0;
        if (errno != EEXIST)
            return ERR(e, ERR_CREATE, "%s: cannot be created: %s", path, strerror(errno));
    }
    return ERR(e, ERR_CREATE, "%s: holds more than %d attempts", folder, LEASE_NUMBER_MAX);
}

static int lease_write(struct lease *at, const struct project *p, const char *name,
                       const char *text, struct err *e)
{
    const char *path = arena_printf(&at->arena, "%s/%s/%s", p->root, at->dir, name);
    return file_write_atomic(path, text, strlen(text), e);
}

/* Step 2. */
static int lease_write_files(struct lease *at, const struct lease_place *place, struct err *e)
{
    const struct queue *q = place->queue;
    struct strbuf text;

    strbuf_init(&text, &at->arena);
    for (int32_t i = 0; i < at->n; i++) {
        if (i > 0) strbuf_add(&text, "---\n");
        strbuf_add(&text, spec_text(&q->job[at->task[i]].spec, &at->arena));
    }
    if (q->task[at->task[0]].fresh) TRY(lease_write(at, place->project, "fresh", "", e));
    return lease_write(at, place->project, "spec", text.text, e);
}

/* Step 3. */
static int lease_spawn(struct lease *at, const struct lease_place *place, struct err *e)
{
    const struct slot *slot = &place->slots->slot[at->slot];
    const char *path = project_path(place->project, &at->arena, at->dir);
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
    };
    TRY(journal_open(&at->journal, arena_printf(&at->arena, "%s/events", path), at->run, at->n, e));
    return process_start(&at->process, &o, e);
}

/* Step 4. number: of each task's attempt. */
static int lease_record(struct lease *at, const struct lease_place *place, const int32_t *number,
                        struct err *e)
{
    const struct slot *slot = &place->slots->slot[at->slot];

    for (int32_t i = 0; i < at->n; i++) {
        struct store_attempt row = {
            .run_id = at->run[i].run_id,
            .attempt = number[i],
            .device = place->slots->device[slot->device].name,
            .host = place->machine->host,
            .boot_id = place->machine->boot_id,
            .pid = at->process.pid,
            .pid_start = at->process.pid_start,
            .dir = at->dir,
        };
        TRY(store_start_attempt(place->store, &row, &at->run[i].attempt_id, e));
    }
    return 0;
}

static struct lease *lease_make(const struct queue *q, const int32_t *task, int32_t n, int32_t slot)
{
    struct lease *at = calloc(1, sizeof *at);

    if (!at) abort(); /* a few hundred bytes: see arena.h */
    arena_init(&at->arena);
    at->task = arena_array(&at->arena, (size_t)n, sizeof *at->task);
    at->run = arena_array(&at->arena, (size_t)n, sizeof *at->run);
    at->n = n;
    at->slot = slot;
    at->process = (struct process){.log_pipe = -1, .log_file = -1};
    for (int32_t i = 0; i < n; i++) {
        const struct job *job = &q->job[task[i]];
        at->task[i] = task[i];
        memcpy(at->run[i].run_id, job->run_id, sizeof job->run_id);
        if (job->device_bytes > at->bytes) at->bytes = job->device_bytes;
    }
    at->start_us = at->heard_us = clock_monotonic_us();
    return at;
}

int lease_start(struct lease **out, const struct lease_place *place, const int32_t *task, int32_t n,
                int32_t slot, struct err *e)
{
    int rc = 0;
    struct lease *at = lease_make(place->queue, task, n, slot);
    int32_t *number = arena_array(&at->arena, (size_t)n, sizeof *number);

    *out = NULL;
    for (int32_t i = 0; i < n; i++) {
        struct store_run_state st;
        TRY_OUT(rc, store_run_state(place->store, at->run[i].run_id, &st, e));
        number[i] = st.attempts_n + 1;
    }
    TRY_OUT(rc, lease_claim(at, place->project, at->run[0].run_id, number[0], &number[0], e));
    TRY_OUT(rc, lease_write_files(at, place, e));
    TRY_OUT(rc, lease_spawn(at, place, e));
    rc = lease_record(at, place, number, e);
out:
    if (rc < 0) {
        lease_free(at);
        return rc;
    }
    *out = at;
    return 0;
}

int lease_listen(struct lease *at, struct store *s, bool *batch, struct err *e)
{
    int64_t before = at->journal.records_n;

    TRY(journal_ingest(&at->journal, s, batch, e));
    if (at->journal.records_n > before) at->heard_us = clock_monotonic_us();
    return 0;
}

void lease_free(struct lease *at)
{
    if (!at) return;
    process_close(&at->process);
    journal_close(&at->journal);
    arena_fini(&at->arena);
    free(at);
}

/* The last line of the log that is not empty: all that a worker without records may have said. */
static void lease_last_line(char *out, size_t room, const char *path)
{
    char text[LEASE_LOG_TAIL_BYTES + 1];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    off_t size = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
    off_t at = size > LEASE_LOG_TAIL_BYTES ? size - LEASE_LOG_TAIL_BYTES : 0;
    ssize_t n = fd < 0 ? 0 : pread(fd, text, LEASE_LOG_TAIL_BYTES, at);

    if (fd >= 0) close(fd);
    while (n > 0 && (unsigned char)text[n - 1] <= ' ') n--;
    text[n > 0 ? n : 0] = '\0';
    char *line = strrchr(text, '\n');
    line = line ? line + 1 : text;
    for (char *c = line; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f) *c = '?'; /* no control of anybody's terminal */
    snprintf(out, room, "%.*s", (int)room - 1, line);
}

/* The worker ended by a signal. */
static enum store_state lease_judge_signal(const struct lease *at, int signal, char *message)
{
    if (at->stalled) {
        snprintf(message, LEASE_MESSAGE_BYTES, "no record for %.0f s: killed",
                 (double)(clock_monotonic_us() - at->heard_us) / 1e6);
        return STORE_LOST;
    }
    snprintf(message, LEASE_MESSAGE_BYTES, "%s by signal %d (%s)", at->told ? "stopped" : "killed",
             signal, strsignal(signal));
    return at->told ? STORE_CANCELLED : STORE_LOST;
}

/* The worker ended by itself. message holds its own sentence where it left one. */
static enum store_state lease_judge_exit(const struct lease *at, const char *log_path,
                                         int exit_code, char *message)
{
    const struct journal *j = &at->journal;
    char line[256];

    if (j->said == STORE_CANCELLED && !at->told) {
        snprintf(message, LEASE_MESSAGE_BYTES, "stopped by a signal from elsewhere");
        return STORE_LOST;
    }
    if (j->said != STORE_NONE && j->said != STORE_DONE) return j->said;
    if (j->said == STORE_DONE && exit_code == 0 && journal_has_results(j)) return STORE_DONE;
    if (j->said == STORE_NONE && at->told) return STORE_CANCELLED;
    lease_last_line(line, sizeof line, log_path);
    if (exit_code == 0 || j->said == STORE_DONE)
        snprintf(message, LEASE_MESSAGE_BYTES, "exit %d without %s", exit_code,
                 j->said == STORE_NONE    ? "saying that it was done"
                 : journal_has_results(j) ? "a success, though it said it was done"
                                          : "the result it was started for");
    else
        snprintf(message, LEASE_MESSAGE_BYTES, "exit %d: %s", exit_code,
                 *line ? line : "it said nothing");
    return STORE_FAILED;
}

void lease_judge(struct lease *at, const struct project *p, int exit_code, int signal)
{
    const char *log_path = arena_printf(&at->arena, "%s/%s/log", p->root, at->dir);

    at->ended = true;
    snprintf(at->message, sizeof at->message, "%s", at->journal.message);
    if (at->journal.broken)
        at->state = STORE_FAILED;
    else if (exit_code < 0)
        at->state = lease_judge_signal(at, signal, at->message);
    else
        at->state = lease_judge_exit(at, log_path, exit_code, at->message);
}
