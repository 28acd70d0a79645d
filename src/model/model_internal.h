/* model_internal.h - struct model and the functions that its files share.
 *
 * 1. Memory: one block of values, gradients, optimiser state and further gradients of shards
 *    (model_group.c); with bf16 a copy of the values; one pool of activations whose offsets are
 *    fixed at open for the largest batch; a small block of step state; of a rank, pieces of other
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
#ifndef MODEL_MODEL_INTERNAL_H
#define MODEL_MODEL_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "model/model.h"
#include "ops/ops.h"
#include "shape/memory.h"

enum {
    MODEL_GRAPHS = 64, /* shapes in the cache of graphs */
    MODEL_LEAVES = 2   /* gradient blocks that a pass writes: of even and of odd shards */
};

struct model_norm {
    struct tensor gain, bias; /* (1,C); bias or none */
};

/* Views of a layer's weights or of their gradients. With bf16 the weight matrices are views of the
 * bf16 copy. What the form of the decoder lacks has data NULL, as has every bias that it lacks. */
struct model_layer {
    struct model_norm norm1;
    struct tensor qkv, qkv_bias; /* ((H+2K)D,C), (1,(H+2K)D) */
    struct tensor out, out_bias; /* (C,HD), (1,C) */
    struct model_norm norm2;
    struct tensor fc_gate, fc_gate_bias; /* (F,C), (1,F) */
    struct tensor fc1, fc1_bias;         /* (F,C), (1,F) */
    struct tensor fc2, fc2_bias;         /* (C,F), (1,C) */
    struct tensor ssmax;                 /* (1,H) */
    struct tensor gate, gate_bias;       /* (H,C), (1,H) */
};

struct model_weights {
    struct model_layer *layer;                 /* layers; in the arena */
    struct tensor table[SHAPE_BANDS_MAX];      /* (band size, width) */
    struct tensor projection[SHAPE_BANDS_MAX]; /* (C, width); adaptive only */
    struct tensor head;      /* (head_n, E): band 0 and the class rows, or a head of its own */
    struct tensor head_bias; /* (1, head_n) fp32, or none */
    struct tensor project_in, project_out; /* (C,E), (E,C), or none */
    struct model_norm embed_norm, norm;    /* of the embedding, the final one; or none */
};

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

/* n numbers at `offset` of the list buffer. No padding bytes: lists are compared with memcmp. */
struct model_list {
    int64_t offset, n;
};

/* If the backend captures graphs, lists of bands are padded with -1 (padding rows). */
struct model_lists {
    struct model_list band_row[SHAPE_BANDS_MAX];  /* token of the batch */
    struct model_list band_id[SHAPE_BANDS_MAX];   /* row of the band's table */
    struct model_list band_grad[SHAPE_BANDS_MAX]; /* the same, -1 for the pad id */
    struct model_list position;                   /* (N) row of the position table */
    struct model_list head;                       /* class of each target, -1: none */
    struct model_list tail_row[SHAPE_BANDS_MAX]; /* rows of targets in the band; with the tail quirk
                                                    without its class 1; for hits all rows */
    struct model_list tail_class[SHAPE_BANDS_MAX]; /* class of the target in the band, -1: none */
    struct model_list chosen;                      /* scored positions */
    struct model_list zero; /* as many zeros: the row of the head's bias; empty without one */
};

/* State in backend memory beside the pool. */
struct model_state {
    struct step_state step;
    double batch_loss;         /* nats, of the last shard */
    double part[SHAPE_SLICES]; /* squares of the gradient's elements, summed over each slice */
    double squares;            /* the sum of the parts */
    double loss[];             /* (leaves) nats of each shard of the update */
};

/* One forward pass. */
struct model_pass {
    int32_t rows, length;
    int64_t tokens_n; /* rows * length */
    bool train;       /* with dropout and kept activations; else all linear ops are exact by row */
    int32_t leaf;     /* training: the gradient block that it writes */
};

struct model;

/* Work on the backend that can be captured (model_graph.c). p: the pass, or NULL. */
typedef int model_body(struct model *m, const struct model_pass *p, struct err *e);

/* A shape of passes and its graph. */
struct model_graph {
    model_body *body;
    int32_t rows, length; /* 0 without a pass */
    int32_t leaf;
    struct model_lists lists;
    void *handle;      /* the backend's graph; NULL: not captured yet */
    int64_t last_used; /* value of `clock` at its last use */
};

struct model_graphs {
    struct model_graph graph[MODEL_GRAPHS];
    int32_t n;
    int64_t clock; /* number of passes */
    struct model_graph_counts counts;
};

