/* loop.h - the state of a call of scheduler_run, for src/scheduler only. */
#ifndef SCHEDULER_LOOP_H
#define SCHEDULER_LOOP_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "scheduler/attempt.h"
#include "scheduler/progress.h"
#include "scheduler/signals.h"

struct scheduler {
    struct arena arena;
    struct store *store;
    const struct project *project;
    const struct scheduler_options *options;
    struct machine machine;
    struct queue queue;
    struct slots slots;
    struct progress_line meter;
    struct signals signals;
    struct slurm slurm;
    struct attempt **running; /* room for slots.n and every job that is taken over */
    struct pollfd *poll;      /* room for one more */
    int32_t *pick;            /* room for queue.n */
    int32_t running_n;
    double stall_s, flops_done, worker_s;
    int64_t last_poll_us;
    int64_t refused_us; /* when Slurm last refused a job */
    int32_t refused_n;  /* how often in a row */
    bool accepted;      /* Slurm has taken a job of this call */
    bool batch;         /* a transaction is open */
    bool stopping;      /* the user's wish */
    bool killed;        /* the user's second wish */
    bool halted;        /* after a failure, without --keep-going */
    struct err failure; /* of the first run that failed for good; code 0: none */
};

/* scheduler_loop - runs until nothing runs and nothing can be started. Errors: the database or a
 * folder cannot be written, a worker cannot be started; the caller ends what still runs. */
int scheduler_loop(struct scheduler *sc, struct err *e);

/* scheduler_take_over - the jobs of Slurm that an earlier scheduler submitted and that carry out
 * runs of the queue go on under this one. */
int scheduler_take_over(struct scheduler *sc, struct err *e);

/* scheduler_note_failure - keeps the first failure of the call as its sentence; dir: the attempt's
 * folder, or NULL. */
void scheduler_note_failure(struct scheduler *sc, int code, const struct run *job,
                            const char *message, const char *dir);

#endif
