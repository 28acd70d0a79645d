/* model.h - the decoder of the paper on any backend: parameters, training step, scoring.
 *
 * Blocks are pre-norm (oracle SPEC.md sections 4 to 9); a position method is one file and a row of
 * position_methods. Memory: parameters, gradients and optimiser; with bf16 the parameters rounded;
 * activations with static offsets; step state.
 *
 * The precision is that of the backend the model is opened on. With bf16 the parameters, their
 * gradients and the optimiser's state are fp32 all the same, and that is what is read and written
 * here: a checkpoint does not depend on the precision. */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "backend/backend.h"
#include "base/err.h"
#include "shape/memory.h"
#include "shape/shape.h"
#include "spec/spec.h"

struct model;

struct model_options {
    bool train; /* gradients, optimiser state and backward activations are allocated */
    int32_t rows_max, length_max; /* largest batch: rows * length tokens */
    int64_t scored_max;           /* most positions scored by one model_score call */
};

/* model_options_for - the options that open a model of just the capacity that a plan counted:
 * planned and allocated bytes follow from one rule. */
struct model_options model_options_for(const struct shape_capacity *c);

/* model_open - allocates everything once; parameters are zero until model_init or model_load_*. The
 * spec is copied. */
int model_open(struct model **out, struct backend *b, const struct spec *s,
               const struct model_options *o, struct err *e);
void model_close(struct model *m); /* takes NULL */
const struct shape_params *model_params(const struct model *m);
/* model_bytes - allocated on the backend at open: weights and their state, activations, step state.
 */
int64_t model_bytes(const struct model *m);

/* model_init - initial values of SPEC.md section 9 drawn by Philox from the seed (tensor by tensor:
 * the stream is the hash of the tensor's name, so that methods share all initial values but their
 * own). */
int model_init(struct model *m, uint64_t seed, struct err *e);

/* Host copies of one tensor, by index in model_params: values, gradients, optimiser state (slot 0,
 * 1). */
enum model_block { MODEL_VALUES, MODEL_GRADIENTS, MODEL_STATE_0, MODEL_STATE_1 };
int model_read(struct model *m, enum model_block block, int32_t tensor, float *out_host,
               struct err *e);
int model_write(struct model *m, enum model_block block, int32_t tensor, const float *in_host,
                struct err *e);

struct model_batch {
    const int32_t *source, *target; /* host, (rows, length); pad id 1 on the right */
    int32_t rows, length;
    int64_t first_row;     /* of row 0 in the whole update: dropout counters */
    int32_t stated_length; /* of rows as their protocol states it, for methods whose numbers follow
                              it; 0: length */
};

/* model_train_batch - forward and backward of one shard. accumulate 0 starts a new update's
 * gradients. *loss_sum: nats over targets that are not padding (without the tail quirk's omissions
 * when the spec asks for it), for which the backend is waited for; NULL: model_loss returns that of
 * the update, later. */
int model_train_batch(struct model *m, const struct model_batch *batch, uint32_t update,
                      int accumulate, double *loss_sum, struct err *e);

struct model_update {
    uint32_t update; /* from 0 */
    double lr, lr_previous;
    int64_t targets_n; /* of the update: gradients are divided by it */
};
/* model_apply - clips, then NAG or Adam. *grad_norm: of (summed gradient / targets), before
 * clipping. ERR_NUMBER when the norm is not finite; the weights are then unchanged. */
int model_apply(struct model *m, const struct model_update *u, double *grad_norm, struct err *e);
/* model_loss - nats over the batches of the update that model_apply was called for last, finite
 * norm or not: the sum of their losses in order. */
double model_loss(const struct model *m);

/* model_score - log p (nats) of targets at chosen positions, without dropout, exact by row: a
 * position's bits depend only on the tokens of its row up to it. position[i] = row * length +
 * token, rising; out[i] for each. */
int model_score(struct model *m, const struct model_batch *batch, const int32_t *position,
                int64_t positions_n, float *out_host, struct err *e);

/* model_keep_inner - from now on a pass copies the residual streams to inner_dev_own of
 * model_internal.h (costs memory): 0 the embedding, l the stream after layer l, layers + 1 the
 * features. model_distribution: log p of every word at one position. */
int model_keep_inner(struct model *m, struct err *e);
int model_distribution(struct model *m, const struct model_batch *batch, int32_t position,
                       float *out_host /* (V) */, struct err *e);

#endif
