/* lease.h - one attempt at a run, or at several evaluations that share a worker: its folder, its
 * process, its records, its end.
 *
 * An attempt is in the database from the moment its process runs. A crash before that leaves a
 * folder and nothing else; the next attempt takes the next number. */
#ifndef SCHEDULER_LEASE_H
#define SCHEDULER_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/project.h"
#include "scheduler/journal.h"
#include "scheduler/machine.h"
#include "scheduler/process.h"
#include "scheduler/queue.h"
#include "scheduler/slots.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { LEASE_MESSAGE_BYTES = 600 };

struct lease {
    struct arena arena; /* holds what is below */
    int32_t *task;      /* indices of the queue */
    int32_t n;
    struct journal_run *run; /* of each task */
    const char *dir;         /* runs/<run_id>/<attempt>, of the first task */
    struct journal journal;
    struct process process;
    int32_t slot;
    int64_t bytes;    /* planned, on the slot's device */
    int64_t start_us; /* monotonic */
    int64_t heard_us; /* of the newest record, or the start */
    bool told;        /* to stop, by the user's wish */
    bool stalled;     /* killed because it was silent too long */
    bool log_failed;  /* said once */
    bool ended;       /* judged, not yet said */
    enum store_state state;
    char message[LEASE_MESSAGE_BYTES];
};

/* What starting one needs. */
struct lease_place {
    struct store *store;
    const struct project *project;
    const struct machine *machine;
    const struct queue *queue;
    const struct slots *slots;
    const char *program; /* of the worker */
};

/* lease_start - makes the folder, writes the spec, starts the worker and adds the rows; in the
 * caller's transaction. *out is freed with lease_free. Errors: those of files, the store and
 * process_start; nothing runs then. */
int lease_start(struct lease **out, const struct lease_place *place, const int32_t *task, int32_t n,
                int32_t slot, struct err *e);

/* lease_listen - takes the new records (see journal_ingest) and notes the time. */
int lease_listen(struct lease *at, struct store *s, bool *batch, struct err *e);

/* lease_judge - what the end of the worker means: done needs exit 0, its word and its results.
 * Fills state and message. */
void lease_judge(struct lease *at, const struct project *p, int exit_code, int signal);

/* lease_free - ends the worker if it still runs; takes NULL. */
void lease_free(struct lease *at);

/* lease_settle_worker - ends the running attempts [0, n) that share one worker and its folder, by
 * what its records say. ended_at: as clock_utc writes it; NULL: now. */
int lease_settle_worker(struct store *s, const struct project *p, const struct store_running *row,
                        int32_t n, const char *ended_at, struct err *e);

/* lease_settle - ends every attempt that an earlier scheduler left marked as running: kills what
 * is left of its worker, takes what it wrote, and believes its last word. *settled_n: how many. */
int lease_settle(struct store *s, const struct project *p, const struct machine *m,
                 int32_t *settled_n, struct err *e);

#ifdef __cplusplus
}
#endif
#endif
