/* ops_attention.c - rotary, and attention in its one bias form.
 *
 * Where a backend's attention does not turn q and k, they are turned in place before the forward
 * pass and stay so for the backward one, after which dq and dk are turned back. */
#include "ops/ops.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>

#include "ops/ops_check.h"

static int check_rotary(const char *op, const struct tensor *cosine, const struct tensor *sine,
                        int64_t half, int32_t T, struct err *e)
{
    TRY(ops_need_pointer(op, "cosine", cosine, e));
    TRY(ops_need(op, "cosine", cosine, cosine->rows, half, DTYPE_F32, e));
    TRY(ops_need(op, "sine", sine, cosine->rows, half, DTYPE_F32, e));
    if (cosine->rows < T)
        return ERR(e, ERR_INTERNAL, "op %s: the tables have %" PRId64 " rows, expected T = %d", op,
                   cosine->rows, T);
    return 0;
}

int ops_rotary(struct backend *b, struct tensor *x, const struct tensor *cosine,
               const struct tensor *sine, int32_t T, int32_t H, int layout, int inverse,
               struct err *e)
{
    const char *op = "rotary";
    TRY(ops_need_pointer(op, "x", x, e));
    if (T < 1 || H < 1 || x->rows % T != 0 || x->cols % (2 * (int64_t)H) != 0)
        return ERR(e, ERR_INTERNAL,
                   "op rotary: x is %" PRId64 " x %" PRId64
                   ", expected rows of T = %d and columns of H = %d heads of even width",
                   x->rows, x->cols, T, H);
    TRY(ops_need(op, "x", x, x->rows, x->cols, x->dtype, e));
    TRY(check_rotary(op, cosine, sine, x->cols / H / 2, T, e));
    return b->ops->rotary(b, x, cosine, sine, T, H, layout, inverse, e);
}

static int check_attention(const char *op, const struct attention *a, struct err *e)
{
    TRY(ops_need_pointer(op, "a", a, e));
    if (a->B < 1 || a->T < 1 || a->H < 1 || a->D < 1 || a->bias.bias_table_n < 0)
        return ERR(e, ERR_INTERNAL, "op %s: B %d, T %d, H %d, D %d, bias_table_n %d are not sizes",
                   op, a->B, a->T, a->H, a->D, a->bias.bias_table_n);
    int64_t n = (int64_t)a->B * a->T, c = (int64_t)a->H * a->D;
    enum dtype dtype = a->q.dtype;
    TRY(ops_need(op, "q", &a->q, n, c, dtype, e));
    TRY(ops_need(op, "k", &a->k, n, c, dtype, e));
    TRY(ops_need(op, "v", &a->v, n, c, dtype, e));
    TRY(ops_need(op, "out", &a->out, n, c, dtype, e));
    TRY(ops_need(op, "lse", &a->lse, (int64_t)a->B * a->H, a->T, DTYPE_F32, e));
    if (a->bias.bias_table_n > 0) TRY(ops_need_pointer(op, "bias.near", a->bias.bias_table_dev, e));
    if (a->mask.window < 0 || a->mask.sinks < 0)
        return ERR(e, ERR_INTERNAL, "op %s: a window of %d keys and %d sinks are not sizes", op,
                   a->mask.window, a->mask.sinks);
    if (a->rotary.cosine.data != NULL && a->D % 2 != 0)
        return ERR(e, ERR_INTERNAL, "op %s: rotary positions need an even head width, not %d", op,
                   a->D);
    if (a->rotary.cosine.data != NULL)
        TRY(check_rotary(op, &a->rotary.cosine, &a->rotary.sine, a->D / 2, a->T, e));
    return ops_need_dropout(op, &a->dropout, e);
}

/* Turns q and k, or back dq and dk; neighbours in one row are together twice as many heads. */
static int rotate_qk(struct backend *b, struct tensor *q, struct tensor *k,
                     const struct attention *a, int inverse, struct err *e)
{
    const struct attention_rotary *r = &a->rotary;
    struct tensor both = *q;
    if ((char *)k->data == (char *)q->data + (size_t)q->cols * dtype_bytes(q->dtype) &&
        k->stride == q->stride) {
        both.cols = 2 * q->cols;
        return b->ops->rotary(b, &both, &r->cosine, &r->sine, a->T, 2 * a->H, r->layout, inverse,
                              e);
    }
    TRY(b->ops->rotary(b, q, &r->cosine, &r->sine, a->T, a->H, r->layout, inverse, e));
    return b->ops->rotary(b, k, &r->cosine, &r->sine, a->T, a->H, r->layout, inverse, e);
}

static bool needs_rotation(const struct backend *b, const struct attention *a)
{
    return a->rotary.cosine.data != NULL && !b->ops->attention_rotates;
}

int ops_attention(struct backend *b, struct attention *a, struct err *e)
{
    TRY(check_attention("attention", a, e));
    if (needs_rotation(b, a)) TRY(rotate_qk(b, &a->q, &a->k, a, 0, e));
    return b->ops->attention(b, a, e);
}

int ops_attention_bwd(struct backend *b, struct attention *a, struct err *e)
{
    const char *op = "attention_bwd";
    TRY(check_attention(op, a, e));
    int64_t n = a->q.rows, c = a->q.cols;
    TRY(ops_need(op, "dout", &a->dout, n, c, a->q.dtype, e));
    TRY(ops_need(op, "dq", &a->dq, n, c, a->q.dtype, e));
    TRY(ops_need(op, "dk", &a->dk, n, c, a->q.dtype, e));
    TRY(ops_need(op, "dv", &a->dv, n, c, a->q.dtype, e));
    if ((a->bias.bias_table_grad_dev == NULL) != (a->bias.tail_offset_grad_dev == NULL))
        return ERR(e, ERR_INTERNAL,
                   "op %s: bias.near_grad and bias.offset_grad are given together or not at all",
                   op);
    TRY(b->ops->attention_bwd(b, a, e));
    return needs_rotation(b, a) ? rotate_qk(b, &a->dq, &a->dk, a, 1, e) : 0;
}
