/* bench_gpu_ops.c - what one op costs at the 247M model's shapes, beside what the device can do at
 * all: copy bandwidth, and matrix products as cuda/gemm.h makes them.
 *
 * bytes: what the op must read and write once; flops: a multiply-add is two; attention's backward
 * pass counts five products, as it is computed. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/philox.h"
#include "bench/bench_gpu_op.h"
#include "shape/shape.h"

/* ---- matrix products ---- */

static int call_linear(struct ops *o, struct err *e)
{
    return ops_linear(o->b, &o->y, &o->x, &o->w, NULL, 0, e);
}

static int call_linear_rows(struct ops *o, struct err *e)
{
    return ops_linear_rows(o->b, &o->y, &o->x, &o->w, NULL, e);
}

static int call_linear_bwd_input(struct ops *o, struct err *e)
{
    return ops_linear_bwd_input(o->b, &o->x, &o->y, &o->w, 0, e);
}

static int call_linear_bwd_weight(struct ops *o, struct err *e)
{
    return ops_linear_bwd_weight(o->b, &o->dw, NULL, &o->y, &o->x, 1, e);
}

struct product {
    const char *name;
    int64_t n, in, out;
};

static int time_product(struct ops *o, const struct product *p, struct err *e)
{
    static const struct {
        const char *name;
        op_call call;
    } ways[] = {{"linear", call_linear},
                {"linear_rows", call_linear_rows},
                {"linear_bwd_input", call_linear_bwd_input},
                {"linear_bwd_weight", call_linear_bwd_weight}};
    char name[BENCH_NAME_BYTES];
    double flops = 2.0 * (double)p->n * (double)p->in * (double)p->out;
    double bytes = o->elements * (double)(p->n * p->in + p->n * p->out + p->in * p->out);

    TRY(op_activation(o, &o->x, p->n, p->in, e));
    TRY(op_activation(o, &o->y, p->n, p->out, e));
    TRY(op_activation(o, &o->w, p->out, p->in, e));
    TRY(op_tensor(o, &o->dw, p->out, p->in, DTYPE_F32, e));
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        snprintf(name, sizeof name, "%s %s", ways[i].name, p->name);
        TRY(op_row(o, name, ways[i].call, bytes, flops, e));
    }
    op_release(o);
    return 0;
}

/* The layers', the head's, and each tail's for about as many rows as WikiText-103's words fall into
 * it (4.0 and 2.3 % of the targets). */
static int time_products(struct ops *o, struct err *e)
{
    int64_t N = o->N, C = o->C, F = o->F, c1 = o->spec.model.cutoffs[0];
    int64_t c2 = o->spec.model.cutoffs[1], V = o->spec.data.vocab;
    int64_t factor = o->spec.model.adaptive_factor;
    const struct product products[] = {{"q, k, v", N, C, 3 * C},
                                       {"attention out", N, C, C},
                                       {"feed-forward in", N, C, F},
                                       {"feed-forward out", N, F, C},
                                       {"head", N, C, c1 + 2},
                                       {"tail 1", N / 25, C / factor, c2 - c1},
                                       {"tail 2", N / 43, C / factor / factor, V - c2}};
    for (size_t i = 0; i < sizeof products / sizeof *products; i++)
        TRY(time_product(o, &products[i], e));
    return 0;
}

/* ---- rows ---- */

static int call_gather(struct ops *o, struct err *e)
{
    return ops_gather_rows(o->b, &o->y, &o->w, o->index_dev, 32.0f, e);
}
static int call_scatter(struct ops *o, struct err *e)
{
    return ops_scatter_rows(o->b, &o->dw, &o->y, o->index_dev, 32.0f, 1, e);
}
static int call_add_rows(struct ops *o, struct err *e)
{
    return ops_add_rows(o->b, &o->y, &o->x, &o->dw, o->index_dev, e);
}
static int call_dropout(struct ops *o, struct err *e)
{
    return ops_dropout(o->b, &o->y, &o->x, &o->dropout, e);
}
static int call_relu(struct ops *o, struct err *e)
{
    return ops_relu(o->b, &o->y, &o->x, &o->dropout, e);
}
static int call_relu_bwd(struct ops *o, struct err *e)
{
    return ops_relu_bwd(o->b, &o->r, &o->x, &o->y, NULL, &o->dropout, e);
}
static int call_layernorm(struct ops *o, struct err *e)
{
    return ops_layernorm(o->b, &o->y, &o->stats, &o->x, &o->gain, &o->bias, e);
}
static int call_layernorm_bwd(struct ops *o, struct err *e)
{
    return ops_layernorm_bwd(o->b,
                             &(struct layernorm_bwd_args){.dx = o->r,
                                                          .dgain = o->dgain,
                                                          .dbias = o->dbias,
                                                          .dy = o->y,
                                                          .x = o->x,
                                                          .stats = o->stats,
                                                          .gain = o->gain,
                                                          .accumulate_dx = 1},
                             e);
}
static int call_residual_layernorm(struct ops *o, struct err *e)
{
    return ops_residual_layernorm(o->b,
                                  &(struct residual_layernorm_args){.s = o->w,
                                                                    .y = o->y,
                                                                    .stats = o->stats,
                                                                    .x = o->x,
                                                                    .r = o->r,
                                                                    .dropout = o->dropout,
                                                                    .gain = o->gain,
                                                                    .bias = o->bias},
                                  e);
}
static int call_residual_layernorm_bwd(struct ops *o, struct err *e)
{
    return ops_residual_layernorm_bwd(o->b,
                                      &(struct residual_layernorm_bwd_args){.ds = o->w,
                                                                            .dr = o->r,
                                                                            .dgain = o->dgain,
                                                                            .dbias = o->dbias,
                                                                            .dy = o->y,
                                                                            .s = o->x,
                                                                            .stats = o->stats,
                                                                            .gain = o->gain,
                                                                            .dropout = o->dropout},
                                      e);
}

