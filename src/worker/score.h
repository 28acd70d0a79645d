/* score.h - passes of a model over a stream that score every target of a protocol once.
 *
 * model_score is exact by row: the bits of a score depend on the tokens of its row up to it and on
 * nothing else. So how rows are put together into batches, and how far a row continues after a
 * scored position, changes no score; score_prefixes rests on it. */
#ifndef WORKER_SCORE_H
#define WORKER_SCORE_H

#include <stdint.h>

#include "base/err.h"
#include "data/corpus.h"
#include "data/windows.h"
#include "model/model.h"

/* score_sink_fn - log p (nats) of target `target` of the stream, at position `at` (from 0) of its
 * window; `which` is the index of the length (0 in score_windows). For one `which` the targets come
 * in stream order, each once. */
typedef void (*score_sink_fn)(void *context, int32_t which, int64_t target, int32_t at, float logp);
/* score_tick_fn - called before each batch with the rows done so far; a negative code ends the
 * pass. */
typedef int (*score_tick_fn)(void *context, int64_t rows_done, int64_t rows_n, struct err *e);

struct score_pass {
    struct model *model;
    const struct tokens *tokens;
    int32_t rows; /* of a batch, as shape_capacity_scores counts them for the opened model */
    score_sink_fn sink;
    void *sink_context;
    score_tick_fn tick; /* may be NULL */
    void *tick_context;
};

/* score_windows - the windows of one protocol, one after the other. */
int score_windows(const struct score_pass *p, const struct windows *w, struct err *e);

/* score_prefixes - stride 1 for several lengths at once. `L` rises.
 *
 *   1. A row begins at every source position s and is as long as the longest length, or ends with
 *      the stream (the tail starts).
 *   2. In the row that begins at s, position L-1 has exactly L-1 tokens of context: it is the
 *      window of length L of target s + L - 1.
 *   3. Targets before L-1 have their whole past as context: the row that begins at 0 scores them
 *      for every length. */
int score_prefixes(const struct score_pass *p, int64_t targets_n, const int32_t *L, int32_t L_n,
                   struct err *e);

/* validate_loss - the loss on valid during training, in nats per target: nonoverlapping blocks of
 * train.validate_L tokens (0: of the training length), the whole split. It selects the best
 * checkpoint and is never a reported perplexity. With train.tail_quirk a target of class 1 of a
 * tail counts only its cluster term, as in the authors' validation (oracle SPEC.md section 7). The
 * pass has no sink; its rows are of that length. */
int validate_loss(const struct score_pass *p, const struct spec *s, double *loss_nats,
                  struct err *e);

#endif
