/* parent.h - the start of a training that continues another one.
 *
 * 1. The model has its own initial values; those of the tensors that the parent has too are
 *    replaced by the parent's, and with train.continues=all so is the optimiser state.
 * 2. With `all` the update number goes on at the parent's. The validation due there was the
 *    parent's; best on valid starts empty.
 * 3. The run id covers the parent's run id, and not the hash of its file, which does not exist when
 *    a run is planned. EVENT_CONTINUED records the hash, and `alibi verify` compares it. */
#ifndef WORKER_PARENT_H
#define WORKER_PARENT_H

#include <stdint.h>

#include "base/err.h"

struct checkpoint_point;
struct model;
struct worker;

/* parent_start - sets the model and *now; *rate to the learning rate that the parent used last
 * (train.continues=weights: unchanged). Records EVENT_CONTINUED. Errors: ERR_NOINPUT the parent is
 * not done, or kept no optimiser state; ERR_DATA it is of another model, text or optimiser, or its
 * file is damaged. */
int parent_start(struct worker *a, struct model *m, int32_t slots_n, struct checkpoint_point *now,
                 double *rate, struct err *e);

#endif
