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
 * 4. SIGTERM or SIGINT: checkpoint after the current update, record `cancelled`, exit 130. */
#ifndef WORKER_WORKER_H
#define WORKER_WORKER_H

#include <stdint.h>

#include "base/err.h"
#include "base/project.h"

struct worker_options {
    const char *dir;    /* the attempt's folder; contains a spec, but no events */
    const char *device; /* backend name: cpu, cuda:0, cuda:emulated */
    int threads;        /* of the CPU backend */

    double checkpoint_s; /* seconds between checkpoints of a training; 0: 60 */
    const char *choices; /* algorithms for the device, from the end record of an attempt; NULL:
                            select them by timing */
    int64_t stop_after;  /* stop as on SIGTERM after so many updates of the training; 0: never */
};

/* worker_run - carries out the attempt from start to end. The record EVENT_ENDED states the
 * outcome: done (0), diverged (ERR_NUMBER), cancelled (ERR_INTERRUPTED) or failed (any other
 * error). Errors: ERR_CREATE the attempt has already been executed. */
int worker_run(const struct project *p, const struct worker_options *o, struct err *e);

#endif
