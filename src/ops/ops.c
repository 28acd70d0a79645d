/* ops.c - checks the arguments of all ops, and composes fused ops that a backend lacks.
 *
 * Without attention_rotates, q and k are rotated in place before the forward pass and stay rotated
 * for the backward pass; afterwards dq and dk are rotated back. */
#include "ops/ops.h"

#include "backend/ops_table.h"

static int check(const struct backend *b, enum op op, const void *args, struct err *e)
{
    struct op_memory memory[OP_ARGUMENTS_MAX];
    int32_t n;
    return op_arguments(b, op, args, memory, &n, e);
}

static int run(struct backend *b, enum op op, const void *args, struct err *e)
{
    TRY(check(b, op, args, e));
    return op_run(b, op, args, e);
}

static struct tensor or_none(const struct tensor *t)
{
    return t ? *t : (struct tensor){0};
}

int ops_linear(struct backend *b, const struct tensor *y, const struct tensor *x,
               const struct tensor *w, const struct tensor *bias, bool accumulate, struct err *e)
{
    return run(b, OP_LINEAR,
               &(struct linear_args){
                   .y = *y, .x = *x, .w = *w, .bias = or_none(bias), .accumulate = accumulate},
               e);
}

int ops_linear_rows(struct backend *b, const struct tensor *y, const struct tensor *x,
                    const struct tensor *w, const struct tensor *bias, struct err *e)
{
    return run(b, OP_LINEAR_ROWS,
               &(struct linear_rows_args){.y = *y, .x = *x, .w = *w, .bias = or_none(bias)}, e);
}

int ops_linear_relu(struct backend *b, const struct linear_relu_args *a, struct err *e)
{
    TRY(check(b, OP_LINEAR_RELU, a, e));
    if (b->ops->linear_relu != NULL && a->dropout.p == 0.0f) return b->ops->linear_relu(b, a, e);
    struct linear_args plain = {.y = a->y, .x = a->x, .w = a->w, .bias = a->bias};
    struct linear_rows_args rows = {.y = a->y, .x = a->x, .w = a->w, .bias = a->bias};
    TRY(a->exact ? b->ops->linear_rows(b, &rows, e) : b->ops->linear(b, &plain, e));
    struct relu_args relu = {.y = a->y, .x = a->y, .mask = a->mask, .dropout = a->dropout};
    return b->ops->relu(b, &relu, e);
}

int ops_linear_bwd_input(struct backend *b, const struct tensor *dx, const struct tensor *dy,
                         const struct tensor *w, bool accumulate, struct err *e)
{
    return run(
        b, OP_LINEAR_BWD_INPUT,
        &(struct linear_bwd_input_args){.dx = *dx, .dy = *dy, .w = *w, .accumulate = accumulate},
        e);
}

int ops_linear_bwd_relu(struct backend *b, const struct linear_bwd_relu_args *a, struct err *e)
{
    TRY(check(b, OP_LINEAR_BWD_RELU, a, e));
    if (b->ops->linear_bwd_relu != NULL && a->mask.data != NULL)
        return b->ops->linear_bwd_relu(b, a, e);
    TRY(b->ops->linear_bwd_input(
        b, &(struct linear_bwd_input_args){.dx = a->dx, .dy = a->dy, .w = a->w}, e));
    struct relu_bwd_args relu = {
        .dx = a->dx, .dy = a->dx, .y = a->y, .mask = a->mask, .dropout = a->dropout};
    return b->ops->relu_bwd(b, &relu, e);
}

int ops_linear_bwd_weight(struct backend *b, const struct tensor *dw, const struct tensor *dbias,
                          const struct tensor *dy, const struct tensor *x, bool accumulate,
                          struct err *e)
{
    return run(
        b, OP_LINEAR_BWD_WEIGHT,
        &(struct linear_bwd_weight_args){
            .dw = *dw, .dbias = or_none(dbias), .dy = *dy, .x = *x, .accumulate = accumulate},
        e);
}

int ops_gather_rows(struct backend *b, const struct tensor *y, const struct tensor *x,
                    const int32_t *index_dev, float scale, struct err *e)
{
    return run(b, OP_GATHER_ROWS,
               &(struct gather_rows_args){.y = *y, .x = *x, .index_dev = index_dev, .scale = scale},
               e);
}

int ops_scatter_rows(struct backend *b, const struct tensor *y, const struct tensor *x,
                     const int32_t *index_dev, float scale, bool accumulate, struct err *e)
{
    return run(
        b, OP_SCATTER_ROWS,
        &(struct scatter_rows_args){
            .y = *y, .x = *x, .index_dev = index_dev, .scale = scale, .accumulate = accumulate},
        e);
}

int ops_add_rows(struct backend *b, const struct tensor *y, const struct tensor *x,
                 const struct tensor *table, const int32_t *index_dev, struct err *e)
{
    return run(b, OP_ADD_ROWS,
               &(struct add_rows_args){.y = *y, .x = *x, .table = *table, .index_dev = index_dev},
               e);
}

int ops_cast(struct backend *b, const struct tensor *y, const struct tensor *x, struct err *e)
{
    return run(b, OP_CAST, &(struct cast_args){.y = *y, .x = *x}, e);
}

int ops_add(struct backend *b, const struct tensor *y, const struct tensor *x,
            const struct tensor *r, struct err *e)
{
    return run(b, OP_ADD, &(struct add_args){.y = *y, .x = *x, .r = *r}, e);
}

int ops_dropout(struct backend *b, const struct tensor *y, const struct tensor *x,
                const struct dropout *d, struct err *e)
{
    return run(b, OP_DROPOUT, &(struct dropout_args){.y = *y, .x = *x, .dropout = *d}, e);
}

