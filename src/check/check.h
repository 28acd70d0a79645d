/* check.h - the checking backend: wraps another one and verifies what it does; opened as
 * check:NAME.
 *
 * Which memory an op reads and writes comes from the table of ops. Around every op it
 *   1. refuses outputs that overlap another argument where the table does not allow it,
 *   2. fills what the op must overwrite with NaN, and afterwards looks for numbers left unwritten,
 *   3. keeps a copy of the allocations the op touches and afterwards compares all that the op was
 *      not to write (large allocations: a checksum of each read-only argument instead),
 *   4. verifies the guard bands before and behind every allocation,
 *   5. waits for the op to end, so that a fault belongs to the op that made it,
 *   6. restores the copies and does the op again: the bits must be the same.
 * An exchange between ranks is an op as well, which is not repeated: it reads what it sends.
 * Fresh memory is NaN. An error is ERR_INTERNAL and names the op and what it did. */
#ifndef CHECK_CHECK_H
#define CHECK_CHECK_H

#include "backend/backend.h"

const struct backend_library *backend_check_library(void);

#endif
