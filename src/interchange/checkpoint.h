/* checkpoint.h - finds and opens the checkpoints that a training recorded. */
#ifndef INTERCHANGE_CHECKPOINT_H
#define INTERCHANGE_CHECKPOINT_H

#include "base/arena.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/project.h"
#include "interchange/safetensors.h"
#include "spec/spec.h"

/* checkpoint_open - maps a run's weights or optimiser state after comparing its SHA-256 with the
 * recorded one. Sets trained (may be NULL) to the file's spec. Errors: ERR_NOINPUT; ERR_DATA the
 * file is damaged or of another run. */
int checkpoint_open(struct safetensors **out, struct spec *trained, const char *path,
                    const char *sha256, const char *run_id, struct err *e);

/* checkpoint_find - finds the weights recorded by the newest attempt of a training that ended
 * `done`. Without one, uses the newest attempt with a recorded result but no end, whose last record
 * a power failure may have lost. *path is absolute, in the arena. Does not open the file. Errors:
 * ERR_NOINPUT the training is not done. */
int checkpoint_find(const char **path, char sha256[HASH_HEX_BYTES], const struct project *p,
                    struct arena *a, const char *run_id, enum spec_checkpoint which, struct err *e);

#endif