static int make_index(struct ops *o, int64_t below, struct err *e)
{
    void *dev = NULL;
    int rc = 0;
    int32_t *index = malloc((size_t)o->N * sizeof *index);
    if (!index) return ERR(e, ERR_NOMEM, "no memory for %lld indices", (long long)o->N);
    for (int64_t i = 0; i < o->N; i++)
        index[i] = (int32_t)(philox_word(3, (uint64_t)i, 0, 0) % (uint32_t)below);
    TRY_OUT(rc, op_memory(o, &dev, (size_t)o->N * sizeof *index, e));
    TRY_OUT(rc, o->b->ops->upload(o->b, dev, index, (size_t)o->N * sizeof *index, e));
    o->index_dev = dev;
out:
    free(index);
    return rc;
}

static int time_rows(struct ops *o, struct err *e)
{
    int64_t table = o->spec.model.cutoffs[0];
    double a = o->elements * (double)(o->N * o->C);
    TRY(make_index(o, table, e));
    TRY(op_activation(o, &o->x, o->N, o->C, e));
    TRY(op_activation(o, &o->y, o->N, o->C, e));
    TRY(op_activation(o, &o->w, table, o->C, e));
    TRY(op_tensor(o, &o->dw, table, o->C, DTYPE_F32, e));
    TRY(op_row(o, "gather_rows", call_gather, 2 * a, 0, e));
    TRY(op_row(o, "scatter_rows", call_scatter, a + 8.0 * (double)(o->N * o->C), 0, e));
    TRY(op_row(o, "add_rows", call_add_rows, 2 * a + 4.0 * (double)(o->N * o->C), 0, e));
    op_release(o);
    return 0;
}

static int time_norms(struct ops *o, struct err *e)
{
    double a = o->elements * (double)(o->N * o->C);
    struct tensor *const streams[] = {&o->x, &o->y, &o->r, &o->w};
    struct tensor *const vectors[] = {&o->gain, &o->bias, &o->dgain, &o->dbias};
    for (int i = 0; i < 4; i++) {
        TRY(op_activation(o, streams[i], o->N, o->C, e));
        TRY(op_tensor(o, vectors[i], 1, o->C, DTYPE_F32, e));
    }
    TRY(op_tensor(o, &o->stats, o->N, 2, DTYPE_F32, e));
    TRY(op_row(o, "dropout", call_dropout, 2 * a, 0, e));
    TRY(op_row(o, "norm", call_layernorm, 2 * a, 0, e));
    TRY(op_row(o, "layernorm_bwd", call_layernorm_bwd, 4 * a, 0, e));
    TRY(op_row(o, "residual_layernorm", call_residual_layernorm, 4 * a, 0, e));
    TRY(op_row(o, "residual_layernorm_bwd", call_residual_layernorm_bwd, 5 * a, 0, e));
    op_release(o);
    for (int i = 0; i < 3; i++) TRY(op_activation(o, streams[i], o->N, o->F, e));
    a = o->elements * (double)(o->N * o->F);
    TRY(op_row(o, "relu", call_relu, 2 * a, 0, e));
    TRY(op_row(o, "relu_bwd", call_relu_bwd, 3 * a, 0, e));
    op_release(o);
    return 0;
}

/* ---- losses and the optimiser ---- */

static int call_loss(struct ops *o, struct err *e)
{
    return ops_softmax_loss(o->b, &o->y, &o->x, o->index_dev, 1, e);
}
static int call_logp(struct ops *o, struct err *e)
{
    return ops_softmax_logp(o->b, &o->y, &o->x, o->index_dev, 0, e);
}
static int call_squares(struct ops *o, struct err *e)
{
    return ops_sum_squares(o->b, o->squares_dev, o->grad_dev, o->n, e);
}
static int call_nag(struct ops *o, struct err *e)
{
    return ops_nag(o->b,
                   &(struct nag_args){.theta_dev = o->theta_dev,
                                      .momentum_dev = o->momentum_dev,
                                      .grad_dev = o->grad_dev,
                                      .n = o->n,
                                      .mu = 0.99f,
                                      .weight_decay = 0.0f,
                                      .squares_dev = o->squares_dev,
                                      .step_dev = o->dropout.step_dev,
                                      .bf16_dev = o->bf16_dev},
                   e);
}

