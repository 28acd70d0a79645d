/* model_position.h - the data of the position method on host and backend. */
#ifndef MODEL_MODEL_POSITION_H
#define MODEL_MODEL_POSITION_H

#include <stdbool.h>
#include <stdint.h>

#include "backend/backend.h"
#include "base/err.h"
#include "model/model_pass.h"
#include "position/position.h"

struct model;

struct model_batch;

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

#endif
