/* results.h - which result of a run is current, for src/store only. */
#ifndef STORE_RESULTS_H
#define STORE_RESULTS_H

#include <stdint.h>

#include "base/err.h"
#include "store/store.h"

/* results_make_current - the newest result of the attempt becomes the current one of its run,
 * inside the caller's transaction. Errors: ERR_INTERNAL there is none. */
int results_make_current(struct store *s, int64_t attempt_id, const char *run_id, struct err *e);

/* results_unlink_evaluations - evaluations of a training whose checkpoint is neither of those of
 * the training's current result are no longer current. results_detach_all - the same for every
 * training. */
int results_unlink_evaluations(struct store *s, const char *train_run_id, struct err *e);
int results_detach_all(struct store *s, struct err *e);

#endif
