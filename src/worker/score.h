/* score.h - passes of a model over a token stream that score every target of a protocol once.
 *
 * model_score is exact by row: the bits of a score depend only on the tokens of its row up to it.
 * Therefore neither batching nor the length of a row after a scored position changes a score;
 * score_prefixes relies on this. */
#ifndef WORKER_SCORE_H
#define WORKER_SCORE_H

#include <stdint.h>

#include "base/err.h"
#include "data/corpus.h"
#include "data/windows.h"
#include "model/model.h"

/* score_sink_fn - receives log p (nats) of target `target` of the stream, at position `at` (from 0)
 * of its window. `which` is the index of the length (0 in score_windows). For each `which`, targets
 * arrive once each, in stream order. */
typedef void (*score_sink_fn)(void *context, int32_t which, int64_t target, int32_t at, float logp);
/* score_tick_fn - called before each batch with the number of rows done; a negative code ends the
 * pass. */
typedef int (*score_tick_fn)(void *context, int64_t rows_done, int64_t rows_n, struct err *e);

struct score_pass {
    struct model *model;
    const struct tokens *tokens;
    int32_t rows; /* rows per batch: shape_capacity_scores of the opened model */
    score_sink_fn sink;
    void *sink_context;
    score_tick_fn tick; /* may be NULL */
    void *tick_context;
};

/* score_windows - scores the windows of a protocol in order. */
int score_windows(const struct score_pass *p, const struct windows *w, struct err *e);

/* score_prefixes - scores stride 1 for several lengths at once; `L` is rising.
 *
 *   1. A row begins at every source position s and has the longest length, or ends with the stream.
 *   2. In the row that begins at s, position L-1 has exactly L-1 tokens of context: it is the last
 *      token of the window of length L of target s + L - 1.
 *   3. Targets before L-1 have all earlier tokens as context: the row that begins at 0 scores them
 *      for every length. */
int score_prefixes(const struct score_pass *p, int64_t targets_n, const int32_t *L, int32_t L_n,
                   struct err *e);

/* validate_loss - the loss on valid during training, in nats per target, over nonoverlapping
 * windows of train.validate_L tokens (0: train.L) of the whole split. It selects the best
 * checkpoint and is never reported as perplexity. With train.tail_quirk a target of class 1 of a
 * tail counts only its cluster term, as in the authors' validation (oracle SPEC.md section 7).
 * p->sink is not used. */
int validate_loss(const struct score_pass *p, const struct spec *s, double *loss_nats,
                  struct err *e);

#endif
