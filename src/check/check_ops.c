/* check_ops.c - which memory every op on activations reads and writes, and the op between two looks
 * at it. */
#include "check/check_spans.h"

static void read_dropout(struct check *c, const struct dropout *d, int64_t rows)
{
    if (d->p == 0.0f) return;
    check_memory(c, "step", CHECK_READ, d->step_dev, sizeof *d->step_dev);
    if (d->rows_dev != NULL) check_list(c, "rows", d->rows_dev, rows);
}

/* Tables of the bias form for H heads; their gradients where the op has them. */
static void bias_memory(struct check *c, const struct attention_bias *bias, int64_t H, int gradient)
{
    size_t near_bytes = (size_t)(H * bias->bias_table_n) * sizeof(float);
    size_t head_bytes = (size_t)H * sizeof(float);
    check_memory(c, "bias.near", CHECK_READ, bias->bias_table_dev, near_bytes);
    check_memory(c, "bias.offset", CHECK_READ, bias->tail_offset_dev, head_bytes);
    check_memory(c, "bias.slope", CHECK_READ, bias->tail_slope_dev, head_bytes);
    if (!gradient) return;
    check_memory(c, "bias.near_grad", CHECK_UPDATE, bias->bias_table_grad_dev, near_bytes);
    check_memory(c, "bias.offset_grad", CHECK_UPDATE, bias->tail_offset_grad_dev, head_bytes);
}

static void rotary_memory(struct check *c, const struct attention_rotary *rotary)
{
    if (rotary->cosine.data == NULL) return;
    check_tensor(c, "rotary.cosine", CHECK_READ, &rotary->cosine);
    check_tensor(c, "rotary.sine", CHECK_READ, &rotary->sine);
}

static int watch_linear(struct backend *b, struct tensor *y, const struct tensor *x,
                        const struct tensor *w, const struct tensor *bias, int accumulate,
                        struct err *e)
{
    struct check *c = check_begin(b, "linear");
    check_tensor(c, "y", check_output(accumulate), y);
    check_tensor(c, "x", CHECK_READ, x);
    check_tensor(c, "w", CHECK_READ, w);
    check_tensor(c, "bias", CHECK_READ, bias);
    TRY(check_before(c, e));
    return check_after(c, c->inner_own->ops->linear(c->inner_own, y, x, w, bias, accumulate, e), e);
}

static int watch_linear_rows(struct backend *b, struct tensor *y, const struct tensor *x,
                             const struct tensor *w, const struct tensor *bias, struct err *e)
{
    struct check *c = check_begin(b, "linear_rows");
    check_tensor(c, "y", CHECK_WRITE, y);
    check_tensor(c, "x", CHECK_READ, x);
    check_tensor(c, "w", CHECK_READ, w);
    check_tensor(c, "bias", CHECK_READ, bias);
    TRY(check_before(c, e));
    return check_after(c, c->inner_own->ops->linear_rows(c->inner_own, y, x, w, bias, e), e);
}

static int watch_linear_relu(struct backend *b, struct tensor *y, const struct tensor *x,
                             const struct tensor *w, const struct tensor *bias, int exact,
                             struct err *e)
{
    struct check *c = check_begin(b, "linear_relu");
    check_tensor(c, "y", CHECK_WRITE, y);
    check_tensor(c, "x", CHECK_READ, x);
    check_tensor(c, "w", CHECK_READ, w);
    check_tensor(c, "bias", CHECK_READ, bias);
    TRY(check_before(c, e));
    return check_after(c, c->inner_own->ops->linear_relu(c->inner_own, y, x, w, bias, exact, e), e);
}

static int watch_linear_bwd_input(struct backend *b, struct tensor *dx, const struct tensor *dy,
                                  const struct tensor *w, int accumulate, struct err *e)
{
    struct check *c = check_begin(b, "linear_bwd_input");
    check_tensor(c, "dx", check_output(accumulate), dx);
    check_tensor(c, "dy", CHECK_READ, dy);
    check_tensor(c, "w", CHECK_READ, w);
    TRY(check_before(c, e));
    return check_after(
        c, c->inner_own->ops->linear_bwd_input(c->inner_own, dx, dy, w, accumulate, e), e);
}

