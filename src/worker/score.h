/* score.h - passes over a token stream that score every target of a protocol once.
 *
 * model_score is exact by row: the bits of a score depend only on the tokens of its row up to it.
 * Therefore neither batching nor the length of a row after a scored position changes a score; a
 * pass for several lengths relies on this. */
#ifndef WORKER_SCORE_H
#define WORKER_SCORE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "data/windows.h"
#include "spec/spec.h"

struct group;
struct model;

struct score_options {
    struct model *model;
    struct group *group;    /* of validate_loss: the ranks that share its batches; NULL: alone */
    int32_t rows;           /* rows per batch: shape_capacity_scores of the opened model */
    struct windows windows; /* of the token stream that they name */
    const int32_t *L;       /* rising lengths that share a pass with stride 1 over windows.targets_n
                               targets; NULL: only the windows */
    int32_t L_n;
    enum score_keys {
        SCORE_NO_KEYS,
        SCORE_AND_KEYS, /* the model has a capacity with `keys` */
        SCORE_ONLY_KEYS /* logp is not computed */
    } keys;
    int32_t width; /* of a key: model.dim */
};

/* A score. For each `which`, targets come once each, in stream order. */
struct score {
    int64_t target; /* of the stream */
    int32_t at;     /* position in its window, from 0 */
    int32_t which;  /* index of the length; 0 without L */
    float logp;     /* log p of the target, nats */
    bool hit;       /* of a model opened with capacity.hits: the target is the most probable word */
    int32_t index;  /* internal: of the scored position */
};

/* A pass in batches: `while (s.rows_left > 0)` scores_next, which sets item[0 .. n).
 *
 * With several lengths:
 *   1. A row begins at every source position s and has the longest length, or ends with the
 *      document.
 *   2. In the row that begins at s, position L-1 has exactly L-1 tokens of context: it is the last
 *      token of the window of length L of target s + L - 1.
 *   3. Targets before L-1 have all earlier tokens as context: the row that begins the document
 *      scores them for every length. It is the first row of its batch, so that scored_max holds. */
struct scores {
    struct score_options options;
    struct arena arena; /* of the arrays */
    struct score *item;
    int64_t n;
    int64_t rows_left, rows_n; /* rows_n: of the batch */
    int32_t length, width;     /* of a row: nominal, and tokens with padding */
    int64_t scored_n, scored_max;
    int32_t *source, *target; /* (rows, width) */
    int32_t *position;        /* of each scored position: row * width + at */
    float *logp;              /* of each scored position */
    float *keys;              /* of each scored position: model_keys; NULL: none */
};
void scores_open(struct scores *s, const struct score_options *o);
int scores_next(struct scores *s, struct err *e);
void scores_close(struct scores *s);

/* validate_loss - the loss on valid during training, in nats per target, over nonoverlapping
 * windows of train.validate_L tokens (0: train.L) of the whole split. It selects the best
 * checkpoint and is never reported as perplexity. With train.tail_quirk a target of class 1 of a
 * tail counts only its cluster term, as in the authors' validation (oracle SPEC.md section 7).
 * o->windows names the tokens only. Rank r of P scores batches r, r + P, …; all ranks get all log
 * p, and add them in the order of the text. tick (may be NULL) is called before each P batches; a
 * negative code ends the validation. validate_windows - completes the windows of o. */
typedef int (*validate_tick_fn)(void *context, struct err *e);
int validate_windows(struct windows *w, const struct spec *s, struct err *e);
int validate_loss(const struct score_options *o, const struct spec *s, validate_tick_fn tick,
                  void *context, double *loss_nats, struct err *e);

#endif
