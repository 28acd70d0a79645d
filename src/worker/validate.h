/* validate.h - the loss on valid during training: nonoverlapping blocks of train.validate_L tokens
 * (0: of the training length), the whole split. It chooses the best checkpoint and is never one of
 * the reported perplexities. */
#ifndef WORKER_VALIDATE_H
#define WORKER_VALIDATE_H

#include "base/err.h"
#include "data/corpus.h"
#include "model/model.h"
#include "worker/score.h"

struct validate_options {
    const struct spec *spec;
    const struct tokens *valid;
    struct model *model;
    int32_t rows;       /* of that length that the model holds */
    score_tick_fn tick; /* as in score.h; may be NULL */
    void *tick_context;
};

/* validate_length - tokens of a block. */
int32_t validate_length(const struct spec_train *t);

/* validate_loss - nats per target. With train.tail_quirk a target of class 1 of a tail counts only
 * its cluster term, as in the authors' validation (oracle SPEC.md section 7). */
int validate_loss(const struct validate_options *o, double *loss_nats, struct err *e);

#endif
