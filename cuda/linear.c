/* linear.c - the linear ops, as matrix products.
 *
 * 1. linear_rows multiplies chunks of LINEAR_CHUNK rows, the last padded with zeros. All chunks
 *    have one shape and one algorithm, so that the bits of a row do not depend on its index. Rows
 *    that are not 16-byte aligned go through aligned copies, for the same reason.
 * 2. A bias has the dtype of the result; the library adds it to the sums in fp32.
 * 3. relu, its mask and its gradient, and the column sums of dy, are epilogues of products where
 *    the library has a fast algorithm for them (gemm.h); otherwise a kernel runs after the product.
 */
#include <assert.h>

#include "context.h"
#include "kernels.h"

enum { LINEAR_CHUNK = 128, LINEAR_ALIGNMENT = 16 };

/* Queues the product. If the GPU is lost, the library reports only a failure; the runtime knows the
 * reason, and this call is allowed during a capture. */
static int linear_product(struct cuda *c, const struct gemm_product *p, bool *ended, struct err *e)
{
    enum cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    int rc = gemm_multiply(c->gemm_own, p, ended, e);
    if (rc != ERR_INTERNAL) return rc;
    cudaError_t status = cudaStreamIsCapturing(c->stream_own, &capture);
    return cuda_is_lost(status) ? cuda_fault(c, status, "product", e) : rc;
}

/* Applies relu, or its gradient, to a product. */
static int end_with_relu(void *stream, const struct gemm_product *p)
{
    struct tensor y = tensor_make(p->c, p->m * p->chunks_n, p->n, p->to);
    struct tensor mask = tensor_make(p->mask, y.rows, relu_mask_words(p->n), DTYPE_I32);
    y.stride = p->stride_c;
    mask.stride = p->mask_stride;
    struct relu_args relu = {.y = y, .x = y, .mask = mask};
    struct relu_bwd_args bwd = {.dx = y, .dy = y, .mask = mask, .dropout = {.p = p->dropout}};
    return p->relu == GEMM_RELU ? cuda_relu(stream, &relu) : cuda_relu_bwd(stream, &bwd);
}

/* Computes the column sums of a product. */
static int end_with_sums(void *stream, const struct gemm_product *p)
{
    struct tensor a = tensor_make((void *)p->a, p->k, p->m, p->from);
    struct tensor sums = tensor_make(p->sums, 1, p->m, p->to);
    a.stride = p->stride_a;
    return cuda_column_sums(stream, &sums, &a, false, p->end_workspace);
}

/* Queues the product, then relu unless that was the epilogue. */
static int linear_multiply(struct cuda *c, const struct gemm_product *p, struct err *e)
{
    bool ended;
    TRY(linear_product(c, p, &ended, e));
    if (p->relu == GEMM_LINEAR || ended) return 0;
    return cuda_fault(c, p->end(c->stream_own, p), "relu after a product", e);
}

/* Describes c = a b, each factor transposed or not. */
static struct gemm_product product_of(const struct tensor *c, const struct tensor *a,
                                      bool transpose_a, const struct tensor *b, bool transpose_b)
{
    return (struct gemm_product){.a = a->data,
                                 .b = b->data,
                                 .c = c->data,
                                 .m = transpose_a ? a->cols : a->rows,
                                 .n = transpose_b ? b->rows : b->cols,
                                 .k = transpose_a ? a->rows : a->cols,
                                 .chunks_n = 1,
                                 .stride_a = a->stride,
                                 .stride_b = b->stride,
                                 .stride_c = c->stride,
                                 .transpose_a = transpose_a,
                                 .transpose_b = transpose_b,
                                 .from = a->dtype,
                                 .to = c->dtype};
}

/* Describes y = x w^T + bias. */
static struct gemm_product linear_forward(const struct tensor *y, const struct tensor *x,
                                          const struct tensor *w, const struct tensor *bias)
{
    struct gemm_product p = product_of(y, x, false, w, true);
    p.bias = bias->data;
    assert(!bias->data || bias->dtype == y->dtype);
    return p;
}

int cuda_run_linear(struct backend *b, const struct linear_args *a, struct err *e)
{
    struct gemm_product p = linear_forward(&a->y, &a->x, &a->w, &a->bias);
    p.accumulate = a->accumulate;
    return linear_multiply(cuda_of(b), &p, e);
}

static int linear_is_aligned(const struct tensor *t)
{
    return (uintptr_t)t->data % LINEAR_ALIGNMENT == 0 &&
           (size_t)t->stride * dtype_bytes(t->dtype) % LINEAR_ALIGNMENT == 0;
}

/* Returns one chunk in separate memory whose rows are aligned. */
static struct tensor linear_chunk(char *data, const struct tensor *of)
{
    int64_t elements = LINEAR_ALIGNMENT / (int64_t)dtype_bytes(of->dtype);
    struct tensor t = tensor_make(data, LINEAR_CHUNK, of->cols, of->dtype);
    t.stride = (of->cols + elements - 1) / elements * elements;
    return t;
}

static size_t linear_chunk_bytes(const struct tensor *of)
{
    return LINEAR_CHUNK * (size_t)linear_chunk(NULL, of).stride * dtype_bytes(of->dtype);
}