int ops_relu(struct backend *b, const struct relu_args *a, struct err *e)
{
    return run(b, OP_RELU, a, e);
}

int ops_relu_bwd(struct backend *b, const struct relu_bwd_args *a, struct err *e)
{
    return run(b, OP_RELU_BWD, a, e);
}

int ops_layernorm(struct backend *b, const struct tensor *y, const struct tensor *stats,
                  const struct tensor *x, const struct tensor *gain, const struct tensor *bias,
                  struct err *e)
{
    return run(
        b, OP_LAYERNORM,
        &(struct layernorm_args){.y = *y, .stats = *stats, .x = *x, .gain = *gain, .bias = *bias},
        e);
}

int ops_layernorm_bwd(struct backend *b, const struct layernorm_bwd_args *a, struct err *e)
{
    return run(b, OP_LAYERNORM_BWD, a, e);
}

int ops_residual_layernorm(struct backend *b, const struct residual_layernorm_args *a,
                           struct err *e)
{
    TRY(check(b, OP_RESIDUAL_LAYERNORM, a, e));
    if (b->ops->residual_layernorm != NULL) return b->ops->residual_layernorm(b, a, e);

    /* y holds dropout(r) until the layernorm overwrites it: x may be s, and r is only read. */
    struct add_args sum = {.y = a->s, .x = a->x, .r = a->r};
    if (a->dropout.p > 0.0f) {
        sum.r = a->y;
        TRY(b->ops->dropout(b, &(struct dropout_args){.y = a->y, .x = a->r, .dropout = a->dropout},
                            e));
    }
    TRY(b->ops->add(b, &sum, e));
    struct layernorm_args norm = {
        .y = a->y, .stats = a->stats, .x = a->s, .gain = a->gain, .bias = a->bias};
    return b->ops->layernorm(b, &norm, e);
}

int ops_residual_layernorm_bwd(struct backend *b, const struct residual_layernorm_bwd_args *a,
                               struct err *e)
{
    bool dropped = a->dropout.p > 0.0f;
    TRY(check(b, OP_RESIDUAL_LAYERNORM_BWD, a, e));
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
    return run(b, OP_ROTARY, a, e);
}

/* Rotates q and k, or dq and dk back. If they are adjacent in one row, treats them as one tensor
 * with twice the heads. */
static int rotate_qk(struct backend *b, const struct tensor *q, const struct tensor *k,
                     const struct attention *a, bool inverse, struct err *e)
{
    struct rotary_args r = {.x = *q,
                            .cosine = a->rotary.cosine,
                            .sine = a->rotary.sine,
                            .T = a->T,
                            .H = a->H,
                            .layout = a->rotary.layout,
                            .inverse = inverse};
    if ((char *)k->data == (char *)q->data + (size_t)q->cols * dtype_bytes(q->dtype) &&
        k->stride == q->stride) {
        r.x.cols = 2 * q->cols;
        r.H = 2 * a->H;
        return b->ops->rotary(b, &r, e);
    }
    TRY(b->ops->rotary(b, &r, e));
    r.x = *k;
    return b->ops->rotary(b, &r, e);
}

static bool needs_rotation(const struct backend *b, const struct attention *a)
{
    return a->rotary.cosine.data != NULL && !b->ops->attention_rotates;
}

int ops_attention(struct backend *b, const struct attention *a, struct err *e)
{
    TRY(check(b, OP_ATTENTION, a, e));
    if (needs_rotation(b, a)) TRY(rotate_qk(b, &a->q, &a->k, a, false, e));
    return b->ops->attention(b, a, e);
}

int ops_attention_bwd(struct backend *b, const struct attention *a, struct err *e)
{
    TRY(check(b, OP_ATTENTION_BWD, a, e));
    TRY(b->ops->attention_bwd(b, a, e));
    return needs_rotation(b, a) ? rotate_qk(b, &a->dq, &a->dk, a, true, e) : 0;
}

int ops_softmax_loss(struct backend *b, const struct tensor *loss, const struct tensor *logits,
                     const int32_t *target_dev, bool gradient, struct err *e)
{
    return run(
        b, OP_SOFTMAX_LOSS,
        &(struct softmax_loss_args){
            .loss = *loss, .logits = *logits, .target_dev = target_dev, .gradient = gradient},
        e);
}

int ops_softmax_logp(struct backend *b, const struct tensor *logp, const struct tensor *logits,
                     const int32_t *target_dev, bool accumulate, struct err *e)
{
    return run(
        b, OP_SOFTMAX_LOGP,
        &(struct softmax_logp_args){
            .logp = *logp, .logits = *logits, .target_dev = target_dev, .accumulate = accumulate},
        e);
}

int ops_sum_losses(struct backend *b, double *sums_dev, const struct tensor *loss, struct err *e)
{
    return run(
        b, OP_SUM_LOSSES,
        &(struct sum_losses_args){.batch_dev = sums_dev, .total_dev = sums_dev + 1, .loss = *loss},
        e);
}

int ops_sum_squares(struct backend *b, double *out_dev, const float *x_dev, int64_t n,
                    struct err *e)
{
    return run(b, OP_SUM_SQUARES,
               &(struct sum_squares_args){.out_dev = out_dev, .x_dev = x_dev, .n = n}, e);
}

int ops_nag(struct backend *b, const struct nag_args *a, struct err *e)
{
    return run(b, OP_NAG, a, e);
}

int ops_adam(struct backend *b, const struct adam_args *a, struct err *e)
{
    return run(b, OP_ADAM, a, e);
}
