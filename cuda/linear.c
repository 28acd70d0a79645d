/* linear.c - the linear ops, as matrix products.
 *
 * 1. linear_rows multiplies chunks of LINEAR_CHUNK rows, the last padded with zeros. All chunks
 * have one shape and one algorithm, so that the bits of a row do not depend on its place. Rows that
 *    are not 16-byte aligned go through aligned copies, for the same reason.
 * 2. A bias has the dtype of the result; the library adds it to the sums in fp32.
 * 3. relu, its mask and its gradient, and the column sums of dy, are epilogues of products where
 * the library has an algorithm for them (gemm.h); otherwise a kernel runs after the product. */
#include <assert.h>

#include "context.h"
#include "kernels.h"

enum { LINEAR_CHUNK = 128, LINEAR_ALIGNMENT = 16 };

/* The product. If the GPU is lost, the library reports only a failure; the runtime knows the
 * reason, and this call is allowed during a capture. */
static int linear_product(struct cuda *c, const struct gemm_product *p, bool *ended, struct err *e)
{
    enum cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    int rc = gemm_multiply(c->gemm_own, p, ended, e);
    if (rc != ERR_INTERNAL) return rc;
    cudaError_t status = cudaStreamIsCapturing(c->stream_own, &capture);
    return cuda_is_lost(status) ? cuda_fault(c, status, "product", e) : rc;
}

/* The product, then relu unless that was the epilogue. */
static int linear_multiply(struct cuda *c, const struct gemm_product *p, struct err *e)
{
    bool ended;
    TRY(linear_product(c, p, &ended, e));
    if (p->relu == GEMM_LINEAR || ended) return 0;
    struct tensor y = tensor_make(p->c, p->m * p->chunks_n, p->n, p->to);
    struct tensor mask = tensor_make(p->mask, y.rows, relu_mask_words(p->n), DTYPE_I32);
    y.stride = p->stride_c;
    mask.stride = p->mask_stride;
    struct relu_args relu = {.y = y, .x = y, .mask = mask};
    return cuda_fault(c, cuda_relu(c->stream_own, &relu), "relu after a product", e);
}

static int linear_whole(struct cuda *c, const struct tensor *y, const struct tensor *x,
                        const struct tensor *w, const struct tensor *bias, enum gemm_relu relu,
                        const struct tensor *mask, int accumulate, struct err *e)
{
    struct gemm_product p = {.a = x->data,
                             .b = w->data,
                             .c = y->data,
                             .bias = bias->data,
                             .m = x->rows,
                             .n = w->rows,
                             .k = w->cols,
                             .chunks_n = 1,
                             .stride_a = x->stride,
                             .stride_b = w->stride,
                             .stride_c = y->stride,
                             .transpose_b = 1,
                             .relu = relu,
                             .mask = mask->data,
                             .mask_stride = mask->stride,
                             .accumulate = accumulate,
                             .from = x->dtype,
                             .to = y->dtype};
    assert(!bias->data || bias->dtype == y->dtype);
    return linear_multiply(c, &p, e);
}

int cuda_run_linear(struct backend *b, const struct linear_args *a, struct err *e)
{
    return linear_whole(cuda_of(b), &a->y, &a->x, &a->w, &a->bias, GEMM_LINEAR, &(struct tensor){0},
                        a->accumulate, e);
}

static int linear_is_aligned(const struct tensor *t)
{
    return (uintptr_t)t->data % LINEAR_ALIGNMENT == 0 &&
           (size_t)t->stride * dtype_bytes(t->dtype) % LINEAR_ALIGNMENT == 0;
}

static void *linear_row(const struct tensor *t, int64_t row)
{
    return (char *)t->data + (size_t)(row * t->stride) * dtype_bytes(t->dtype);
}

