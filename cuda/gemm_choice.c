/* gemm_choice.c - which algorithm a product gets, found once for each class; the choices as text.
 */
#include "gemm_choice.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CHOICE_CANDIDATES = 8,
    CHOICE_RUNS = 5,   /* of each candidate, after one that is not timed */
    CHOICE_CHUNKS = 8, /* for which the algorithm of exact products is chosen */
    CHOICE_LINE_BYTES = 320,
    ALGORITHM_WORDS = sizeof(cublasLtMatmulAlgo_t) / sizeof(uint64_t)
};
/* A later candidate must need less than this share of the first's time. */
static const float choice_clearly = 0.95f;

static int32_t choice_alignment(const void *p, int64_t stride, enum dtype type)
{
    uintptr_t both = (uintptr_t)p | (uintptr_t)stride * dtype_bytes(type);
    int32_t alignment = 16;
    while (both % (uintptr_t)alignment != 0) alignment /= 2;
    return alignment;
}

static int64_t choice_round(int64_t rows)
{
    return (rows + GEMM_ROWS - 1) / GEMM_ROWS * GEMM_ROWS;
}

/* The class of p; its shape as if rows were a multiple of GEMM_ROWS, when rounded. */
static struct gemm_class choice_class(const struct gemm_product *p, int rounded)
{
    struct gemm_class c;
    memset(&c, 0, sizeof c);
    c.m = rounded && !p->transpose_a && !p->exact ? choice_round(p->m) : p->m;
    c.n = p->n;
    c.k = rounded && p->transpose_a ? choice_round(p->k) : p->k;
    c.transpose_a = p->transpose_a;
    c.transpose_b = p->transpose_b;
    c.from = (int32_t)p->from;
    c.to = (int32_t)p->to;
    c.bias = p->bias != NULL;
    c.exact = p->exact;
    c.sums = p->sums != NULL;
    c.alignment_a = choice_alignment(p->a, p->stride_a, p->from);
    c.alignment_b = choice_alignment(p->b, p->stride_b, p->from);
    c.alignment_c = choice_alignment(p->c, p->stride_c, p->to);
    c.rounded = rounded;
    return c;
}

static struct gemm_choice *choice_find(const struct gemm *g, const struct gemm_class *c)
{
    for (int32_t i = 0; i < g->choices_n; i++)
        if (memcmp(&g->choice_own[i].of, c, sizeof *c) == 0) return &g->choice_own[i];
    return NULL;
}

static int choice_add(struct gemm *g, const struct gemm_choice *choice, struct err *e)
{
    if (g->choices_n == g->choices_room) {
        int32_t room = g->choices_room ? 2 * g->choices_room : 64;
        void *list = realloc(g->choice_own, (size_t)room * sizeof *g->choice_own);
        if (!list) return ERR(e, ERR_NOMEM, "no memory for %d choices of products", room);
        g->choice_own = list;
        g->choices_room = room;
    }
    g->choice_own[g->choices_n++] = *choice;
    return 0;
}

static cublasStatus_t choice_prefer(cublasLtMatmulPreferenceOpaque_t *preference,
                                    const struct gemm_class *c)
{
    uint64_t workspace_bytes = GEMM_WORKSPACE_BYTES;
    uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_NONE;
    if (!c->exact && !c->sums)
        reductions |=
            CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE | CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE;
    const struct {
        cublasLtMatmulPreferenceAttributes_t name;
        const void *value;
        size_t bytes;
    } rows[] = {
        {CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace_bytes, sizeof workspace_bytes},
        {CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &reductions, sizeof reductions},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, &c->alignment_b, sizeof(uint32_t)},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, &c->alignment_a, sizeof(uint32_t)},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, &c->alignment_c, sizeof(uint32_t)},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, &c->alignment_c, sizeof(uint32_t)},
    };
    cublasStatus_t status = cublasLtMatmulPreferenceInit(preference);
    for (size_t i = 0; status == CUBLAS_STATUS_SUCCESS && i < sizeof rows / sizeof *rows; i++)
        status = cublasLtMatmulPreferenceSetAttribute(preference, rows[i].name, rows[i].value,
                                                      rows[i].bytes);
    return status;
}

