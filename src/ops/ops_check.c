/* ops_check.c - argument checks shared by all ops. */
#include "ops/ops_check.h"

#include <inttypes.h>
#include <stddef.h>

static const char *dtype_name(enum dtype d)
{
    static const char *const names[] = {"f32", "bf16", "i32"};
    return (unsigned)d < 3 ? names[d] : "of an unknown dtype";
}

int ops_need(const char *op, const char *argument, const struct tensor *t, int64_t rows,
             int64_t cols, enum dtype dtype, struct err *e)
{
    if (t == NULL || t->data == NULL)
        return ERR(e, ERR_INTERNAL, "op %s: argument %s has no memory", op, argument);
    if (t->rows != rows || t->cols != cols || t->dtype != dtype || rows < 1 || cols < 1)
        return ERR(e, ERR_INTERNAL,
                   "op %s: argument %s is %" PRId64 " x %" PRId64 " %s, expected %" PRId64
                   " x %" PRId64 " %s with at least one element",
                   op, argument, t->rows, t->cols, dtype_name(t->dtype), rows, cols,
                   dtype_name(dtype));
    if (t->stride < t->cols)
        return ERR(e, ERR_INTERNAL,
                   "op %s: argument %s has stride %" PRId64 ", expected at least its %" PRId64
                   " columns",
                   op, argument, t->stride, t->cols);
    return 0;
}

int ops_need_dropout(const char *op, const struct dropout *d, struct err *e)
{
    if (d == NULL) return ERR(e, ERR_INTERNAL, "op %s: argument dropout is missing", op);
    if (!(d->p >= 0.0f && d->p < 1.0f))
        return ERR(e, ERR_INTERNAL, "op %s: dropout p is %g, expected at least 0 and below 1", op,
                   (double)d->p);
    if (d->p > 0.0f && d->step_dev == NULL)
        return ERR(e, ERR_INTERNAL, "op %s: dropout has no step state to draw with", op);
    return 0;
}

int ops_need_pointer(const char *op, const char *argument, const void *p, struct err *e)
{
    if (p == NULL) return ERR(e, ERR_INTERNAL, "op %s: argument %s is missing", op, argument);
    return 0;
}

int ops_need_block(const char *op, const char *argument, const float *p, int64_t n, struct err *e)
{
    if (p == NULL || n < 1)
        return ERR(e, ERR_INTERNAL,
                   "op %s: argument %s has %" PRId64 " elements, expected at least one", op,
                   argument, p == NULL ? 0 : n);
    return 0;
}
