/* model_stream.h - the source of the tensors of a streamed model. */
#ifndef MODEL_MODEL_STREAM_H
#define MODEL_MODEL_STREAM_H

#include <stdint.h>

#include "base/err.h"
#include "model/model.h"

struct model_stream {
    model_source_fn *source; /* NULL: not stated yet */
    void *context;
    int32_t stage;   /* in memory; SHAPE_STAYS: none */
    float *host_own; /* the largest tensor; NULL: backend memory is the host's */
};

/* model_stage - before the pass reads tensors of a stage (enum shape_stage): makes a streamed model
 * have them in memory. model_head_stage - the stage of the head's table. */
int model_stage(struct model *m, int32_t stage, struct err *e);
int32_t model_head_stage(const struct model *m);
/* model_stream_check - refuses a tensor that a streamed model reads from its source. */
int model_stream_check(const struct model *m, int32_t tensor, struct err *e);

#endif