/* Candidates for a class, the library's favourite first; a class with sums may have none. */
static int choice_candidates(struct gemm *g, cublasLtMatmulHeuristicResult_t *out, int *n,
                             const struct gemm_class *c, const struct gemm_product *p,
                             struct err *e)
{
    struct gemm_call call;
    struct gemm_product nominal = *p;
    cublasLtMatmulPreferenceOpaque_t preference;
    int found_n = 0;
    nominal.m = c->m;
    nominal.k = c->k;
    if (p->exact) nominal.chunks_n = CHOICE_CHUNKS;
    TRY(gemm_call_init(&call, &nominal, e));
    TRY(gemm_fault(choice_prefer(&preference, c), p, e));
    cublasStatus_t status =
        cublasLtMatmulAlgoGetHeuristic(g->handle_own, &call.product, &call.b, &call.a, &call.c,
                                       &call.c, &preference, CHOICE_CANDIDATES, out, &found_n);
    *n = 0;
    if (status != CUBLAS_STATUS_SUCCESS && c->sums) return 0; /* not offered */
    TRY(gemm_fault(status, p, e));
    for (int i = 0; i < found_n; i++)
        if (out[i].state == CUBLAS_STATUS_SUCCESS) out[(*n)++] = out[i];
    if (*n == 0 && !c->sums)
        return ERR(e, ERR_INTERNAL,
                   "cuBLASLt: no algorithm for a product of %" PRId64 " x %" PRId64 " x %" PRId64,
                   c->m, c->n, c->k);
    return 0;
}

int gemm_fits(struct gemm *g, const struct gemm_call *call, const cublasLtMatmulAlgo_t *algorithm)
{
    struct gemm_call own = *call;
    cublasLtMatmulHeuristicResult_t result;
    return cublasLtMatmulAlgoCheck(g->handle_own, &own.product, &own.b, &own.a, &own.c, &own.c,
                                   algorithm, &result) == CUBLAS_STATUS_SUCCESS &&
           result.state == CUBLAS_STATUS_SUCCESS && result.workspaceSize <= GEMM_WORKSPACE_BYTES;
}

/* Milliseconds of CHOICE_RUNS runs; below 0: it does not run. */
static float choice_time(struct gemm *g, const struct gemm_call *call, const struct gemm_product *p,
                         const cublasLtMatmulAlgo_t *algorithm, void *to)
{
    float ms = -1.0f;
    if (!gemm_fits(g, call, algorithm)) return ms;
    if (gemm_run(g, call, p, algorithm, to) != CUBLAS_STATUS_SUCCESS) return ms;
    if (cudaEventRecord(g->before_own, g->stream) != cudaSuccess) return ms;
    for (int i = 0; i < CHOICE_RUNS; i++)
        if (gemm_run(g, call, p, algorithm, to) != CUBLAS_STATUS_SUCCESS) return ms;
    if (cudaEventRecord(g->after_own, g->stream) != cudaSuccess ||
        cudaEventSynchronize(g->after_own) != cudaSuccess ||
        cudaEventElapsedTime(&ms, g->before_own, g->after_own) != cudaSuccess)
        return -1.0f;
    return ms;
}

/* Whether runs may be timed now: not while work is recorded, which is put off. */
static int choice_may_time(struct gemm *g)
{
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    return cudaStreamIsCapturing(g->stream, &status) == cudaSuccess &&
           status == cudaStreamCaptureStatusNone;
}

/* The fastest candidate's index; the results of an accumulating product go to memory of their own,
 * for it can be run once only. Without that memory the first is taken. */
static int choice_fastest(struct gemm *g, const cublasLtMatmulHeuristicResult_t *candidate, int n,
                          const struct gemm_call *call, const struct gemm_product *p)
{
    void *to = p->c, *own = NULL;
    size_t bytes = (size_t)(p->m * p->chunks_n * p->stride_c) * dtype_bytes(p->to);
    int best = 0;
    if (n == 1) return 0;
    if (p->accumulate) {
        if (cudaMalloc(&own, bytes) != cudaSuccess) {
            (void)cudaGetLastError();
            return 0;
        }
        to = own;
    }
    float first = choice_time(g, call, p, &candidate[0].algo, to), least = first;
    for (int i = 1; i < n; i++) {
        float ms = choice_time(g, call, p, &candidate[i].algo, to);
        if (ms < 0.0f || (least >= 0.0f && ms >= least)) continue;
        if (first >= 0.0f && ms >= choice_clearly * first) continue;
        least = ms;
        best = i;
    }
    (void)cudaFree(own);
    return best;
}

