/* model.h - a decoder on any backend: parameters, training step, scoring.
 *
 * struct spec_form describes it: the paper's (oracle SPEC.md sections 4 to 9), or for scoring that
 * of a pretrained model (open-models SPEC.md section 3). src/position defines the position methods.
 * Memory: parameters, gradients and optimiser state; with bf16 a copy of the parameters;
 * activations at fixed offsets; step state. In a group every rank has all of it, and the bits do
 * not depend on the number of ranks; model_group.c says which values are valid where.
 *
 * The backend determines the precision. Parameters, gradients and optimiser state are fp32 even
 * with bf16; the functions below read and write them in fp32, so that a checkpoint does not depend
 * on the precision. */
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

/* model_open - allocates everything once; parameters are zero until they are written. The spec is
 * copied. The backend determines the precision, whatever that of the capacity. Errors: ERR_DATA
 * sizes; a training of another form than the paper's (struct spec_form). */
int model_open(struct model **out, struct backend *b, const struct spec *s,
               const struct shape_capacity *capacity, struct err *e);
void model_close(struct model *m); /* takes NULL */
const struct shape_params *model_params(const struct model *m);
/* model_bytes - bytes allocated on the backend at open: weights, optimiser state, activations, step
 * state. Tests compare it with the memory that shape predicts. */
int64_t model_bytes(const struct model *m);

/* model_init - draws the initial values of SPEC.md section 9 with Philox from the seed. The stream
 * of a tensor is the hash of its name, so that position methods share all initial values except
 * their own. */
int model_init(struct model *m, uint64_t seed, struct err *e);

/* Copies one tensor from or to the host, by index in model_params: values, gradients, optimiser
 * state (slot 0, 1). In a group all ranks call both: model_read fills out_host of rank 0 with the
 * parts of all ranks, and each rank writes the whole tensor. */
enum model_array { MODEL_VALUES, MODEL_GRADIENTS, MODEL_STATE_0, MODEL_STATE_1 };
int model_read(struct model *m, enum model_array array, int32_t tensor, float *out_host,
               struct err *e);
int model_write(struct model *m, enum model_array array, int32_t tensor, const float *in_host,
                struct err *e);

/* model_stream - gives a model with capacity.streamed its values: `source` writes tensor i in fp32.
 * Those that are always in memory are read now; the others in each pass, before the stage that
 * reads them: the table, each layer, the head. Then model_write and model_read refuse them. An
 * error of the source ends the pass. */
typedef int model_source_fn(void *context, int32_t tensor, float *out_host, struct err *e);
int model_stream(struct model *m, model_source_fn *source, void *context, struct err *e);

/* model_graph_counts - how often a model ran a pass without a graph, captured a graph, and gave up
 * a shape for another one, which a new capture follows. */
struct model_graph_counts {
    int64_t direct, captured, evicted;
};
struct model_graph_counts model_graph_counts(const struct model *m);

struct model_batch {
    const int32_t *source, *target; /* on the host, (rows, length); padded on the right with
                                       spec_pad */
    int32_t rows, length;
    int64_t first_row;     /* index of row 0 in the update, for dropout */
    int32_t stated_length; /* nominal length of rows, for methods with follows_length; 0: length */
};

/* model_shards - the shards of an update that this rank computes: [first, end). All of them without
 * a group. */
void model_shards(const struct model *m, int32_t *first, int32_t *end);

/* model_train_batch - forward and backward pass of one shard of model_shards, in rising order; the
 * first begins the gradients of a new update. *loss_sum: nats over all targets except padding (and
 * those that train.tail_quirk leaves out); reading it synchronises with the backend. NULL: do not
 * wait; model_loss returns the sum of the update. */
int model_train_batch(struct model *m, const struct model_batch *batch, uint32_t update,
                      int32_t shard, double *loss_sum, struct err *e);

struct model_update {
    uint32_t update; /* from 0 */
    double lr, lr_previous;
    int64_t targets_n; /* of all shards of the update; divides the gradients */
    int32_t shards_n;  /* that the update has; the last ones of train.shards may be absent */
};
/* model_apply - adds the gradients of all shards, of all ranks, clips the sum and updates the
 * weights with NAG or Adam; all ranks call it, and all have the same result. *grad_norm: norm of
 * (summed gradient / targets) before clipping. Errors: ERR_NUMBER the norm is not finite; the
 * weights are then unchanged. */
int model_apply(struct model *m, const struct model_update *u, double *grad_norm, struct err *e);
/* model_loss - the loss of the last update given to model_apply, in nats, summed over its shards in
 * order; also if the norm was not finite. */
double model_loss(const struct model *m);

/* model_score - out[i] = log p (nats) of the target at position[i] = row * length + token, rising.
 * Without dropout, exact by row: the bits depend only on the tokens of the row up to the position.
 */
int model_score(struct model *m, const struct model_batch *batch, const int32_t *position,
                int64_t positions_n, float *out_host, struct err *e);

/* model_keys - the keys of kNN-LM at those positions: the inputs of the last layer's feed-forward
 * layers, after their LayerNorm; (positions_n, C) fp32, exact by row. batch NULL: at the positions
 * of the last model_score. The model must have a capacity with `keys`. Errors: ERR_UNAVAILABLE the
 * precision is bf16. */
int model_keys(struct model *m, const struct model_batch *batch, const int32_t *position,
               int64_t positions_n, float *out_host, struct err *e);

/* model_hits - for each position of the last model_score of a model opened with capacity.hits,
 * whether no word is more probable than its target, nor as probable with a lower id. A distribution
 * with a NaN has no hit. */
const bool *model_hits(const struct model *m);

/* model_keep_inner - for tests that compare layers: later passes copy the residual stream to
 * inner_dev_own of model_struct.h, which costs memory: 0 the embedding, l the stream after layer
 * l, layers + 1 the features. model_distribution - log p of every word at one position. */
int model_keep_inner(struct model *m, struct err *e);
int model_distribution(struct model *m, const struct model_batch *batch, int32_t position,
                       float *out_host /* (V) */, struct err *e);

/* model_attend - computes the layers for one row of tokens. `see` is called with the arguments of
 * each layer's attention before it is computed, in order, and may end the pass with an error. */
typedef int model_attention_fn(void *context, const struct attention *a, int32_t layer,
                               struct err *e);
int model_attend(struct model *m, const struct model_batch *batch, model_attention_fn *see,
                 void *context, struct err *e);

#endif
