/* windows.c - computes evaluation windows; stores nothing per window. */
#include "data/windows.h"

/* Goes to the document that begins at a token. */
static void enter_document(struct windows *w, int64_t first)
{
    tokens_document(w->tokens, first, &w->first, &w->end);
    w->at = first;
    if (w->end > w->targets_n) w->end = w->targets_n;
}

/* Windows of a document of n tokens. */
static int64_t count_windows(const struct windows *w, int64_t n)
{
    if (w->kind == WINDOWS_PREFIXES) return n > w->shortest ? n - w->shortest + 1 : 1;
    return (n + w->stride - 1) / w->stride;
}

static struct windows windows_from(struct windows w)
{
    w.windows_n = 0;
    for (int64_t first = 0; first < w.targets_n; first = w.end) {
        enter_document(&w, first);
        w.windows_n += count_windows(&w, w.end - w.first);
    }
    enter_document(&w, 0);
    return w;
}

int windows_make(struct windows *w, const struct tokens *t, enum windows_kind kind, int32_t L,
                 int32_t stride, int64_t limit, struct err *e)
{
    *w = (struct windows){0};
    if (L < 1) return ERR(e, ERR_DATA, "window length %d must be at least 1", L);
    if (stride < 1 || stride > L)
        return ERR(e, ERR_DATA, "stride %d must be from 1 to the window's length %d", stride, L);
    if (limit < 0)
        return ERR(e, ERR_DATA, "limit of %lld targets must be 0 (all) or more", (long long)limit);
    if (t->n < 1) return ERR(e, ERR_DATA, "the split has no tokens to evaluate");
    *w = windows_from((struct windows){.tokens = t,
                                       .kind = kind,
                                       .L = L,
                                       .stride = stride,
                                       .targets_n = limit > 0 && limit < t->n ? limit : t->n});
    return 0;
}

struct windows windows_prefixes(const struct windows *w, int32_t shortest, int32_t longest)
{
    return windows_from((struct windows){.tokens = w->tokens,
                                         .kind = WINDOWS_PREFIXES,
                                         .L = longest,
                                         .stride = 1,
                                         .shortest = shortest,
                                         .targets_n = w->targets_n});
}

/* True if the current document has no further window. */
static bool ends_document(const struct windows *w)
{
    if (w->at >= w->end) return true;
    return w->kind == WINDOWS_PREFIXES && w->at > w->first && w->end - w->at < w->shortest;
}

bool windows_begins_document(const struct windows *w)
{
    return w->at == w->first || ends_document(w);
}

bool windows_next(struct windows *w, struct window *out)
{
    if (ends_document(w)) {
        if (w->end >= w->targets_n) return false;
        enter_document(w, w->end);
    }
    int64_t first = w->at, end = w->at + w->stride;
    if (w->kind == WINDOWS_PREFIXES) end = w->at + w->L;
    if (end > w->end) end = w->end;
    if (w->kind == WINDOWS_STRIDE) first = w->at - (w->L - w->stride);
    if (w->kind == WINDOWS_ROLLING) first = end - w->L;
    if (first < w->first) first = w->first;
    *out = (struct window){.first = first,
                           .length = (int32_t)(end - first),
                           .scored_from = (int32_t)(w->at - first),
                           .begins = first == w->first};
    w->at += w->stride;
    return true;
}
