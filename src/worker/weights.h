/* weights.h - saves and loads a model's tensors in safetensors files: weights with the names of
 * oracle SPEC.md section 14, optimiser state with the same names and a prefix. Always fp32. */
#ifndef WORKER_WEIGHTS_H
#define WORKER_WEIGHTS_H

#include <stdint.h>

#include "base/err.h"
#include "interchange/safetensors.h"
#include "model/model.h"

/* weights_save - slots_n 0: writes the parameters; otherwise slots_n optimiser tensors per
 * parameter, named "state0.NAME", "state1.NAME". Texts are written to __metadata__. sha256 and
 * bytes of the file may be NULL. */
int weights_save(struct model *m, int32_t slots_n, const char *path,
                 const struct safetensors_text *texts, int32_t texts_n, char sha256[HASH_HEX_BYTES],
                 int64_t *bytes, struct err *e);

/* weights_load - loads tensors saved by weights_save; path is for messages. The model is unchanged
 * unless the whole file matches it. Errors: ERR_DATA a tensor is missing, has another shape or
 * dtype, or is not in the model. */
int weights_load(struct model *m, int32_t slots_n, const struct safetensors *s, const char *path,
                 struct err *e);

#endif