static int watch_linear_relu_bwd(struct backend *b, struct tensor *dx, const struct tensor *dy,
                                 const struct tensor *w, const struct tensor *y,
                                 const struct dropout *d, struct err *e)
{
    struct check *c = check_begin(b, "linear_relu_bwd");
    check_tensor(c, "dx", CHECK_WRITE, dx);
    check_tensor(c, "dy", CHECK_READ, dy);
    check_tensor(c, "w", CHECK_READ, w);
    check_tensor(c, "y", CHECK_READ, y);
    read_dropout(c, d, y->rows);
    TRY(check_before(c, e));
    return check_after(c, c->inner_own->ops->linear_relu_bwd(c->inner_own, dx, dy, w, y, d, e), e);
}

static int watch_linear_bwd_weight(struct backend *b, struct tensor *dw, struct tensor *dbias,
                                   const struct tensor *dy, const struct tensor *x, int accumulate,
                                   struct err *e)
{
    struct check *c = check_begin(b, "linear_bwd_weight");
    check_tensor(c, "dw", check_output(accumulate), dw);
    check_tensor(c, "dbias", check_output(accumulate), dbias);
    check_tensor(c, "dy", CHECK_READ, dy);
    check_tensor(c, "x", CHECK_READ, x);
    TRY(check_before(c, e));
    return check_after(
        c, c->inner_own->ops->linear_bwd_weight(c->inner_own, dw, dbias, dy, x, accumulate, e), e);
}

static int watch_gather_rows(struct backend *b, struct tensor *y, const struct tensor *x,
                             const int32_t *index_dev, float scale, struct err *e)
{
    struct check *c = check_begin(b, "gather_rows");
    check_tensor(c, "y", CHECK_WRITE, y);
    check_tensor(c, "x", CHECK_READ, x);
    check_list(c, "index", index_dev, y->rows);
    TRY(check_before(c, e));
    return check_after(c, c->inner_own->ops->gather_rows(c->inner_own, y, x, index_dev, scale, e),
                       e);
}

static int watch_scatter_rows(struct backend *b, struct tensor *y, const struct tensor *x,
                              const int32_t *index_dev, float scale, int accumulate, struct err *e)
{
    struct check *c = check_begin(b, "scatter_rows");
    /* Rows that no index names stay as they are. */
    check_tensor(c, "y", CHECK_UPDATE, y);
    check_tensor(c, "x", CHECK_READ, x);
    check_list(c, "index", index_dev, x->rows);
    TRY(check_before(c, e));
    return check_after(
        c, c->inner_own->ops->scatter_rows(c->inner_own, y, x, index_dev, scale, accumulate, e), e);
}

static int watch_add_rows(struct backend *b, struct tensor *y, const struct tensor *x,
                          const struct tensor *table, const int32_t *index_dev, struct err *e)
{
    struct check *c = check_begin(b, "add_rows");
    check_tensor(c, "y", CHECK_WRITE, y);
    check_tensor(c, "x", CHECK_READ, x);
    check_tensor(c, "table", CHECK_READ, table);
    check_list(c, "index", index_dev, x->rows);
    TRY(check_before(c, e));
    return check_after(c, c->inner_own->ops->add_rows(c->inner_own, y, x, table, index_dev, e), e);
}

static int watch_cast(struct backend *b, struct tensor *y, const struct tensor *x, struct err *e)
{
    struct check *c = check_begin(b, "cast");
    check_tensor(c, "y", CHECK_WRITE, y);
    check_tensor(c, "x", CHECK_READ, x);
    TRY(check_before(c, e));
    return check_after(c, c->inner_own->ops->cast(c->inner_own, y, x, e), e);
}

static int watch_add(struct backend *b, struct tensor *y, const struct tensor *x,
                     const struct tensor *r, struct err *e)
{
    struct check *c = check_begin(b, "add");
    check_tensor(c, "y", CHECK_WRITE, y);
    check_tensor(c, "x", CHECK_READ, x);
    check_tensor(c, "r", CHECK_READ, r);
    TRY(check_before(c, e));
    return check_after(c, c->inner_own->ops->add(c->inner_own, y, x, r, e), e);
}

static int watch_dropout(struct backend *b, struct tensor *y, const struct tensor *x,
                         const struct dropout *d, struct err *e)
{
    struct check *c = check_begin(b, "dropout");
    check_tensor(c, "y", CHECK_WRITE, y);
    check_tensor(c, "x", CHECK_READ, x);
    read_dropout(c, d, x->rows);
    TRY(check_before(c, e));
    return check_after(c, c->inner_own->ops->dropout(c->inner_own, y, x, d, e), e);
}

static int watch_relu(struct backend *b, struct tensor *y, const struct tensor *x,
                      const struct dropout *d, struct err *e)
{
    struct check *c = check_begin(b, "relu");
    check_tensor(c, "y", CHECK_WRITE, y);
    check_tensor(c, "x", CHECK_READ, x);
    read_dropout(c, d, x->rows);
    TRY(check_before(c, e));
    return check_after(c, c->inner_own->ops->relu(c->inner_own, y, x, d, e), e);
}

