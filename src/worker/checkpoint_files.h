/* checkpoint_files.h - what checkpoint.c and checkpoint_resume.c share: names and sizes. */
#ifndef WORKER_CHECKPOINT_FILES_H
#define WORKER_CHECKPOINT_FILES_H

#include "worker/checkpoints.h"

/* checkpoint_state_path - of the state of an update, relative to the attempt. */
void checkpoint_state_path(char out[CHECKPOINT_PATH_BYTES], int64_t update);
/* checkpoint_slots - optimiser tensors per parameter. */
int32_t checkpoint_slots(const struct spec *s);

#endif
