/* parallel.h - runs independent parts of one task, each on its own thread.
 *
 * The caller combines the results in the order of the parts. */
#ifndef BASE_PARALLEL_H
#define BASE_PARALLEL_H

#include <stdint.h>

#include "base/err.h"

enum { PARALLEL_MAX = 8 };

/* parallel_cores - number of cores this process may use, at most PARALLEL_MAX. */
int32_t parallel_cores(void);

/* parallel_run - calls work(context, i) for each i in [0, n), n <= PARALLEL_MAX, and waits for all
 * of them. Errors: that of the lowest failed part; ERR_NOMEM if a thread cannot be started. */
typedef int (*parallel_fn)(void *context, int32_t part, struct err *e);
int parallel_run(int32_t n, parallel_fn work, void *context, struct err *e);

#endif
