/* checkpoint.h - the files that a training leaves, as its records name them. */
#ifndef INTERCHANGE_CHECKPOINT_H
#define INTERCHANGE_CHECKPOINT_H

#include "base/arena.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/project.h"
#include "interchange/safetensors.h"
#include "spec/spec.h"

/* checkpoint_open - maps weights or optimiser state of a run, after its SHA-256 was compared with
 * the recorded one. trained (may be NULL) is the specification inside. Errors: ERR_NOINPUT;
 * ERR_DATA the file is damaged or of another run. */
int checkpoint_open(struct safetensors **out, struct spec *trained, const char *path,
                    const char *sha256, const char *run_id, struct err *e);

/* checkpoint_find - the weights that a finished training recorded: the newest attempt that ended
 * `done`; if there is none, the newest whose result is recorded and whose end is not, because a
 * power cut may have torn off the last record of one that results.db knows as done. *path is
 * absolute, in the arena. The file is not opened. Errors: ERR_NOINPUT the training is not done. */
int checkpoint_find(const char **path, char sha256[HASH_HEX_BYTES], const struct project *p,
                    struct arena *a, const char *run_id, enum spec_checkpoint which, struct err *e);

#endif