/* Returns `rows` rows of t from `row` on. */
static struct tensor linear_part(const struct tensor *t, int64_t row, int64_t rows)
{
    struct tensor part = *t;
    part.data = (char *)t->data + (size_t)(row * t->stride) * dtype_bytes(t->dtype);
    part.rows = rows;
    return part;
}

/* Computes the rows from `first` on through copies, one chunk at a time. */
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
        struct cast_args in = {.y = linear_part(&from, 0, rows), .x = linear_part(x, row, rows)};
        struct cast_args out = {.y = linear_part(y, row, rows), .x = linear_part(&to, 0, rows)};
        TRY(cuda_zero(&c->backend, from.data, linear_chunk_bytes(x), e));
        TRY(cuda_fault(c, cuda_cast(c->stream_own, &in), "linear_rows", e));
        TRY(linear_multiply(c, p, e));
        TRY(cuda_fault(c, cuda_cast(c->stream_own, &out), "linear_rows", e));
    }
    return 0;
}

/* Computes the whole product p exactly, by chunks. */
static int linear_chunks(struct cuda *c, struct gemm_product *p, const struct tensor *y,
                         const struct tensor *x, struct err *e)
{
    void *scratch = NULL;
    int64_t whole_n = linear_is_aligned(x) && linear_is_aligned(y) ? x->rows / LINEAR_CHUNK : 0;
    p->m = LINEAR_CHUNK;
    p->chunks_n = whole_n;
    p->exact = 1;
    TRY(cuda_scratch(c, &scratch, linear_chunk_bytes(x) + linear_chunk_bytes(y), e));
    if (whole_n > 0) TRY(linear_multiply(c, p, e));
    return linear_by_copies(c, p, y, x, whole_n * LINEAR_CHUNK, scratch, e);
}

int cuda_run_linear_rows(struct backend *b, const struct linear_rows_args *a, struct err *e)
{
    struct gemm_product p = linear_forward(&a->y, &a->x, &a->w, &a->bias);
    return linear_chunks(cuda_of(b), &p, &a->y, &a->x, e);
}

int cuda_run_linear_relu(struct backend *b, const struct linear_relu_args *a, struct err *e)
{
    struct cuda *c = cuda_of(b);
    struct gemm_product p = linear_forward(&a->y, &a->x, &a->w, &a->bias);
    struct relu_args relu = {.y = a->y, .x = a->y, .mask = a->mask};
    p.relu = GEMM_RELU;
    p.end = end_with_relu;
    if (!a->exact) {
        p.mask = a->mask.data;
        p.mask_stride = a->mask.stride;
        return linear_multiply(c, &p, e);
    }
    TRY(linear_chunks(c, &p, &a->y, &a->x, e));
    if (!a->mask.data) return 0;
    return cuda_fault(c, cuda_relu(c->stream_own, &relu), "linear_relu", e);
}

int cuda_run_linear_bwd_input(struct backend *b, const struct linear_bwd_input_args *a,
                              struct err *e)
{
    struct gemm_product p = product_of(&a->dx, &a->dy, false, &a->w, false);
    p.accumulate = a->accumulate;
    return linear_multiply(cuda_of(b), &p, e);
}

/* The mask holds dropout as well; its factor is that of the product. */
int cuda_run_linear_bwd_relu(struct backend *b, const struct linear_bwd_relu_args *a, struct err *e)
{
    struct gemm_product p = product_of(&a->dx, &a->dy, false, &a->w, false);
    p.relu = GEMM_RELU_BWD;
    p.dropout = a->dropout.p;
    p.mask = a->mask.data;
    p.mask_stride = a->mask.stride;
    p.end = end_with_relu;
    return linear_multiply(cuda_of(b), &p, e);
}

/* The product reads dy anyway, so that its column sums cost nothing where they are its epilogue.
 * The library overwrites them; to accumulate, they go through scratch memory. */
int cuda_run_linear_bwd_weight(struct backend *b, const struct linear_bwd_weight_args *a,
                               struct err *e)
{
    struct cuda *c = cuda_of(b);
    const struct tensor *dw = &a->dw, *dy = &a->dy, *x = &a->x, *dbias = &a->dbias;
    struct gemm_product p = product_of(dw, dy, true, x, false);
    struct tensor sums = tensor_make(NULL, 1, dy->cols, DTYPE_F32);
    size_t sums_bytes = ((size_t)dy->cols * sizeof(float) + 15) / 16 * 16;
    bool summed;
    p.accumulate = a->accumulate;
    if (!dbias->data) return linear_product(c, &p, &summed, e);
    TRY(cuda_scratch(c, &sums.data, sums_bytes + cuda_column_sums_workspace(dy), e));
    p.sums = a->accumulate ? sums.data : dbias->data;
    p.end = end_with_sums;
    p.end_workspace = (char *)sums.data + sums_bytes;
    TRY(linear_product(c, &p, &summed, e));
    struct add_args add = {.y = *dbias, .x = *dbias, .r = sums};
    int status = !summed
                     ? cuda_column_sums(c->stream_own, dbias, dy, a->accumulate, p.end_workspace)
                 : a->accumulate ? cuda_add(c->stream_own, &add)
                                 : cudaSuccess;
    return cuda_fault(c, status, "linear_bwd_weight", e);
}
