/* weights.h - a model's tensors in safetensors files.
 *
 * Weights have the names of oracle SPEC.md section 14, optimiser state the same names and a prefix.
 * Always fp32. */
#ifndef WORKER_WEIGHTS_H
#define WORKER_WEIGHTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/hash.h"
#include "interchange/safetensors.h"
#include "shape/shape.h"

struct model;
struct source;
struct worker;

/* weights_save - slots_n 0: writes the parameters; otherwise slots_n optimiser tensors per
 * parameter, named "state0.NAME", "state1.NAME". Texts are written to __metadata__. sha256 and
 * bytes of the file may be NULL. path NULL: only gives this rank's parts to rank 0, which writes.
 */
int weights_save(struct model *m, int32_t slots_n, const char *path,
                 const struct safetensors_text *texts, int32_t texts_n, char sha256[HASH_HEX_BYTES],
                 int64_t *bytes, struct err *e);

/* weights_load - loads tensors saved by weights_save; path is for messages. The model is unchanged
 * unless the whole file matches it. Errors: ERR_DATA a tensor is missing, has another shape or
 * dtype, or is not in the model. */
int weights_load(struct model *m, int32_t slots_n, const struct safetensors *s, const char *path,
                 struct err *e);

/* weights_inherit - the same for a training's parent: loads the tensors of a file of the parent,
 * whose parameters are `parent`, that the child takes over, and leaves the others as they are.
 * Errors: also ERR_DATA a number is not finite. */
int weights_inherit(struct model *m, int32_t slots_n, const struct shape_inheritance *h,
                    const struct shape_params *parent, const struct safetensors *s,
                    const char *path, struct err *e);

/* weights_are_streamed - true if a model of it has a capacity with `streamed`: on a CPU, where the
 * folder's files are in the same memory. weights_of_source - gives the weights to a model; a
 * streamed one reads them until source_close. */
bool weights_are_streamed(const struct source *s, const struct worker *a);
int weights_of_source(const struct source *s, const struct worker *a, struct model *m,
                      struct err *e);

#endif
