/* weights.h - a model's tensors to and from safetensors files: weights under the names of oracle
 * SPEC.md section 14, optimiser state under the same names with a prefix. fp32 always. */
#ifndef WORKER_WEIGHTS_H
#define WORKER_WEIGHTS_H

#include <stdint.h>

#include "base/err.h"
#include "interchange/safetensors.h"
#include "model/model.h"

/* weights_save - slots_n 0: the parameters; otherwise slots_n optimiser tensors per parameter, as
 * "state0.NAME", "state1.NAME". Texts go to __metadata__. sha256 and bytes are of the file and may
 * be NULL. */
int weights_save(struct model *m, int32_t slots_n, const char *path,
                 const struct safetensors_text *texts, int32_t texts_n, char sha256[HASH_HEX_BYTES],
                 int64_t *bytes, struct err *e);

/* weights_load - the same from a file; path is for messages. Nothing of the model changes unless
 * the file fits it. Errors: ERR_DATA a tensor of the model is missing or has another shape or
 * dtype; there are more tensors. */
int weights_load(struct model *m, int32_t slots_n, const struct safetensors *s, const char *path,
                 struct err *e);

#endif
