/* ops.c - checks the arguments of all ops, and composes fused ops that a backend lacks. Before each
 * op the caller's tick runs: one batch of a large model takes minutes.
 *
 * Without attention_rotates, q and k are rotated in place before the forward pass and stay rotated
 * for the backward pass; afterwards dq and dk are rotated back. */
#include "ops/ops.h"

#include "backend/ops_table.h"

static int begin_op(const struct backend *b, enum op op, const void *args, struct err *e)
{
    struct op_memory memory[OP_ARGUMENTS_MAX];
    int32_t n;
    TRY(op_arguments(b, op, args, memory, &n, e));
    return b->tick ? b->tick(b->tick_context, e) : 0;
}

#define PLAIN(NAME, name, args)                                                                    \
    int ops_##name(struct backend *b, const struct args *a, struct err *e)                         \
    {                                                                                              \
        TRY(begin_op(b, OP_##NAME, a, e));                                                         \
        return b->ops->name(b, a, e);                                                              \
    }
BACKEND_PLAIN_OPS(PLAIN)
#undef PLAIN

int ops_linear_relu(struct backend *b, const struct linear_relu_args *a, struct err *e)
{
    TRY(begin_op(b, OP_LINEAR_RELU, a, e));
    if (b->ops->linear_relu != NULL && a->dropout.p == 0.0f) return b->ops->linear_relu(b, a, e);
    struct linear_args plain = {.y = a->y, .x = a->x, .w = a->w, .bias = a->bias};
    struct linear_rows_args rows = {
        .y = a->y, .x = a->x, .w = a->w, .bias = a->bias, .split = a->split};
    TRY(a->exact ? b->ops->linear_rows(b, &rows, e) : b->ops->linear(b, &plain, e));
    struct relu_args relu = {.y = a->y, .x = a->y, .mask = a->mask, .dropout = a->dropout};
    return b->ops->relu(b, &relu, e);
}

int ops_linear_bwd_relu(struct backend *b, const struct linear_bwd_relu_args *a, struct err *e)
{
    TRY(begin_op(b, OP_LINEAR_BWD_RELU, a, e));
    if (b->ops->linear_bwd_relu != NULL && a->mask.data != NULL)
        return b->ops->linear_bwd_relu(b, a, e);
    TRY(b->ops->linear_bwd_input(
        b, &(struct linear_bwd_input_args){.dx = a->dx, .dy = a->dy, .w = a->w}, e));
    struct relu_bwd_args relu = {
        .dx = a->dx, .dy = a->dx, .y = a->y, .mask = a->mask, .dropout = a->dropout};
    return b->ops->relu_bwd(b, &relu, e);
}

int ops_residual_layernorm(struct backend *b, const struct residual_layernorm_args *a,
                           struct err *e)
{
    TRY(begin_op(b, OP_RESIDUAL_LAYERNORM, a, e));
    if (b->ops->residual_layernorm != NULL) return b->ops->residual_layernorm(b, a, e);

    /* y holds dropout(r) until the layernorm overwrites it: x may be s, and r is only read. */
    struct add_args sum = {.y = a->s, .x = a->x, .r = a->r};
    if (a->dropout.p > 0.0f) {
        sum.r = a->y;
        TRY(b->ops->dropout(b, &(struct dropout_args){.y = a->y, .x = a->r, .dropout = a->dropout},
                            e));
    }
    TRY(b->ops->add(b, &sum, e));
    struct layernorm_args norm = {.y = a->y,
                                  .stats = a->stats,
                                  .x = a->s,
                                  .gain = a->gain,
                                  .bias = a->bias,
                                  .eps = a->eps,
                                  .rms = a->rms};
    return b->ops->layernorm(b, &norm, e);
}

int ops_residual_layernorm_bwd(struct backend *b, const struct residual_layernorm_bwd_args *a,
                               struct err *e)
{
    bool dropped = a->dropout.p > 0.0f;
    TRY(begin_op(b, OP_RESIDUAL_LAYERNORM_BWD, a, e));
    if (b->ops->residual_layernorm_bwd != NULL && dropped)
        return b->ops->residual_layernorm_bwd(b, a, e);
    struct layernorm_bwd_args norm = {.dx = a->ds,
                                      .dgain = a->dgain,
                                      .dbias = a->dbias,
                                      .dy = a->dy,
                                      .x = a->s,
                                      .stats = a->stats,
                                      .gain = a->gain,
                                      .accumulate_dx = true};
    TRY(b->ops->layernorm_bwd(b, &norm, e));
    if (!dropped) return 0;
    return b->ops->dropout(b, &(struct dropout_args){.y = a->dr, .x = a->ds, .dropout = a->dropout},
                           e);
}

int ops_rotary(struct backend *b, const struct rotary_args *a, struct err *e)
{
    if (b->ops->rotary == NULL)
        return ERR(e, ERR_UNAVAILABLE, "op rotary: %s rotates only within attention", b->name);
    TRY(begin_op(b, OP_ROTARY, a, e));
    return b->ops->rotary(b, a, e);
}

/* Rotates q and k, or dq and dk back. If they are adjacent in one row and share their tables,
 * treats them as one tensor with the heads of both. */
static int rotate_qk(struct backend *b, const struct tensor *q, const struct tensor *k,
                     const struct attention *a, bool inverse, struct err *e)
{
    int32_t key_heads = a->K > 0 ? a->K : a->H;
    struct rotary_args r = {.x = *q,
                            .cosine = a->rotary.cosine,
                            .sine = a->rotary.sine,
                            .T = a->T,
                            .H = a->H,
                            .layout = a->rotary.layout,
                            .inverse = inverse};
    if ((char *)k->data == (char *)q->data + (size_t)q->cols * dtype_bytes(q->dtype) &&
        k->stride == q->stride && a->rotary.key_cosine.data == NULL) {
        r.x.cols = q->cols + k->cols;
        r.H = a->H + key_heads;
        return b->ops->rotary(b, &r, e);
    }
    TRY(b->ops->rotary(b, &r, e));
    r.x = *k;
    r.H = key_heads;
    if (a->rotary.key_cosine.data != NULL) {
        r.cosine = a->rotary.key_cosine;
        r.sine = a->rotary.key_sine;
    }
    return b->ops->rotary(b, &r, e);
}

static bool needs_rotation(const struct backend *b, const struct attention *a)
{
    return a->rotary.cosine.data != NULL && !b->ops->attention_rotates;
}

int ops_attention(struct backend *b, const struct attention *a, struct err *e)
{
    TRY(begin_op(b, OP_ATTENTION, a, e));
    if (needs_rotation(b, a)) TRY(rotate_qk(b, &a->q, &a->k, a, false, e));
    return b->ops->attention(b, a, e);
}

int ops_attention_bwd(struct backend *b, const struct attention *a, struct err *e)
{
    TRY(begin_op(b, OP_ATTENTION_BWD, a, e));
    TRY(b->ops->attention_bwd(b, a, e));
    return needs_rotation(b, a) ? rotate_qk(b, &a->dq, &a->dk, a, true, e) : 0;
}