static int watch_relu_bwd(struct backend *b, struct tensor *dx, const struct tensor *dy,
                          const struct tensor *y, const struct dropout *d, struct err *e)
{
    struct check *c = check_begin(b, "relu_bwd");
    check_tensor(c, "dx", CHECK_WRITE, dx);
    check_tensor(c, "dy", CHECK_READ, dy);
    check_tensor(c, "y", CHECK_READ, y);
    read_dropout(c, d, y->rows);
    TRY(check_before(c, e));
    return check_after(c, c->inner_own->ops->relu_bwd(c->inner_own, dx, dy, y, d, e), e);
}

static int watch_layernorm(struct backend *b, struct tensor *y, struct tensor *stats,
                           const struct tensor *x, const struct tensor *gain,
                           const struct tensor *bias, struct err *e)
{
    struct check *c = check_begin(b, "norm");
    check_tensor(c, "y", CHECK_WRITE, y);
    check_tensor(c, "stats", CHECK_WRITE, stats);
    check_tensor(c, "x", CHECK_READ, x);
    check_tensor(c, "gain", CHECK_READ, gain);
    check_tensor(c, "bias", CHECK_READ, bias);
    TRY(check_before(c, e));
    return check_after(c, c->inner_own->ops->layernorm(c->inner_own, y, stats, x, gain, bias, e),
                       e);
}

static int watch_layernorm_bwd(struct backend *b, struct tensor *dx, struct tensor *dgain,
                               struct tensor *dbias, const struct tensor *dy,
                               const struct tensor *x, const struct tensor *stats,
                               const struct tensor *gain, int accumulate_dx, struct err *e)
{
    struct check *c = check_begin(b, "layernorm_bwd");
    check_tensor(c, "dx", check_output(accumulate_dx), dx);
    check_tensor(c, "dgain", CHECK_UPDATE, dgain);
    check_tensor(c, "dbias", CHECK_UPDATE, dbias);
    check_tensor(c, "dy", CHECK_READ, dy);
    check_tensor(c, "x", CHECK_READ, x);
    check_tensor(c, "stats", CHECK_READ, stats);
    check_tensor(c, "gain", CHECK_READ, gain);
    TRY(check_before(c, e));
    return check_after(c,
                       c->inner_own->ops->layernorm_bwd(c->inner_own, dx, dgain, dbias, dy, x,
                                                        stats, gain, accumulate_dx, e),
                       e);
}

static int watch_residual_layernorm(struct backend *b, struct tensor *s, struct tensor *y,
                                    struct tensor *stats, const struct tensor *x,
                                    const struct tensor *r, const struct dropout *d,
                                    const struct tensor *gain, const struct tensor *bias,
                                    struct err *e)
{
    struct check *c = check_begin(b, "residual_layernorm");
    check_tensor(c, "s", CHECK_WRITE, s);
    check_tensor(c, "y", CHECK_WRITE, y);
    check_tensor(c, "stats", CHECK_WRITE, stats);
    check_tensor(c, "x", CHECK_READ, x);
    check_tensor(c, "r", CHECK_READ, r);
    check_tensor(c, "gain", CHECK_READ, gain);
    check_tensor(c, "bias", CHECK_READ, bias);
    read_dropout(c, d, x->rows);
    TRY(check_before(c, e));
    return check_after(
        c, c->inner_own->ops->residual_layernorm(c->inner_own, s, y, stats, x, r, d, gain, bias, e),
        e);
}

static int watch_residual_layernorm_bwd(struct backend *b, struct tensor *ds, struct tensor *dr,
                                        struct tensor *dgain, struct tensor *dbias,
                                        const struct tensor *dy, const struct tensor *s,
                                        const struct tensor *stats, const struct tensor *gain,
                                        const struct dropout *d, struct err *e)
{
    struct check *c = check_begin(b, "residual_layernorm_bwd");
    check_tensor(c, "ds", CHECK_UPDATE, ds);
    check_tensor(c, "dr", CHECK_WRITE, dr);
    check_tensor(c, "dgain", CHECK_UPDATE, dgain);
    check_tensor(c, "dbias", CHECK_UPDATE, dbias);
    check_tensor(c, "dy", CHECK_READ, dy);
    check_tensor(c, "s", CHECK_READ, s);
    check_tensor(c, "stats", CHECK_READ, stats);
    check_tensor(c, "gain", CHECK_READ, gain);
    read_dropout(c, d, s->rows);
    TRY(check_before(c, e));
    return check_after(c,
                       c->inner_own->ops->residual_layernorm_bwd(c->inner_own, ds, dr, dgain, dbias,
                                                                 dy, s, stats, gain, d, e),
                       e);
}

