/* ops_linear.c - linear maps and rows: shapes are checked once, then the backend's slot is called.
 *
 * x, y and w share one dtype (that of activations), but the result of a product may be f32 where
 * its operands are not; biases and everything a gradient op writes for a parameter are f32. */
#include "ops/ops.h"

#include <stddef.h>

#include "ops/ops_check.h"

/* Whether t is there to take sizes from; its own check follows. */
static int given(const char *op, const char *argument, const struct tensor *t, struct err *e)
{
    return ops_need_pointer(op, argument, t, e);
}

static int check_linear(const char *op, const struct tensor *y, const struct tensor *x,
                        const struct tensor *w, const struct tensor *bias, struct err *e)
{
    TRY(given(op, "x", x, e));
    TRY(given(op, "w", w, e));
    TRY(ops_need(op, "x", x, x->rows, w->cols, x->dtype, e));
    TRY(ops_need(op, "w", w, w->rows, w->cols, x->dtype, e));
    TRY(given(op, "y", y, e));
    enum dtype dtype = y->dtype == DTYPE_F32 ? DTYPE_F32 : x->dtype;
    TRY(ops_need(op, "y", y, x->rows, w->rows, dtype, e));
    if (bias != NULL) TRY(ops_need(op, "bias", bias, 1, w->rows, DTYPE_F32, e));
    return 0;
}

int ops_linear(struct backend *b, struct tensor *y, const struct tensor *x, const struct tensor *w,
               const struct tensor *bias, int accumulate, struct err *e)
{
    TRY(check_linear("linear", y, x, w, bias, e));
    return b->ops->linear(b, y, x, w, bias, accumulate, e);
}

int ops_linear_rows(struct backend *b, struct tensor *y, const struct tensor *x,
                    const struct tensor *w, const struct tensor *bias, struct err *e)
{
    TRY(check_linear("linear_rows", y, x, w, bias, e));
    return b->ops->linear_rows(b, y, x, w, bias, e);
}

int ops_linear_relu(struct backend *b, struct tensor *y, const struct tensor *x,
                    const struct tensor *w, const struct tensor *bias, const struct dropout *d,
                    int exact, struct err *e)
{
    TRY(check_linear("linear_relu", y, x, w, bias, e));
    TRY(ops_need_dropout("linear_relu", d, e));
    if (b->ops->linear_relu != NULL && d->p == 0.0f)
        return b->ops->linear_relu(b, y, x, w, bias, exact, e);
    if (exact)
        TRY(b->ops->linear_rows(b, y, x, w, bias, e));
    else
        TRY(b->ops->linear(b, y, x, w, bias, 0, e));
    return b->ops->relu(b, y, y, d, e);
}

static int check_linear_bwd_input(const char *op, const struct tensor *dx, const struct tensor *dy,
                                  const struct tensor *w, struct err *e)
{
    TRY(given(op, "dy", dy, e));
    TRY(given(op, "w", w, e));
    TRY(ops_need(op, "dy", dy, dy->rows, w->rows, dy->dtype, e));
    TRY(ops_need(op, "w", w, w->rows, w->cols, dy->dtype, e));
    return ops_need(op, "dx", dx, dy->rows, w->cols, dy->dtype, e);
}

int ops_linear_bwd_input(struct backend *b, struct tensor *dx, const struct tensor *dy,
                         const struct tensor *w, int accumulate, struct err *e)
{
    TRY(check_linear_bwd_input("linear_bwd_input", dx, dy, w, e));
    return b->ops->linear_bwd_input(b, dx, dy, w, accumulate, e);
}

int ops_linear_relu_bwd(struct backend *b, struct tensor *dx, const struct tensor *dy,
                        const struct tensor *w, const struct tensor *y, const struct dropout *d,
                        struct err *e)
{
    const char *op = "linear_relu_bwd";
    TRY(check_linear_bwd_input(op, dx, dy, w, e));
    TRY(ops_need(op, "y", y, dy->rows, w->cols, dy->dtype, e));
    TRY(ops_need_dropout(op, d, e));
    if (b->ops->linear_relu_bwd != NULL) return b->ops->linear_relu_bwd(b, dx, dy, w, y, d, e);
    TRY(b->ops->linear_bwd_input(b, dx, dy, w, 0, e));
    return b->ops->relu_bwd(b, dx, dx, y, d, e);
}

