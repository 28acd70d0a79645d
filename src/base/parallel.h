/* parallel.h - independent parts of one task, each on a thread of its own.
 *
 * The caller joins the results in the order of the parts, so that they do not depend on the number
 * of threads. */
#ifndef BASE_PARALLEL_H
#define BASE_PARALLEL_H

#include <stdint.h>

#include "base/err.h"

enum { PARALLEL_MAX = 8 };

/* parallel_cores - cores this process may use, at most PARALLEL_MAX. */
int32_t parallel_cores(void);

/* parallel_run - calls work(context, i) for each i in [0, n), n <= PARALLEL_MAX; returns when all
 * have ended. Errors: that of the lowest failed part; ERR_NOMEM if a thread cannot be started. */
typedef int (*parallel_fn)(void *context, int32_t part, struct err *e);
int parallel_run(int32_t n, parallel_fn work, void *context, struct err *e);

#endif
