/* executor.h - where attempts run: one file and one row of executor_table each.
 *
 * Attempts, the queue and the loop use only this table. scheduler_run opens an executor once; its
 * jobs are the workers it runs, one per attempt.
 *
 *                    local (executor_local.c)          slurm (executor_slurm.c)
 *   start            fork and exec                     sbatch
 *   runs             at once                           when Slurm has room
 *   stop             SIGTERM to the process group      scancel --signal=TERM
 *   has ended        waitid                            the job's file `exit`, or squeue
 *   without alibi    it dies with the scheduler        it continues; the next call recovers it */
#ifndef SCHEDULER_EXECUTOR_H
#define SCHEDULER_EXECUTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/project.h"
#include "scheduler/process.h"
#include "scheduler/scheduler.h"
#include "store/store.h"

struct executor_config {
    const struct project *project;
    const struct machine *machine; /* this one */
    const char *words;             /* value of the executor's option; NULL: not given */
    double poll_s;                 /* seconds between two queries */
    bool in_use;                   /* --devices gives it slots */
};

/* What a worker is started with. */
struct worker_command {
    const char *program;     /* started as: program worker dir --device device --threads 1 */
    const char *root;        /* working folder */
    const char *dir;         /* the attempt's folder, relative to root */
    const char *attempt_dir; /* the same, absolute: its mark (process.h), and where the log is */
    const char *device;      /* backend name as the worker sees it */
    int32_t cpu;             /* core to pin to; -1: any */
    int32_t cuda;            /* the only GPU it may see; -1: none */
    const char *cuda_uuid;   /* the same, as the driver names it; NULL or "": by number */
    bool alone;              /* measures speed: nothing else may run on the device */
    const char *avoid_blas;  /* BLAS that an earlier attempt failed with; NULL or "": none */
};

/* Identifies a worker in results.db and for the next scheduler. */
struct worker_id {
    const char *host, *boot_id; /* NULL: not known yet */
    int64_t pid, pid_start;     /* see process.h; of a cluster's job, its number and 0 */
    char label[32];             /* for messages, such as "job 17"; may be empty */
};

/* How a worker ended. */
struct exit_info {
    int exit_code, signal; /* -1: not applicable. Both -1: not observed; see why */
    char why[320];         /* such as "job 17 ended as TIMEOUT"; else empty */
};

enum job_state { JOB_QUEUED, JOB_RUNNING, JOB_ENDED };
enum job_signal { JOB_STOP, JOB_KILL }; /* write a checkpoint and end; end at once */

struct executor {
    const char *name;
    bool outlives; /* jobs continue without the scheduler */
    struct executor_option option;

    /* Lists the devices it offers. */
    int (*list)(struct device *out, int32_t room, int32_t *n, struct err *e);

    int (*open)(void **self, const struct executor_config *c, struct err *e);
    void (*close)(void *self); /* after its jobs are released; takes NULL */

    /* Starts a worker. Errors: ERR_TRYLATER rejected for now; ERR_UNAVAILABLE it cannot be started;
     * ERR_CREATE its log; ERR_NOMEM. */
    int (*start)(void *self, void **job, struct worker_id *id, const struct worker_command *c,
                 struct err *e);
    /* Recovers the worker of a row that an earlier scheduler left running; attempt_dir is absolute.
     * 1: it still runs and *job watches it. 0: it has ended and writes nothing more to its folder.
     * Errors: ERR_TRYLATER unknown for now. */
    int (*recover)(void *self, void **job, struct worker_id *id, const struct store_running *row,
                   const char *attempt_dir, struct err *e);
    /* Cancels jobs of this project without a row (known: the pids of the rows). NULL: not needed.
     */
    int (*cancel_orphans)(void *self, int32_t *n, const int64_t *known, int32_t known_n,
                          struct err *e);

    /* Called in every round of the loop: reads the workers' output, queries jobs, delivers signals.
     * An error is logged as a warning; the jobs continue. NULL: nothing to do. */
    int (*service)(void *self, struct err *e);
    int (*wait_fd)(void *self); /* readable when service has work; NULL: none */

    /* reported_end: the worker's last record was read. JOB_ENDED: it writes nothing more, and *end
     * is set. */
    enum job_state (*poll)(void *job, bool reported_end, struct exit_info *end);
    void (*signal)(void *job, enum job_signal signal); /* repeating a signal has no effect */
    /* Frees the job. Kills a worker that still runs, unless the executor outlives. */
    void (*release)(void *job);
};

enum { WORKER_LOG_MAX_BYTES = 4 * 1024 * 1024 };
extern const struct executor executor_local, executor_slurm;
extern const struct executor *const executor_table[]; /* ended by NULL */

/* executor_devices - the devices of all executors of a table, see device_list. */
int executor_devices(const struct executor *const *table, struct device *out, int32_t room,
                     int32_t *n, struct err *e);

/* executor_find - the index of the executor that ran a worker on the device of this name: the one
 * of that name, else the first. */
int32_t executor_find(const struct executor *const *table, const char *device);

/* local_devices - see device.c. */
int local_devices(struct device *out, int32_t room, int32_t *n, struct err *e);

#endif
