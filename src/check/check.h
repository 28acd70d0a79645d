/* check.h - a backend that distrusts the one it wraps; opened as check:NAME.
 *
 * Around every op it
 *   1. fills what the op must overwrite with NaN, and afterwards looks for numbers left unwritten,
 *   2. keeps a copy of the allocations the op touches and afterwards compares all that the op was
 *      not to write (large allocations: a checksum of each read-only argument instead),
 *   3. verifies the guard bands before and behind every allocation,
 *   4. waits for the op to end, so that a fault belongs to the op that made it.
 * Fresh memory is NaN. An error is ERR_INTERNAL and names the op and what it did. */
#ifndef CHECK_CHECK_H
#define CHECK_CHECK_H

#include "backend/backend.h"
#include "base/err.h"

/* backend_check_open - wraps inner_own, which it closes with itself (also when this fails). */
int backend_check_open(struct backend **out, struct backend *inner_own, struct err *e);

#endif
