/* gemm.c - gemm.h with cuBLASLt, which only the files gemm*.c know: its opening, and which way a
 * product goes. */
#include <stdio.h>
#include <stdlib.h>

#include "gemm_choice.h"

/* What the GPU and the library are, for gemm_choices. */
static int gemm_identify(struct gemm *g, char *text, size_t bytes, struct err *e)
{
    int device = 0;
    struct cudaDeviceProp p;
    if (cudaGetDevice(&device) != cudaSuccess || cudaGetDeviceProperties(&p, device) != cudaSuccess)
        return ERR(e, ERR_UNAVAILABLE, "cuBLASLt: the GPU does not answer");
    snprintf(text, bytes, "cuBLASLt %zu", cublasLtGetVersion());
    snprintf(g->identity, sizeof g->identity, "cuBLASLt %zu, %.96s, sm_%d%d", cublasLtGetVersion(),
             p.name, p.major, p.minor);
    return 0;
}

int gemm_open(struct gemm **out, void *stream, char *text, size_t bytes, struct err *e)
{
    int rc = 0;
    struct gemm *g = calloc(1, sizeof *g);
    *out = NULL;
    if (!g) return ERR(e, ERR_NOMEM, "no memory for products");
    g->stream = stream;
    cublasStatus_t status = cublasLtCreate(&g->handle_own);
    if (status != CUBLAS_STATUS_SUCCESS) {
        rc =
            ERR(e, ERR_UNAVAILABLE, "cuBLASLt cannot be used: %s", cublasLtGetStatusString(status));
        goto out;
    }
    if (cudaMalloc(&g->workspace_own, GEMM_WORKSPACE_BYTES) != cudaSuccess ||
        cudaEventCreate(&g->before_own) != cudaSuccess ||
        cudaEventCreate(&g->after_own) != cudaSuccess) {
        rc = ERR(e, ERR_NOMEM, "cuBLASLt: no device memory for %d bytes", GEMM_WORKSPACE_BYTES);
        goto out;
    }
    TRY_OUT(rc, gemm_identify(g, text, bytes, e));
    *out = g;
out:
    if (rc < 0) gemm_close(g);
    return rc;
}

void gemm_close(struct gemm *g)
{
    if (!g) return;
    if (g->before_own) (void)cudaEventDestroy(g->before_own);
    if (g->after_own) (void)cudaEventDestroy(g->after_own);
    (void)cudaFree(g->workspace_own);
    if (g->handle_own) (void)cublasLtDestroy(g->handle_own);
    free(g->choice_own);
    free(g);
}

int gemm_multiply(struct gemm *g, const struct gemm_product *p, struct err *e)
{
    if (p->sums || p->kept || p->relu) return gemm_multiply_fused(g, p, e);
    return gemm_multiply_alone(g, p, e);
}
