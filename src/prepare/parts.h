/* parts.h - a text cut at line ends, for threads that each take a part of it. What they make is put
 * together in the order of the parts, so that it does not depend on how many there were. */
#ifndef PREPARE_PARTS_H
#define PREPARE_PARTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "prepare/text.h"

enum { PARTS_MAX = 8 };

struct parts {
    int32_t n;
    const char *bound[PARTS_MAX + 1]; /* part i is bound[i] up to bound[i + 1] */
};

/* parts_threads - how many threads a text of n bytes is worth: what progress says, else by the
 * processors this process may use. */
int32_t parts_threads(size_t n, const struct text_progress *progress);
/* parts_cut - at most `wanted` parts of about equal size; fewer where lines are long. Only LF is
 * looked for: a text with other line ends stays whole. */
void parts_cut(struct parts *out, int32_t wanted, const char *text, size_t n);

/* parts_run - work(context, i) for each part, each in a thread of its own; returns when all have
 * ended. Errors: of the first part that has one; ERR_NOMEM no thread can be had. */
typedef int (*parts_work_fn)(void *context, int32_t part, struct err *e);
int parts_run(int32_t n, parts_work_fn work, void *context, struct err *e);

#endif
