/* train.h - the learning rate of every update, as arithmetic. */
#ifndef WORKER_TRAIN_H
#define WORKER_TRAIN_H

#include <stdint.h>

#include "spec/spec.h"

/* schedule_rate - the rate of an update before which `update` updates were done, so the first one
 * is 0.
 *
 * 1. Warm-up: below t->warmup it rises in a straight line from lr_init to lr (a negative lr_init
 *    means lr_min).
 * 2. SPEC_FIXED: lr from then on.
 * 3. SPEC_COSINE: periods of period * period_multiplier^i updates; in each the rate falls along
 *    half a cosine from lr to lr_min, both times lr_shrink^i. A period of 0: lr.
 * Source: the authors' README recipe and scheduler (oracle SPEC.md section 10). */
double schedule_rate(const struct spec_train *t, int64_t update);

#endif
