/* model_internal.h - the inside of struct model: what its files share.
 *
 * 1. Memory: one block of values, gradients and optimiser state; with bf16 one of the values
 *    rounded; one activation pool whose offsets are fixed at open for the largest batch; one small
 *    block of step state. Nothing is allocated afterwards, model_keep_inner aside. shape/memory.h
 *    says where each buffer lies and when it holds something: outside its phases its bytes belong
 *    to another.
 * 2. A training pass keeps what the backward pass reads, layer by layer. A scoring pass reuses the
 *    buffers of layer 0 for every layer.
 * 3. Everything the host decides about a batch (bands, tails, positions) travels to the backend in
 *    one list buffer, uploaded once, before the pass. What runs between that and the results may
 *    be a replay (model_graph.c): it must not look at or change anything of the host's.
 * 4. Precision is the backend's. In bf16 the matrices that products and gathers read are the
 *    rounded copy's, activations and their gradients (the residual stream and the logits of a
 *    training too) are bf16; LayerNorm's weights, statistics, sums of attention, losses,
 *    logits of a scoring, tables of positions and parameter gradients are f32. The copy is never
 *    stale: model_write rounds the tensor that it writes, the optimiser rewrites all of it.
 *
 * Axes as in backend.h; N = rows * length tokens of the batch at hand. */
#ifndef MODEL_MODEL_INTERNAL_H
#define MODEL_MODEL_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "model/model.h"
#include "ops/ops.h"
#include "shape/memory.h"

enum {
    MODEL_PAD = 1,    /* the pad id of every dictionary */
    MODEL_GRAPHS = 32 /* shapes of passes that are remembered */
};

/* Views of one layer's weights, or of their gradients. In bf16 the matrices of the weights are
 * views of the rounded copy. */
struct model_layer {
    struct tensor norm1_gain, norm1_bias; /* (1,C) */
    struct tensor qkv, qkv_bias;          /* (3C,C), (1,3C) */
    struct tensor out, out_bias;          /* (C,C), (1,C) */
    struct tensor norm2_gain, norm2_bias; /* (1,C) */
    struct tensor inner, inner_bias;      /* (F,C), (1,F): fc1 */
    struct tensor outer, outer_bias;      /* (C,F), (1,C): fc2 */
};

struct model_weights {
    struct model_layer *layer;                 /* layers; in the arena */
    struct tensor table[SHAPE_BANDS_MAX];      /* (band size, width) */
    struct tensor projection[SHAPE_BANDS_MAX]; /* (C, width); adaptive only */
    struct tensor head;                        /* (head_n, C): band 0 and the class rows */
    struct tensor norm_gain, norm_bias;        /* (1,C), with a final LayerNorm only */
};

/* What a layer leaves for its backward pass. */
struct model_activations {
    struct tensor x;      /* (N,C) residual stream into the layer */
    struct tensor a;      /* (N,C) its LayerNorm 1 */
    struct tensor stats1; /* (N,2) */
    struct tensor qkv;    /* (N,3C) */
    struct tensor o;      /* (N,C) attention, heads side by side */
    struct tensor lse;    /* (N*H) floats */
    struct tensor s;      /* (N,C) residual stream after attention */
    struct tensor g;      /* (N,C) its LayerNorm 2 */
    struct tensor stats2; /* (N,2) */
    struct tensor u;      /* (N,F) after ReLU and dropout */
};

struct model_buffers {
    /* layers + 1 entries when training (of the last only x exists, the stream after the last layer,
     * and with a final LayerNorm a and stats1), one entry otherwise. */
    struct model_activations *layer;
    struct tensor gathered;                /* (N,C) embedding rows of band 0, 1, … packed */
    struct tensor narrow;                  /* (N,C) */
    struct tensor wide;                    /* (N,max(F,3C)), backward pass only */
    struct tensor stream_grad, dropped;    /* (N,C), training only */
    struct tensor features;                /* (N,C) head input after its dropout, if it has one */
    struct tensor tail;                    /* (N,2 * width) input of a tail, then its gradient */
    struct tensor chosen;                  /* (scored_max,C) features at scored positions */
    struct tensor logits, scores;          /* one chunk of a training, of a scoring */
    struct tensor loss;                    /* (1,losses_n) */
    struct tensor turned[SHAPE_BANDS_MAX]; /* (width,C) tail projections turned, for scoring */
};

/* n numbers from `offset` of the list buffer. No gaps: compared byte by byte, as are all lists. */
struct model_list {
    int64_t offset, n;
};

