/* scheduler.h - runs what a plan lacks: leases devices, starts workers, ingests their records,
 * retries, resumes.
 *
 *   (run without a done attempt)
 *        | pick                 +-- done ------> done         the worker said so and its exit was 0
 *        +-----------> running -+-- failed ----> failed       the worker said why (retried up to
 * --tries)
 *                               +-- diverged --> diverged     a loss that is not finite: final
 *                               +-- lost ------> lost         killed, vanished or silent too long
 * (retried)
 *                               +-- stopped ---> cancelled    the user; resumable
 *
 * Evaluations wait for their training; those of one training and protocol go to one worker. */
#ifndef SCHEDULER_SCHEDULER_H
#define SCHEDULER_SCHEDULER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/project.h"
#include "spec/spec.h"
#include "store/store.h"

/* What the scheduler needs of a plan (src/scheduler does not include src/plan): filled by src/cli.
 */
struct run {
    struct spec spec;
    char run_id[SPEC_ID_BYTES];
    int32_t train; /* index of the job this one waits for, or -1 */
    double flops;  /* estimate, for order and ETA */
    int64_t device_bytes, disk_bytes;
};

enum scheduler_pick { PICK_MISSING, PICK_REDO, PICK_FAILED, PICK_STALE };

struct scheduler_options {
    const char *devices; /* auto, cpu, cpu:N (N slots), cuda:0,cuda:1, cuda:emulated, slurm:N */
    const char *slurm;   /* options of sbatch, such as "partition=gpu time=24:00:00"; or NULL */
    double slurm_poll_s; /* between two questions to squeue; default 10 */
    int32_t tries;       /* attempts a run may have in this call; default 3 */
    bool keep_going;     /* go on with independent runs after a failure */
    enum scheduler_pick pick;
    const char *worker; /* program to start as `worker worker DIR …`; NULL: the running program.
                           Tests name a fake. */
    double stall_s;     /* a worker without a record for so long is killed; default 300 */
    int64_t (*now_us)(void *context); /* monotonic, for the loop; NULL: clock_monotonic_us */
    void *now_context;
    bool quiet;           /* no progress line */
    const char *headline; /* what the progress line calls the work, such as "table5 (mini)" */
};

struct scheduler_result {
    int32_t wanted, already_done, done, failed, diverged, cancelled, not_started;
    double seconds;
    bool interrupted;
};

/* scheduler_run - returns 0 when every wanted run is done or diverged; ERR_INTERNAL when some
 * failed (the sentence names the first and its log); ERR_INTERRUPTED after Ctrl-C. *result is
 * filled in every case. */
int scheduler_run(struct store *s, const struct project *p, const struct run *jobs, int32_t jobs_n,
                  const struct scheduler_options *o, struct scheduler_result *result,
                  struct err *e);

/* Devices of this machine, for `alibi devices`, `plan` and the scheduler. */
struct device {
    char name[32]; /* cpu, cuda:0 */
    char description[128];
    int64_t memory_bytes, free_bytes;
    int32_t slots;      /* workers at a time */
    double flops_per_s; /* rough, for estimates where nothing was measured */
    char uuid[64];      /* of a GPU, as the driver spells it; empty: unknown */
    int32_t others_n;   /* programs that compute on a GPU now */
    char unusable[256]; /* why it cannot be used; empty: it can */
    bool is_test;       /* the emulated GPU of a build that has one: only where it is named */
    bool is_cluster;    /* jobs of Slurm: only where it is named; memory unknown */
};
/* device_list - the processor, the GPUs that the driver shows (or one that says why there is none),
 * the emulated GPU where its library lies beside the program, Slurm. */
int device_list(struct device *out, int32_t room, int32_t *n, struct err *e);

#endif
