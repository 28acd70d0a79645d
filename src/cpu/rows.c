/* rows.c - the ops on rows: moving, adding, dropout, ReLU, LayerNorm, rotary. Each gives its
 * threads contiguous rows (scatter: columns, so that rows that meet are added in order). */
#include "cpu/cpu.h"

#include <string.h>

enum { ROWS_GRAIN = 8, COLS_GRAIN = 16 };

static void gather_rows_rows(struct cpu *c, const void *args, struct simd_range rows)
{
    const struct gather_rows_args *a = args;
    c->simd->rows->gather(&a->y, &a->x, a->index_dev, a->scale, rows);
}

int cpu_gather_rows(struct backend *b, const struct gather_rows_args *a, struct err *e)
{
    (void)e;
    return cpu_rows(b, a->y.rows, ROWS_GRAIN, gather_rows_rows, a);
}

static void scatter_rows_rows(struct cpu *c, const void *args, struct simd_range cols)
{
    const struct scatter_rows_args *a = args;
    c->simd->rows->scatter(&a->y, &a->x, a->index_dev, a->scale, a->accumulate, cols);
}

int cpu_scatter_rows(struct backend *b, const struct scatter_rows_args *a, struct err *e)
{
    (void)e;
    return cpu_rows(b, a->y.cols, COLS_GRAIN, scatter_rows_rows, a);
}

static void add_rows_rows(struct cpu *c, const void *args, struct simd_range rows)
{
    const struct add_rows_args *a = args;
    c->simd->rows->add_rows(&a->y, &a->x, &a->table, a->index_dev, rows);
}

int cpu_add_rows(struct backend *b, const struct add_rows_args *a, struct err *e)
{
    (void)e;
    return cpu_rows(b, a->y.rows, ROWS_GRAIN, add_rows_rows, a);
}

/* This backend has one dtype: a cast is a copy. */
static void cast_rows(struct cpu *c, const void *args, struct simd_range rows)
{
    const struct cast_args *a = args;
    (void)c;
    for (int64_t row = rows.begin; row < rows.end; row++)
        memcpy((float *)a->y.data + row * a->y.stride, (const float *)a->x.data + row * a->x.stride,
               (size_t)a->x.cols * sizeof(float));
}

int cpu_cast(struct backend *b, const struct cast_args *a, struct err *e)
{
    (void)e;
    return cpu_rows(b, a->y.rows, ROWS_GRAIN, cast_rows, a);
}

static void add_rows(struct cpu *c, const void *args, struct simd_range rows)
{
    const struct add_args *a = args;
    c->simd->rows->add(&a->y, &a->x, &a->r, rows);
}

int cpu_add(struct backend *b, const struct add_args *a, struct err *e)
{
    (void)e;
    return cpu_rows(b, a->y.rows, ROWS_GRAIN, add_rows, a);
}

static void dropout_rows(struct cpu *c, const void *args, struct simd_range rows)
{
    const struct dropout_args *a = args;
    struct simd_dropout d = cpu_draw(&a->dropout, a->y.cols);
    c->simd->rows->dropout(&a->y, &a->x, &d, rows);
}

int cpu_dropout(struct backend *b, const struct dropout_args *a, struct err *e)
{
    (void)e;
    if (a->dropout.p == 0.0f && a->y.data == a->x.data) return 0;
    return cpu_rows(b, a->y.rows, ROWS_GRAIN, dropout_rows, a);
}

static void relu_rows(struct cpu *c, const void *args, struct simd_range rows)
{
    const struct dropout_args *a = args;
    struct simd_dropout d = cpu_draw(&a->dropout, a->y.cols);
    c->simd->rows->relu(&a->y, &a->x, &d, rows);
}

int cpu_relu(struct backend *b, const struct dropout_args *a, struct err *e)
{
    (void)e;
    return cpu_rows(b, a->y.rows, ROWS_GRAIN, relu_rows, a);
}

static void relu_bwd_rows(struct cpu *c, const void *args, struct simd_range rows)
{
    const struct relu_bwd_args *a = args;
    struct simd_dropout d = cpu_draw(&a->dropout, a->y.cols);
    c->simd->rows->relu_bwd(&a->dx, &a->dy, &a->y, &d, rows);
}

int cpu_relu_bwd(struct backend *b, const struct relu_bwd_args *a, struct err *e)
{
    (void)e;
    return cpu_rows(b, a->dx.rows, ROWS_GRAIN, relu_bwd_rows, a);
}

static void layernorm_rows(struct cpu *c, const void *args, struct simd_range rows)
{
    const struct layernorm_args *a = args;
    c->simd->norm->layernorm(&a->y, &a->stats, NULL, &a->x, NULL, NULL, &a->gain, &a->bias, rows);
}

int cpu_layernorm(struct backend *b, const struct layernorm_args *a, struct err *e)
{
    (void)e;
    return cpu_rows(b, a->y.rows, ROWS_GRAIN, layernorm_rows, a);
}

static void residual_layernorm_rows(struct cpu *c, const void *args, struct simd_range rows)
{
    const struct residual_layernorm_args *a = args;
    struct simd_dropout d = cpu_draw(&a->dropout, a->y.cols);
    c->simd->norm->layernorm(&a->y, &a->stats, &a->s, &a->x, &a->r, &d, &a->gain, &a->bias, rows);
}

int cpu_residual_layernorm(struct backend *b, const struct residual_layernorm_args *a,
                           struct err *e)
{
    (void)e;
    return cpu_rows(b, a->y.rows, ROWS_GRAIN, residual_layernorm_rows, a);
}

/* Each thread sums its rows' shares of dgain and dbias in its own scratch. */
static void layernorm_bwd_task(const struct cpu_share *s, void *arguments)
{
    const struct layernorm_bwd_args *a = *(const struct layernorm_bwd_args **)arguments;
    float *parts = cpu_scratch_of(s);
    s->cpu->simd->norm->layernorm_bwd(&a->dx, parts, parts + a->dx.cols, &a->dy, &a->x, &a->stats,
                                      &a->gain, a->accumulate_dx,
                                      (struct simd_range){s->begin, s->end});
}

int cpu_layernorm_bwd(struct backend *b, const struct layernorm_bwd_args *a, struct err *e)
{
    struct cpu *c = cpu_of(b);
    size_t bytes = 2 * (size_t)a->dx.cols * sizeof(float);

    TRY(cpu_scratch_reserve(c, bytes, e));
    for (int32_t t = 0; t < b->threads; t++) memset(c->scratch_own[t].data_own, 0, bytes);
    cpu_parallel(c, a->dx.rows, ROWS_GRAIN, layernorm_bwd_task, &a);
    for (int32_t t = 0; t < b->threads; t++) {
        const float *part = c->scratch_own[t].data_own;
        for (int64_t i = 0; i < a->dx.cols; i++) {
            ((float *)a->dgain.data)[i] += part[i];
            ((float *)a->dbias.data)[i] += part[a->dx.cols + i];
        }
    }
    return 0;
}

static void rotary_rows(struct cpu *c, const void *args, struct simd_range rows)
{
    const struct rotary_args *a = args;
    c->simd->rows->rotary(&a->x, &a->cosine, &a->sine, a->T, a->H, a->layout, a->inverse, rows);
}

int cpu_rotary(struct backend *b, const struct rotary_args *a, struct err *e)
{
    (void)e;
    return cpu_rows(b, a->x.rows, ROWS_GRAIN, rotary_rows, a);
}
