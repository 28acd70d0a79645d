/* ops_check.h - what every op asks of its arguments before a backend sees them. Internal to ops. */
#ifndef OPS_OPS_CHECK_H
#define OPS_OPS_CHECK_H

#include <stdint.h>

#include "backend/backend.h"
#include "base/err.h"

/* ops_need - the tensor has memory, exactly rows x cols (both at least 1), a stride that holds a
 * row, and the dtype. Errors: ERR_INTERNAL names op, argument, what it is and what was expected. */
int ops_need(const char *op, const char *argument, const struct tensor *t, int64_t rows,
             int64_t cols, enum dtype dtype, struct err *e);
/* ops_need_dropout - p in [0, 1) and, where anything is drawn, a step state. */
int ops_need_dropout(const char *op, const struct dropout *d, struct err *e);
/* ops_need_pointer - an index list, a block or a scalar is there. */
int ops_need_pointer(const char *op, const char *argument, const void *p, struct err *e);
/* ops_need_block - a parameter block is there and has at least one element. */
int ops_need_block(const char *op, const char *argument, const float *p, int64_t n, struct err *e);

#endif
