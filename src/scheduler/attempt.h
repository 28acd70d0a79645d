/* attempt.h - one attempt at a run, or at several evaluations that share a worker: its folder, its
 * worker, its records, its outcome.
 *
 * An attempt enters the database when its worker starts. A crash before that leaves a folder and
 * perhaps an orphan of its executor (executor.h); the next attempt has the next number. */
#ifndef SCHEDULER_ATTEMPT_H
#define SCHEDULER_ATTEMPT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/project.h"
#include "scheduler/executor.h"
#include "scheduler/queue.h"
#include "scheduler/slots.h"
#include "store/ingest.h"

enum { ATTEMPT_MESSAGE_BYTES = 600 };

struct attempt {
    struct arena arena;        /* owns the members below */
    int32_t *task;             /* indices of the queue */
    int32_t tasks_n;           /* at least 1 */
    int32_t n;                 /* runs; more than tasks_n if a recovered attempt has others */
    struct ingest_target *run; /* those of the tasks first */
    const char *dir, *path;    /* runs/<run_id>/<attempt>, of the first task; the same, absolute */
    struct journal journal;
    const struct executor *executor;
    void *job; /* of the executor; NULL: not started */
    struct worker_id id;
    int32_t slot;              /* -1: none; a recovered attempt when all slots were in use */
    int64_t bytes;             /* planned, on the slot's device */
    int64_t start_us;          /* monotonic; estimated if the attempt was recovered */
    int64_t last_record_us;    /* of the newest record, or the start */
    bool stop_sent;            /* the user requested a stop and it was sent */
    int64_t killed_stalled_us; /* when it was killed as stalled; 0: it was not */
    bool ended;                /* its outcome is in the database, not yet in the queue */
    enum store_state state;
    bool crashed; /* by a signal that a fault of the program raises */
    char message[ATTEMPT_MESSAGE_BYTES];
};

/* Where attempts are started. */
struct attempt_context {
    struct store *store;
    const struct project *project;
    const struct queue *queue;
    const struct slots *slots;
    const struct executor *executor;
    void *self;          /* of the executor */
    const char *program; /* of the worker */
    int64_t now_us;      /* monotonic */
};

/* attempt_start - creates the folder, writes the spec, starts the worker and adds the rows, in the
 * caller's transaction. *out is freed with attempt_free. Errors: those of files, the store and the
 * executor's start; then nothing runs. */
int attempt_start(struct attempt **out, const struct attempt_context *place, const int32_t *task,
                  int32_t n, int32_t slot, struct err *e);

/* A running worker of an earlier scheduler: its rows, which share a folder. */
struct attempt_left {
    const struct store_running *row;
    int32_t n, executor;
    void *job;
    struct worker_id id;
};

/* attempt_recover - takes control of such a worker and reads its records from the first. If none of
 * its runs is in the queue, releases the job and sets *out to NULL: a call that wants the runs
 * recovers it. */
int attempt_recover(struct attempt **out, const struct attempt_context *place,
                    const struct attempt_left *left, struct err *e);

/* attempt_poll - ingests new records, kills a worker without a record for stall_s seconds, and sets
 * `ended`, state and message when the worker has ended. *batch: see journal_ingest. */
int attempt_poll(struct attempt *at, struct store *s, int64_t now_us, double stall_s, bool *batch,
                 struct err *e);

/* attempt_was_preempted - whether the worker was stopped from outside, such as by Slurm before a
 * time limit, and wrote a checkpoint: this is not a failure, and the next attempt resumes. */
bool attempt_was_preempted(const struct attempt *at);

/* attempt_failed_blas - the BLAS that the worker crashed in or that reported an error; NULL: none.
 * The next attempt avoids it. */
const char *attempt_failed_blas(const struct attempt *at);

/* attempt_free - takes NULL; releases the job. */
void attempt_free(struct attempt *at);

#endif