static int time_losses(struct ops *o, struct err *e)
{
    int64_t V = o->spec.model.cutoffs[0] + 2;
    double bytes = o->elements * (double)(o->N * V);
    TRY(make_index(o, V, e));
    TRY(op_activation(o, &o->x, o->N, V, e));
    TRY(op_tensor(o, &o->y, 1, o->N, DTYPE_F32, e));
    TRY(op_row(o, "softmax_logp head", call_logp, bytes, 0, e));
    TRY(op_row(o, "softmax_loss head", call_loss, 2 * bytes, 0, e));
    op_release(o);
    return 0;
}

static int time_optimizer(struct ops *o, struct err *e)
{
    struct shape_params p;
    struct arena arena;
    struct tensor t[3];
    void *squares = NULL;
    double half = o->b->precision == DTYPE_BF16 ? 2.0 : 0.0;

    arena_init(&arena);
    shape_params(&p, &arena, &o->spec);
    o->n = p.elements_n;
    arena_fini(&arena);
    for (int i = 0; i < 3; i++) TRY(op_tensor(o, &t[i], 1, o->n, DTYPE_F32, e));
    TRY(op_memory(o, &squares, sizeof(double), e));
    o->bf16_dev = NULL;
    if (half > 0.0) TRY(op_memory(o, &o->bf16_dev, (size_t)o->n * 2, e));
    o->theta_dev = t[0].data;
    o->momentum_dev = t[1].data;
    o->grad_dev = t[2].data;
    o->squares_dev = squares;
    TRY(op_row(o, "sum_squares", call_squares, 4.0 * (double)o->n, 0, e));
    TRY(op_row(o, "nag", call_nag, (20.0 + half) * (double)o->n, 0, e));
    op_release(o);
    return 0;
}

/* What was chosen for the products: cuda/README.md tells how to read it. */
static int write_choices(json_t *out, struct backend *b, struct err *e)
{
    if (!b->ops->choices) return 0;
    size_t bytes = b->ops->choices(b, NULL, 0) + 1;
    char *text = malloc(bytes);
    if (!text) return ERR(e, ERR_NOMEM, "no memory for %zu bytes of choices", bytes);
    (void)b->ops->choices(b, text, bytes);
    json_object_set_new(out, "choices", json_string(text));
    free(text);
    return 0;
}

int bench_ops(json_t *out, const struct bench_case *c, const struct bench_options *p, struct err *e)
{
    static const op_call parts[] = {time_products,   time_rows,   time_norms,
                                    bench_attention, time_losses, time_optimizer};
    struct ops o;
    int rc = 0;
    json_t *rows = json_array();

    json_object_set_new(out, "ops", rows);
    TRY_OUT(rc, op_open(&o, rows, c, p, e));
    for (size_t i = 0; rc == 0 && i < sizeof parts / sizeof *parts; i++) rc = parts[i](&o, e);
    if (rc == 0) rc = write_choices(out, o.b, e);
out:
    op_close(&o);
    return rc;
}

/* ---- ceilings ---- */

static int call_copy(struct ops *o, struct err *e)
{
    return o->b->ops->copy(o->b, o->y.data, o->x.data, (size_t)o->n, e);
}

/* A copy of 4 GiB and a bf16 product of 8192^3; in fp32 too. */
int bench_ceilings(json_t *out, const struct bench_case *c, const struct bench_options *p,
                   struct err *e)
{
    struct ops o;
    int rc = 0;
    int64_t side = p->tiny ? 64 : 8192, bytes = p->tiny ? 1 << 16 : (int64_t)4 << 30;
    struct bench_case other = *c;
    json_t *rows = json_array();

    json_object_set_new(out, "ops", rows);
    for (int fp32 = p->tiny; fp32 < 2; fp32++) {
        other.precision = fp32 ? SPEC_FP32 : SPEC_BF16;
        TRY_OUT(rc, op_open(&o, rows, &other, p, e));
        o.n = bytes;
        if (!fp32 || p->tiny) {
            TRY_OUT(rc, op_tensor(&o, &o.x, 1, bytes / 4, DTYPE_F32, e));
            TRY_OUT(rc, op_tensor(&o, &o.y, 1, bytes / 4, DTYPE_F32, e));
            TRY_OUT(rc, op_row(&o, "copy", call_copy, 2.0 * (double)bytes, 0, e));
            op_release(&o);
        }
        TRY_OUT(rc, op_activation(&o, &o.x, side, side, e));
        TRY_OUT(rc, op_activation(&o, &o.w, side, side, e));
        TRY_OUT(rc, op_activation(&o, &o.y, side, side, e));
        TRY_OUT(rc,
                op_row(&o, fp32 ? "product fp32" : "product bf16", call_linear,
                       3.0 * o.elements * (double)(side * side), 2.0 * pow((double)side, 3), e));
        if (fp32 == 0) op_close(&o);
    }
out:
    op_close(&o);
    return rc;
}
