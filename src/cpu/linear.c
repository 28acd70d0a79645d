/* linear.c - the linear ops, and which code computes them.
 *
 * The forward pass always uses our kernel: it is exact by row, which no library guarantees (the
 * arithmetic of some depends on a row's index). Therefore linear and linear_rows are the same. For
 * the gradients cpu_linear_choose chooses by instruction set and shape, never by a measurement at
 * run time: bits must not depend on timing. A library computes a serial product for each thread's
 * share of rows, or of rows of the weight for the weight's gradient. */
#include "cpu/cpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    LINEAR_GRAIN = 12,         /* rows; a multiple of the block of every kernel */
    LINEAR_LIBRARY_GRAIN = 16, /* rows; a multiple of the block of libraries */
    LINEAR_SPLIT_DEPTH = 1024, /* inputs and outputs that are packed at a time for matrix units */
    LINEAR_SPLIT_OUTPUTS = 1024
};

/* Measured under load on a Xeon with AVX-512 and AMX, one thread, widths 64 to 256, so differences
 * of a few percent may be noise. With v3 forced, our gradients of the input are 4 to 10 % faster
 * than oneDNN's; those of the weight are 7 % slower at width 64 and 8 % faster at 256. With v4
 * oneDNN is up to a tenth faster, except at tall gradients of weights, such as that of a table of
 * many classes, where ours are a tenth to a half faster. */
void cpu_linear_choose(struct cpu *c)
{
    const char *avoided = getenv("ALIBI_AVOID_BLAS");
    struct err why;

    snprintf(c->backend.blas, sizeof c->backend.blas, "own products");
    if (strcmp(c->simd->name, "v4") != 0) return;
    if (avoided && strncasecmp(avoided, "oneDNN", strlen("oneDNN")) == 0) return;
    if (blas_open(&c->blas, c->simd->name, &why) < 0) return;
    snprintf(c->backend.blas, sizeof c->backend.blas, "%s", c->blas.text);
    c->rule = (struct linear_rule){.library_input = true, .library_weight_below = 4};
}

int cpu_use_library(struct backend *b, struct err *e)
{
    struct cpu *c = cpu_of(b);
    TRY(blas_open(&c->blas, c->simd->name, e));
    snprintf(b->blas, sizeof b->blas, "%s", c->blas.text);
    c->rule = (struct linear_rule){.library_input = true, .library_weight_below = INT32_MAX};
    return 0;
}

/* y = or += a b, b and a as they are stored or a transposed. */
struct linear_work {
    const struct cpu *cpu;
    const struct tensor *y, *a, *b;
    float *bias_sums;
    bool accumulate;
    int *status; /* of a failed product; 0: none */
};

static float *linear_at(const struct tensor *t, int64_t row)
{
    return (float *)t->data + row * t->stride;
}

/* Some rows of y by the library: rows of a, (rows,k) or transposed (k,rows), times b (k,cols).
 * Several threads may write status; any failure suffices. */
