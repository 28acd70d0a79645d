/* gemm.c - gemm.h with cuBLASLt, which only the files gemm*.c know: opening it, and a product from
 * the choice of its algorithm to its ReLU. */
#include <stdio.h>
#include <stdlib.h>

#include "gemm_internal.h"

/* Identifies the GPU and the library for gemm_choices. */
static int gemm_identify(struct gemm *g, char *text, size_t bytes, struct err *e)
{
    int device = 0;
    struct cudaDeviceProp p;
    if (cudaGetDevice(&device) != cudaSuccess || cudaGetDeviceProperties(&p, device) != cudaSuccess)
        return ERR(e, ERR_UNAVAILABLE, "cuBLASLt: the GPU does not answer");
    snprintf(text, bytes, "cuBLASLt %zu", g->lt.version());
    snprintf(g->identity, sizeof g->identity, "cuBLASLt %zu, %.96s, sm_%d%d", g->lt.version(),
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
    TRY_OUT(rc, cublaslt_open(&g->lt, e));
    cublasStatus_t status = g->lt.create(&g->handle_own);
    if (status != CUBLAS_STATUS_SUCCESS) {
        rc = ERR(e, ERR_UNAVAILABLE, "cuBLASLt cannot be used: %s", g->lt.status_string(status));
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
    if (g->handle_own) (void)g->lt.destroy(g->handle_own);
    free(g->choice_own);
    free(g);
}

/* Computes the product with its column sums or mask in one kernel if the library has an algorithm
 * for that. */
static int gemm_try_whole(struct gemm *g, const struct gemm_product *p, bool *done, struct err *e)
{
    struct gemm_call call;
    const cublasLtMatmulAlgo_t *algorithm = NULL;
    bool is_ours = true;
    *done = false;
    if (p->mask) TRY(gemm_mask_is_ours(g, &is_ours, p, e));
    if (!is_ours) return 0;
    TRY(gemm_call_init(g, &call, p, e));
    TRY(gemm_choose(g, &algorithm, &call, p, e));
    *done = algorithm != NULL;
    return *done ? gemm_fault(g, gemm_run(g, &call, p, algorithm, p->c), p, e) : 0;
}

int gemm_multiply(struct gemm *g, const struct gemm_product *p, bool *ended, struct err *e)
{
    struct gemm_product plain = gemm_plain(p);
    struct gemm_call call, with_relu;
    const cublasLtMatmulAlgo_t *algorithm = NULL;
    *ended = false;
    if (gemm_has_own_class(p)) TRY(gemm_try_whole(g, p, ended, e));
    if (*ended) return 0;
    TRY(gemm_call_init(g, &call, &plain, e));
    TRY(gemm_choose(g, &algorithm, &call, &plain, e));
    if (p->relu == GEMM_RELU && !p->mask) {
        TRY(gemm_call_init(g, &with_relu, p, e));
        *ended = gemm_fits(g, &with_relu, algorithm);
        if (*ended) call = with_relu;
    }
    return gemm_fault(g, gemm_run(g, &call, &plain, algorithm, p->c), p, e);
}
