/* windows.h - evaluation windows (oracle SPEC.md section 12, open-models SPEC.md section 8): the
 * source tokens that a window reads and the targets that it scores.
 *
 * 1. A window is within a document, of which there is one unless a tokenizer made the corpus.
 *    Source position i of a document of n tokens holds x[i-1], and the prefix for i = 0.
 *    tokens_read_row reads a window.
 * 2. Nonoverlapping: block k is [kL, min((k+1)L, n)). Sliding with stride S: window k scores
 * targets [kS, (k+1)S) with up to L - S earlier source tokens. Rolling: nonoverlapping, but the
 * last window reaches back to L source tokens. Each target is scored exactly once.
 * 3. Prefixes: a window begins at every position that has `shortest` tokens from there on, and at
 *    the first of each document (worker/score.c). */
#ifndef DATA_WINDOWS_H
#define DATA_WINDOWS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "data/tokens.h"

struct window {
    int64_t first;       /* token of the split that is the window's first target */
    int32_t length;      /* source tokens */
    int32_t scored_from; /* tokens [scored_from, length) are scored; those before are context */
    bool begins;         /* the window begins its document */
};

enum windows_kind { WINDOWS_STRIDE, WINDOWS_ROLLING, WINDOWS_PREFIXES };

/* Windows in the order of the text; windows_next advances, a copy advances alone. */
struct windows {
    const struct tokens *tokens; /* borrowed */
    enum windows_kind kind;
    int32_t L, stride;            /* stride: the most targets of a window; L: nonoverlapping */
    int32_t shortest;             /* WINDOWS_PREFIXES */
    int64_t targets_n, windows_n; /* targets of the protocol: those of the split, or the limit */
    int64_t first, end, at;       /* current document, and the next window's first new target */
};
/* windows_make - limit: largest number of targets, from the start of the split; 0: all. rolling:
 * stride is L. Errors: ERR_DATA stride > L or < 1, no tokens. */
int windows_make(struct windows *w, const struct tokens *t, enum windows_kind kind, int32_t L,
                 int32_t stride, int64_t limit, struct err *e);
/* windows_prefixes - the same targets in windows of WINDOWS_PREFIXES. */
struct windows windows_prefixes(const struct windows *w, int32_t shortest, int32_t longest);
/* windows_begins_document - true if the next window is the first of its document. windows_next -
 * false after the last one. */
bool windows_begins_document(const struct windows *w);
bool windows_next(struct windows *w, struct window *out);

#endif
