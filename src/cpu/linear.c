/* linear.c - the linear ops.
 *
 * The forward pass uses our kernel: it adds the bias, was faster at the sizes of this project, and
 * is exact by row, which no library guarantees (the arithmetic of some depends on a row's index).
 * Therefore linear and linear_rows are the same. The gradients use the library: each thread
 * computes a serial product for its share of rows, or of rows of the weight for the weight's
 * gradient. Tall weight gradients, such as that of a table of many classes, use our kernel, which
 * was a quarter faster. */
#include "cpu/cpu.h"

enum {
    LINEAR_GRAIN = 12,         /* rows; a multiple of the block of every kernel */
    LINEAR_LIBRARY_GRAIN = 16, /* rows; a multiple of the block of libraries */
    LINEAR_TALL = 4,           /* rows per column from which a weight's gradient uses our kernel */
    LINEAR_PACKED_FLOATS = 1 << 21
};

struct linear_work {
    const struct tensor *y, *x, *w;
    float *bias_sums;
    bool accumulate;
    int status; /* of a failed product; 0: none */
};

static float *linear_at(const struct tensor *t, int64_t row)
{
    return (float *)t->data + row * t->stride;
}

/* Rows of y of this share: rows of a, (rows,k) or transposed (k,rows), times w (k,cols). Several
 * threads may write status; any failure suffices. */
static void linear_multiply(const struct cpu_share *s, struct linear_work *w, bool transpose_a,
                            int64_t k, const float *a)
{
    struct blas_product p = {.transpose_a = transpose_a,
                             .m = s->end - s->begin,
                             .n = w->w->cols,
                             .k = k,
                             .a = a,
                             .b = w->w->data,
                             .c = linear_at(w->y, s->begin),
                             .stride_a = w->x->stride,
                             .stride_b = w->w->stride,
                             .stride_c = w->y->stride,
                             .beta = w->accumulate ? 1.0f : 0.0f};
    int status = blas_multiply(&s->cpu->blas, &p);
    if (status == 0) return;
#pragma omp atomic write
    w->status = status;
}

static int linear_finish(const struct backend *b, const struct linear_work *w, struct err *e)
{
    if (w->status == 0) return 0;
    return ERR(e, ERR_UNAVAILABLE, "cpu: %s failed to multiply (status %d), probably out of memory",
               b->blas, w->status);
}

/* Rows of the weight that are packed at a time, to bound the scratch memory. */
static int64_t linear_part_rows(const struct cpu *c, const struct tensor *w)
{
    int64_t panel = c->simd->linear->panel, panels = LINEAR_PACKED_FLOATS / w->cols / panel;
    return panels > 0 ? panels * panel : panel;
}

int cpu_linear(struct backend *b, const struct linear_args *a, struct err *e)
{
    struct cpu *c = cpu_of(b);
    int64_t panel = c->simd->linear->panel, step = linear_part_rows(c, &a->w);
    for (int64_t first = 0; first < a->w.rows; first += step) {
        struct tensor y_part = a->y, w_part = a->w;
        y_part.cols = w_part.rows = a->w.rows - first < step ? a->w.rows - first : step;
        y_part.data = (float *)a->y.data + first;
        w_part.data = linear_at(&a->w, first);
        /* All threads read the packed weights from the first thread's scratch. */
        TRY(cpu_scratch_reserve_first(c, c->simd->linear->packed_bytes(&w_part), e));
        struct simd_product product = {
            .y = &y_part,
            .x = &a->x,
            .w = &w_part,
            .packed = c->scratch_own[0].data_own,
            .bias = a->bias.data ? (const float *)a->bias.data + first : NULL,
            .accumulate = a->accumulate,
        };
        cpu_items(b, (w_part.rows + panel - 1) / panel, 1, c->simd->linear->pack, &product);
        cpu_items(b, a->y.rows, LINEAR_GRAIN, c->simd->linear->rows, &product);
    }
    return 0;
}

int cpu_linear_rows(struct backend *b, const struct linear_rows_args *a, struct err *e)
{
    struct linear_args whole = {.y = a->y, .x = a->x, .w = a->w, .bias = a->bias};
    return cpu_linear(b, &whole, e);
}

static void linear_bwd_input_task(const struct cpu_share *s, void *arguments)
{
    struct linear_work *w = arguments;
    linear_multiply(s, w, false, w->w->rows, linear_at(w->x, s->begin));
}

int cpu_linear_bwd_input(struct backend *b, const struct linear_bwd_input_args *a, struct err *e)
{
    struct linear_work work = {.y = &a->dx, .x = &a->dy, .w = &a->w, .accumulate = a->accumulate};
    cpu_parallel(cpu_of(b), a->dx.rows, LINEAR_LIBRARY_GRAIN, linear_bwd_input_task, &work);
    return linear_finish(b, &work, e);
}

/* Rows begin ... end - 1 of dw are columns of dy. */
static void linear_bwd_weight_task(const struct cpu_share *s, void *arguments)
{
    struct linear_work *w = arguments;
    struct simd_range outputs = {s->begin, s->end};
    s->cpu->simd->linear->dw(w->y, w->x, w->w, w->accumulate, cpu_scratch_of(s), outputs);
    if (w->bias_sums) s->cpu->simd->rows->column_sums(w->bias_sums, w->x, w->accumulate, outputs);
}

/* linear_bwd_weight_task with the library. */
static void linear_bwd_weight_library_task(const struct cpu_share *s, void *arguments)
{
    struct linear_work *w = arguments;
    struct simd_range cols = {s->begin, s->end};
    linear_multiply(s, w, true, w->x->rows, (const float *)w->x->data + s->begin);
    if (w->bias_sums) s->cpu->simd->rows->column_sums(w->bias_sums, w->x, w->accumulate, cols);
}

int cpu_linear_bwd_weight(struct backend *b, const struct linear_bwd_weight_args *a, struct err *e)
{
    struct cpu *c = cpu_of(b);
    const struct tensor *dw = &a->dw;
    struct linear_work work = {
        .y = dw, .x = &a->dy, .w = &a->x, .bias_sums = a->dbias.data, .accumulate = a->accumulate};
    if (dw->rows < LINEAR_TALL * dw->cols) {
        cpu_parallel(c, dw->rows, LINEAR_LIBRARY_GRAIN, linear_bwd_weight_library_task, &work);
        return linear_finish(b, &work, e);
    }
    TRY(cpu_scratch_reserve(c, c->simd->linear->dw_bytes(&a->x), e));
    cpu_parallel(c, dw->rows, LINEAR_GRAIN, linear_bwd_weight_task, &work);
    return 0;
}
