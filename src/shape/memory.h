/* memory.h - computes the memory of a model: every buffer's name, shape, type, lifetime and offset.
 * src/model allocates by this table and plans sum it, so that planned and allocated bytes agree
 * exactly.
 *
 * 1. A buffer is alive in some phases of a pass. Buffers without a common phase may share bytes. A
 *    buffer that one phase writes and a later one reads is alive in every phase between.
 * 2. Sizes are for the largest batch. At a fixed number of tokens only the position tables depend
 *    on the row length: attention stores one number per head and token, and logits exist for one
 *    chunk of rows at a time.
 * 3. With bf16, activations and training logits are bf16, and a bf16 copy of the weights is added.
 *    Master weights, gradients, optimiser state, statistics, losses and scoring logits stay fp32.
 * 4. The gradients of shards are added as a tree of shape_leaves(train.shards) leaves, of which
 * each rank has an equal number, a power of two: one array for an even shard, which also takes the
 *    sum, one for an odd shard, and one for the sum of each smaller subtree. */
#ifndef SHAPE_MEMORY_H
#define SHAPE_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "shape/shape.h"

enum {
    /* Step state, loss of a shard, sums of squares of the slices and of all; without the losses of
     * the leaves. */
    SHAPE_STEP_BYTES = 48 + 8 * SHAPE_SLICES,
    /* Lists of the rows of a band have capacity for padding to a multiple of this: backends that
     * capture graphs pad them, so that shapes repeat. */
    SHAPE_LIST_ROWS = 256,
    /* Tokens of an evaluation's batch, or one row if that is longer: enough for efficient matrix
     * products, few enough for the cache. */
    SHAPE_SCORE_TOKENS = 2048,
    /* Keys of a datastore that a search compares at a time. */
    SHAPE_SEARCH_KEYS = 2048,
    /* A rank receives pieces of other ranks' gradients: so much of each, and of all together. */
    SHAPE_PIECE_BYTES = 32 << 20,
    SHAPE_STAGING_BYTES = 256 << 20
};

/* The rounds in which ranks exchange gradients: those of a node, then one of each node. */
enum shape_round { SHAPE_IN_NODE, SHAPE_BETWEEN_NODES, SHAPE_ROUNDS };

/* The largest batch that a model can take. */
struct shape_capacity {
    bool train; /* with gradients, optimiser state and backward pass */
    int32_t rows_max, length_max;
    int64_t scored_max; /* positions scored at a time, at most */
    bool hits;          /* each is asked whether its target is the most probable word */
    bool keys;          /* the keys of scored positions are wanted (model_keys) */
    bool streamed;      /* scoring: the array holds one stage at a time (model_stream) */
    int32_t ranks_n;    /* processes of the training; 0: 1 */
    int32_t node_ranks; /* consecutive ones on a node, a power of two; 0: all, which needs the most
                           memory */
    enum spec_precision precision;
};

/* shape_capacity - the capacity that the spec's run needs. Training: a shard, and the validation's
 * rows. Evaluation: a batch of windows of one length; a pretrained model in fp32 is streamed, as on
 * a CPU. Benchmark: a shard, or bench.rows. */
void shape_capacity(struct shape_capacity *out, const struct spec *s);

/* shape_capacity_validation - how many rows of train.validate_L (0: train.L) tokens fit into the
 * capacity of a training; at least 1. */
int32_t shape_capacity_validation(const struct shape_capacity *capacity,
                                  const struct spec_train *t);

/* shape_capacity_scores - the capacity of a scoring batch: rows of `longest` tokens, about
 * SHAPE_SCORE_TOKENS in all, at least one row. With lengths_n = 1 a row scores at most `stride`
 * positions. With more, a row serves that many lengths at once and scores one position for each;
 * the row that begins at token 0 scores all its positions. */
void shape_capacity_scores(struct shape_capacity *out, int32_t longest, int32_t stride,
                           int32_t lengths_n, enum spec_precision precision);

/* N = rows_max * length_max tokens (M: N rounded up to a multiple of SHAPE_LIST_ROWS if the
 * vocabulary has bands), C model width, E width of the table, F inner width, H heads, K heads of k
 * and v, D head width. */
