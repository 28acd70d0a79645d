/* gemm_fused.c - products with relu, sums of a or a mask of what is kept of c: in one call of the
 * library, or apart, as a product and a kernel.
 *
 * Which of the two is chosen once for each class, by these steps:
 * 1. The library names candidates for one call; for relu it is the product's own algorithm. None:
 *    apart.
 * 2. The fastest is compared with the way apart where its meaning is in doubt, which is that of a
 *    mask: other results, or operands that show too little, are apart.
 * 3. Both ways are timed, kernels and all. */
#include "gemm_choice.h"
#include "kernels.h"

enum {
    FUSED_EDGES = 128, /* what a comparison must have seen of a mask (struct mask_report) */
    FUSED_ALIGNMENT = 256
};

/* Both ways of a product, with their algorithms, and where their results go. */
struct fused_ways {
    const struct gemm_product *one, *plain; /* with and without what goes beside */
    struct gemm_call one_call, plain_call;
    const cublasLtMatmulAlgo_t *one_algorithm, *plain_algorithm;
    void *to;
    float *sums_to; /* of the way apart */
    struct mask_report *report;
};

static struct tensor fused_vector(float *data, int64_t n)
{
    return tensor_make(data, 1, n, DTYPE_F32);
}

static struct tensor fused_kept(const struct gemm_product *p)
{
    struct tensor kept = tensor_make((void *)p->kept, p->m, p->n, p->to);
    kept.stride = p->stride_kept;
    return kept;
}

static struct tensor fused_result(const struct gemm_product *p, void *data)
{
    struct tensor c = tensor_make(data, p->m * p->chunks_n, p->n, p->to);
    c.stride = p->stride_c;
    return c;
}

/* The kernel of the way apart: sums of a at `sums`, or relu or the mask on the product at `to`. */
static int fused_kernel(struct gemm *g, const struct gemm_product *p, void *to, float *sums,
                        int accumulate)
{
    struct tensor c = fused_result(p, to), kept = fused_kept(p);
    if (p->kept) {
        struct relu_bwd_args masked = {.dx = c, .dy = c, .y = kept};
        return cuda_relu_bwd(g->stream, &masked);
    }
    if (p->relu) {
        struct dropout_args positive = {.y = c, .x = c};
        return cuda_relu(g->stream, &positive);
    }
    struct tensor a = tensor_make((void *)p->a, p->k, p->m, p->from);
    struct tensor out = fused_vector(sums, p->m);
    a.stride = p->stride_a;
    return cuda_column_sums(g->stream, &out, &a, accumulate, p->scratch);
}

/* What one call reads beside its operands. */
static int fused_prepare(struct gemm *g, const struct gemm_product *p)
{
    struct tensor kept = fused_kept(p);
    return p->kept ? cuda_mask(g->stream, p->scratch, &kept) : 0;
}

/* ---- the choice ---- */

static int fused_run_one(struct gemm *g, const void *what)
{
    const struct fused_ways *w = what;
    return fused_prepare(g, w->one) != 0 ||
           gemm_run(g, &w->one_call, w->one, w->one_algorithm, w->to) != CUBLAS_STATUS_SUCCESS;
}

static int fused_run_apart(struct gemm *g, const void *what)
{
    const struct fused_ways *w = what;
    return gemm_run(g, &w->plain_call, w->plain, w->plain_algorithm, w->to) !=
               CUBLAS_STATUS_SUCCESS ||
           fused_kernel(g, w->one, w->to, w->sums_to, 0) != 0;
}

/* Whether one call made of the mask what the kernel makes. */
static int fused_agrees(struct gemm *g, const struct fused_ways *w)
{
    const struct gemm_product *p = w->one;
    struct fused_ways one = *w;
    struct mask_report seen;
    struct tensor got = fused_result(p, p->c), want = fused_result(p, w->to), kept = fused_kept(p);
    one.to = p->c;
    if (!p->kept) return 1;
    return fused_run_one(g, &one) == 0 && fused_run_apart(g, w) == 0 &&
           cuda_mask_compare(g->stream, w->report, &got, &want, &kept) == 0 &&
           cudaMemcpyAsync(&seen, w->report, sizeof seen, cudaMemcpyDeviceToHost, g->stream) ==
               cudaSuccess &&
           cudaStreamSynchronize(g->stream) == cudaSuccess && seen.wrong_n == 0 &&
           seen.edges_n >= FUSED_EDGES;
}

static size_t fused_padded(size_t bytes)
{
    return (bytes + FUSED_ALIGNMENT - 1) / FUSED_ALIGNMENT * FUSED_ALIGNMENT;
}

/* Whether the algorithm (for relu NULL: the product's own) is right and clearly faster in one call.
 * Results go to memory of their own; without it nothing is shown. */