static int choice_need_time(struct gemm *g, const struct gemm_product *p, struct err *e)
{
    if (choice_may_time(g)) return 0;
    return ERR(e, ERR_INTERNAL,
               "cuBLASLt: the algorithm of a product of %" PRId64 " x %" PRId64 " x %" PRId64
               " is chosen by measuring, which is forbidden while work is recorded",
               p->m, p->n, p->k);
}

static int choice_make(struct gemm *g, struct gemm_choice **out, const struct gemm_class *c,
                       const struct gemm_call *call, const struct gemm_product *p, struct err *e)
{
    cublasLtMatmulHeuristicResult_t candidate[CHOICE_CANDIDATES];
    struct gemm_choice choice = {.of = *c};
    int n = 0;
    TRY(choice_need_time(g, p, e));
    TRY(choice_candidates(g, candidate, &n, c, p, e));
    choice.algorithm = candidate[choice_fastest(g, candidate, n, call, p)].algo;
    TRY(choice_add(g, &choice, e));
    *out = &g->choice_own[g->choices_n - 1];
    return 0;
}

int gemm_choose(struct gemm *g, const cublasLtMatmulAlgo_t **out, const struct gemm_call *call,
                const struct gemm_product *p, struct err *e)
{
    for (int rounded = 1; rounded >= 0; rounded--) {
        struct gemm_class c = choice_class(p, rounded);
        struct gemm_choice *choice = choice_find(g, &c);
        if (!choice) TRY(choice_make(g, &choice, &c, call, p, e));
        *out = &choice->algorithm;
        if (gemm_fits(g, call, *out)) return 0;
    }
    return ERR(e, ERR_INTERNAL,
               "cuBLASLt: the algorithm chosen for a product of %" PRId64 " x %" PRId64
               " x %" PRId64 " does not fit it",
               p->m, p->n, p->k);
}

/* Milliseconds of CHOICE_RUNS times the kernel of column sums; below 0: it does not run. */
static float choice_time_sums(struct gemm *g, const struct gemm_product *p)
{
    float ms = -1.0f;
    struct gemm_product own = *p;
    own.accumulate = 0;
    if (cudaEventRecord(g->before_own, g->stream) != cudaSuccess) return ms;
    for (int i = 0; i < CHOICE_RUNS; i++)
        if (gemm_column_sums(g, &own) != 0) return ms;
    if (cudaEventRecord(g->after_own, g->stream) != cudaSuccess ||
        cudaEventSynchronize(g->after_own) != cudaSuccess ||
        cudaEventElapsedTime(&ms, g->before_own, g->after_own) != cudaSuccess)
        return -1.0f;
    return ms;
}

/* Whether one call is clearly faster than the product and the sums apart. Timed results go to
 * memory of their own. */
static int choice_one_call(struct gemm *g, const struct gemm_product *p,
                           const struct gemm_product *plain, const cublasLtMatmulAlgo_t *algorithm,
                           struct err *e)
{
    struct gemm_call whole, call;
    const cublasLtMatmulAlgo_t *other = NULL;
    void *to = NULL;
    size_t bytes = (size_t)(p->m * p->stride_c) * dtype_bytes(p->to);
    int faster = 0;
    if (cudaMalloc(&to, bytes) != cudaSuccess) {
        (void)cudaGetLastError();
        return 0;
    }
    if (gemm_call_init(&whole, p, e) == 0 && gemm_call_init(&call, plain, e) == 0 &&
        gemm_choose(g, &other, &call, plain, e) == 0) {
        float one = choice_time(g, &whole, p, algorithm, to);
        float two = choice_time(g, &call, plain, other, to), sums = choice_time_sums(g, p);
        faster = one >= 0.0f && two >= 0.0f && sums >= 0.0f && one < choice_clearly * (two + sums);
    }
    (void)cudaFree(to);
    return faster;
}