enum shape_buffer_id { /* in the order of placement, see memory.c */
                       /* Training: one copy per layer; otherwise one in all. X, LN1 and STATS1 have
                        * one more copy for the residual stream after the last layer (LN1 and STATS1
                        * only with a final LayerNorm). */
                       SHAPE_X,   /* (N,C) residual stream into the layer */
                       SHAPE_LN1, /* (N,C) LayerNorm 1 */
                       SHAPE_LN2, /* (N,C) LayerNorm 2 */
                       /* One copy if the model needs it: filled at open or uploaded with a batch.
                        */
                       SHAPE_TRANSPOSED, /* (sum of tail widths,C) tail projections transposed, for
                                          * scoring
                                          */
                       SHAPE_LISTS, /* (1,4N+4R+64) i32 index lists, R rows of the head (scored_max,
                                       training: at least N); more for padding */
                       SHAPE_EMBEDDING,   /* (first_row+length_max,C) fp32 rows added to tokens */
                       SHAPE_COSINE,      /* (length_max,pairs) fp32 of rotations; a second copy if
                                           * k has its own; with a list of bases a copy
                                           * for each layer */
                       SHAPE_SINE,        /* the same */
                       SHAPE_BIAS,        /* (K+1,H) fp32: the table (H,K), then each head's tail */
                       SHAPE_BIAS_GRAD,   /* the same; training, of a learned bias */
                       SHAPE_KEY_BIAS,    /* (H,length_max) fp32 of a bias by key */
                       SHAPE_TEMPERATURE, /* (layers,length_max) fp32 factors of queries */
                       SHAPE_NARROW,      /* (M,C) */
                       /* Copies as of X: one per layer when training. */
                       SHAPE_ATTN_RESIDUAL, /* (N,C) residual stream after attention */
                       SHAPE_FFN,           /* (N,F) after activation and dropout */
                       SHAPE_FACTOR,        /* (N,F) of a gated activation */
                       SHAPE_RELU_MASK,     /* (N,G) i32, a bit for each of F; training in bf16 */
                       SHAPE_QKV,           /* (N,(H+2K)D) */
                       SHAPE_ATTN_OUT,      /* (N,HD) attention */
                       SHAPE_LSE,           /* (1,NH) fp32 */
                       SHAPE_GATE_INPUT, /* (N,H) fp32 forget gates of tokens before the sigmoid */
                       SHAPE_GATES,      /* (2,NH) fp32 their sums: high, low */
                       SHAPE_STATS1,     /* (N,2) fp32 */
                       SHAPE_STATS2,     /* (N,2) fp32 */
                       /* One copy. */
                       SHAPE_STREAM_GRAD,     /* (N,C) training */
                       SHAPE_GATES_GRAD,      /* (1,NH) fp32, training: gradient of their sums */
                       SHAPE_GATE_INPUT_GRAD, /* (N,H) training, gates of tokens */
                       SHAPE_DROPPED,         /* (M,C) training */
                       SHAPE_GATHERED, /* (M,C) embedding rows of each band, packed; adaptive. (N,E)
                                          rows of a table of another width */
                       SHAPE_WIDE,     /* (M,max(F,3C)) training */
                       SHAPE_FEATURES, /* (N,C) head input after its dropout; training */
                       SHAPE_TAIL,     /* (M,2w) training, (M,w) otherwise: input of a tail and its
                                          gradient */
                       SHAPE_KEYS,   /* (scored_max,C) LN2 of the last layer at scored positions */
                       SHAPE_CHOSEN, /* (scored_max,C) features at scored positions */
                       SHAPE_PROJECTED, /* (scored_max,E) those, mapped to the table's width */
                       SHAPE_LOGITS,    /* (1,largest chunk) training */
                       SHAPE_LOSS,      /* (1,2(R+1)) fp32; more for hits */
                       SHAPE_SCORES,    /* (1,largest chunk) fp32 logits of a scoring */
                       SHAPE_BUFFERS_N
};

enum shape_number { SHAPE_F32, SHAPE_I32, SHAPE_ACTIVATION /* bf16 or fp32, see shape_capacity */ };

struct shape_buffer {
    const char *name;
    int32_t copies_n; /* 0: not in this model */
    int64_t rows, cols;
    enum shape_number number;
    uint32_t alive; /* bit set of phases */
    int64_t copy_bytes;
    int64_t offset; /* bytes from the start of the pool to the first copy; the others follow */
};

struct shape_memory {
    struct shape_buffer buffer[SHAPE_BUFFERS_N];
    int64_t elements_n; /* of the parameter array */
    int32_t slots_n;    /* fp32 arrays: values; when training, also gradients and optimiser state */
    int32_t gradients_n;  /* arrays of gradients; slots_n counts the first one */
    int64_t arrays_bytes; /* of all slots and the further gradients */
    int64_t bf16_bytes;   /* bf16 copy of the weights; 0 with fp32 */
    int64_t lists_n;      /* numbers that SHAPE_LISTS holds */
    int64_t losses_n;     /* numbers that SHAPE_LOSS holds */
    int64_t pool_bytes;   /* from offset 0 to the end of the last buffer */
    int64_t step_bytes;   /* SHAPE_STEP_BYTES and the losses of the leaves */
    /* Elements of a piece of another rank's gradients; 0: the round has no other rank. */
    int64_t piece_n[SHAPE_ROUNDS];
    int64_t staging_bytes; /* a piece of each other rank of a round */
    int64_t total_bytes;   /* arrays, copy, pool, step and staging */
};
void shape_memory(struct shape_memory *out, const struct spec *s,
                  const struct shape_capacity *capacity);

/* shape_has_search - whether the run is an evaluation that searches a datastore. */
bool shape_has_search(const struct spec *s);
/* shape_search_bytes - what a search for the keys nearest to so many queries allocates on the
 * backend: the queries, a tile of keys with half their squares, and the products. */
int64_t shape_search_bytes(int64_t queries_n, int32_t width);

/* shape_heads - what worker/heads.c allocates for rows of L tokens: on the backend; on the host for
 * a layer; and on the host for all layers. */
enum { SHAPE_HEAD_SUMS = 7 }; /* numbers that it sums for each head */
struct shape_heads {
    int64_t device_bytes, layer_bytes, row_bytes;
};
void shape_heads(struct shape_heads *out, const struct spec_model *m, int32_t L);

/* shape_logits_rows - rows of logits of so many classes in one chunk, when training or scoring.
 * shape_logits_stride - elements from one row to the next. */
int64_t shape_logits_rows(int64_t classes, const struct shape_capacity *capacity, bool train);
int64_t shape_logits_stride(int64_t classes);

#endif
