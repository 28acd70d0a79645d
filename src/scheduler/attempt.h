/* attempt.h - one attempt at a run, or at several evaluations that share a worker: its folder, its
 * worker, its records, its end.
 *
 * An attempt is in the database from the moment its worker is started. A crash before that leaves a
 * folder and perhaps an orphan of its executor (executor.h); the next attempt takes the next
 * number.
 */
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
    struct arena arena;        /* holds what is below */
    int32_t *task;             /* indices of the queue */
    int32_t tasks_n;           /* at least 1 */
    int32_t n;                 /* runs: more than tasks if a recovered one has others, too */
    struct ingest_target *run; /* those of the tasks first */
    const char *dir, *path;    /* runs/<run_id>/<attempt>, of the first task; the same, absolute */
    struct journal journal;
    const struct executor *executor;
    void *job; /* of the executor; NULL: not started */
    struct worker_id id;
    int32_t slot;              /* -1: none, of a recovered one while all were in use */
    int64_t bytes;             /* planned, on the slot's device */
    int64_t start_us;          /* monotonic; when the worker began, as far as is known */
    int64_t last_record_us;    /* of the newest record, or the start */
    bool told;                 /* to stop, by the user */
    int64_t killed_stalled_us; /* killed then because it was silent too long; 0: not so */
    bool ended;                /* its outcome is in the database, its consequences are to come */
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

/* attempt_start - makes the folder, writes the spec, starts the worker and adds the rows, in the
 * caller's transaction. *out is freed with attempt_free. Errors: those of files, the store and the
 * executor's start; nothing runs then. */
int attempt_start(struct attempt **out, const struct attempt_context *place, const int32_t *task,
                  int32_t n, int32_t slot, struct err *e);

/* A worker that an earlier scheduler left, and that still runs: its rows, which share a folder. */
struct attempt_left {
    const struct store_running *row;
    int32_t n, executor;
    void *job;
    struct worker_id id;
};

/* attempt_recover - *out is NULL, and the job is released, if none of the runs is in the queue: it
 * is left to a call that asks for them. Its records are read from the first. */
int attempt_recover(struct attempt **out, const struct attempt_context *place,
                    const struct attempt_left *left, struct err *e);

/* attempt_poll - ingests the new records, kills a worker that is silent longer than stall_s, and
 * records the end of the worker: `ended`, state and message. *batch: see journal_ingest. */
int attempt_poll(struct attempt *at, struct store *s, int64_t now_us, double stall_s, bool *batch,
                 struct err *e);

/* attempt_was_preempted - the worker was stopped by somebody else than this scheduler, such as
 * Slurm before a time limit, and wrote a checkpoint: not a failure, the next attempt resumes. */
bool attempt_was_preempted(const struct attempt *at);

/* attempt_failed_blas - the library of matrix products that the worker crashed with, or that failed
 * it; NULL: neither. The next attempt avoids it. */
const char *attempt_failed_blas(const struct attempt *at);

/* attempt_free - takes NULL; releases the job. */
void attempt_free(struct attempt *at);

#endif
