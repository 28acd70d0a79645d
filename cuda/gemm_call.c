/* gemm_call.c - describes a product to cuBLASLt, asks whether an algorithm fits it, and runs it. */
#include <inttypes.h>
#include <stdio.h>

#include "gemm_internal.h"

int gemm_reject(const struct gemm_product *p, int code, const char *why, struct err *e)
{
    return ERR(e, code, "cuBLASLt: a product of %" PRId64 " x %" PRId64 " x %" PRId64 ": %s", p->m,
               p->n, p->k, why);
}

int gemm_fault(const struct gemm *g, cublasStatus_t status, const struct gemm_product *p,
               struct err *e)
{
    if (status == CUBLAS_STATUS_SUCCESS) return 0;
    return gemm_reject(p, status == CUBLAS_STATUS_ALLOC_FAILED ? ERR_NOMEM : ERR_INTERNAL,
                       g->lt.status_string(status), e);
}

int gemm_forbid_in_capture(const struct gemm *g, const struct gemm_product *p, const char *why,
                           struct err *e)
{
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    char text[160];
    if (cudaStreamIsCapturing(g->stream, &status) == cudaSuccess &&
        status == cudaStreamCaptureStatusNone)
        return 0;
    snprintf(text, sizeof text, "%s, which is not possible during graph capture", why);
    return gemm_reject(p, ERR_INTERNAL, text, e);
}

static cudaDataType gemm_type(enum dtype type)
{
    return type == DTYPE_BF16 ? CUDA_R_16BF : CUDA_R_32F;
}

/* Describes a stored matrix of `rows` x `cols`. The library is column-major and sees it transposed.
 * The chunks of a batch are `step` elements apart. */
static cublasStatus_t gemm_layout(const struct gemm *g, cublasLtMatrixLayoutOpaque_t *layout,
                                  enum dtype type, int64_t rows, int64_t cols, int64_t stride,
                                  int64_t chunks_n, int64_t step)
{
    int32_t batch_n = (int32_t)chunks_n;
    cublasStatus_t status = g->lt.layout_init(layout, sizeof *layout, gemm_type(type),
                                              (uint64_t)cols, (uint64_t)rows, stride);
    if (status == CUBLAS_STATUS_SUCCESS && batch_n > 1)
        status =
            g->lt.layout_set(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch_n, sizeof batch_n);
    if (status == CUBLAS_STATUS_SUCCESS && batch_n > 1)
        status = g->lt.layout_set(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &step,
                                  sizeof step);
    return status;
}

static cublasStatus_t gemm_describe(const struct gemm *g, cublasLtMatmulDescOpaque_t *d,
                                    const struct gemm_product *p)
{
    /* The library's first operand is our b, its second our a. It sees a matrix that we store
     * transposed as not transposed, and the other way round. */
    cublasOperation_t first = p->transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N;
    cublasOperation_t second = p->transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
    const void *vector = p->sums ? p->sums : p->bias;
    int64_t mask_bits = p->mask_stride * 32;
    uint32_t epilogue = 0; /* bits, except for the gradients and the default */
    if (p->bias) epilogue |= CUBLASLT_EPILOGUE_BIAS;
    if (p->relu == GEMM_RELU)
        epilogue |= p->mask ? CUBLASLT_EPILOGUE_RELU_AUX : CUBLASLT_EPILOGUE_RELU;
    if (p->relu == GEMM_RELU_BWD) epilogue = CUBLASLT_EPILOGUE_DRELU;
    if (p->sums) epilogue = CUBLASLT_EPILOGUE_BGRADB;
    if (epilogue == 0) epilogue = CUBLASLT_EPILOGUE_DEFAULT;
    const struct {
        cublasLtMatmulDescAttributes_t name;
        const void *value;
        size_t bytes;
        bool absent;
    } rows[] = {
        {CUBLASLT_MATMUL_DESC_TRANSA, &first, sizeof first, false},
        {CUBLASLT_MATMUL_DESC_TRANSB, &second, sizeof second, false},
        {CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue, false},
        {CUBLASLT_MATMUL_DESC_BIAS_POINTER, &vector, sizeof vector, !vector},
        {CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, &p->mask, sizeof p->mask, !p->mask},
        {CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, &mask_bits, sizeof mask_bits, !p->mask},
    };
    cublasStatus_t status = g->lt.product_init(d, sizeof *d, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    for (size_t i = 0; status == CUBLAS_STATUS_SUCCESS && i < sizeof rows / sizeof *rows; i++)
        if (!rows[i].absent)
            status = g->lt.product_set(d, rows[i].name, rows[i].value, rows[i].bytes);
    return status;
}

int gemm_call_init(const struct gemm *g, struct gemm_call *call, const struct gemm_product *p,
                   struct err *e)
{
    int64_t n = p->chunks_n, step_a = p->m * p->stride_a, step_c = p->m * p->stride_c;
    cublasStatus_t status = gemm_describe(g, &call->product, p);
    if (status == CUBLAS_STATUS_SUCCESS)
        status = gemm_layout(g, &call->a, p->from, p->transpose_a ? p->k : p->m,
                             p->transpose_a ? p->m : p->k, p->stride_a, n, step_a);
    if (status == CUBLAS_STATUS_SUCCESS)
        status = gemm_layout(g, &call->b, p->from, p->transpose_b ? p->n : p->k,
                             p->transpose_b ? p->k : p->n, p->stride_b, n, 0);
    if (status == CUBLAS_STATUS_SUCCESS)
        status = gemm_layout(g, &call->c, p->to, p->m, p->n, p->stride_c, n, step_c);
    return gemm_fault(g, status, p, e);
}

cublasStatus_t gemm_run(struct gemm *g, const struct gemm_call *call, const struct gemm_product *p,
                        const cublasLtMatmulAlgo_t *algorithm, void *to)
{
    /* The library's parameters are not const, but it only reads them. */
    struct gemm_call own = *call;
    float alpha = p->relu == GEMM_RELU_BWD ? 1.0f / (1.0f - p->dropout) : 1.0f,
          beta = p->accumulate ? 1.0f : 0.0f;
    return g->lt.multiply(g->handle_own, &own.product, &alpha, p->b, &own.b, p->a, &own.a, &beta,
                          p->c, &own.c, to, &own.c, algorithm, g->workspace_own,
                          GEMM_WORKSPACE_BYTES, g->stream);
}

bool gemm_fits(struct gemm *g, const struct gemm_call *call, const cublasLtMatmulAlgo_t *algorithm)
{
    struct gemm_call own = *call;
    cublasLtMatmulHeuristicResult_t result = {0};
    return g->lt.check(g->handle_own, &own.product, &own.b, &own.a, &own.c, &own.c, algorithm,
                       &result) == CUBLAS_STATUS_SUCCESS &&
           result.state == CUBLAS_STATUS_SUCCESS && result.workspaceSize <= GEMM_WORKSPACE_BYTES;
}
