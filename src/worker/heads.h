/* heads.h - what attention heads do with rows of text.
 *
 * 1. Each evaluation with eval.attention_rows describes the heads for three texts of so many rows:
 *    the first rows of the split, cut like nonoverlapping windows; rows of random words; rows of
 *    one random word, repeated. Words are drawn from the training's seed.
 * 2. Statistics are summed in double, row by row (RECORD_HEAD, RECORD_ROLLOUT). */
#ifndef WORKER_HEADS_H
#define WORKER_HEADS_H

#include <stdint.h>

#include "base/err.h"
#include "spec/spec.h"

struct backend;
struct model;
struct model_batch;
struct tokens;
struct worker;

/* heads_see - what the heads of each layer do with one row of T tokens: `see` is called for each
 * layer in order, and may end the pass with an error. Arrays are on the host until it returns. s:
 * the model's spec. Errors: ERR_UNAVAILABLE activations are bf16; ERR_NOMEM. */
struct heads_layer {
    int32_t layer, H, T;
    float *weight; /* (H,T,T) attention weights of the keys of each query */
    float *logit;  /* (H,T,T) its scores without the bias by distance, with forget gates; -INFINITY:
                      the key is not seen */
    float *slope;  /* (H) where the bias is -slope * distance; else NULL */
};
typedef int heads_fn(void *context, const struct heads_layer *layer, struct err *e);
int heads_see(struct model *m, struct backend *b, const struct spec_model *s,
              const struct model_batch *batch, heads_fn *see, void *context, struct err *e);

/* heads_record - reads the rows with the evaluation's model, and records EVENT_HEAD for each head
 * and EVENT_ROLLOUT. Errors: ERR_DATA the split is too short; ERR_INTERRUPTED; ERR_NOMEM. */
int heads_record(struct worker *a, int32_t spec, const struct spec *trained, struct model *m,
                 const struct tokens *tokens, struct err *e);

/* heads_roll - multiplies a row of T shares by a matrix (T,T) of weights: the shares of the layer
 * below. spare: T numbers. */
void heads_roll(double *row, double *spare, const float *weight, int32_t T);

#endif
