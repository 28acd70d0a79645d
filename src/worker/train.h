/* train.h - the training of an attempt, and its learning rate. */
#ifndef WORKER_TRAIN_H
#define WORKER_TRAIN_H

#include <stdint.h>

#include "base/err.h"
#include "spec/spec.h"

struct checkpoints;
struct worker;

/* train_run - runs the attempt's only spec, of kind SPEC_TRAIN, from its first update or from a
 * checkpoint of an older attempt. Records updates, validations, checkpoints and EVENT_TRAINED. The
 * caller passes `kept` to checkpoints_finish after recording the outcome. Errors: ERR_NUMBER a loss
 * or gradient is not finite; ERR_INTERRUPTED after writing a checkpoint; ERR_DATA the corpus does
 * not match. */
int train_run(struct worker *a, struct checkpoints *kept, struct err *e);

/* schedule_rate - the learning rate of update `update`, counted from 0.
 *
 * 1. Warm-up: below t->warmup it rises linearly from lr_init to lr (a negative lr_init means
 *    lr_min).
 * 2. SPEC_FIXED: afterwards lr.
 * 3. SPEC_COSINE: period i has period * period_multiplier^i updates, in which the rate falls along
 *    half a cosine from lr to lr_min, both times lr_shrink^i. If period is 0: lr.
 * Source: the authors' README recipe and scheduler (oracle SPEC.md section 10). */
double schedule_rate(const struct spec_train *t, int64_t update);

#endif
