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

/* A gradient: dw, dy, x or dx, dy, w. */
struct linear_work {
    const struct cpu *cpu;
    const struct tensor *y, *x, *w;
    float *bias_sums;
    bool accumulate;
    int *status; /* of a failed product; 0: none */
};

static float *linear_at(const struct tensor *t, int64_t row)
{
    return (float *)t->data + row * t->stride;
}

/* Some rows of y: rows of a, (rows,k) or transposed (k,rows), times w (k,cols). Several threads may
 * write status; any failure suffices. */
static void linear_multiply(const struct linear_work *w, struct simd_range rows, bool transpose_a,
                            int64_t k, const float *a)
{
    struct blas_product p = {.transpose_a = transpose_a,
                             .m = rows.end - rows.begin,
                             .n = w->w->cols,
                             .k = k,
                             .a = a,
                             .b = w->w->data,
                             .c = linear_at(w->y, rows.begin),
                             .stride_a = w->x->stride,
                             .stride_b = w->w->stride,
                             .stride_c = w->y->stride,
                             .beta = w->accumulate ? 1.0f : 0.0f};
    int status = blas_multiply(&w->cpu->blas, &p);
    if (status == 0) return;
#pragma omp atomic write
    *w->status = status;
}

static int linear_finish(const struct backend *b, int status, struct err *e)
{
    if (status == 0) return 0;
    return ERR(e, ERR_UNAVAILABLE, "cpu: %s failed to multiply (status %d), probably out of memory",
               b->blas, status);
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
        cpu_parallel(b, (w_part.rows + panel - 1) / panel, 1, c->simd->linear->pack, &product);
        cpu_parallel(b, a->y.rows, LINEAR_GRAIN, c->simd->linear->rows, &product);
    }
    return 0;
}

int cpu_linear_rows(struct backend *b, const struct linear_rows_args *a, struct err *e)
{
    struct linear_args whole = {.y = a->y, .x = a->x, .w = a->w, .bias = a->bias};
    return cpu_linear(b, &whole, e);
}

static void linear_bwd_input_rows(const void *args, struct simd_range rows)
{
    const struct linear_work *w = args;
    linear_multiply(w, rows, false, w->w->rows, linear_at(w->x, rows.begin));
}

int cpu_linear_bwd_input(struct backend *b, const struct linear_bwd_input_args *a, struct err *e)
{
    int status = 0;
    const struct linear_work work = {.cpu = cpu_of(b),
                                     .y = &a->dx,
                                     .x = &a->dy,
                                     .w = &a->w,
                                     .accumulate = a->accumulate,
                                     .status = &status};
    cpu_parallel(b, a->dx.rows, LINEAR_LIBRARY_GRAIN, linear_bwd_input_rows, &work);
    return linear_finish(b, status, e);
}

static bool is_tall(const struct tensor *dw)
{
    return dw->rows >= LINEAR_TALL * dw->cols;
}

/* Rows of dw are columns of dy. */
static void linear_bwd_weight_rows(const void *args, struct simd_range rows)
{
    const struct linear_work *w = args;
    const struct simd_kernels *simd = w->cpu->simd;
    if (is_tall(w->y))
        simd->linear->dw(w->y, w->x, w->w, w->accumulate, rows);
    else
        linear_multiply(w, rows, true, w->x->rows, (const float *)w->x->data + rows.begin);
    struct simd_sums sums = {.out = w->bias_sums, .x = w->x, .accumulate = w->accumulate};
    if (sums.out) simd->column_sums(&sums, rows);
}

int cpu_linear_bwd_weight(struct backend *b, const struct linear_bwd_weight_args *a, struct err *e)
{
    struct cpu *c = cpu_of(b);
    bool tall = is_tall(&a->dw);
    int status = 0;
    const struct linear_work work = {.cpu = c,
                                     .y = &a->dw,
                                     .x = &a->dy,
                                     .w = &a->x,
                                     .bias_sums = a->dbias.data,
                                     .accumulate = a->accumulate,
                                     .status = &status};
    if (tall) TRY(cpu_scratch_reserve(c, c->simd->linear->dw_bytes(&a->x), e));
    cpu_parallel(b, a->dw.rows, tall ? LINEAR_GRAIN : LINEAR_LIBRARY_GRAIN, linear_bwd_weight_rows,
                 &work);
    return linear_finish(b, status, e);
}