/* Data of the position method on host and backend (model_position.c). */
struct model_position {
    const struct position_functions *functions;
    struct position_shape shape;
    /* Rows added to tokens: (first_row + length_max, C), or the learned (L_train, C) with its
     * gradients; data NULL: none. */
    struct tensor embedding, embedding_grad[MODEL_LEAVES];
    bool has_bias;                   /* by distance */
    float *bias_dev, *bias_grad_dev; /* in the pool, as SHAPE_BIAS; NULL: none */
    float *key_bias_host;            /* (H, length_max) of a bias by key; NULL: none */
    int32_t key_bias_length;         /* T of the one on the backend; 0: none yet */
    struct position_bias bias_host, grad_host;
    float *rotation_host;                            /* cosines, then sines */
    int32_t tensors_n, tensor[POSITION_TENSORS_MAX]; /* inputs of `fill`; indices in params */
    float *values_host[POSITION_TENSORS_MAX];        /* values from which the bias was computed */
    float *gradients_host[POSITION_TENSORS_MAX];     /* of a shard */
    bool is_stale;                                   /* the bias must be recomputed before a pass */
};

/* The shards of an update whose gradients this rank has (model_group.c). */
struct model_group {
    int64_t slice_n;         /* elements of a slice */
    int32_t rank, ranks_n;   /* 0 of 1 without a group */
    int32_t node_ranks;      /* consecutive ranks that exchange first */
    int32_t first, leaves_n; /* this rank's part of the tree of shards */
    int32_t shards_n;        /* leaves that are shards */
    int32_t done_n;          /* shards that were computed, from the first on */
    bool added;              /* MODEL_GRADIENTS holds the sum of them all */
};

/* The source of the tensors of a streamed model (model_stream.c). */
struct model_stream {
    model_source_fn *source; /* NULL: not stated yet */
    void *context;
    int32_t stage;   /* in memory; SHAPE_STAYS: none */
    float *host_own; /* the largest tensor; NULL: backend memory is the host's */
};

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
    float *block_dev_own;       /* values; when training, also gradients, state 0, state 1, further
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

/* model_memory.c */
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
float *model_block_dev(const struct model *m, enum model_block block);
/* model_gradient_dev - block i of the gradients; 0 is MODEL_GRADIENTS. */
float *model_gradient_dev(const struct model *m, int32_t i);
int model_step_upload(struct model *m, const struct step_state *step, struct err *e);

/* model_weights.c */
/* model_weights_bind - views of the block at base_dev; with bf16_dev (or NULL) matrices are views
 * of that block of bf16. */
int model_weights_bind(struct model_weights *out, struct model *m, float *base_dev, void *bf16_dev,
                       struct err *e);
/* model_weights_check - refuses a tensor or block that the model does not have. */
int model_weights_check(const struct model *m, enum model_block block, int32_t tensor,
                        struct err *e);
/* model_weights_read, model_weights_write - copy a tensor from or to the host, and update its bf16
 * copy; of a group, those of this rank. model_read and model_write also keep data derived from it
 * up to date. */
int model_weights_read(struct model *m, enum model_block block, int32_t tensor, float *out_host,
                       struct err *e);
int model_weights_write(struct model *m, enum model_block block, int32_t tensor,
                        const float *in_host, struct err *e);
/* model_weights_transpose - updates the transposed projections for scoring. */
int model_weights_transpose(struct model *m, struct err *e);

/* model_stream.c. model_stage - before the pass reads tensors of a stage (enum shape_stage): makes
 * a streamed model have them in memory. model_head_stage - the stage of the head's table. */
int model_stage(struct model *m, int32_t stage, struct err *e);
int32_t model_head_stage(const struct model *m);
/* model_stream_check - refuses a tensor that a streamed model reads from its source. */
int model_stream_check(const struct model *m, int32_t tensor, struct err *e);

/* model_lists.c: each checks its ids (ERR_DATA). */
void model_lists_begin(struct model *m);
int model_lists_source(struct model *m, const struct model_batch *batch, struct err *e);
/* target(i) of n rows: target[i], or target[position[i]]. With quirk, class 1 of a tail is left
 * out. */
int model_lists_target(struct model *m, const int32_t *target, const int32_t *position, int64_t n,
                       bool quirk, struct err *e);
int model_lists_chosen(struct model *m, const struct model_batch *batch, const int32_t *position,
                       int64_t n, struct err *e);
int model_lists_upload(struct model *m, struct err *e);
const int32_t *model_list_dev(const struct model *m, const struct model_list *list);