/* Those of bands are filled up with -1, a row that is none, where the backend records work. */
struct model_lists {
    struct model_list band_row[SHAPE_BANDS_MAX];   /* token of the batch */
    struct model_list band_id[SHAPE_BANDS_MAX];    /* row of the band's table */
    struct model_list band_grad[SHAPE_BANDS_MAX];  /* the same, -1 for the pad id */
    struct model_list position;                    /* (N) row of the position table */
    struct model_list head;                        /* class of each target, -1: none */
    struct model_list tail_row[SHAPE_BANDS_MAX];   /* rows whose target lies in the band; with the
                                                      tail quirk not those of its class 1 */
    struct model_list tail_class[SHAPE_BANDS_MAX]; /* its class */
    struct model_list chosen;                      /* scored positions */
};

/* What model.h's functions share with the backend beside the pool. */
struct model_state {
    double squares;                 /* of the gradient's elements, summed */
    double batch_loss, update_loss; /* nats */
    struct step_state step;
};

/* One forward pass. */
struct model_pass {
    int32_t rows, length;
    int64_t tokens_n; /* rows * length */
    bool train;       /* dropout, kept activations; else every linear map is exact by row */
    bool accumulate;  /* gradients of the layers' matrices are added to, not written */
};

struct model;

/* A piece of work on the backend (model_graph.c). p: the pass, or NULL. */
typedef int model_body(struct model *m, const struct model_pass *p, struct err *e);

/* A shape of passes that was met, and its graph. */
struct model_graph {
    model_body *body;
    int32_t rows, length; /* 0 without a pass */
    bool accumulate;
    struct model_lists lists;
    void *own;   /* the backend's graph; NULL: met once */
    int64_t met; /* when it was met last, in passes */
};

struct model_graphs {
    struct model_graph graph[MODEL_GRAPHS];
    int32_t n;
    int64_t clock; /* passes */
};

/* What the position method has on host and backend (position.c). */
struct model_position {
    const struct position_functions *functions;
    struct position_shape shape;
    /* Rows added to tokens, (first_row + length_max, C) or the learned (L_train, C) and its
     * gradient; or without data. */
    struct tensor embedding, embedding_grad;
    float *bias_dev, *bias_grad_dev; /* in the pool, as SHAPE_BIAS; NULL: none */
    struct position_bias bias_host, grad_host;
    float *rotation_host;                            /* cosines, then sines */
    int32_t tensors_n, tensor[POSITION_TENSORS_MAX]; /* that `fill` reads; index in params */
    float *values_host[POSITION_TENSORS_MAX];        /* that the bias was filled from */
    float *gradients_host[POSITION_TENSORS_MAX];     /* of the batches of this update so far */
    bool is_stale;                                   /* the bias must be filled before a pass */
    bool is_pending; /* bias_grad_dev holds a gradient that has not been pulled back */
};

struct model {
    struct backend *b; /* a loan */
    struct spec spec;
    struct model_options options;
    struct model_position position;
    int64_t tokens_max;
    int32_t width; /* D, of a head */
    struct arena arena;
    struct shape_params params;
    struct shape_bands bands;

    struct shape_memory memory; /* sizes and offsets of all that follows */
    int64_t allocated_bytes;    /* on the backend, summed up where it was allocated */
    float *block_dev_own;       /* values, gradients, state 0, state 1: whichever exist */
    void *bf16_dev_own;         /* the values in bf16, laid out alike; NULL in fp32 */
    struct model_weights values, gradients;
    bool transposed_valid; /* the turned projections match the values */

    void *pool_own;
    struct model_buffers buffers;
    struct attention_bias bias;
    struct attention_rotary rotary;

    struct step_state step;      /* what the backend's copy holds */
    struct step_state *step_dev; /* in state_dev_own */
    struct model_state *state_dev_own;
    double update_loss; /* of the last model_apply */
    struct model_graphs graphs;

    int32_t *lists_dev;  /* in the pool */
    int32_t *lists_host; /* heap, freed at close, as are loss_host and turn_host */
    int64_t lists_n;
    struct model_lists lists;
    float *loss_host; /* (losses_n) nats */
    char *turn_host;  /* (2, C * width) of the activations' type, for transposing a projection */

    float *inner_dev_own; /* (layers + 2, N, C) when asked for */
    struct model_pass last;
};