static int linear_copy_rows(struct cuda *c, const struct tensor *to, int64_t to_row,
                            const struct tensor *from, int64_t from_row, int64_t rows,
                            struct err *e)
{
    size_t element = dtype_bytes(to->dtype);
    return cuda_fault(c,
                      cudaMemcpy2DAsync(linear_row(to, to_row), (size_t)to->stride * element,
                                        linear_row(from, from_row), (size_t)from->stride * element,
                                        (size_t)to->cols * element, (size_t)rows,
                                        cudaMemcpyDeviceToDevice, c->stream_own),
                      "linear_rows", e);
}

static size_t linear_padded(size_t bytes)
{
    return (bytes + LINEAR_ALIGNMENT - 1) / LINEAR_ALIGNMENT * LINEAR_ALIGNMENT;
}

/* One chunk in aligned memory. */
static struct tensor linear_chunk(char *data, const struct tensor *of)
{
    struct tensor t = tensor_make(data, LINEAR_CHUNK, of->cols, of->dtype);
    t.stride = (int64_t)(linear_padded((size_t)of->cols * dtype_bytes(of->dtype)) /
                         dtype_bytes(of->dtype));
    return t;
}

static size_t linear_chunk_bytes(const struct tensor *of)
{
    return LINEAR_CHUNK * linear_padded((size_t)of->cols * dtype_bytes(of->dtype));
}

/* Rows from `first` on through copies, one chunk at a time. */
static int linear_by_copies(struct cuda *c, struct gemm_product *p, const struct tensor *y,
                            const struct tensor *x, int64_t first, char *scratch, struct err *e)
{
    struct tensor from = linear_chunk(scratch, x);
    struct tensor to = linear_chunk(scratch + linear_chunk_bytes(x), y);
    p->a = from.data;
    p->c = to.data;
    p->stride_a = from.stride;
    p->stride_c = to.stride;
    p->chunks_n = 1;
    for (int64_t row = first; row < x->rows; row += LINEAR_CHUNK) {
        int64_t rows = x->rows - row < LINEAR_CHUNK ? x->rows - row : LINEAR_CHUNK;
        TRY(cuda_zero(&c->backend, from.data, linear_chunk_bytes(x), e));
        TRY(linear_copy_rows(c, &from, 0, x, row, rows, e));
        TRY(linear_multiply(c, p, e));
        TRY(linear_copy_rows(c, y, row, &to, 0, rows, e));
    }
    return 0;
}

static int linear_chunks(struct cuda *c, const struct tensor *y, const struct tensor *x,
                         const struct tensor *w, const struct tensor *bias, enum gemm_relu relu,
                         struct err *e)
{
    void *scratch = NULL;
    int64_t whole_n = linear_is_aligned(x) && linear_is_aligned(y) ? x->rows / LINEAR_CHUNK : 0;
    struct gemm_product p = {.a = x->data,
                             .b = w->data,
                             .c = y->data,
                             .bias = bias->data,
                             .m = LINEAR_CHUNK,
                             .n = w->rows,
                             .k = w->cols,
                             .chunks_n = whole_n,
                             .stride_a = x->stride,
                             .stride_b = w->stride,
                             .stride_c = y->stride,
                             .transpose_b = 1,
                             .relu = relu,
                             .exact = 1,
                             .from = x->dtype,
                             .to = y->dtype};
    assert(!bias->data || bias->dtype == y->dtype);
    TRY(cuda_scratch(c, &scratch, linear_chunk_bytes(x) + linear_chunk_bytes(y), e));
    if (whole_n > 0) TRY(linear_multiply(c, &p, e));
    return linear_by_copies(c, &p, y, x, whole_n * LINEAR_CHUNK, scratch, e);
}

int cuda_run_linear_rows(struct backend *b, const struct linear_rows_args *a, struct err *e)
{
    return linear_chunks(cuda_of(b), &a->y, &a->x, &a->w, &a->bias, GEMM_LINEAR, e);
}

