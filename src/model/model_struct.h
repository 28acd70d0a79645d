/* model_struct.h - struct model, which the files of src/model share.
 *
 * 1. Memory: one array of values, gradients, optimiser state and further gradients of shards
 *    (model_group.c); with bf16 a copy of the values; one pool of activations whose offsets are
 *    fixed at open for the largest batch; a small buffer of step state; of a rank, pieces of other
 *    ranks' gradients. Nothing is allocated later, except by model_keep_inner.
 * shape/memory.h defines offset and lifetime of each buffer; outside its lifetime other buffers use
 * its bytes.
 * 2. A training pass keeps the activations of every layer for the backward pass. A scoring pass
 *    uses the buffers of layer 0 for every layer.
 * 3. The host uploads all index lists of a batch (bands, tails, positions) in one buffer before the
 *    pass. The pass may be a graph launch (model_graph.c), so its body must not access memory of
 *    the host.
 * 4. The backend determines the precision. With bf16, products and gathers read the bf16 copy of
 *    the weights, and activations and their gradients are bf16, including the residual stream and
 *    training logits. LayerNorm weights, statistics, attention sums, losses, scoring logits,
 *    position tables and parameter gradients are fp32. The copy always matches: model_write rounds
 *    the tensor that it writes, and the optimiser rewrites all of it.
 *
 * Axes as in backend.h; N = rows * length tokens of the current batch. */
#ifndef MODEL_MODEL_STRUCT_H
#define MODEL_MODEL_STRUCT_H

#include <stdbool.h>
#include <stdint.h>

#include "backend/backend.h"
#include "base/arena.h"
#include "model/model.h"
#include "model/model_graph.h"
#include "model/model_group.h"
#include "model/model_lists.h"
#include "model/model_memory.h"
#include "model/model_pass.h"
#include "model/model_position.h"
#include "model/model_stream.h"
#include "model/model_weights.h"
#include "shape/memory.h"

struct model {
    struct backend *b; /* borrowed */
    struct spec spec;
    struct shape_capacity capacity; /* precision: the backend's */
    struct model_position position;
    int64_t tokens_max;
    int32_t width; /* D, of a head */
    struct arena arena;
    struct shape_params params;
    struct shape_bands bands;

    struct shape_memory memory; /* sizes and offsets of the allocations below */
    int64_t allocated_bytes;    /* bytes on the backend, summed at each allocation */
    float *arrays_dev_own;      /* values; when training, also gradients, state 0, state 1, further
                                  gradients */
    void *bf16_dev_own;         /* the values in bf16 with the same layout; NULL with fp32 */
    struct model_weights values, gradients[MODEL_LEAVES];
    bool transposed_valid; /* the transposed projections match the values */
    struct model_stream stream;

    void *pool_own;
    struct model_buffers buffers;
    struct attention_bias bias;
    struct attention_rotary rotary;
    struct tensor temperature; /* (layers, length_max), or none */

    struct step_state step;      /* host copy of *step_dev */
    struct step_state *step_dev; /* in state_dev_own */
    struct model_state *state_dev_own;
    struct model_group group;
    float *staging_dev_own; /* pieces of other ranks' gradients; NULL: there is none */
    double update_loss;     /* of the last model_apply */
    struct model_graphs graphs;

    int32_t *lists_dev;  /* in the pool */
    int32_t *lists_host; /* on the heap, as are the following */
    int64_t lists_n;
    struct model_lists lists;
    float *loss_host;     /* (losses_n) nats */
    double *results_host; /* model_state from `squares` on; NULL when scoring */
    bool *hit_host;       /* (scored_max) of the last scoring; NULL without capacity.hits */
    char *transpose_host; /* (2, C * width) to transpose a projection */

    float *inner_dev_own;    /* (layers + 2, N, C) after model_keep_inner */
    model_attention_fn *see; /* of model_attend while it runs; else NULL */
    void *see_context;
    struct model_pass last;
};

#endif