/* model_graph.c. model_graph_run - runs the body, or launches its graph for a known shape. */
int model_graph_run(struct model *m, model_body *body, const struct model_pass *p, struct err *e);
/* model_graphs_forget - frees all graphs. */
void model_graphs_forget(struct model *m);

/* model_pass.c */
int model_pass_begin(struct model *m, struct model_pass *p, const struct model_batch *batch,
                     bool train, struct err *e);
/* model_splits - whether products may be split (struct linear_rows_args): those of models of other
 * programs, of which no earlier version has results. */
bool model_splits(const struct model *m);
/* model_linear - linear, or linear_rows if the pass must be exact by row. */
int model_linear(struct model *m, const struct model_pass *p, struct tensor *y,
                 const struct tensor *x, const struct tensor *w, const struct tensor *bias,
                 struct err *e);
/* model_normalise - y = the norm of x. */
int model_normalise(struct model *m, struct tensor *y, struct tensor *stats, const struct tensor *x,
                    const struct model_norm *norm, struct err *e);
struct dropout model_dropout(const struct model *m, const struct model_pass *p, double probability,
                             int32_t layer, enum dropout_site site);
/* model_attention - the arguments of a layer's attention without gradients. */
struct attention model_attention(const struct model *m, const struct model_pass *p, int32_t layer,
                                 const struct model_activations *act);
/* model_activations - the buffers of a layer in this pass; index layers: the stream after it. */
const struct model_activations *model_activations(const struct model *m, const struct model_pass *p,
                                                  int32_t layer);
/* model_features - (N,C) input of the head before dropout. */
struct tensor model_features(const struct model *m, const struct model_pass *p);

/* model_embedding.c */
int model_embed(struct model *m, const struct model_pass *p, struct err *e);
int model_embed_bwd(struct model *m, const struct model_pass *p, struct err *e);

/* model_block.c, model_block_bwd.c */
int model_forward(struct model *m, const struct model_pass *p, struct err *e);
int model_layers_bwd(struct model *m, const struct model_pass *p, struct err *e);

/* model_head.c */
int model_head_train(struct model *m, const struct model_pass *p, struct err *e);

/* model_position.c */
int model_position_open(struct model *m, struct err *e);
/* model_position_start - writes the initial values of a tensor with SHAPE_OWN. */
void model_position_start(const struct model *m, int32_t tensor, float *out);
/* model_position_row_length - before a pass: updates data that depends on the row length, nominal
 * or that of the batch. */
int model_position_row_length(struct model *m, const struct model_batch *batch, struct err *e);
/* model_position_refresh - before a pass: projects the tensors into their ranges and recomputes the
 * bias, if they have changed. */
int model_position_refresh(struct model *m, struct err *e);
/* model_position_begin - before a training pass: zeroes the gradient of the bias.
 * model_position_pullback - after it: writes those of the bias's tensors into the pass's leaf. */
int model_position_begin(struct model *m, struct err *e);
int model_position_pullback(struct model *m, const struct model_pass *p, struct err *e);

/* model_group.c: the shards and slices of this rank. Functions that exchange are called by all
 * ranks. model_group_open - before the memory. Errors: ERR_INTERNAL the capacity has another number
 * of ranks than the group of the backend; ERR_USAGE the shards cannot feed them. */
int model_group_open(struct model *m, struct err *e);
/* model_group_begin - before the pass of a shard: *leaf is the gradient block that it writes.
 * model_group_add - after the pass. Errors: ERR_INTERNAL another shard is due. */
int model_group_begin(struct model *m, int32_t shard, int32_t *leaf, struct err *e);
int model_group_add(struct model *m, struct err *e);
/* model_group_flush - MODEL_GRADIENTS holds the sum of this rank's shards so far; only a new update
 * can follow. */
int model_group_flush(struct model *m, struct err *e);
/* model_group_sum - before an update with so many shards: the owned slices of MODEL_GRADIENTS hold
 * the sum of all ranks. Errors: ERR_INTERNAL not all of this rank's shards were computed. */
int model_group_sum(struct model *m, const struct model_update *u, struct err *e);
/* model_group_share_parts - every rank has the sums of squares of all slices and all losses.
 * model_group_share_weights - every rank has the weights that passes read. */
int model_group_share_parts(struct model *m, struct err *e);
int model_group_share_weights(struct model *m, struct err *e);
/* model_group_collect - rank 0 has the whole tensor of a block. Errors: ERR_INTERNAL the gradients
 * of the ranks are not added yet. */
int model_group_collect(struct model *m, enum model_block block, int32_t tensor, struct err *e);
/* model_group_owned - the elements of the block that this rank owns: n from *first on. */
int64_t model_group_owned(const struct model *m, int64_t *first);

#endif
