/* train.h - the learning rate schedule. */
#ifndef WORKER_TRAIN_H
#define WORKER_TRAIN_H

#include <stdint.h>

#include "spec/spec.h"

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
