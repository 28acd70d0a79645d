/* memory.h - the memory of a model as arithmetic: every buffer's name, shape, type, lifetime and
 * offset. src/model lays out its pool by this table and a plan adds it up, so that planned bytes
 * and allocated bytes are one number.
 *
 * 1. A buffer lives in phases of a pass. Buffers whose phases never meet may share bytes; all
 *    others are apart. What a phase writes and a later one reads is alive in every phase between.
 * 2. Rows are counted for the largest batch. At a fixed number of tokens nothing depends on the
 *    length of a row but the tables of positions: attention keeps one number a head and token, and
 *    logits exist for a chunk of rows at a time.
 * 3. With bf16, activations and the logits of a training take two bytes and a rounded copy of the
 *    weights is added; masters, gradients, optimiser state, statistics, losses and the logits of a
 *    scoring stay fp32. */
#ifndef SHAPE_MEMORY_H
#define SHAPE_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "shape/shape.h"

enum {
    SHAPE_STEP_BYTES = 56, /* what changes between updates, the gradient's norm, sums of losses */
    /* Lists of the rows of a band, and what follows them, have room to be filled up to a
     * multiple of so many: a backend that records work does so, to see the same shapes again. */
    SHAPE_LIST_ROWS = 256,
    /* An evaluation's batch, or one row where that is longer: enough to keep a matrix product busy,
     * few enough to stay in a cache. */
    SHAPE_SCORE_TOKENS = 2048
};

/* The largest batch a model is opened for. */
struct shape_capacity {
    bool train; /* gradients, optimiser state and the backward pass */
    int32_t rows_max, length_max;
    int64_t scored_max; /* most positions scored at a time */
    enum spec_precision precision;
};

/* shape_capacity - the capacity that the run of this spec needs: a shard of the training and its
 * validation's rows; an evaluation's batch of windows, of a single length; a benchmark's shard,
 * or the rows that it names. */
void shape_capacity(struct shape_capacity *out, const struct spec *s);

/* shape_capacity_validation - rows of train.validate_L (0: train.L) tokens that the capacity of a
 * training holds; at least 1. */
int32_t shape_capacity_validation(const struct shape_capacity *capacity,
                                  const struct spec_train *t);

/* shape_capacity_scores - the capacity of a scoring batch with rows of `longest` tokens, as many as
 * about SHAPE_SCORE_TOKENS make and at least 1. lengths_n 1: a row scores at most `stride`
 * positions. More than 1: rows serve so many lengths at once; each scores one position a length,
 * but the row that begins at 0 all of its own. */
void shape_capacity_scores(struct shape_capacity *out, int32_t longest, int32_t stride,
                           int32_t lengths_n, enum spec_precision precision);

/* N = rows_max * length_max tokens (M: a multiple of SHAPE_LIST_ROWS where the vocabulary has
 * bands, the lowest that holds them), C model width, F inner width, H heads, D head width. */
enum shape_buffer_id { /* in the order of placement, see memory.c */
                       /* One copy a layer when training, one in all otherwise; X, LN1 and STATS1
                        * once more for the stream after the last layer (LN1 and STATS1 only with a
                        * final LayerNorm). */
                       SHAPE_X,   /* (N,C) residual stream into the layer */
                       SHAPE_LN1, /* (N,C) LayerNorm 1 */
                       SHAPE_LN2, /* (N,C) LayerNorm 2 */
                       /* Once, where the model needs them: what is filled at open or travels with a
                          batch. */
                       SHAPE_TRANSPOSED, /* (sum of tail widths,C) tail projections transposed, for
                                          * scoring
                                          */
                       SHAPE_LISTS, /* (1,4N+4R+64) i32 index lists; R rows of the head: scored_max,
                                       training at least N; and to fill up lists */
                       SHAPE_EMBEDDING, /* (first_row+length_max,C) f32 rows added to tokens */
                       SHAPE_COSINE,    /* (length_max,D/2) f32 of rotations */
                       SHAPE_SINE,      /* the same */
                       SHAPE_BIAS,      /* (K+1,H) f32: the table (H,K), then each head's tail */
                       SHAPE_BIAS_GRAD, /* the same; training, of a learned bias */
                       SHAPE_NARROW,    /* (M,C) */
                       /* As X, a layer each. */
                       SHAPE_ATTN_RESIDUAL, /* (N,C) residual stream after attention */
                       SHAPE_FFN,           /* (N,F) after ReLU and dropout */
                       SHAPE_QKV,           /* (N,3C) */
                       SHAPE_ATTN_OUT,      /* (N,C) attention */
                       SHAPE_LSE,           /* (1,NH) f32 */
                       SHAPE_STATS1,        /* (N,2) f32 */
                       SHAPE_STATS2,        /* (N,2) f32 */
                       /* Once. */
                       SHAPE_STREAM_GRAD, /* (N,C) training */
                       SHAPE_DROPPED,     /* (M,C) training */
                       SHAPE_GATHERED,    /* (M,C) embedding rows of each band, packed; adaptive */
                       SHAPE_WIDE,        /* (M,max(F,3C)) training */
                       SHAPE_FEATURES,    /* (N,C) head input after its dropout; training */
                       SHAPE_TAIL,   /* (M,2w) training, (M,w) otherwise: a tail's input and its
                                        gradient */
                       SHAPE_CHOSEN, /* (scored_max,C) features at scored positions */
                       SHAPE_LOGITS, /* (1,largest chunk) training */
                       SHAPE_LOSS,   /* (1,2(R+1)) f32 */
                       SHAPE_SCORES, /* (1,largest chunk) f32, logits of a scoring */
                       SHAPE_BUFFERS_N
};

enum shape_number { SHAPE_F32, SHAPE_I32, SHAPE_ACTIVATION /* bf16 where the capacity says so */ };

struct shape_buffer {
    const char *name;
    int32_t copies_n; /* 0: this model has none */
    int64_t rows, cols;
    enum shape_number number;
    uint32_t alive; /* bit set of phases */
    int64_t copy_bytes;
    int64_t offset; /* of the first copy from the start of the pool; the others follow */
};

struct shape_memory {
    struct shape_buffer buffer[SHAPE_BUFFERS_N];
    int64_t elements_n;  /* of the parameter block */
    int32_t slots_n;     /* fp32 blocks: values, with training gradients and optimiser state */
    int64_t block_bytes; /* of all slots */
    int64_t bf16_bytes;  /* the rounded copy of the weights; 0 with fp32 */
    int64_t lists_n;     /* numbers that SHAPE_LISTS holds */
    int64_t losses_n;    /* numbers that SHAPE_LOSS holds */
    int64_t pool_bytes;  /* from offset 0 to the end of the last buffer */
    int64_t total_bytes; /* blocks, copy, pool and SHAPE_STEP_BYTES */
};
void shape_memory(struct shape_memory *out, const struct spec *s,
                  const struct shape_capacity *capacity);

/* shape_logits_rows - rows of logits of so many classes that are computed at a time, in a training
 * or in a scoring. shape_logits_stride - elements from one row to the next. */
int64_t shape_logits_rows(int64_t classes, enum spec_precision precision, bool train);
int64_t shape_logits_stride(int64_t classes);

#endif
