/* expected.h - corpora of which everybody has the same numbers: what a preparation must count.
 *
 * A corpus that bears such a name and has other numbers is another text, or was prepared in another
 * way; results under its name would not be comparable. */
#ifndef PREPARE_EXPECTED_H
#define PREPARE_EXPECTED_H

#include <stdint.h>

#include "base/err.h"
#include "data/corpus_split.h"

/* expected_check - does nothing for a name without known numbers. Errors: ERR_DATA with the count
 * that differs. */
int expected_check(const char *name, int32_t vocab, const int64_t tokens_n[CORPUS_SPLITS_N],
                   struct err *e);

#endif
