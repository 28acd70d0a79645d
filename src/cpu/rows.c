/* rows.c - the slots on rows: moving, adding, dropout, ReLU, LayerNorm, rotary. Each gives its
 * threads contiguous rows (scatter: columns, so that rows that meet are added in order). */
#include "cpu/cpu.h"

#include <string.h>

enum { ROWS_GRAIN = 8, COLS_GRAIN = 16 };

/* One record for all slots of this file; a slot fills what its task reads. */
struct rows_work {
    struct tensor *y, *stats, *s;
    const struct tensor *x, *r, *table, *gain, *bias;
    const int32_t *index;
    float scale;
    int accumulate;
    struct simd_dropout dropout;
    int32_t T, H;
    int layout, inverse;
    float *parts;
};

static struct simd_range rows_range(const struct cpu_share *s)
{
    return (struct simd_range){s->begin, s->end};
}

static void rows_gather_task(const struct cpu_share *s, void *arguments)
{
    struct rows_work *w = arguments;
    s->cpu->simd->rows->gather(w->y, w->x, w->index, w->scale, rows_range(s));
}

int cpu_gather_rows(struct backend *b, struct tensor *y, const struct tensor *x,
                    const int32_t *index_dev, float scale, struct err *e)
{
    (void)e;
    struct rows_work w = {.y = y, .x = x, .index = index_dev, .scale = scale};
    cpu_parallel(cpu_of(b), y->rows, ROWS_GRAIN, rows_gather_task, &w);
    return 0;
}

static void rows_scatter_task(const struct cpu_share *s, void *arguments)
{
    struct rows_work *w = arguments;
    s->cpu->simd->rows->scatter(w->y, w->x, w->index, w->scale, w->accumulate, rows_range(s));
}

int cpu_scatter_rows(struct backend *b, struct tensor *y, const struct tensor *x,
                     const int32_t *index_dev, float scale, int accumulate, struct err *e)
{
    (void)e;
    struct rows_work w = {
        .y = y, .x = x, .index = index_dev, .scale = scale, .accumulate = accumulate};
    cpu_parallel(cpu_of(b), y->cols, COLS_GRAIN, rows_scatter_task, &w);
    return 0;
}

static void rows_add_rows_task(const struct cpu_share *s, void *arguments)
{
    struct rows_work *w = arguments;
    s->cpu->simd->rows->add_rows(w->y, w->x, w->table, w->index, rows_range(s));
}

int cpu_add_rows(struct backend *b, struct tensor *y, const struct tensor *x,
                 const struct tensor *table, const int32_t *index_dev, struct err *e)
{
    (void)e;
    struct rows_work w = {.y = y, .x = x, .table = table, .index = index_dev};
    cpu_parallel(cpu_of(b), y->rows, ROWS_GRAIN, rows_add_rows_task, &w);
    return 0;
}

/* This backend has one dtype: a cast is a copy. */
static void rows_cast_task(const struct cpu_share *s, void *arguments)
{
    struct rows_work *w = arguments;
    for (int64_t row = s->begin; row < s->end; row++)
        memcpy((float *)w->y->data + row * w->y->stride,
               (const float *)w->x->data + row * w->x->stride, (size_t)w->x->cols * sizeof(float));
}

int cpu_cast(struct backend *b, struct tensor *y, const struct tensor *x, struct err *e)
{
    (void)e;
    struct rows_work w = {.y = y, .x = x};
    cpu_parallel(cpu_of(b), y->rows, ROWS_GRAIN, rows_cast_task, &w);
    return 0;
}

static void rows_add_task(const struct cpu_share *s, void *arguments)
{
    struct rows_work *w = arguments;
    s->cpu->simd->rows->add(w->y, w->x, w->r, rows_range(s));
}

int cpu_add(struct backend *b, struct tensor *y, const struct tensor *x, const struct tensor *r,
            struct err *e)
{
    (void)e;
    struct rows_work w = {.y = y, .x = x, .r = r};
    cpu_parallel(cpu_of(b), y->rows, ROWS_GRAIN, rows_add_task, &w);
    return 0;
}

static void rows_dropout_task(const struct cpu_share *s, void *arguments)
{
    struct rows_work *w = arguments;
    s->cpu->simd->rows->dropout(w->y, w->x, &w->dropout, rows_range(s));
}

int cpu_dropout_rows(struct backend *b, struct tensor *y, const struct tensor *x,
                     const struct dropout *d, struct err *e)
{
    (void)e;
    struct rows_work w = {.y = y, .x = x, .dropout = cpu_dropout(d, y->cols), .scale = 1.0f};
    if (w.dropout.keep_scale == 0.0f && y->data == x->data) return 0;
    cpu_parallel(cpu_of(b), y->rows, ROWS_GRAIN, rows_dropout_task, &w);
    return 0;
}

static void rows_relu_task(const struct cpu_share *s, void *arguments)
{
    struct rows_work *w = arguments;
    s->cpu->simd->rows->relu(w->y, w->x, &w->dropout, rows_range(s));
}

