/* call.h - the state of one call of scheduler_run. */
#ifndef SCHEDULER_CALL_H
#define SCHEDULER_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/project.h"
#include "scheduler/executor.h"
#include "scheduler/process.h"
#include "scheduler/progress.h"
#include "scheduler/queue.h"
#include "scheduler/scheduler.h"
#include "scheduler/slots.h"
#include "store/store.h"

struct attempt;

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
    struct attempt **running;       /* room for slots.n and the workers of earlier calls */
    int32_t running_n, recovered_n; /* recovered_n: ended attempts of earlier calls */
    double stall_s, poll_s, flops_done, worker_s;
    int64_t last_poll_us, rejected_us; /* rejected_us: when a worker was rejected last */
    int32_t rejected_n;                /* consecutive rejections */
    bool batch;                        /* a transaction is open */
    bool stopping;                     /* first Ctrl-C */
    bool killed;                       /* second Ctrl-C */
    bool halted;                       /* after a failure, without --keep-going */
    struct err failure;                /* of the first run that failed for good; code 0: none */
};

/* scheduler_now_us - the monotonic time, or that of the options' clock. */
int64_t scheduler_now_us(const struct scheduler *sc);

#endif