static void linear_multiply(const struct linear_work *w, struct simd_range rows, bool transpose_a,
                            const float *a)
{
    struct blas_product p = {.transpose_a = transpose_a,
                             .m = rows.end - rows.begin,
                             .n = w->b->cols,
                             .k = w->b->rows,
                             .a = a,
                             .b = w->b->data,
                             .c = linear_at(w->y, rows.begin),
                             .stride_a = w->a->stride,
                             .stride_b = w->b->stride,
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
    if (status == BLAS_NO_MEMORY)
        return ERR(e, ERR_NOMEM, "cpu: out of memory for a product by %s", b->blas);
    return ERR(e, ERR_UNAVAILABLE, "cpu: %s failed to multiply (status %d)", b->blas, status);
}

static int64_t lower(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* y = or += a b + bias by our kernel. All threads read a packed part of b from the first thread's
 * scratch. */
static int linear_product(struct backend *b, struct simd_product p, struct err *e)
{
    struct cpu *c = cpu_of(b);
    const struct simd_linear *simd = c->simd->linear;
    const float *bias = p.bias;
    int64_t inputs = p.a->cols, cols = p.y->cols, panel = simd->panel;
    int64_t depth = lower(inputs, simd->depth), panels = (cols + panel - 1) / panel;
    int64_t width = panel * lower(panels, simd->part_floats / depth / panel);

    TRY(cpu_scratch_reserve_first(c, (size_t)(width * depth) * sizeof(float), e));
    p.packed = c->scratch_own[0].data_own;
    for (; p.first_output < cols; p.first_output += width)
        for (p.first_input = 0; p.first_input < inputs; p.first_input += depth) {
            p.outputs = lower(cols - p.first_output, width);
            p.depth = lower(inputs - p.first_input, depth);
            p.bias = p.first_input == 0 ? bias : NULL;
            cpu_parallel(b, (p.outputs + panel - 1) / panel, 1, simd->pack, &p);
            cpu_parallel(b, p.y->rows, LINEAR_GRAIN, simd->rows, &p);
        }
    return 0;
}

int cpu_linear(struct backend *b, const struct linear_args *a, struct err *e)
{
    const struct simd_product product = {.y = &a->y,
                                         .a = &a->x,
                                         .b = &a->w,
                                         .bias = a->bias.data,
                                         .transposed = true,
                                         .accumulate = a->accumulate};
    return linear_product(b, product, e);
}

/* y = x w^T + bias on matrix units. All threads read the packed rows of x, and a packed part of w.
 */
static int linear_split(struct backend *b, const struct linear_rows_args *a, struct err *e)
{
    struct cpu *c = cpu_of(b);
    const struct simd_splits *splits = c->splits;
    int64_t inputs = a->x.cols, cols = a->y.cols, depth = lower(inputs, LINEAR_SPLIT_DEPTH);
    int64_t blocks = (a->x.rows + SPLIT_SIDE - 1) / SPLIT_SIDE;
    int64_t width = lower(cols, LINEAR_SPLIT_OUTPUTS);
    size_t rows_bytes = splits->packed_bytes(a->x.rows, depth);
    size_t weights_bytes = splits->packed_bytes(width, depth);
    TRY(cpu_scratch_reserve_first(c, rows_bytes + weights_bytes + LINEAR_SPLIT_OUTPUTS, e));
    char *scratch = c->scratch_own[0].data_own;
    struct simd_split p = {.y = &a->y,
                           .x = &a->x,
                           .w = &a->w,
                           .rows = scratch,
                           .weights = scratch + rows_bytes,
                           .parts = (uint8_t *)scratch + rows_bytes + weights_bytes};
    for (; p.first_input < inputs; p.first_input += depth) {
        p.depth = lower(inputs - p.first_input, depth);
        p.bias = p.first_input == 0 ? a->bias.data : NULL;
        p.accumulate = p.first_input > 0;
        cpu_parallel(b, blocks, 1, splits->pack_rows, &p);
        for (p.first_output = 0; p.first_output < cols; p.first_output += width) {
            p.outputs = lower(cols - p.first_output, width);
            cpu_parallel(b, (p.outputs + SPLIT_SIDE - 1) / SPLIT_SIDE, 1, splits->pack_weights, &p);
            cpu_parallel(b, blocks, 1, splits->run, &p);
        }
    }
    return 0;
}

int cpu_linear_rows(struct backend *b, const struct linear_rows_args *a, struct err *e)
{
    if (a->split && cpu_of(b)->splits) return linear_split(b, a, e);
    struct linear_args whole = {.y = a->y, .x = a->x, .w = a->w, .bias = a->bias};
    return cpu_linear(b, &whole, e);
}

static void linear_bwd_input_rows(const void *args, struct simd_range rows)
{
    const struct linear_work *w = args;
    linear_multiply(w, rows, false, linear_at(w->a, rows.begin));
}

int cpu_linear_bwd_input(struct backend *b, const struct linear_bwd_input_args *a, struct err *e)
{
    int status = 0;
    const struct simd_product product = {
        .y = &a->dx, .a = &a->dy, .b = &a->w, .accumulate = a->accumulate};
    const struct linear_work work = {.cpu = cpu_of(b),
                                     .y = &a->dx,
                                     .a = &a->dy,
                                     .b = &a->w,
                                     .accumulate = a->accumulate,
                                     .status = &status};
    if (!cpu_of(b)->rule.library_input) return linear_product(b, product, e);
    cpu_parallel(b, a->dx.rows, LINEAR_LIBRARY_GRAIN, linear_bwd_input_rows, &work);
    return linear_finish(b, status, e);
}

static bool weight_is_ours(const struct cpu *c, const struct tensor *dw)
{
    return dw->rows >= c->rule.library_weight_below * dw->cols;
}

/* Rows of dw are columns of dy. */
static void linear_bwd_weight_rows(const void *args, struct simd_range rows)
{
    const struct linear_work *w = args;
    const struct simd_kernels *simd = w->cpu->simd;
    if (weight_is_ours(w->cpu, w->y))
        simd->linear->dw(w->y, w->a, w->b, w->accumulate, rows);
    else
        linear_multiply(w, rows, true, (const float *)w->a->data + rows.begin);
    struct simd_sums sums = {.out = w->bias_sums, .x = w->a, .accumulate = w->accumulate};
    if (sums.out) simd->column_sums(&sums, rows);
}

int cpu_linear_bwd_weight(struct backend *b, const struct linear_bwd_weight_args *a, struct err *e)
{
    struct cpu *c = cpu_of(b);
    bool ours = weight_is_ours(c, &a->dw);
    int status = 0;
    const struct linear_work work = {.cpu = c,
                                     .y = &a->dw,
                                     .a = &a->dy,
                                     .b = &a->x,
                                     .bias_sums = a->dbias.data,
                                     .accumulate = a->accumulate,
                                     .status = &status};
    if (ours) TRY(cpu_scratch_reserve(c, c->simd->linear->dw_bytes(&a->x), e));
    cpu_parallel(b, a->dw.rows, ours ? LINEAR_GRAIN : LINEAR_LIBRARY_GRAIN, linear_bwd_weight_rows,
                 &work);
    return linear_finish(b, status, e);
}
