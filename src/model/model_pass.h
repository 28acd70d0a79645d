/* model_pass.h - a pass of the model and its parts: embedding, layers, head. */
#ifndef MODEL_MODEL_PASS_H
#define MODEL_MODEL_PASS_H

#include <stdbool.h>
#include <stdint.h>

#include "model/model.h"
#include "ops/ops.h"

struct model_activations;
struct model_norm;

enum { MODEL_LEAVES = 2 }; /* gradient arrays that a pass writes: of even and of odd shards */

/* One forward pass. */
struct model_pass {
    int32_t rows, length;
    int64_t tokens_n; /* rows * length */
    bool train;       /* with dropout and kept activations; else all linear ops are exact by row */
    int32_t leaf;     /* training: the gradient array that it writes */
};

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

#endif
