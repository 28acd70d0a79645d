/* gemm_mask.c - verifies the order of bits in the masks of cuBLASLt's ReLU epilogues.
 *
 * The library's documentation does not define the order, and a mask that a product reads may come
 * from a kernel of this backend (with dropout it does), and the other way round. Another order
 * would train with wrong gradients and without an error.
 *
 * 1. Before the first product that writes a mask, and before the first that reads one, a small
 *    product does so. Its elements are 1 and -1, exactly. The host checks them and each bit.
 * 2. If one differs, or the library has no algorithm for the small product, kernels of this backend
 *    do what the epilogue would have done. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "gemm_internal.h"

/* Row i of a is 1 at column i % TRIAL_K and 0 elsewhere: element (i, j) of the product is element
 * (i % TRIAL_K, j) of b. */
enum { TRIAL_N = 256, TRIAL_K = 64, TRIAL_WORDS = TRIAL_N / 32 };

/* The buffers of a trial, large enough for fp32, on host and device. */
struct trial {
    uint32_t a[TRIAL_N * TRIAL_K], b[TRIAL_K * TRIAL_N], c[TRIAL_N * TRIAL_N];
    uint32_t mask[TRIAL_N][TRIAL_WORDS];
};

static bool trial_coin(uint32_t seed, int i, int j)
{
    uint32_t x = (uint32_t)(i * TRIAL_N + j) * 2654435761u + seed;
    x = (x ^ x >> 15) * 2246822519u;
    return (x ^ x >> 13) & 1;
}

static float trial_sign(int i, int j)
{
    return trial_coin(1, i % TRIAL_K, j) ? 1.0f : -1.0f;
}

/* True if the mask that a product reads has this bit. */
static bool trial_kept(int i, int j)
{
    return trial_coin(2, i, j);
}

/* The bf16 of 0, 1 and -1 is the upper half of their fp32. */
static void trial_put(uint32_t *to, int at, enum dtype type, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (type == DTYPE_BF16)
        ((uint16_t *)to)[at] = (uint16_t)(bits >> 16);
    else
        to[at] = bits;
}

static float trial_get(const uint32_t *from, int at, enum dtype type)
{
    uint32_t bits = type == DTYPE_BF16 ? (uint32_t)((const uint16_t *)from)[at] << 16 : from[at];
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void mask_trial_fill(struct trial *t, const struct gemm_product *p)
{
    for (int i = 0; i < TRIAL_N; i++) trial_put(t->a, i * TRIAL_K + i % TRIAL_K, p->from, 1.0f);
    for (int k = 0; k < TRIAL_K; k++)
        for (int j = 0; j < TRIAL_N; j++)
            trial_put(t->b, p->transpose_b ? j * TRIAL_K + k : k * TRIAL_N + j, p->from,
                      trial_sign(k, j));
    for (int i = 0; i < TRIAL_N; i++)
        for (int j = 0; j < TRIAL_N; j++)
            t->mask[i][j / 32] |= (uint32_t)trial_kept(i, j) << j % 32;
}

static bool trial_passes(const struct trial *t, const struct gemm_product *p)
{
    for (int i = 0; i < TRIAL_N; i++)
        for (int j = 0; j < TRIAL_N; j++) {
            float sign = trial_sign(i, j);
            bool bit = p->relu == GEMM_RELU_BWD ? trial_kept(i, j) : sign > 0.0f;
            if ((t->mask[i][j / 32] >> j % 32 & 1) != bit) return false;
            if (trial_get(t->c, i * TRIAL_N + j, p->to) != (bit ? sign : 0.0f)) return false;
        }
    return true;
}

/* Runs the product at t_dev. *ran: the library has an algorithm for it. */
static int mask_trial_run(struct gemm *g, bool *ran, char *t_dev, const struct gemm_product *p,
                          struct err *e)
{
    const struct gemm_product small = {.a = t_dev + offsetof(struct trial, a),
                                       .b = t_dev + offsetof(struct trial, b),
                                       .c = t_dev + offsetof(struct trial, c),
                                       .relu = p->relu,
                                       .mask = t_dev + offsetof(struct trial, mask),
                                       .mask_stride = TRIAL_WORDS,
                                       .m = TRIAL_N,
                                       .n = TRIAL_N,
                                       .k = TRIAL_K,
                                       .chunks_n = 1,
                                       .stride_a = TRIAL_K,
                                       .stride_b = p->transpose_b ? TRIAL_K : TRIAL_N,
                                       .stride_c = TRIAL_N,
                                       .transpose_b = p->transpose_b,
                                       .from = p->from,
                                       .to = p->to};
    cublasLtMatmulHeuristicResult_t candidate[GEMM_CANDIDATES];
    struct gemm_call call;
    int n = 0;
    TRY(gemm_call_init(g, &call, &small, e));
    TRY(gemm_candidates(g, candidate, &n, &small, e));
    *ran =
        n > 0 && gemm_run(g, &call, &small, &candidate[0].algo, small.c) == CUBLAS_STATUS_SUCCESS;
    return 0;
}

static int mask_verify(struct gemm *g, enum gemm_order *order, const struct gemm_product *p,
                       struct err *e)
{
    int rc = 0;
    bool ran = false;
    void *t_dev = NULL;
    struct trial *t = calloc(1, sizeof *t);
    if (!t || cudaMalloc(&t_dev, sizeof *t) != cudaSuccess) {
        rc = gemm_reject(p, ERR_NOMEM, "no memory to verify the order of its mask's bits", e);
        goto out;
    }
    mask_trial_fill(t, p);
    cudaError_t status = cudaMemcpy(t_dev, t, sizeof *t, cudaMemcpyHostToDevice);
    if (status == cudaSuccess) TRY_OUT(rc, mask_trial_run(g, &ran, t_dev, p, e));
    if (status == cudaSuccess) status = cudaStreamSynchronize(g->stream);
    if (status == cudaSuccess) status = cudaMemcpy(t, t_dev, sizeof *t, cudaMemcpyDeviceToHost);
    if (status != cudaSuccess) {
        rc = gemm_reject(p, ERR_INTERNAL, cudaGetErrorString(status), e);
        goto out;
    }
    *order = ran && trial_passes(t, p) ? GEMM_ORDER_OURS : GEMM_ORDER_OTHER;
out:
    (void)cudaFree(t_dev);
    free(t);
    return rc;
}

int gemm_mask_is_ours(struct gemm *g, bool *is_ours, const struct gemm_product *p, struct err *e)
{
    enum gemm_order *order = &g->mask_order[p->relu == GEMM_RELU_BWD];
    if (*order == GEMM_ORDER_UNKNOWN) {
        TRY(gemm_forbid_in_capture(g, p, "the order of its mask's bits is verified", e));
        TRY(mask_verify(g, order, p, e));
    }
    *is_ours = *order == GEMM_ORDER_OURS;
    return 0;
}
