/* rows.c - the ops on rows: gather, scatter, add, dropout, ReLU, LayerNorm, rotary, softmax.
 * Threads get contiguous rows (scatter: columns, so that rows with the same index are added in
 * order). */
#include "cpu/cpu.h"

#include <string.h>

enum { ROWS_GRAIN = 8, COLS_GRAIN = 16 };

/* Defines an op that consists of one kernel. */
#define OVER(items, grain, family, name, args)                                                     \
    int cpu_##name(struct backend *b, const struct args *a, struct err *e)                         \
    {                                                                                              \
        (void)e;                                                                                   \
        cpu_parallel(b, items, grain, cpu_of(b)->simd->family->name, a);                           \
        return 0;                                                                                  \
    }

OVER(a->y.rows, ROWS_GRAIN, rows, gather_rows, gather_rows_args)
OVER(a->y.cols, COLS_GRAIN, rows, scatter_rows, scatter_rows_args)
OVER(a->y.rows, ROWS_GRAIN, rows, add_rows, add_rows_args)
OVER(a->y.rows, ROWS_GRAIN, rows, add, add_args)
OVER(a->y.rows, ROWS_GRAIN, rows, relu, relu_args)
OVER(a->dx.rows, ROWS_GRAIN, rows, relu_bwd, relu_bwd_args)
OVER(a->x.rows, ROWS_GRAIN, rows, rotary, rotary_args)
OVER(a->y.rows, ROWS_GRAIN, norm, layernorm, layernorm_args)
OVER(a->y.rows, ROWS_GRAIN, norm, residual_layernorm, residual_layernorm_args)
OVER(a->logits.rows, ROWS_GRAIN, loss, softmax_loss, softmax_loss_args)
OVER(a->logits.rows, ROWS_GRAIN, loss, softmax_logp, softmax_logp_args)

int cpu_dropout(struct backend *b, const struct dropout_args *a, struct err *e)
{
    (void)e;
    if (a->dropout.p == 0.0f && a->y.data == a->x.data) return 0;
    cpu_parallel(b, a->y.rows, ROWS_GRAIN, cpu_of(b)->simd->rows->dropout, a);
    return 0;
}

/* This backend has a single dtype, so a cast is a copy. */
static void cast_kernel(const void *args, struct simd_range rows)
{
    const struct cast_args *a = args;
    for (int64_t row = rows.begin; row < rows.end; row++)
        memcpy((float *)a->y.data + row * a->y.stride, (const float *)a->x.data + row * a->x.stride,
               (size_t)a->x.cols * sizeof(float));
}

int cpu_cast(struct backend *b, const struct cast_args *a, struct err *e)
{
    (void)e;
    cpu_parallel(b, a->y.rows, ROWS_GRAIN, cast_kernel, a);
    return 0;
}

/* Each thread sums its rows' shares of dgain and dbias in its own scratch. */
int cpu_layernorm_bwd(struct backend *b, const struct layernorm_bwd_args *a, struct err *e)
{
    struct cpu *c = cpu_of(b);
    size_t bytes = 2 * (size_t)a->dx.cols * sizeof(float);

    TRY(cpu_scratch_reserve(c, bytes, e));
    for (int32_t t = 0; t < b->threads; t++) memset(c->scratch_own[t].data_own, 0, bytes);
    cpu_parallel(b, a->dx.rows, ROWS_GRAIN, c->simd->norm->layernorm_bwd, a);
    for (int32_t t = 0; t < b->threads; t++) {
        const float *part = c->scratch_own[t].data_own;
        for (int64_t i = 0; i < a->dx.cols; i++) {
            ((float *)a->dgain.data)[i] += part[i];
            ((float *)a->dbias.data)[i] += part[a->dx.cols + i];
        }
    }
    return 0;
}