static int watch_rotary(struct backend *b, struct tensor *x, const struct tensor *cosine,
                        const struct tensor *sine, int32_t T, int32_t H, int layout, int inverse,
                        struct err *e)
{
    struct check *c = check_begin(b, "rotary");
    check_tensor(c, "x", CHECK_UPDATE, x);
    check_tensor(c, "cosine", CHECK_READ, cosine);
    check_tensor(c, "sine", CHECK_READ, sine);
    TRY(check_before(c, e));
    return check_after(
        c, c->inner_own->ops->rotary(c->inner_own, x, cosine, sine, T, H, layout, inverse, e), e);
}

static int watch_attention(struct backend *b, struct attention *a, struct err *e)
{
    struct check *c = check_begin(b, "attention");
    check_tensor(c, "out", CHECK_WRITE, &a->out);
    check_tensor(c, "lse", CHECK_WRITE, &a->lse);
    check_tensor(c, "q", CHECK_READ, &a->q);
    check_tensor(c, "k", CHECK_READ, &a->k);
    check_tensor(c, "v", CHECK_READ, &a->v);
    bias_memory(c, &a->bias, a->H, 0);
    rotary_memory(c, &a->rotary);
    read_dropout(c, &a->dropout, 0);
    TRY(check_before(c, e));
    return check_after(c, c->inner_own->ops->attention(c->inner_own, a, e), e);
}

static int watch_attention_bwd(struct backend *b, struct attention *a, struct err *e)
{
    struct check *c = check_begin(b, "attention_bwd");
    check_tensor(c, "dq", CHECK_WRITE, &a->dq);
    check_tensor(c, "dk", CHECK_WRITE, &a->dk);
    check_tensor(c, "dv", CHECK_WRITE, &a->dv);
    check_tensor(c, "q", CHECK_READ, &a->q);
    check_tensor(c, "k", CHECK_READ, &a->k);
    check_tensor(c, "v", CHECK_READ, &a->v);
    check_tensor(c, "out", CHECK_READ, &a->out);
    check_tensor(c, "lse", CHECK_READ, &a->lse);
    check_tensor(c, "dout", CHECK_READ, &a->dout);
    bias_memory(c, &a->bias, a->H, 1);
    rotary_memory(c, &a->rotary);
    read_dropout(c, &a->dropout, 0);
    TRY(check_before(c, e));
    return check_after(c, c->inner_own->ops->attention_bwd(c->inner_own, a, e), e);
}

void check_slots(struct check *c)
{
    c->slots = (struct backend_ops){
        .linear = watch_linear,
        .linear_rows = watch_linear_rows,
        .linear_relu = watch_linear_relu,
        .linear_bwd_input = watch_linear_bwd_input,
        .linear_relu_bwd = watch_linear_relu_bwd,
        .linear_bwd_weight = watch_linear_bwd_weight,
        .gather_rows = watch_gather_rows,
        .scatter_rows = watch_scatter_rows,
        .add_rows = watch_add_rows,
        .cast = watch_cast,
        .add = watch_add,
        .dropout = watch_dropout,
        .relu = watch_relu,
        .relu_bwd = watch_relu_bwd,
        .layernorm = watch_layernorm,
        .layernorm_bwd = watch_layernorm_bwd,
        .residual_layernorm = watch_residual_layernorm,
        .residual_layernorm_bwd = watch_residual_layernorm_bwd,
        .rotary = watch_rotary,
        .attention_rotates = c->inner_own->ops->attention_rotates,
        .attention = watch_attention,
        .attention_bwd = watch_attention_bwd,
    };
    /* A fused slot that the wrapped backend lacks stays empty, so that it is composed. So do record
     * and its kin: memory can be looked at before and after an op only if the op is done now. */
    const struct backend_ops *inner = c->inner_own->ops;
    if (inner->linear_relu == NULL) c->slots.linear_relu = NULL;
    if (inner->linear_relu_bwd == NULL) c->slots.linear_relu_bwd = NULL;
    if (inner->residual_layernorm == NULL) c->slots.residual_layernorm = NULL;
    if (inner->residual_layernorm_bwd == NULL) c->slots.residual_layernorm_bwd = NULL;
    check_update_slots(c);
}
