/* scheduler.h - runs the missing runs of a plan: starts attempts, ingests their records, retries,
 * resumes.
 *
 *   (run without a done attempt)
 *        | pick                 +-- done ------> done        the worker reported it, with exit 0
 *        +-----------> running -+-- failed ----> failed      the worker reported why; retried
 *                               +-- diverged --> diverged    a loss is not finite: final
 *                               +-- lost ------> lost        killed, vanished, silent; retried
 *                               +-- stopped ---> cancelled   by the user; resumable
 *
 * Evaluations wait for their training. Those of one training and protocol share a worker. A
 * training may have several processes (ranks), each on its own slot: their number changes no
 * result. */
#ifndef SCHEDULER_SCHEDULER_H
#define SCHEDULER_SCHEDULER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/project.h"
#include "spec/spec.h"
#include "store/store.h"

/* A run of a plan. plan/ is above this folder, therefore the caller copies what is needed. */
struct run {
    struct spec spec;
    char run_id[SPEC_ID_BYTES];
    int32_t train;        /* index of the run this one waits for, or -1 */
    double flops;         /* estimate, for order and ETA */
    int64_t device_bytes; /* of each process, with the ranks of the options */
    int64_t disk_bytes;
};

enum { EXECUTORS_MAX = 4 };

/* The executors, NAME in executor_NAME.c, and the values of --devices that each adds. */
#define EXECUTORS(X)                                                                               \
    X(local, "auto, cpu, cpu:N, cuda:0,…")                                                         \
    X(slurm, " or slurm:N")
#define EXECUTOR_SYNTAX(name, syntax) syntax
#define DEVICES_SYNTAX EXECUTORS(EXECUTOR_SYNTAX)

/* An option of `alibi run` that one executor reads: --name VALUE. */
struct executor_option {
    const char *name, *value, *help; /* name NULL: no option */
};
/* scheduler_option - the option of an executor, by index; NULL: past the last executor. */
const struct executor_option *scheduler_option(int32_t executor);

struct executor;

enum scheduler_pick { PICK_MISSING, PICK_REDO, PICK_REEVALUATE, PICK_FAILED, PICK_STALE };

struct scheduler_options {
    const char *devices;              /* DEVICES_SYNTAX, or cuda:emulated */
    const char *words[EXECUTORS_MAX]; /* of the options of scheduler_option, by executor; or NULL */
    double poll_s;   /* seconds between queries of an executor, and before a rejected worker
                        is submitted again; default 10 */
    int32_t tries;   /* attempts a run may have in this call; default 3 */
    int32_t ranks_n; /* processes of a training, a power of two; 0: 1. Other runs have one. */
    int32_t ranks_per_node; /* of them on one machine of a cluster; 0: not given */
    bool keep_going;        /* continue with independent runs after a failure */
    enum scheduler_pick pick;
    const char *worker; /* program to start as `worker worker DIR …`; NULL: the running program.
                           Tests name a fake. */
    double stall_s;     /* kill a worker after so many seconds without a record; default 300 */
    int64_t (*now_us)(void *context); /* monotonic, for the loop; NULL: clock_monotonic_us */
    void *now_context;
    const struct executor *const
        *executors;       /* ended by NULL; NULL: executor_table. Tests add one. */
    bool quiet;           /* no progress line */
    const char *headline; /* what the progress line calls the work, such as "table5 (mini)" */
};

struct scheduler_result {
    int32_t wanted, already_done, done, failed, diverged, cancelled, not_started;
    int32_t recovered; /* attempts that earlier calls left running and this one ended */
    double seconds;
};

/* scheduler_run - returns 0 when every wanted run is done or diverged; ERR_INTERNAL when some
 * failed (the message names the first and its log); ERR_INTERRUPTED after Ctrl-C. *result is always
 * set. */
int scheduler_run(struct store *s, const struct project *p, const struct run *runs, int32_t runs_n,
                  const struct scheduler_options *o, struct scheduler_result *result,
                  struct err *e);

/* scheduler_check - whether devices, ranks_n and ranks_per_node of the options fit together on this
 * machine. Errors: ERR_USAGE, ERR_UNAVAILABLE. */
int scheduler_check(const struct scheduler_options *o, struct err *e);

/* scheduler_find_checkpoint - looks for the file of a done training. *gone: it is absent, so that
 * an evaluation of it cannot start, and `why` is set. Errors: as store_checkpoint. */
int scheduler_find_checkpoint(struct store *s, const struct project *p, const char *train_run,
                              enum spec_checkpoint which, bool *gone, struct err *why,
                              struct err *e);

/* Devices of this machine, for `alibi devices`, `plan` and the scheduler. */
struct device {
    char name[32]; /* cpu, cuda:0 */
    char description[128];
    char
        model[96]; /* GPUs of one model compute the same bits; empty: only the device itself does */
    int64_t memory_bytes, free_bytes;
    int32_t executor;   /* index in the table of executors */
    int32_t slots;      /* workers at a time */
    bool is_counted;    /* NAME:N takes N slots */
    double flops_per_s; /* of one worker: rough, for estimates where nothing was measured */
    char uuid[64];      /* of a GPU, as the driver spells it; empty: unknown */
    int32_t others_n;   /* other programs that hold more than 1 GB of this GPU */
    char unusable[512]; /* why the device cannot be used; empty: usable */
    bool is_test;       /* the emulated GPU of a test build: used only if named */
    bool is_cluster;    /* many machines: used only if named; memory unknown */
};
/* device_list - the processor, the GPUs that the driver shows (or one that says why there is none),
 * the emulated GPU if its library is beside the program, and what the other executors offer. */
int device_list(struct device *out, int32_t room, int32_t *n, struct err *e);
/* device_select - the first device of --devices, with the slots of all. Errors: ERR_USAGE not a
 * device; ERR_UNAVAILABLE it cannot be used, with the reason. */
int device_select(struct device *out, const char *devices, struct err *e);

/* slurm_node_run - executes one attempt on the node of a Slurm job. Writes the outcome last, into
 * the file `exit` of the attempt's folder. dir: relative, runs/<run>/<attempt>.
 * Errors: those of a worker's start; ERR_USAGE the attempt has been executed already;
 * ERR_INTERRUPTED the worker was stopped; ERR_INTERNAL it failed, its log says why. */
int slurm_node_run(const struct project *p, const char *dir, struct err *e);

#endif
