/* ops_layernorm.c - dropout, ReLU, LayerNorm and the residual sum. residual_layernorm is composed
 * of dropout, add and norm where a backend has not fused it, its backward pass of layernorm_bwd and
 * dropout. */
#include "ops/ops.h"

#include <stddef.h>

#include "ops/ops_check.h"

int ops_dropout(struct backend *b, struct tensor *y, const struct tensor *x,
                const struct dropout *d, struct err *e)
{
    TRY(ops_need_pointer("dropout", "x", x, e));
    TRY(ops_need("dropout", "x", x, x->rows, x->cols, x->dtype, e));
    TRY(ops_need("dropout", "y", y, x->rows, x->cols, x->dtype, e));
    TRY(ops_need_dropout("dropout", d, e));
    return b->ops->dropout(b, y, x, d, e);
}

int ops_relu(struct backend *b, struct tensor *y, const struct tensor *x, const struct dropout *d,
             struct err *e)
{
    TRY(ops_need_pointer("relu", "x", x, e));
    TRY(ops_need("relu", "x", x, x->rows, x->cols, x->dtype, e));
    TRY(ops_need("relu", "y", y, x->rows, x->cols, x->dtype, e));
    TRY(ops_need_dropout("relu", d, e));
    return b->ops->relu(b, y, x, d, e);
}

int ops_relu_bwd(struct backend *b, struct tensor *dx, const struct tensor *dy,
                 const struct tensor *y, const struct dropout *d, struct err *e)
{
    TRY(ops_need_pointer("relu_bwd", "y", y, e));
    TRY(ops_need("relu_bwd", "y", y, y->rows, y->cols, y->dtype, e));
    TRY(ops_need("relu_bwd", "dy", dy, y->rows, y->cols, y->dtype, e));
    TRY(ops_need("relu_bwd", "dx", dx, y->rows, y->cols, y->dtype, e));
    TRY(ops_need_dropout("relu_bwd", d, e));
    return b->ops->relu_bwd(b, dx, dy, y, d, e);
}

static int check_layernorm(const char *op, const struct tensor *y, const struct tensor *stats,
                           const struct tensor *x, const struct tensor *gain,
                           const struct tensor *bias, struct err *e)
{
    TRY(ops_need_pointer(op, "x", x, e));
    TRY(ops_need(op, "x", x, x->rows, x->cols, x->dtype, e));
    TRY(ops_need(op, "y", y, x->rows, x->cols, x->dtype, e));
    TRY(ops_need(op, "stats", stats, x->rows, 2, DTYPE_F32, e));
    TRY(ops_need(op, "gain", gain, 1, x->cols, DTYPE_F32, e));
    return ops_need(op, "bias", bias, 1, x->cols, DTYPE_F32, e);
}

int ops_layernorm(struct backend *b, struct tensor *y, struct tensor *stats, const struct tensor *x,
                  const struct tensor *gain, const struct tensor *bias, struct err *e)
{
    TRY(check_layernorm("norm", y, stats, x, gain, bias, e));
    return b->ops->layernorm(b, y, stats, x, gain, bias, e);
}

int ops_layernorm_bwd(struct backend *b, struct tensor *dx, struct tensor *dgain,
                      struct tensor *dbias, const struct tensor *dy, const struct tensor *x,
                      const struct tensor *stats, const struct tensor *gain, int accumulate_dx,
                      struct err *e)
{
    const char *op = "layernorm_bwd";
    TRY(check_layernorm(op, dy, stats, x, gain, dbias, e));
    TRY(ops_need(op, "dx", dx, x->rows, x->cols, x->dtype, e));
    TRY(ops_need(op, "dgain", dgain, 1, x->cols, DTYPE_F32, e));
    return b->ops->layernorm_bwd(b, dx, dgain, dbias, dy, x, stats, gain, accumulate_dx, e);
}

int ops_residual_layernorm(struct backend *b, struct tensor *s, struct tensor *y,
                           struct tensor *stats, const struct tensor *x, const struct tensor *r,
                           const struct dropout *d, const struct tensor *gain,
                           const struct tensor *bias, struct err *e)
{
    const char *op = "residual_layernorm";
    TRY(check_layernorm(op, y, stats, x, gain, bias, e));
    TRY(ops_need(op, "r", r, x->rows, x->cols, x->dtype, e));
    TRY(ops_need(op, "s", s, x->rows, x->cols, x->dtype, e));
    TRY(ops_need_dropout(op, d, e));
    if (b->ops->residual_layernorm != NULL)
        return b->ops->residual_layernorm(b, s, y, stats, x, r, d, gain, bias, e);

    /* y is free until the norm, so it holds the dropped r: x may be s, and r is only read. */
    const struct tensor *dropped = r;
    if (d->p > 0.0f) {
        TRY(b->ops->dropout(b, y, r, d, e));
        dropped = y;
    }
    TRY(b->ops->add(b, s, x, dropped, e));
    return b->ops->layernorm(b, y, stats, s, gain, bias, e);
}

int ops_residual_layernorm_bwd(struct backend *b, struct tensor *ds, struct tensor *dr,
                               struct tensor *dgain, struct tensor *dbias, const struct tensor *dy,
                               const struct tensor *s, const struct tensor *stats,
                               const struct tensor *gain, const struct dropout *d, struct err *e)
{
    const char *op = "residual_layernorm_bwd";
    TRY(check_layernorm(op, dy, stats, s, gain, dbias, e));
    TRY(ops_need(op, "ds", ds, s->rows, s->cols, s->dtype, e));
    TRY(ops_need(op, "dgain", dgain, 1, s->cols, DTYPE_F32, e));
    TRY(ops_need_dropout(op, d, e));
    if (d->p == 0.0f) return b->ops->layernorm_bwd(b, ds, dgain, dbias, dy, s, stats, gain, 1, e);
    TRY(ops_need(op, "dr", dr, s->rows, s->cols, s->dtype, e));
    if (b->ops->residual_layernorm_bwd != NULL)
        return b->ops->residual_layernorm_bwd(b, ds, dr, dgain, dbias, dy, s, stats, gain, d, e);
    TRY(b->ops->layernorm_bwd(b, ds, dgain, dbias, dy, s, stats, gain, 1, e));
    return b->ops->dropout(b, dr, ds, d, e);
}
