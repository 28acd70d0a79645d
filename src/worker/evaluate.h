/* evaluate.h - the evaluations of an attempt. */
#ifndef WORKER_EVALUATE_H
#define WORKER_EVALUATE_H

#include <stdint.h>

#include "base/err.h"

struct worker;

/* evaluate_run - runs all specs of the attempt, of kind SPEC_EVAL, and records EVENT_EVALUATED as
 * soon as each is done. Errors: ERR_NOINPUT the training is not done; ERR_DATA the checkpoint or
 * the corpus does not match; ERR_INTERRUPTED. */
int evaluate_run(struct worker *a, struct err *e);

/* evaluate_bin_first - the first position of a bin of positions (evaluate.c, rule 6). */
int32_t evaluate_bin_first(int32_t bin);

#endif