int cpu_relu(struct backend *b, struct tensor *y, const struct tensor *x, const struct dropout *d,
             struct err *e)
{
    (void)e;
    struct rows_work w = {.y = y, .x = x, .dropout = cpu_dropout(d, y->cols)};
    cpu_parallel(cpu_of(b), y->rows, ROWS_GRAIN, rows_relu_task, &w);
    return 0;
}

static void rows_relu_bwd_task(const struct cpu_share *s, void *arguments)
{
    struct rows_work *w = arguments;
    s->cpu->simd->rows->relu_bwd(w->y, w->x, w->r, &w->dropout, rows_range(s));
}

int cpu_relu_bwd(struct backend *b, struct tensor *dx, const struct tensor *dy,
                 const struct tensor *y, const struct dropout *d, struct err *e)
{
    (void)e;
    struct rows_work w = {.y = dx, .x = dy, .r = y, .dropout = cpu_dropout(d, y->cols)};
    cpu_parallel(cpu_of(b), dx->rows, ROWS_GRAIN, rows_relu_bwd_task, &w);
    return 0;
}

static void rows_layernorm_task(const struct cpu_share *s, void *arguments)
{
    struct rows_work *w = arguments;
    s->cpu->simd->norm->layernorm(w->y, w->stats, w->s, w->x, w->r, &w->dropout, w->gain, w->bias,
                                  rows_range(s));
}

int cpu_layernorm(struct backend *b, struct tensor *y, struct tensor *stats, const struct tensor *x,
                  const struct tensor *gain, const struct tensor *bias, struct err *e)
{
    (void)e;
    struct rows_work w = {.y = y, .stats = stats, .x = x, .gain = gain, .bias = bias};
    cpu_parallel(cpu_of(b), y->rows, ROWS_GRAIN, rows_layernorm_task, &w);
    return 0;
}

int cpu_residual_layernorm(struct backend *b, struct tensor *s, struct tensor *y,
                           struct tensor *stats, const struct tensor *x, const struct tensor *r,
                           const struct dropout *d, const struct tensor *gain,
                           const struct tensor *bias, struct err *e)
{
    (void)e;
    struct rows_work w = {
        .y = y, .stats = stats, .s = s, .x = x, .r = r, .gain = gain, .bias = bias};
    w.dropout = cpu_dropout(d, y->cols);
    cpu_parallel(cpu_of(b), y->rows, ROWS_GRAIN, rows_layernorm_task, &w);
    return 0;
}

/* Each thread sums its rows' shares of dgain and dbias in its own scratch. */
static void rows_layernorm_bwd_task(const struct cpu_share *s, void *arguments)
{
    struct rows_work *w = arguments;
    float *parts = cpu_scratch_of(s);
    s->cpu->simd->norm->layernorm_bwd(w->y, parts, parts + w->y->cols, w->x, w->r, w->stats,
                                      w->gain, w->accumulate, rows_range(s));
}

int cpu_layernorm_bwd(struct backend *b, struct tensor *dx, struct tensor *dgain,
                      struct tensor *dbias, const struct tensor *dy, const struct tensor *x,
                      const struct tensor *stats, const struct tensor *gain, int accumulate_dx,
                      struct err *e)
{
    struct cpu *c = cpu_of(b);
    struct tensor stats_view = *stats;
    struct rows_work w = {.y = dx, .x = dy, .r = x, .stats = &stats_view, .gain = gain};
    size_t bytes = 2 * (size_t)dx->cols * sizeof(float);

    w.accumulate = accumulate_dx;
    TRY(cpu_scratch_reserve(c, bytes, e));
    for (int32_t t = 0; t < b->threads; t++) memset(c->scratch_own[t].data_own, 0, bytes);
    cpu_parallel(c, dx->rows, ROWS_GRAIN, rows_layernorm_bwd_task, &w);
    for (int32_t t = 0; t < b->threads; t++) {
        const float *part = c->scratch_own[t].data_own;
        for (int64_t i = 0; i < dx->cols; i++) {
            ((float *)dgain->data)[i] += part[i];
            ((float *)dbias->data)[i] += part[dx->cols + i];
        }
    }
    return 0;
}

static void rows_rotary_task(const struct cpu_share *s, void *arguments)
{
    struct rows_work *w = arguments;
    s->cpu->simd->rows->rotary(w->y, w->gain, w->bias, w->T, w->H, w->layout, w->inverse,
                               rows_range(s));
}

int cpu_rotary(struct backend *b, struct tensor *x, const struct tensor *cosine,
               const struct tensor *sine, int32_t T, int32_t H, int layout, int inverse,
               struct err *e)
{
    (void)e;
    struct rows_work w = {
        .y = x, .gain = cosine, .bias = sine, .T = T, .H = H, .layout = layout, .inverse = inverse};
    cpu_parallel(cpu_of(b), x->rows, ROWS_GRAIN, rows_rotary_task, &w);
    return 0;
}
