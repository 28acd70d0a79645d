/* windows.c - computes evaluation windows; stores nothing per window. */
#include "data/windows.h"

#include <assert.h>

int windows_make(struct windows *w, int64_t split_tokens, int32_t L, int32_t stride, int64_t limit,
                 struct err *e)
{
    *w = (struct windows){0};
    if (L < 1) return ERR(e, ERR_DATA, "window length %d must be at least 1", L);
    if (stride < 1 || stride > L)
        return ERR(e, ERR_DATA, "stride %d must be from 1 to the window's length %d", stride, L);
    if (limit < 0)
        return ERR(e, ERR_DATA, "limit of %lld targets must be 0 (all) or more", (long long)limit);
    if (split_tokens < 1) return ERR(e, ERR_DATA, "the split has no tokens to evaluate");
    w->targets_n = limit > 0 && limit < split_tokens ? limit : split_tokens;
    w->L = L;
    w->stride = stride;
    return 0;
}

int64_t windows_count(const struct windows *w)
{
    return (w->targets_n + w->stride - 1) / w->stride;
}

void windows_get(const struct windows *w, int64_t k, struct window *out)
{
    int64_t scored = k * w->stride;
    int64_t first = scored - (w->L - w->stride);
    int64_t end = scored + w->stride;

    assert(k >= 0 && k < windows_count(w));
    if (first < 0) first = 0;
    if (end > w->targets_n) end = w->targets_n;
    out->first = first;
    out->length = (int32_t)(end - first);
    out->scored_from = (int32_t)(scored - first);
}
