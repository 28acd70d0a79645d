/* executor.h - an executor runs the workers of attempts: one file and one row of EXECUTORS each.
 *
 * Attempts, the queue and the loop use only this table. scheduler_run opens an executor once.
 *
 *                    local (executor_local.c)          slurm (executor_slurm.c)
 *   start            fork and exec                     sbatch
 *   runs             at once                           when Slurm has room
 *   stop             SIGTERM to the process group      scancel --signal=TERM
 *   has ended        waitid, for every process         the job's file `exit`, or squeue
 *   without alibi    it dies with the scheduler        it continues; the next call recovers it */
#ifndef SCHEDULER_EXECUTOR_H
#define SCHEDULER_EXECUTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/project.h"
#include "scheduler/scheduler.h"
#include "store/store.h"

struct machine;

struct executor_config {
    const struct project *project;
    const struct machine *machine; /* this one */
    const char *program;           /* started as: program worker dir --device device --threads 1 */
    const char *words;             /* value of the executor's option; NULL: not given */
    double poll_s;                 /* seconds between two queries */
    int64_t (*now_us)(void *context); /* as that of the scheduler's options; may be NULL */
    void *now_context;
    int32_t ranks_n, ranks_per_node; /* see scheduler_options */
    bool in_use;                     /* --devices gives it slots */
};

/* The device of one process of a worker. */
struct worker_device {
    const char *name; /* backend name as the process sees it */
    const char *gpu;  /* the only GPU it may see, by UUID or number; "": none */
    int32_t cpu;      /* core to pin to; -1: any */
};

/* The arguments and the environment of a worker: one process, or several of one training. */
struct worker_command {
    const char *dir;                    /* the attempt's folder, relative to the project's */
    const char *attempt_dir;            /* the same, absolute: its mark, and where the logs are */
    const struct worker_device *device; /* (devices_n); of a cluster device[0] holds for all */
    int32_t devices_n;      /* processes to start here: ranks rank … rank + devices_n - 1 */
    int32_t rank, ranks_n;  /* ranks_n: processes of the training; 1 without --ranks */
    const char *host;       /* this machine's name for ranks elsewhere; NULL: none is */
    bool alone;             /* measures speed: nothing else may run on the device */
    const char *avoid_blas; /* BLAS that an earlier attempt failed with; "": none */
};

/* worker_log - the path of a process's log in dir: `log` of rank 0, `log.3` of rank 3. */
char *worker_log(struct arena *a, const char *dir, int32_t rank);

/* Identifies a worker in results.db and for the next scheduler. */
struct worker_id {
    const char *host, *boot_id; /* NULL: not known yet */
    int64_t pid, pid_start;     /* see struct machine; a Slurm job has its number and 0 */
    char label[32];             /* for messages, such as "job 17"; may be empty */
};

/* How a worker ended. */
struct exit_info {
    int exit_code, signal; /* -1: not applicable. Both -1: not observed; see why */
    int32_t rank;          /* of the process that explains the end; 0: also if that is not known */
    char why[320];         /* such as "job 17 ended as TIMEOUT"; else empty */
};

enum worker_state { WORKER_QUEUED, WORKER_RUNNING, WORKER_ENDED };
/* WORKER_STOP: write a checkpoint and end; WORKER_KILL: end at once. */
enum worker_signal { WORKER_NO_SIGNAL, WORKER_STOP, WORKER_KILL };

struct executor {
    const char *name;
    bool outlives; /* its workers continue without the scheduler */
    struct executor_option option;

    /* Lists the devices it offers. */
    int (*list)(struct device *out, int32_t room, int32_t *n, struct err *e);

    int (*open)(void **self, const struct executor_config *c, struct err *e);
    void (*close)(void *self); /* after its workers are released; takes NULL */

    /* Starts a worker. Errors: ERR_TRYLATER rejected for now; ERR_UNAVAILABLE it cannot be started;
     * ERR_CREATE its log; ERR_NOMEM. */
    int (*start)(void *self, void **worker, struct worker_id *id, const struct worker_command *c,
                 struct err *e);
    /* Recovers the worker of a row that an earlier scheduler left running; attempt_dir is absolute.
     * 1: it still runs and *worker watches it. 0: it has ended and writes nothing more to its
     * folder. Errors: ERR_TRYLATER unknown for now. */
    int (*recover)(void *self, void **worker, struct worker_id *id, const struct store_running *row,
                   const char *attempt_dir, struct err *e);
    /* Called after all rows were recovered: cancels workers of this project without a row. *n: how
     * many. NULL: not needed. */
    int (*cancel_orphans)(void *self, int32_t *n, struct err *e);

    /* Called in every round of the loop: reads the workers' output, queries a cluster, delivers
     * signals. An error is logged as a warning; the workers continue. NULL: nothing to do. */
    int (*service)(void *self, struct err *e);
    int (*wait_fd)(void *self); /* readable when service has work; NULL: none */

    /* reported_end: the worker's last record was read. WORKER_ENDED: it writes nothing more, and
     * *end is set. */
    enum worker_state (*poll)(void *worker, bool reported_end, struct exit_info *end);
    void (*signal)(void *worker, enum worker_signal signal); /* repeating a signal has no effect */
    /* Frees *worker. Kills one that still runs, unless the executor outlives the scheduler. */
    void (*release)(void *worker);
};

/* An open executor. */
struct executor_open {
    const struct executor *kind;
    void *self;
    bool accepted; /* it accepted a worker of this call */
};

enum { WORKER_LOG_MAX_BYTES = 4 * 1024 * 1024 };
#define SLURM_EXIT_FILE "exit" /* how a job's worker ended, in the attempt's folder */
#define EXECUTOR_EXTERN(name, syntax) extern const struct executor executor_##name;
EXECUTORS(EXECUTOR_EXTERN)
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
