/* train.h - one training, from its first update or from where an older attempt stopped. */
#ifndef WORKER_TRAIN_H
#define WORKER_TRAIN_H

#include "worker/worker_internal.h"

struct train;

/* train_run - the attempt's only spec, of kind SPEC_TRAIN. Records every update, validations,
 * checkpoints and EVENT_TRAINED. *out is for train_prune_checkpoints. Errors: ERR_NUMBER a loss or
 * gradient that is not finite; ERR_INTERRUPTED with a checkpoint written; ERR_DATA the corpus is
 * another one. */
int train_run(struct train **out, struct worker *a, struct err *e);

/* train_prune_checkpoints - once the outcome is recorded: keeps only the best and the last weights.
 */
void train_prune_checkpoints(struct train *t);
void train_close(struct train *t); /* takes NULL */

#endif
