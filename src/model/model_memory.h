/* model_memory.h - the activations of a model and its other backend memory. */
#ifndef MODEL_MODEL_MEMORY_H
#define MODEL_MODEL_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "backend/backend.h"
#include "model/model.h"
#include "shape/memory.h"

/* The activations that a layer keeps for its backward pass. */
struct model_activations {
    struct tensor x;             /* (N,C) residual stream into the layer */
    struct tensor ln1;           /* (N,C) its LayerNorm 1 */
    struct tensor stats1;        /* (N,2) */
    struct tensor qkv;           /* (N,(H+2K)D) */
    struct tensor attn_out;      /* (N,HD) attention, heads side by side */
    struct tensor lse;           /* (N*H) floats */
    struct tensor gate_input;    /* (N,H), or none */
    struct tensor gates;         /* (2, N*H) sums, high and low, or none */
    struct tensor attn_residual; /* (N,C) residual stream after attention */
    struct tensor ln2;           /* (N,C) its LayerNorm 2 */
    struct tensor stats2;        /* (N,2) */
    struct tensor ffn;           /* (N,F) after activation and dropout */
    struct tensor relu_mask;     /* (N,G) bits of ffn, training in bf16; or none */
};

struct model_buffers {
    /* Training: layers + 1 entries. The last one has only x, the stream after the last layer, and
     * with a final LayerNorm ln1 and stats1. Otherwise one entry. */
    struct model_activations *layer;
    struct tensor gathered;             /* (N,C) embedding rows of band 0, 1, …, packed; (N,E) */
    struct tensor factor;               /* (N,F) of a gated activation */
    struct tensor narrow;               /* (N,C) */
    struct tensor wide;                 /* (N,max(F,3C)), backward pass only */
    struct tensor stream_grad, dropped; /* (N,C), training only */
    struct tensor features;             /* (N,C) head input after its dropout, if any */
    struct tensor tail;                 /* (N,2 * width) input of a tail, then its gradient */
    struct tensor keys;                 /* (scored_max,C) of model_keys; or none */
    struct tensor chosen;               /* (scored_max,C) features at scored positions */
    struct tensor projected;            /* (scored_max,E) those, mapped to the table's width */
    struct tensor logits, scores;       /* one chunk: of training, of scoring */
    struct tensor loss;                 /* (1,losses_n) */
    struct tensor
        transposed[SHAPE_BANDS_MAX]; /* (width,C) tail projections transposed, for scoring */
};

/* State in backend memory beside the pool. */
struct model_state {
    struct step_state step;
    double batch_loss;         /* nats, of the last shard */
    double part[SHAPE_SLICES]; /* squares of the gradient's elements, summed over each slice */
    double squares;            /* the sum of the parts */
    double loss[];             /* (leaves) nats of each shard of the update */
};

/* model_buffer - view of a copy of a buffer in the pool; data NULL if the model does not have it.
 */
struct tensor model_buffer(const struct model *m, enum shape_buffer_id id, int32_t copy);
int model_memory_open(struct model *m, struct err *e);
void model_memory_close(struct model *m);
/* model_view - the first rows of a buffer, with its columns or fewer, packed. */
struct tensor model_view(const struct tensor *t, int64_t rows, int64_t cols);
/* model_rows - rows [first, first + n) of a matrix; of an absent one (data NULL) likewise. */
struct tensor model_rows(const struct tensor *t, int64_t first, int64_t n);
/* model_columns - columns [first, first + n) of a matrix. */
struct tensor model_columns(const struct tensor *t, int64_t first, int64_t n);
/* model_logits_rows - rows of logits of so many classes per chunk, in training (buffers.logits) or
 * scoring (buffers.scores). */
int64_t model_logits_rows(const struct model *m, int64_t classes, bool train);
/* model_logits - rows of buffers.logits or .scores with aligned row starts. */
struct tensor model_logits(const struct tensor *buffer, int64_t rows, int64_t classes);
float *model_array_dev(const struct model *m, enum model_array array);
/* model_gradient_dev - array i of the gradients; 0 is MODEL_GRADIENTS. */
float *model_gradient_dev(const struct model *m, int32_t i);
int model_step_upload(struct model *m, const struct step_state *step, struct err *e);

#endif
