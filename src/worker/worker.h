/* worker.h - one attempt: `alibi worker DIR`, DIR = runs/<run_id>/<attempt>/ with spec, events,
 * log, checkpoints.
 *
 * 1. Reads DIR/spec: one spec text, or several evaluations of one training separated by a line
 *    "---" (they differ in eval.L or stride and share the loaded checkpoint; with stride 1 they
 *    share one pass).
 * 2. Writes records to DIR/events, checkpoints to DIR; opens no database and no YAML.
 * 3. Resumes from the newest valid checkpoint of older attempts of the run (sibling folders), which
 *    are only read. A file DIR/fresh (empty, from the scheduler): attempts older than the newest
 *    one that has it are not resumed from (--redo).
 * 4. SIGTERM or SIGINT: checkpoint after the current update, record `cancelled`, exit 130. */
#ifndef WORKER_WORKER_H
#define WORKER_WORKER_H

#include <stdint.h>

#include "base/err.h"
#include "base/project.h"

struct worker_options {
    const char *dir;    /* the attempt's folder, with a spec and without events */
    const char *device; /* backend name: cpu, cuda:0, cuda:emulated */
    int threads;        /* of the CPU backend */

    double checkpoint_s; /* seconds of training between checkpoints; 0: 60 */
    const char *choices; /* algorithms for the device, as an attempt's end records them; NULL: it
                            selects them */
    int64_t stop_after;  /* behave as on SIGTERM after so many updates of the training; 0: never */
};

/* worker_run - the whole life of the attempt. The record EVENT_ENDED repeats the outcome: done (0),
 * diverged (ERR_NUMBER), cancelled (ERR_INTERRUPTED) or failed (anything else). Errors: ERR_CREATE
 * the attempt has been executed already. */
int worker_run(const struct project *p, const struct worker_options *o, struct err *e);

#endif