int cuda_run_linear_relu(struct backend *b, const struct linear_relu_args *a, struct err *e)
{
    struct cuda *c = cuda_of(b);
    struct relu_args relu = {.y = a->y, .x = a->y, .mask = a->mask};
    if (!a->exact) return linear_whole(c, &a->y, &a->x, &a->w, &a->bias, GEMM_RELU, &a->mask, 0, e);
    if (!a->mask.data) return linear_chunks(c, &a->y, &a->x, &a->w, &a->bias, GEMM_RELU, e);
    TRY(linear_chunks(c, &a->y, &a->x, &a->w, &a->bias, GEMM_LINEAR, e));
    return cuda_fault(c, cuda_relu(c->stream_own, &relu), "linear_relu", e);
}

/* dx = dy w. */
static struct gemm_product linear_back(const struct tensor *dx, const struct tensor *dy,
                                       const struct tensor *w)
{
    return (struct gemm_product){.a = dy->data,
                                 .b = w->data,
                                 .c = dx->data,
                                 .m = dy->rows,
                                 .n = w->cols,
                                 .k = w->rows,
                                 .chunks_n = 1,
                                 .stride_a = dy->stride,
                                 .stride_b = w->stride,
                                 .stride_c = dx->stride,
                                 .from = dy->dtype,
                                 .to = dx->dtype};
}

int cuda_run_linear_bwd_input(struct backend *b, const struct linear_bwd_input_args *a,
                              struct err *e)
{
    struct gemm_product p = linear_back(&a->dx, &a->dy, &a->w);
    p.accumulate = a->accumulate;
    return linear_multiply(cuda_of(b), &p, e);
}

/* The mask holds dropout as well; its factor is that of the product. */
int cuda_run_linear_bwd_relu(struct backend *b, const struct linear_bwd_relu_args *a, struct err *e)
{
    struct cuda *c = cuda_of(b);
    struct gemm_product p = linear_back(&a->dx, &a->dy, &a->w);
    struct relu_bwd_args relu = {
        .dx = a->dx, .dy = a->dx, .y = a->y, .mask = a->mask, .dropout = a->dropout};
    bool ended;
    p.relu = GEMM_RELU_BWD;
    p.relu_scale = a->dropout.p > 0.0f ? 1.0f / (1.0f - a->dropout.p) : 1.0f;
    p.mask = a->mask.data;
    p.mask_stride = a->mask.stride;
    TRY(linear_product(c, &p, &ended, e));
    return ended ? 0 : cuda_fault(c, cuda_relu_bwd(c->stream_own, &relu), "linear_bwd_relu", e);
}

/* The product reads dy anyway, so that its column sums cost nothing where they are its epilogue.
 * The library overwrites them; to accumulate, they go through the workspace. */
int cuda_run_linear_bwd_weight(struct backend *b, const struct linear_bwd_weight_args *a,
                               struct err *e)
{
    struct cuda *c = cuda_of(b);
    const struct tensor *dw = &a->dw, *dy = &a->dy, *x = &a->x, *dbias = &a->dbias;
    struct gemm_product p = {.a = dy->data,
                             .b = x->data,
                             .c = dw->data,
                             .m = dy->cols,
                             .n = x->cols,
                             .k = dy->rows,
                             .chunks_n = 1,
                             .stride_a = dy->stride,
                             .stride_b = x->stride,
                             .stride_c = dw->stride,
                             .transpose_a = 1,
                             .accumulate = a->accumulate,
                             .from = dy->dtype,
                             .to = dw->dtype};
    void *workspace = NULL;
    bool summed;
    if (!dbias->data) return linear_product(c, &p, &summed, e);
    TRY(cuda_scratch(c, &workspace, cuda_column_sums_workspace(dy), e));
    p.sums = a->accumulate ? workspace : dbias->data;
    TRY(linear_product(c, &p, &summed, e));
    struct tensor sums = tensor_make(workspace, 1, dy->cols, DTYPE_F32);
    struct add_args add = {.y = *dbias, .x = *dbias, .r = sums};
    int status = !summed ? cuda_column_sums(c->stream_own, dbias, dy, a->accumulate, workspace)
                 : a->accumulate ? cuda_add(c->stream_own, &add)
                                 : cudaSuccess;
    return cuda_fault(c, status, "linear_bwd_weight", e);
}
