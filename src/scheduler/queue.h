/* queue.h - selects the wanted runs, their order, and the consequences of each outcome.
 *
 *   skipped   not wanted, or done before
 *   waiting   starts as soon as its training is done and a slot is free
 *   running   in an attempt
 *   done, failed, diverged, cancelled   its outcome in this call
 *   blocked   cannot start: its training is not done, or no device is large enough
 *
 * Order: evaluations before trainings (results appear early), trainings by decreasing cost (the
 * last ones are short), measurements of speed last and alone.
 *
 * A training needs several slots at once if it has several ranks, or one with much memory. From the
 * moment at which the first training in this order lacks slots, only those evaluations go before it
 * that could start then. Others wait until it has started, unless it lacks slots of trainings. */
#ifndef SCHEDULER_QUEUE_H
#define SCHEDULER_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "scheduler/scheduler.h"
#include "scheduler/slots.h"
#include "store/store.h"

enum run_state {
    RUN_SKIPPED,
    RUN_WAITING,
    RUN_RUNNING,
    RUN_DONE,
    RUN_FAILED,
    RUN_DIVERGED,
    RUN_CANCELLED,
    RUN_BLOCKED
};

/* The state of a run in this call. */
struct queue_entry {
    enum run_state state;
    bool was_done; /* skipped because it is done */
    bool fresh;    /* its next attempt does not resume from older ones */
    bool replaces; /* a current result, which queue_clear clears */
    bool alone;    /* a shared worker failed: the next attempt has its own */
    bool precedes; /* an evaluation that could start when q->waits began to wait */
    int32_t tries_n;
    char avoid_blas[96]; /* see attempt_failed_blas; may be empty */
};

struct queue {
    const struct run *run;     /* n, borrowed */
    struct queue_entry *entry; /* n: the state of each */
    int32_t n;
    int32_t *order;  /* indices in the order of starting */
    int32_t *pick;   /* the runs of the next worker: indices */
    int32_t tries;   /* attempts a run may have */
    int32_t waits;   /* a training that lacks slots; -1: none */
    int32_t ranks_n; /* of a training, for which device_bytes of its run is */
};

/* queue_init - reads the state of every run from the store and selects the wanted ones. */
int queue_init(struct queue *q, struct arena *a, struct store *s, const struct run *runs, int32_t n,
               const struct scheduler_options *o, struct err *e);
/* queue_clear - clears the current results that PICK_REDO and PICK_REEVALUATE replace. A run that
 * cannot start keeps its own: call it when such runs are blocked. */
int queue_clear(const struct queue *q, struct store *s, struct err *e);

/* queue_next - selects the runs of the next worker: one that has a slot, or several evaluations
 * that differ only in L and stride, and writes them to q->pick. idle: nothing runs. If nothing else
 * could use the free slots, evaluations that gain nothing by sharing are spread over them. Returns
 * the number of runs; 0: nothing can start now. */
int32_t queue_next(struct queue *q, bool idle, const struct slots *slots);
/* queue_need - what a worker for these runs needs, on any executor. */
struct slots_need queue_need(const struct queue *q, const struct slots *slots, const int32_t *run,
                             int32_t n);

/* queue_start - marks n runs as running. */
void queue_start(struct queue *q, const int32_t *run, int32_t n);

/* queue_end - applies the outcome of a run's attempt. Failed and lost runs wait again while tries
 * are left. A training that ends without success blocks its evaluations. Returns the new state. */
enum run_state queue_end(struct queue *q, int32_t run, enum store_state state, bool shared);

/* queue_block - blocks a run that cannot start, and the evaluations that wait for it. */
void queue_block(struct queue *q, int32_t run);

#endif