int ops_linear_bwd_weight(struct backend *b, struct tensor *dw, struct tensor *dbias,
                          const struct tensor *dy, const struct tensor *x, int accumulate,
                          struct err *e)
{
    const char *op = "linear_bwd_weight";
    TRY(given(op, "dy", dy, e));
    TRY(given(op, "x", x, e));
    TRY(ops_need(op, "dy", dy, dy->rows, dy->cols, dy->dtype, e));
    TRY(ops_need(op, "x", x, dy->rows, x->cols, dy->dtype, e));
    TRY(ops_need(op, "dw", dw, dy->cols, x->cols, DTYPE_F32, e));
    if (dbias != NULL) TRY(ops_need(op, "dbias", dbias, 1, dy->cols, DTYPE_F32, e));
    return b->ops->linear_bwd_weight(b, dw, dbias, dy, x, accumulate, e);
}

int ops_gather_rows(struct backend *b, struct tensor *y, const struct tensor *x,
                    const int32_t *index_dev, float scale, struct err *e)
{
    const char *op = "gather_rows";
    TRY(given(op, "y", y, e));
    TRY(given(op, "x", x, e));
    TRY(ops_need(op, "y", y, y->rows, x->cols, x->dtype, e));
    TRY(ops_need(op, "x", x, x->rows, x->cols, x->dtype, e));
    TRY(ops_need_pointer(op, "index", index_dev, e));
    return b->ops->gather_rows(b, y, x, index_dev, scale, e);
}

int ops_scatter_rows(struct backend *b, struct tensor *y, const struct tensor *x,
                     const int32_t *index_dev, float scale, int accumulate, struct err *e)
{
    const char *op = "scatter_rows";
    TRY(given(op, "y", y, e));
    TRY(given(op, "x", x, e));
    TRY(ops_need(op, "y", y, y->rows, x->cols, y->dtype, e));
    TRY(ops_need(op, "x", x, x->rows, x->cols, x->dtype, e));
    TRY(ops_need_pointer(op, "index", index_dev, e));
    return b->ops->scatter_rows(b, y, x, index_dev, scale, accumulate, e);
}

int ops_add_rows(struct backend *b, struct tensor *y, const struct tensor *x,
                 const struct tensor *table, const int32_t *index_dev, struct err *e)
{
    const char *op = "add_rows";
    TRY(given(op, "x", x, e));
    TRY(given(op, "table", table, e));
    TRY(ops_need(op, "x", x, x->rows, x->cols, x->dtype, e));
    TRY(ops_need(op, "y", y, x->rows, x->cols, x->dtype, e));
    TRY(ops_need(op, "table", table, table->rows, x->cols, DTYPE_F32, e));
    TRY(ops_need_pointer(op, "index", index_dev, e));
    return b->ops->add_rows(b, y, x, table, index_dev, e);
}

int ops_cast(struct backend *b, struct tensor *y, const struct tensor *x, struct err *e)
{
    TRY(given("cast", "y", y, e));
    TRY(given("cast", "x", x, e));
    TRY(ops_need("cast", "x", x, x->rows, x->cols, x->dtype, e));
    TRY(ops_need("cast", "y", y, x->rows, x->cols, y->dtype, e));
    return b->ops->cast(b, y, x, e);
}

int ops_add(struct backend *b, struct tensor *y, const struct tensor *x, const struct tensor *r,
            struct err *e)
{
    TRY(given("add", "x", x, e));
    TRY(ops_need("add", "x", x, x->rows, x->cols, x->dtype, e));
    TRY(ops_need("add", "r", r, x->rows, x->cols, x->dtype, e));
    TRY(ops_need("add", "y", y, x->rows, x->cols, x->dtype, e));
    return b->ops->add(b, y, x, r, e);
}
