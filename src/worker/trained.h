/* trained.h - the checkpoint that a finished training left, as its records name it. */
#ifndef WORKER_TRAINED_H
#define WORKER_TRAINED_H

#include "base/arena.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/project.h"
#include "spec/spec.h"

struct trained {
    const char *path; /* absolute, in the arena */
    char sha256[HASH_HEX_BYTES];
};

/* checkpoint_find - reads runs/RUN/<attempt>/events from the newest attempt down to one that ended
 * `done`; where there is none, the newest whose result is on record serves, for a power cut may
 * have taken the last word of one that results.db knows as done. The file is not opened. Errors:
 * ERR_NOINPUT the training is not done. */
int checkpoint_find(struct trained *out, const struct project *p, struct arena *a,
                    const char *run_id, enum spec_checkpoint which, struct err *e);

#endif
