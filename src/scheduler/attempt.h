/* attempt.h - one attempt at a run, or at several evaluations that share a worker: its folder, its
 * worker, its records, its outcome.
 *
 * An attempt enters the database when its worker starts. A crash before that leaves a folder and
 * perhaps an orphan of its executor; the next attempt has the next number. */
#ifndef SCHEDULER_ATTEMPT_H
#define SCHEDULER_ATTEMPT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "scheduler/executor.h"
#include "store/ingest.h"
#include "store/store.h"

struct queue;
struct scheduler;

enum { ATTEMPT_MESSAGE_BYTES = 600 };

struct attempt {
    struct arena arena;        /* owns the members below */
    struct ingest_target *run; /* its runs */
    int32_t n;
    int32_t *entry; /* those of them that this call wants: indices of the queue */
    int32_t entries_n;
    const char *dir, *path; /* runs/<run_id>/<attempt>, of the first run; the same, absolute */
    struct journal journal;
    struct executor_open *executor;
    void *worker; /* the executor's; NULL: not started */
    struct worker_id id;
    int32_t *slot;             /* slots_n: of rank 0, 1, … */
    int32_t slots_n;           /* 0: a recovered attempt when all slots were in use */
    int32_t ranks_n;           /* processes; 0: recovered, not known */
    int32_t rank;              /* that explains the end, see struct exit_info */
    bool gave_up;              /* a process could not use its device */
    int64_t start_us;          /* monotonic; of a recovered attempt, when it was recovered */
    int64_t last_record_us;    /* of the newest record, or the start */
    bool stop_sent;            /* the user requested a stop and it was sent */
    int64_t killed_stalled_us; /* when it was killed as stalled; 0: it was not */
    enum store_state state;    /* STORE_NONE: has not ended; else in the database */
    bool crashed;              /* by a signal that a fault of the program raises */
    char message[ATTEMPT_MESSAGE_BYTES];
};

/* attempt_start - for the n runs of queue.pick: creates the folder, writes the spec, starts the
 * worker on the slots and adds the rows, in the caller's transaction. *out is freed with
 * attempt_free. Errors: those of files, the store and the executor's start; then nothing runs. */
int attempt_start(struct attempt **out, struct scheduler *sc, int32_t n, const int32_t *slot,
                  int32_t slots_n, struct err *e);

/* attempt_recover - takes control of a worker of an earlier scheduler: its running rows [0, n),
 * which share a folder. Its records are read from the first. If it has ended, ends the rows as its
 * records state and sets *out to NULL. */
int attempt_recover(struct attempt **out, struct scheduler *sc, const struct store_running *row,
                    int32_t n, struct err *e);

/* attempt_find_entries - finds the runs of a recovered attempt in the queue. */
void attempt_find_entries(struct attempt *at, const struct queue *q);

/* attempt_log - the path of the log that explains its end. dir: its folder as the caller names it.
 */
char *attempt_log(const struct attempt *at, struct arena *a, const char *dir);

/* attempt_poll - ingests new records, kills a stalled worker, and sets state and message when
 * the worker has ended. */
int attempt_poll(struct attempt *at, struct scheduler *sc, struct err *e);

/* The facts about a worker's end that decide the outcome. */
enum attempt_fact {
    FACT_BROKEN = 1 << 0, /* a record is wrong */
    FACT_DONE = 1 << 1,   /* the last record, one of five, or none */
    FACT_FAILED = 1 << 2,
    FACT_DIVERGED = 1 << 3,
    FACT_CANCELLED = 1 << 4,
    FACT_LOST = 1 << 5,
    FACT_RESULTS = 1 << 6, /* every run has its result */
    FACT_STALLED = 1 << 7, /* it was killed for its silence */
    FACT_STOPPED = 1 << 8, /* the user requested a stop */
    FACT_KILLED = 1 << 9,  /* a signal explains the end */
    FACT_UNSEEN = 1 << 10, /* it has no exit status */
    FACT_EXIT_NOT_0 = 1 << 11,
    FACT_GAVE_UP = 1 << 12, /* a process could not use its device */
    FACTS_END = 1 << 13
};

struct attempt_outcome {
    uint32_t all, none; /* facts that must hold, and that must not */
    enum store_state state;
    enum {
        ATTEMPT_RECORD, /* the message of the last record, or of what is broken; may be empty */
        ATTEMPT_STALLED,
        ATTEMPT_SIGNAL,
        ATTEMPT_WHY, /* the executor's */
        ATTEMPT_STOPPED,
        ATTEMPT_NO_SUCCESS,
        ATTEMPT_NO_RESULT,
        ATTEMPT_NO_RECORD,
        ATTEMPT_LOG /* the last line of the log */
    } message;
};
extern const struct attempt_outcome attempt_outcomes[]; /* the last one needs no fact */

/* attempt_judge - the outcome of a worker about which these facts hold. */
const struct attempt_outcome *attempt_judge(uint32_t facts);

/* attempt_is_hopeless - true if the next try would fail in the same way: its ranks lacked something
 * that must exist, such as a usable transport, before they made progress. */
bool attempt_is_hopeless(const struct attempt *at);

/* attempt_code - the code of a run that failed: that of the last record if a file is to blame, else
 * ERR_INTERNAL. */
int attempt_code(const struct attempt *at);

/* attempt_was_preempted - true if the worker was stopped from outside, such as by Slurm before a
 * time limit, and wrote a checkpoint: this is not a failure, and the next attempt resumes. */
bool attempt_was_preempted(const struct attempt *at);
/* attempt_run_state - the outcome of one of its runs, once the attempt has ended. */
enum store_state attempt_run_state(const struct attempt *at, const char *run_id);

/* attempt_failed_blas - the BLAS that the worker crashed in or that reported an error; NULL: none.
 * The next attempt avoids it. */
const char *attempt_failed_blas(const struct attempt *at);

/* attempt_free - releases the worker; takes NULL. */
void attempt_free(struct attempt *at);

#endif
