/* queue.h - selects the wanted runs, their order, and the consequences of each outcome.
 *
 *   skipped   not asked for, or done before
 *   waiting   starts as soon as its training is done and a slot is free
 *   running   in an attempt
 *   done, failed, diverged, cancelled   its outcome in this call
 *   blocked   cannot start: its training is not done, or no device is large enough
 *
 * Order: evaluations before trainings (results appear early), trainings by decreasing cost (the
 * last ones are short), measurements of speed last and alone. */
#ifndef SCHEDULER_QUEUE_H
#define SCHEDULER_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "scheduler/scheduler.h"
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

/* One run of this call. */
struct task {
    enum run_state state;
    bool was_done; /* skipped because it is done */
    bool fresh;    /* its next attempt does not resume from older ones */
    bool alone;    /* a shared worker failed: the next attempt has its own */
    int32_t tries_n;
    char avoid_blas[96]; /* see attempt_failed_blas; may be empty */
};

struct queue {
    const struct run *job; /* borrowed */
    struct task *task;
    int32_t n;
    int32_t *order; /* indices in the order of starting */
    int32_t tries;  /* attempts a run may have */
};

/* queue_init - reads the state of every run from the store and selects the wanted ones. PICK_REDO
 * and PICK_REEVALUATE clear the current results they replace. */
int queue_init(struct queue *q, struct arena *a, struct store *s, const struct run *jobs, int32_t n,
               const struct scheduler_options *o, struct err *e);

/* queue_next - selects the tasks of the next worker: one, or several evaluations that differ only
 * in L and stride. out has capacity q->n. fits(context, job): whether memory is free for it now.
 * idle: nothing runs. slots_free: if nothing else could use these slots, evaluations that gain
 * nothing by sharing are spread over them. Returns the number of tasks; 0: nothing can start now.
 */
typedef bool (*queue_fits_fn)(void *context, const struct run *job);
int32_t queue_next(const struct queue *q, int32_t *out, bool idle, int32_t slots_free,
                   queue_fits_fn fits, void *context);

/* queue_start - marks n tasks as running. */
void queue_start(struct queue *q, const int32_t *task, int32_t n);

/* queue_end - applies the outcome of a task's attempt. Failed and lost tasks wait again while tries
 * are left. A training that ends without success blocks its evaluations. Returns the new state. */
enum run_state queue_end(struct queue *q, int32_t task, enum store_state state, bool shared);

/* queue_block - blocks a task that cannot start, and the evaluations that wait for it. */
void queue_block(struct queue *q, int32_t task);

#endif
