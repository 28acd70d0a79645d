/* windows.h - evaluation windows (oracle SPEC.md section 12): the source tokens that a window reads
 * and the targets that it scores.
 *
 * Source position i holds x[i-1], and </s> for i = 0. Nonoverlapping: block k is [kL, (k+1)L).
 * Sliding with stride S: window k scores targets [kS, (k+1)S) with up to L - S earlier source
 * tokens. Every target of the split is scored exactly once. tokens_read_row reads a window. */
#ifndef DATA_WINDOWS_H
#define DATA_WINDOWS_H

#include <stdint.h>

#include "base/err.h"

struct window {
    int64_t first;       /* source position of the window's first token */
    int32_t length;      /* source tokens */
    int32_t scored_from; /* tokens [scored_from, length) are scored; those before are context */
};

struct windows {
    int64_t targets_n; /* targets of the protocol: those of the split, or the limit */
    int32_t L, stride; /* stride = L: nonoverlapping */
};
/* windows_make - limit: largest number of targets, from the start of the split; 0: all. Errors:
 * ERR_DATA stride > L or < 1, no tokens. */
int windows_make(struct windows *w, int64_t split_tokens, int32_t L, int32_t stride, int64_t limit,
                 struct err *e);
int64_t windows_count(const struct windows *w);
void windows_get(const struct windows *w, int64_t k, struct window *out);

#endif
