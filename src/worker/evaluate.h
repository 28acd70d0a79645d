/* evaluate.h - evaluations of one checkpoint: perplexity of a split under one or more protocols.
 *
 * 1. The checkpoint is the best or the last one that the newest attempt of the training which ended
 *    `done` recorded; its hash is verified, and the specification inside must be the training's.
 * 2. Every evaluation asserts that it scored exactly the targets of its protocol. Scores that are
 *    not finite are counted, never dropped: perplexity and loss are then null.
 * 3. Log probabilities are summed in stream order, in double.
 * 4. Sliding evaluations with stride 1 that differ only in their length share one pass (score.h,
 *    score_prefixes). Theirs is no eval_wps, the peak memory is the pass's, and wall_seconds is an
 *    equal part of it.
 * 5. eval_wps: targets per second of the pass without its first batch, which warms caches and
 *    tables up; of the whole pass where one batch is all. */
#ifndef WORKER_EVALUATE_H
#define WORKER_EVALUATE_H

#include "worker/worker_internal.h"

/* evaluate_run - all specs of the attempt; EVENT_EVALUATED for each as soon as it is known. Errors:
 * ERR_NOINPUT the training is not done; ERR_DATA the checkpoint or the corpus is another one;
 * ERR_INTERRUPTED. */
int evaluate_run(struct worker *a, struct err *e);

#endif
