/* formula.h - the decoder of open-models SPEC.md section 3 in double precision, written from that
 * text without the ops: what the model must compute. */
#ifndef MODEL_FORMULA_H
#define MODEL_FORMULA_H

#include <stdint.h>

#include "shape/shape.h"

/* Largest sizes: words, tokens of a row, width of the model, of the feed-forward layers, of q, k or
 * v, heads, layers. */
enum {
    FORMULA_V = 64,
    FORMULA_T = 24,
    FORMULA_C = 48,
    FORMULA_F = 64,
    FORMULA_Q = 96,
    FORMULA_H = 12,
    FORMULA_L = 3
};

struct formula {
    const struct spec *s;
    const struct shape_params *params;
    float *const *value; /* by tensor of params */
    int32_t T;
    /* Results, for source ids of a row. */
    double logp[FORMULA_T][FORMULA_V];                  /* of every word */
    double stream[FORMULA_L + 1][FORMULA_T][FORMULA_C]; /* the embedding, then after each layer */
    double key[FORMULA_T][FORMULA_C];                   /* input of the last feed-forward layers */
    double weight[FORMULA_L][FORMULA_H][FORMULA_T][FORMULA_T];
    double score[FORMULA_L][FORMULA_H][FORMULA_T][FORMULA_T]; /* without the bias */
};
void formula_compute(struct formula *f, const int32_t *source);

#endif
