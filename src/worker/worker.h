/* worker.h - carries out an attempt: `alibi worker DIR`, DIR = runs/<run_id>/<attempt>/ with spec,
 * events, log, checkpoints. train.c has the training loop and the learning rate schedule,
 * evaluate.c and score.c the evaluations, bench.c the measurements of speed and memory.
 *
 * 1. Reads DIR/spec: one spec text, or several evaluations of one training separated by a line
 *    "---" (they differ in eval.L or stride and share the loaded checkpoint; with stride 1 they
 *    share one pass).
 * 2. Writes records to DIR/events, checkpoints to DIR; opens no database and no YAML.
 * 3. Resumes from the newest valid checkpoint of older attempts of the run (sibling folders), which
 *    are only read. An empty file `fresh` in an attempt's folder, written by the scheduler for
 *    --redo, excludes all older attempts.
 * 4. SIGTERM or SIGINT: record `cancelled`, exit 130. A training writes a checkpoint after its
 *    current update; an evaluation or a benchmark ends before its next op.
 * 5. A training may have several ranks (group/group.h), one process each. All compute the same
 *    numbers and hold the same state; rank 0 alone decides and writes: records, checkpoints, what
 *    it deletes. Errors that all ranks meet alike (ERR_NUMBER, ERR_INTERRUPTED) end them together;
 *    the error or the loss of one ends all, and rank 0 records it as the end. */
#ifndef WORKER_WORKER_H
#define WORKER_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "backend/backend.h"
#include "base/err.h"
#include "base/project.h"

struct worker_options {
    const char *dir;    /* the attempt's folder; contains a spec, but no events */
    const char *device; /* backend name: cpu, cuda:0, cuda:emulated */
    int32_t threads;    /* of the CPU backend */

    double checkpoint_s; /* seconds between checkpoints of a training; 0: 60 */
    const char *choices; /* algorithms for the device, from the end record of an attempt; NULL:
                            select them by timing */
    int64_t stop_after;  /* stop as on SIGTERM after so many updates of the training; 0: never */
    const char *losses;  /* file for the loss of each target of the attempt's only spec, an
                            evaluation (evaluate.c, rule 8); NULL: none */

    /* One training by ranks_n processes (group/group.h); ranks_n 0 or 1: this one alone. */
    int32_t rank, ranks_n;
    const char *meet; /* the file in which rank 0 says where it listens */
    const char *host; /* name of this machine for ranks of others; NULL: all are on this one */
    double meet_s;    /* timeout of the meeting; 0: 120 */
    double stall_s;   /* timeout of an exchange in which no byte moves; 0: 240 */
};

/* worker_run - carries out the attempt from start to end. The record EVENT_ENDED states the
 * outcome: done (0), diverged (ERR_NUMBER), cancelled (ERR_INTERRUPTED), lost (ERR_UNAVAILABLE
 * once the ranks meet) or failed (any other error). The message of the error or the loss of another
 * rank begins with "rank R on LABEL: ". Errors: ERR_CREATE the attempt has already been executed.
 * May end the process: a rank does not survive the loss of another. */
int worker_run(const struct project *p, const struct worker_options *o, struct err *e);

/* trial_run - runs some ops on a device and compares them with the CPU backend, in a fraction of a
 * second. Errors: ERR_UNAVAILABLE names the op whose result is wrong; those of the ops, such as
 * code that is missing for this GPU. */
int trial_run(struct backend *b, struct err *e);
/* trial_threads - two threads, each with its own CPU backend, repeat small products at the same
 * time. Errors: ERR_UNAVAILABLE a result has other bits than that of the first backend alone. */
int trial_threads(struct backend *first, struct backend *second, int64_t repeats, struct err *e);

/* trial_exchange - as one of two ranks on this machine, exchanges with the other one and compares
 * what came. Writes how both exchange and how fast: "NCCL 2.27.5, 21.3 GB/s". The ranks meet by the
 * file `meet` within trial_s; `lost` is as in group/group.h. Errors: ERR_UNAVAILABLE bytes are
 * wrong; those of the backend and the meeting. */
struct trial_exchange {
    const char *device, *label; /* label: for messages, such as "cuda:1" */
    const char *meet;
    int32_t rank;
    double trial_s;
    void (*lost)(void *context, const struct err *e);
    void *context;
};
int trial_exchange(char *text, size_t bytes, const struct trial_exchange *t, struct err *e);

/* --- reproduce.c: repeats an attempt and compares it with its records bit for bit ---
 *
 * 1. A training is repeated from its first update for a few updates. The records of updates,
 *    validations and checkpoints that both attempts have are compared, in the fields that
 *    record_fields marks as verified. If a training was interrupted, all its attempts up to the
 *    given one are compared. (It cannot start in the middle, because the optimiser state is deleted
 *    when a training is done.)
 * 2. An evaluation is repeated completely.
 * 3. A device that selects algorithms by timing uses the recorded ones.
 * 4. Bits are only guaranteed for the same device, BLAS, threads and program. If one of them
 *    differs, different records are reported but are not an error. */

struct reproduce_options {
    const char *dir;    /* absolute folder of the attempt */
    const char *run_id; /* run to reproduce: evaluations may share a folder */
    int64_t updates;    /* updates of a training to repeat; at most all it has */
    const char *losses; /* of an evaluation: as in worker_options; NULL: none */
};

struct reproduce_report {
    bool ran;           /* false: cannot be reproduced here, for the reason in why */
    int64_t updates;    /* repeated updates; 0 for an evaluation */
    int64_t compared_n; /* compared records */
    int64_t hashes_n;   /* of these, hashes of checkpoints */
    int64_t differ_n;
    bool same_maker; /* same program, device and libraries as recorded */
    char why[300];   /* reason why it did not run, or the first difference */
    char maker[300]; /* differences of program, device or libraries; "": none */
};

/* reproduce_run - reproduces an attempt in a temporary folder under runs/, which is deleted.
 * Errors: ERR_INTERRUPTED; ERR_DATA the spec or corpus does not match; those of the run. */
int reproduce_run(struct reproduce_report *out, const struct project *p,
                  const struct reproduce_options *o, struct err *e);

#endif
