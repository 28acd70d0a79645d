/* gemm_call.c - a product as cuBLASLt takes it, and its run. */
#include <inttypes.h>

#include "gemm_choice.h"
#include "kernels.h"

int gemm_fault(cublasStatus_t status, const struct gemm_product *p, struct err *e)
{
    if (status == CUBLAS_STATUS_SUCCESS) return 0;
    return ERR(e, status == CUBLAS_STATUS_ALLOC_FAILED ? ERR_NOMEM : ERR_INTERNAL,
               "cuBLASLt: a product of %" PRId64 " x %" PRId64 " x %" PRId64 ": %s", p->m, p->n,
               p->k, cublasLtGetStatusString(status));
}

static cudaDataType gemm_type(enum dtype type)
{
    return type == DTYPE_BF16 ? CUDA_R_16BF : CUDA_R_32F;
}

/* A stored matrix of `rows` x `cols`: to the library, its transpose. The chunks of a batch are
 * `step` elements apart. */
static cublasStatus_t gemm_layout(cublasLtMatrixLayoutOpaque_t *layout, enum dtype type,
                                  int64_t rows, int64_t cols, int64_t stride, int64_t chunks_n,
                                  int64_t step)
{
    int32_t batch_n = (int32_t)chunks_n;
    cublasStatus_t status =
        cublasLtMatrixLayoutInit(layout, gemm_type(type), (uint64_t)cols, (uint64_t)rows, stride);
    if (status == CUBLAS_STATUS_SUCCESS && batch_n > 1)
        status = cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT,
                                                  &batch_n, sizeof batch_n);
    if (status == CUBLAS_STATUS_SUCCESS && batch_n > 1)
        status = cublasLtMatrixLayoutSetAttribute(
            layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &step, sizeof step);
    return status;
}

struct gemm_attribute {
    cublasLtMatmulDescAttributes_t name;
    const void *value; /* NULL: not asked for */
    size_t bytes;
};

/* What the library does after the product; the vector it reads or, for sums, writes; the bits of a
 * mask. Our a is its second operand. */
static cublasStatus_t gemm_describe_epilogue(cublasLtMatmulDescOpaque_t *d,
                                             const struct gemm_product *p)
{
    cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
    const void *vector = p->sums ? p->sums : p->bias, *bits = p->scratch;
    int64_t bits_stride = cuda_mask_stride(p->n);
    if (p->relu) epilogue = p->bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
    if (p->bias && !p->relu) epilogue = CUBLASLT_EPILOGUE_BIAS;
    if (p->sums) epilogue = CUBLASLT_EPILOGUE_BGRADB;
    if (p->kept) epilogue = CUBLASLT_EPILOGUE_DRELU;
    const struct gemm_attribute rows[] = {
        {CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue},
        {CUBLASLT_MATMUL_DESC_BIAS_POINTER, vector ? &vector : NULL, sizeof vector},
        {CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, p->kept ? &bits : NULL, sizeof bits},
        {CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, p->kept ? &bits_stride : NULL, sizeof bits_stride},
    };
    cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
    for (size_t i = 0; status == CUBLAS_STATUS_SUCCESS && i < sizeof rows / sizeof *rows; i++)
        if (rows[i].value)
            status = cublasLtMatmulDescSetAttribute(d, rows[i].name, rows[i].value, rows[i].bytes);
    return status;
}

static cublasStatus_t gemm_describe(cublasLtMatmulDescOpaque_t *d, const struct gemm_product *p)
{
    /* The library's first operand is our b, its second our a; what we store transposed is to it
     * the plain matrix and the other way round. */
    cublasOperation_t first = p->transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N;
    cublasOperation_t second = p->transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
    cublasStatus_t status = cublasLtMatmulDescInit(d, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    if (status == CUBLAS_STATUS_SUCCESS)
        status =
            cublasLtMatmulDescSetAttribute(d, CUBLASLT_MATMUL_DESC_TRANSA, &first, sizeof first);
    if (status == CUBLAS_STATUS_SUCCESS)
        status =
            cublasLtMatmulDescSetAttribute(d, CUBLASLT_MATMUL_DESC_TRANSB, &second, sizeof second);
    return status == CUBLAS_STATUS_SUCCESS ? gemm_describe_epilogue(d, p) : status;
}

int gemm_call_init(struct gemm_call *call, const struct gemm_product *p, struct err *e)
{
    int64_t n = p->chunks_n, step_a = p->m * p->stride_a, step_c = p->m * p->stride_c;
    cublasStatus_t status = gemm_describe(&call->product, p);
    if (status == CUBLAS_STATUS_SUCCESS)
        status = gemm_layout(&call->a, p->from, p->transpose_a ? p->k : p->m,
                             p->transpose_a ? p->m : p->k, p->stride_a, n, step_a);
    if (status == CUBLAS_STATUS_SUCCESS)
        status = gemm_layout(&call->b, p->from, p->transpose_b ? p->n : p->k,
                             p->transpose_b ? p->k : p->n, p->stride_b, n, 0);
    if (status == CUBLAS_STATUS_SUCCESS)
        status = gemm_layout(&call->c, p->to, p->m, p->n, p->stride_c, n, step_c);
    return gemm_fault(status, p, e);
}

cublasStatus_t gemm_run(struct gemm *g, const struct gemm_call *call, const struct gemm_product *p,
                        const cublasLtMatmulAlgo_t *algorithm, void *to)
{
    /* The library's parameters are not const, but it only reads them. */
    struct gemm_call own = *call;
    float alpha = p->scale != 0.0f ? p->scale : 1.0f, beta = p->accumulate ? 1.0f : 0.0f;
    return cublasLtMatmul(g->handle_own, &own.product, &alpha, p->b, &own.b, p->a, &own.a, &beta,
                          p->c, &own.c, to, &own.c, algorithm, g->workspace_own,
                          GEMM_WORKSPACE_BYTES, g->stream);
}

int gemm_queued(int status, const char *what, struct err *e)
{
    if (status == 0) return 0;
    return ERR(e, ERR_INTERNAL, "%s after a product: %s", what,
               cudaGetErrorString((cudaError_t)status));
}