/* model_memory.c */
/* model_buffer - a copy of a buffer of the pool; without data where the model has none. */
struct tensor model_buffer(const struct model *m, enum shape_buffer_id id, int32_t copy);
int model_memory_open(struct model *m, struct err *e);
void model_memory_close(struct model *m);
/* model_view - the first rows of a buffer, with its columns or fewer, packed. */
struct tensor model_view(const struct tensor *t, int64_t rows, int64_t cols);
/* model_rows - rows [first, first + n) of a matrix. */
struct tensor model_rows(const struct tensor *t, int64_t first, int64_t n);
/* model_columns - columns [first, first + n) of a matrix. */
struct tensor model_columns(const struct tensor *t, int64_t first, int64_t n);
/* model_logits_rows - rows of logits of so many classes that are computed at a time: in a training
 * (buffers.logits) or in a scoring (buffers.scores). */
int64_t model_logits_rows(const struct model *m, int64_t classes, bool train);
/* model_logits - rows of buffers.logits or .scores, each beginning where GPUs read fastest. */
struct tensor model_logits(const struct tensor *buffer, int64_t rows, int64_t classes);
float *model_block_dev(const struct model *m, enum model_block block);

/* model_weights.c */
/* model_weights_bind - views of the block at base_dev; with bf16_dev (or NULL) matrices are views
 * of that block of bf16. */
int model_weights_bind(struct model_weights *out, struct model *m, float *base_dev, void *bf16_dev,
                       struct err *e);
/* model_weights_round - makes the rounded copy of one tensor agree with its values. */
int model_weights_round(struct model *m, const struct shape_tensor *t, struct err *e);
/* model_weights_transpose - makes the transposed projections of scoring agree with the values. */
int model_weights_transpose(struct model *m, struct err *e);

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

/* model_graph.c. model_graph_run - does the body, by a replay where this shape was met before. */
int model_graph_run(struct model *m, model_body *body, const struct model_pass *p, struct err *e);
/* model_graphs_forget - nothing is recorded any more. */
void model_graphs_forget(struct model *m);

/* model_pass.c */
int model_pass_begin(struct model *m, struct model_pass *p, const struct model_batch *batch,
                     bool train, struct err *e);
/* model_linear - linear, or linear_rows where a pass must be exact by row. */
int model_linear(struct model *m, const struct model_pass *p, struct tensor *y,
                 const struct tensor *x, const struct tensor *w, const struct tensor *bias,
                 struct err *e);
struct dropout model_dropout(const struct model *m, const struct model_pass *p, double probability,
                             int32_t layer, enum dropout_site site);
/* model_attention - the arguments of a layer's attention without gradients. */
struct attention model_attention(const struct model *m, const struct model_pass *p, int32_t layer,
                                 const struct model_activations *act);
/* model_activations - the buffers of a layer in this pass; index layers: the stream after it. */
const struct model_activations *model_activations(const struct model *m, const struct model_pass *p,
                                                  int32_t layer);
/* model_features - (N,C) what the head reads before dropout. */
struct tensor model_features(const struct model *m, const struct model_pass *p);

/* model_embedding.c */
int model_embed(struct model *m, const struct model_pass *p, struct err *e);
int model_embed_dx(struct model *m, const struct model_pass *p, struct err *e);

/* model_block.c, model_block_dx.c */
int model_forward(struct model *m, const struct model_pass *p, struct err *e);
int model_layers_bwd(struct model *m, const struct model_pass *p, struct err *e);

/* model_head.c */
int model_head_train(struct model *m, const struct model_pass *p, struct err *e);

/* model_step.c */
int model_step_upload(struct model *m, const struct step_state *step, struct err *e);

/* position.c */
int model_position_open(struct model *m, struct err *e);
/* model_position_start - initial values of a tensor that is SHAPE_OWN. */
void model_position_start(const struct model *m, int32_t tensor, float *out);
/* model_position_row_length - before a pass: numbers that follow the length of rows are those of
 * this batch. */
int model_position_row_length(struct model *m, const struct model_batch *batch, struct err *e);
/* model_position_refresh - before a pass: makes the bias agree with its tensors, once these are
 * projected into their ranges. */
int model_position_refresh(struct model *m, struct err *e);
/* model_position_begin - before a training pass: the gradient of the bias starts from zero;
 * accumulate: the tensors' gradients of this update's earlier batches stay. */
int model_position_begin(struct model *m, bool accumulate, struct err *e);
/* model_position_pullback - the gradients of the tensors are those of all batches so far. */
int model_position_pullback(struct model *m, struct err *e);

#endif
