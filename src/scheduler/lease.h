/* lease.h - one attempt at a run, or at several evaluations that share a worker: its folder, its
 * worker, its records, its end.
 *
 * An attempt is in the database from the moment its worker is started. A crash before that leaves a
 * folder and nothing else (a job of Slurm is cancelled, see slurm.h); the next attempt takes the
 * next number. */
#ifndef SCHEDULER_LEASE_H
#define SCHEDULER_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/project.h"
#include "scheduler/executor.h"
#include "scheduler/machine.h"
#include "scheduler/queue.h"
#include "scheduler/slots.h"
#include "store/ingest.h"

enum { ATTEMPT_MESSAGE_BYTES = 600 };

struct attempt {
    struct arena arena; /* holds what is below */
    int32_t *task;      /* indices of the queue */
    int32_t tasks_n;    /* at least 1 */
    int32_t n;          /* runs: more than tasks where one that was taken over has others, too */
    struct ingest_target *run; /* those of the tasks first */
    const char *dir;           /* runs/<run_id>/<attempt>, of the first task */
    struct journal journal;
    struct execution work;
    int32_t slot;              /* -1: none, of a job that was taken over when all were in use */
    int64_t bytes;             /* planned, on the slot's device */
    int64_t start_us;          /* monotonic; when the worker began, as far as is known */
    int64_t last_record_us;    /* of the newest record, or the start */
    bool told;                 /* to stop, by the user's wish */
    int64_t killed_stalled_us; /* killed then because it was silent too long; 0: not so */
    bool log_failed;           /* said once */
    bool ended;                /* judged, not yet said */
    enum store_state state;
    char message[ATTEMPT_MESSAGE_BYTES];
};

/* What starting one needs. */
struct attempt_context {
    struct store *store;
    const struct project *project;
    const struct machine *machine;
    const struct queue *queue;
    const struct slots *slots;
    struct slurm *slurm; /* for slots of Slurm */
    const char *program; /* of the worker */
    int64_t now_us;      /* monotonic */
};

/* attempt_start - makes the folder, writes the spec, starts the worker and adds the rows; in the
 * caller's transaction. *out is freed with attempt_free. Errors: those of files, the store and the
 * executor's start; nothing runs then. */
int attempt_start(struct attempt **out, const struct attempt_context *place, const int32_t *task,
                  int32_t n, int32_t slot, struct err *e);

/* attempt_recover - the worker of the running attempts [0, n), which share it and its folder, is a
 * job that still runs (found: its row of squeue). *out is NULL when none of the runs is in the
 * queue: it is left to a call that asks for them. Its records are read from the first. */
int attempt_recover(struct attempt **out, const struct attempt_context *place,
                    const struct store_running *row, int32_t n, const struct slurm_row *found,
                    struct err *e);

/* attempt_poll - takes the new records (see journal_ingest) and notes that they came by now_us.
 */
int attempt_poll(struct attempt *at, struct store *s, int64_t now_us, bool *batch, struct err *e);

/* attempt_set_outcome - what the end of the worker means: done needs exit 0, its word and its
 * results. Fills state and message. */
void attempt_set_outcome(struct attempt *at, const struct project *p, const struct exit_info *end);

/* attempt_was_preempted - the worker was told to stop by somebody else than this scheduler, such as
 * Slurm before a time limit, and kept a checkpoint: no try that failed, the next one goes on. */
bool attempt_was_preempted(const struct attempt *at);

/* attempt_free - takes NULL. A process that still runs is ended, a job of Slurm goes on. */
void attempt_free(struct attempt *at);

/* scheduler_recover - ends every attempt that an earlier scheduler left marked as running: kills
 * what is left of its worker, takes what it wrote, and believes its last word. Those whose job of
 * Slurm still runs stay as they are. *settled_n: how many. Errors: ERR_TRYLATER squeue does not say
 * whether such a job still runs. */
int scheduler_recover(struct store *s, const struct project *p, const struct machine *m,
                      struct slurm *slurm, int32_t *settled_n, struct err *e);

/* attempt_gather_running - the rows that share a folder with row[0] come to the front; how many. */
int32_t attempt_gather_running(struct store_running *row, int32_t n);

#endif