static int fused_judge(struct gemm *g, struct gemm_choice *choice, const struct gemm_product *p,
                       const struct gemm_product *plain, const cublasLtMatmulAlgo_t *algorithm,
                       struct err *e)
{
    struct fused_ways w = {.one = p, .plain = plain, .one_algorithm = algorithm};
    size_t bytes = fused_padded((size_t)(p->m * p->chunks_n * p->stride_c) * dtype_bytes(p->to));
    size_t sums_bytes = fused_padded((size_t)p->m * sizeof(float));
    TRY(gemm_call_init(&w.one_call, p, e));
    TRY(gemm_call_init(&w.plain_call, plain, e));
    TRY(gemm_choose(g, &w.plain_algorithm, &w.plain_call, plain, e));
    if (p->relu) w.one_algorithm = w.plain_algorithm;
    if (!gemm_fits(g, &w.one_call, w.one_algorithm)) return 0;
    choice->apart = GEMM_NOT_SHOWN;
    if (cudaMalloc(&w.to, bytes + sums_bytes + sizeof *w.report) != cudaSuccess) {
        (void)cudaGetLastError();
        return 0;
    }
    w.sums_to = (float *)(void *)((char *)w.to + bytes);
    w.report = (struct mask_report *)(void *)((char *)w.to + bytes + sums_bytes);
    if (fused_agrees(g, &w)) {
        float one = gemm_time(g, fused_run_one, &w), two = gemm_time(g, fused_run_apart, &w);
        int better = one >= 0.0f && two >= 0.0f && one < GEMM_CLEARLY * two;
        choice->apart = better ? GEMM_ONE_CALL : GEMM_NOT_FASTER;
        if (better) choice->algorithm = *w.one_algorithm;
    }
    (void)cudaFree(w.to);
    return 0;
}

static int fused_choose(struct gemm *g, const struct gemm_class *c, const struct gemm_call *call,
                        const struct gemm_product *p, const struct gemm_product *plain,
                        struct err *e)
{
    cublasLtMatmulHeuristicResult_t candidate[GEMM_CANDIDATES];
    struct gemm_choice choice = {.of = *c, .apart = GEMM_NOT_OFFERED};
    int n = 0;
    TRY(gemm_need_time(g, p, e));
    if (p->relu) {
        TRY(fused_judge(g, &choice, p, plain, NULL, e));
        return gemm_add_choice(g, &choice, e);
    }
    TRY(gemm_candidates(g, candidate, &n, c, p, e));
    TRY(gemm_queued(fused_prepare(g, p), "mask", e));
    if (n > 0) {
        int best = gemm_fastest(g, candidate, n, call, p);
        TRY(fused_judge(g, &choice, p, plain, &candidate[best].algo, e));
    }
    return gemm_add_choice(g, &choice, e);
}

/* The algorithm of one call for p's class, now chosen if it was not; NULL: apart. */
static int fused_algorithm(struct gemm *g, const cublasLtMatmulAlgo_t **out,
                           const struct gemm_call *call, const struct gemm_product *p,
                           const struct gemm_product *plain, struct err *e)
{
    struct gemm_class c = gemm_class_of(p, 1);
    struct gemm_call plain_call;
    *out = NULL;
    if (!gemm_find(g, &c)) TRY(fused_choose(g, &c, call, p, plain, e));
    const struct gemm_choice *found = gemm_find(g, &c);
    const cublasLtMatmulAlgo_t *algorithm = &found->algorithm;
    if (found->apart != GEMM_ONE_CALL) return 0;
    if (p->relu) { /* a product that its class's algorithm does not fit has another */
        TRY(gemm_call_init(&plain_call, plain, e));
        TRY(gemm_choose(g, &algorithm, &plain_call, plain, e));
    }
    if (gemm_fits(g, call, algorithm)) *out = algorithm;
    return 0;
}

int gemm_multiply_fused(struct gemm *g, const struct gemm_product *p, struct err *e)
{
    struct gemm_product plain = *p, one = *p;
    struct gemm_call call;
    const cublasLtMatmulAlgo_t *algorithm = NULL;
    plain.sums = NULL;
    plain.kept = NULL;
    plain.relu = 0;
    if (p->sums) one.sums = p->scratch; /* the library overwrites */
    TRY(gemm_call_init(&call, &one, e));
    TRY(fused_algorithm(g, &algorithm, &call, &one, &plain, e));
    if (!algorithm) {
        TRY(gemm_multiply_alone(g, &plain, e));
        return gemm_queued(fused_kernel(g, p, p->c, p->sums, p->accumulate), "kernel", e);
    }
    TRY(gemm_queued(fused_prepare(g, &one), "mask", e));
    TRY(gemm_fault(gemm_run(g, &call, &one, algorithm, p->c), p, e));
    if (!p->sums) return 0;
    struct tensor to = fused_vector(p->sums, p->m), from = fused_vector(one.sums, p->m);
    struct add_args sum = {.y = to, .x = to, .r = from};
    struct cast_args copy = {.y = to, .x = from};
    return gemm_queued(p->accumulate ? cuda_add(g->stream, &sum) : cuda_cast(g->stream, &copy),
                       "sums", e);
}
