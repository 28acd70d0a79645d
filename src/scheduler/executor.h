/* executor.h - where a worker runs: as a process of this machine, or as a job of Slurm.
 *
 * What both have in common is this table of functions; leases and the loop know nothing else.
 *
 *   started by   process_start (process.h)            sbatch (slurm.h)
 *   runs         at once                              when Slurm has room
 *   stopped by   SIGTERM to its group                 scancel --signal=TERM
 *   has ended    waitid                               the job's file `exit`, or squeue
 *   without us   it dies with the scheduler           it goes on, and the next call takes it over
 */
#ifndef SCHEDULER_EXECUTOR_H
#define SCHEDULER_EXECUTOR_H

#include <stdbool.h>

#include "base/err.h"
#include "scheduler/process.h"
#include "scheduler/slurm.h"

/* How a worker ended. */
struct exit_info {
    int exit_code, signal; /* -1: not so; both: nobody saw it, and why says what is known */
    char why[320];         /* such as "job 17 ended as TIMEOUT"; else empty */
};

struct execution;
struct executor {
    /* Fills pid and pid_start. Errors: those of process_start; ERR_TRYLATER it is refused now. */
    int (*start)(struct execution *x, const struct process_options *o, struct err *e);
    /* Whether the worker has begun, so that its silence means something. */
    bool (*has_started)(const struct execution *x);
    /* What it has printed, see process_drain_log. */
    int (*drain_log)(struct execution *x, struct err *e);
    /* Asks it to keep a checkpoint and end; ends it at once. */
    void (*stop)(struct execution *x);
    void (*kill)(struct execution *x);
    /* said: its last record is there. True: nothing more will come from it. */
    bool (*has_ended)(struct execution *x, bool said, struct exit_info *end);
    void (*close)(struct execution *x);
};

extern const struct executor executor_local, executor_slurm;

/* One worker where its executor runs it. */
struct execution {
    const struct executor *by; /* NULL: it was never started */
    struct process process;    /* of executor_local */
    struct slurm_job job;      /* of executor_slurm; .cluster is set before start */
    int64_t pid, pid_start;    /* for its row: see machine.h; of a job, its number and 0 */
};

#endif