int gemm_choose_sums(struct gemm *g, const cublasLtMatmulAlgo_t **out, const struct gemm_product *p,
                     const struct gemm_product *plain, struct err *e)
{
    cublasLtMatmulHeuristicResult_t candidate[CHOICE_CANDIDATES];
    struct gemm_class c = choice_class(p, 1);
    struct gemm_choice *found = choice_find(g, &c);
    struct gemm_call call;
    *out = NULL;
    TRY(gemm_call_init(&call, p, e));
    if (!found) {
        struct gemm_choice choice = {.of = c, .apart = 1};
        int n = 0;
        TRY(choice_need_time(g, p, e));
        TRY(choice_candidates(g, candidate, &n, &c, p, e));
        if (n > 0) {
            const cublasLtMatmulAlgo_t *best =
                &candidate[choice_fastest(g, candidate, n, &call, p)].algo;
            choice.apart = !choice_one_call(g, p, plain, best, e);
            if (!choice.apart) choice.algorithm = *best;
        }
        TRY(choice_add(g, &choice, e));
        found = &g->choice_own[g->choices_n - 1];
    }
    if (!found->apart && gemm_fits(g, &call, &found->algorithm)) *out = &found->algorithm;
    return 0;
}

/* ---- as text ----
 * A class is its sizes and eleven small numbers, an algorithm whether it is apart and its words in
 * base 16. */

static int choice_print(char *line, size_t bytes, const struct gemm_choice *choice)
{
    const struct gemm_class *c = &choice->of;
    int n = snprintf(
        line, bytes, "%" PRId64 " %" PRId64 " %" PRId64 " %d %d %d %d %d %d %d %d %d %d %d %d",
        c->m, c->n, c->k, c->transpose_a, c->transpose_b, c->from, c->to, c->bias, c->exact,
        c->sums, c->alignment_a, c->alignment_b, c->alignment_c, c->rounded, choice->apart);
    for (size_t i = 0; i < ALGORITHM_WORDS; i++)
        n += snprintf(line + n, bytes - (size_t)n, " %" PRIx64, choice->algorithm.data[i]);
    return n + snprintf(line + n, bytes - (size_t)n, "\n");
}

size_t gemm_choices(const struct gemm *g, char *text, size_t bytes)
{
    char line[CHOICE_LINE_BYTES];
    size_t n = (size_t)snprintf(text, bytes, "%s\n", g->identity);
    for (int32_t i = 0; i < g->choices_n; i++) {
        size_t line_n = (size_t)choice_print(line, sizeof line, &g->choice_own[i]);
        if (n + line_n < bytes) memcpy(text + n, line, line_n + 1);
        n += line_n;
    }
    return n;
}

static int choice_scan(struct gemm_choice *choice, const char *line)
{
    struct gemm_class *c = &choice->of;
    int at = 0;
    memset(choice, 0, sizeof *choice);
    if (sscanf(line, "%" SCNd64 " %" SCNd64 " %" SCNd64 " %d %d %d %d %d %d %d %d %d %d %d %d%n",
               &c->m, &c->n, &c->k, &c->transpose_a, &c->transpose_b, &c->from, &c->to, &c->bias,
               &c->exact, &c->sums, &c->alignment_a, &c->alignment_b, &c->alignment_c, &c->rounded,
               &choice->apart, &at) < 15)
        return 0;
    for (size_t i = 0; i < ALGORITHM_WORDS; i++) {
        int word_n = 0;
        if (sscanf(line + at, " %" SCNx64 "%n", &choice->algorithm.data[i], &word_n) < 1) return 0;
        at += word_n;
    }
    return line[at] == '\n' || line[at] == '\0';
}

int gemm_adopt(struct gemm *g, const char *text, struct err *e)
{
    size_t identity_n = strlen(g->identity);
    if (strncmp(text, g->identity, identity_n) != 0 || text[identity_n] != '\n')
        return ERR(e, ERR_DATA,
                   "choices of products were made by \"%.*s\", this is %s; they are made anew",
                   (int)strcspn(text, "\n"), text, g->identity);
    for (const char *line = text + identity_n + 1; *line; line += strcspn(line, "\n")) {
        struct gemm_choice choice;
        line += *line == '\n';
        if (*line == '\0') break;
        if (!choice_scan(&choice, line))
            return ERR(e, ERR_DATA, "choices of products: \"%.60s\" is no choice", line);
        if (!choice_find(g, &choice.of)) TRY(choice_add(g, &choice, e));
    }
    return 0;
}
