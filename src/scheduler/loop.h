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

/* An executor that is open for this call. */
struct executor_open {
    const struct executor *kind;
    void *self;
    bool accepted;       /* it has taken a job of this call */
    int32_t rejected_n;  /* jobs it rejected, in a row */
    int64_t rejected_us; /* when it last did */
};

struct scheduler {
    struct arena arena;
    struct store *store;
    const struct project *project;
    const struct scheduler_options *options;
    struct machine machine;
    struct queue queue;
    struct slots slots;
    struct progress_line progress;
    struct signals signals;
    const struct executor *const *table; /* of executors; ended by NULL */
    struct executor_open executor[EXECUTORS_MAX];
    int32_t executors_n;
    struct attempt_left *left;   /* workers that earlier calls left running */
    int32_t left_n, recovered_n; /* recovered_n: attempts of theirs that have ended */
    struct attempt **running;    /* room for slots.n and left_n */
    struct pollfd *poll;         /* room for the signals and the executors */
    int32_t *pick;               /* room for queue.n */
    int32_t running_n;
    double stall_s, poll_s, flops_done, worker_s;
    int64_t last_poll_us;
    bool batch;         /* a transaction is open */
    bool stopping;      /* first Ctrl-C */
    bool killed;        /* second Ctrl-C */
    bool halted;        /* after a failure, without --keep-going */
    struct err failure; /* of the first run that failed for good; code 0: none */
};

/* scheduler_loop - runs until nothing runs and nothing can be started. Errors: the database or a
 * folder cannot be written, a worker cannot be started; the caller ends what still runs. */
int scheduler_loop(struct scheduler *sc, struct err *e);

/* scheduler_take_over - watches the workers of `left` that execute runs of the queue. */
int scheduler_take_over(struct scheduler *sc, struct err *e);

/* scheduler_note_failure - keeps the first failure of the call as its message; dir: the attempt's
 * folder, or NULL. */
void scheduler_note_failure(struct scheduler *sc, int code, const struct run *job,
                            const char *message, const char *dir);

#endif
