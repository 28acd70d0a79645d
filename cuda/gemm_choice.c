/* gemm_choice.c - chooses the algorithm of each class of products, and writes the choices as text.
 * A line is a class (its sizes and ten small numbers) and the words of its algorithm in base 16. */
#include "gemm_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CHOICE_CLEARLY 0.95f /* of the favourite's time, below which another is chosen */

enum {
    GEMM_ROWS = 256,
    TEXT_LINE_BYTES = 320,
    ALGORITHM_WORDS = sizeof(cublasLtMatmulAlgo_t) / sizeof(uint64_t),
    CHOICE_RUNS = 5,      /* timed for each candidate */
    CHOICE_WARM_RUNS = 8, /* between two readings of the clock */
    CHOICE_CHUNKS = 8     /* of an exact product while its algorithm is chosen */
};

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

/* Returns the class of p; rounded: with rows rounded up to a multiple of GEMM_ROWS. */
static struct gemm_class gemm_class_of(const struct gemm_product *p, int rounded)
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
    if (p->bias) c.ending |= GEMM_BIAS;
    if (p->sums) c.ending |= GEMM_SUMS;
    if (p->mask) c.ending |= p->relu == GEMM_RELU_BWD ? GEMM_MASK_READ : GEMM_MASK_WRITTEN;
    c.exact = p->exact;
    c.alignment_a = choice_alignment(p->a, p->stride_a, p->from);
    c.alignment_b = choice_alignment(p->b, p->stride_b, p->from);
    c.alignment_c = choice_alignment(p->c, p->stride_c, p->to);
    c.rounded = rounded;
    return c;
}

static struct gemm_choice *gemm_find(const struct gemm *g, const struct gemm_class *c)
{
    for (int32_t i = 0; i < g->choices_n; i++)
        if (memcmp(&g->choice_own[i].of, c, sizeof *c) == 0) return &g->choice_own[i];
    return NULL;
}

static int gemm_add_choice(struct gemm *g, const struct gemm_choice *choice, struct err *e)
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

static cublasStatus_t choice_prefer(const struct gemm *g,
                                    cublasLtMatmulPreferenceOpaque_t *preference,
                                    const struct gemm_class *c)
{
    uint64_t workspace_bytes = GEMM_WORKSPACE_BYTES;
    uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_NONE;
    if (!c->exact)
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
    cublasStatus_t status = g->lt.preference_init(preference, sizeof *preference);
    for (size_t i = 0; status == CUBLAS_STATUS_SUCCESS && i < sizeof rows / sizeof *rows; i++)
        status = g->lt.preference_set(preference, rows[i].name, rows[i].value, rows[i].bytes);
    return status;
}

/* Lists the candidates for p with the sizes of the class. Any status but success means that the
 * library has no algorithm for the epilogue of such a class. */
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
    TRY(gemm_call_init(g, &call, &nominal, e));
    TRY(gemm_fault(g, choice_prefer(g, &preference, c), p, e));
    cublasStatus_t status = g->lt.heuristic(g->handle_own, &call.product, &call.b, &call.a, &call.c,
                                            &call.c, &preference, GEMM_CANDIDATES, out, &found_n);
    *n = 0;
    if (gemm_has_own_class(p) && status != CUBLAS_STATUS_SUCCESS) return 0;
    TRY(gemm_fault(g, status, p, e));
    for (int i = 0; i < found_n; i++)
        if (out[i].state == CUBLAS_STATUS_SUCCESS) out[(*n)++] = out[i];
    if (*n == 0 && !gemm_has_own_class(p)) return gemm_reject(p, ERR_INTERNAL, "no algorithm", e);
    return 0;
}

int gemm_candidates(struct gemm *g, cublasLtMatmulHeuristicResult_t *out, int *n,
                    const struct gemm_product *p, struct err *e)
{
    struct gemm_class c = gemm_class_of(p, 0);
    return choice_candidates(g, out, n, &c, p, e);
}

/* ---- timing ---- */

/* A product whose algorithm is being chosen; `to`: where timed runs write. */
struct choice_trial {
    const struct gemm_call *call;
    const struct gemm_product *p;
    void *to;
};

static double choice_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* An idle GPU raises its clock after milliseconds of work; without this the first candidate would
 * look slow. The timing that follows reports failures. */
static void choice_warm(struct gemm *g, const struct choice_trial *t,
                        const cublasLtMatmulAlgo_t *algorithm)
{
    const double WARM_S = 0.05;
    double until = choice_seconds() + WARM_S;
    if (g->is_warm) return;
    g->is_warm = 1;
    do {
        for (int i = 0; i < CHOICE_WARM_RUNS; i++)
            if (gemm_run(g, t->call, t->p, algorithm, t->to) != CUBLAS_STATUS_SUCCESS) return;
        if (cudaStreamSynchronize(g->stream) != cudaSuccess) return;
    } while (choice_seconds() < until);
}

/* Times CHOICE_RUNS runs in milliseconds after one untimed run, each followed by the end of `ended`
 * unless that is NULL; negative if it does not fit or fails. */
static float choice_time(struct gemm *g, const struct choice_trial *t,
                         const cublasLtMatmulAlgo_t *algorithm, const struct gemm_product *ended)
{
    float ms = -1.0f;
    if (!gemm_fits(g, t->call, algorithm)) return -1.0f;
    choice_warm(g, t, algorithm);
    for (int i = 0; i <= CHOICE_RUNS; i++) {
        if (i == 1 && cudaEventRecord(g->before_own, g->stream) != cudaSuccess) return -1.0f;
        if (gemm_run(g, t->call, t->p, algorithm, t->to) != CUBLAS_STATUS_SUCCESS) return -1.0f;
        if (ended && ended->end(g->stream, ended) != 0) return -1.0f;
    }
    if (cudaEventRecord(g->after_own, g->stream) != cudaSuccess ||
        cudaEventSynchronize(g->after_own) != cudaSuccess ||
        cudaEventElapsedTime(&ms, g->before_own, g->after_own) != cudaSuccess)
        return -1.0f;
    return ms;
}

/* Returns the index of the fastest candidate, and its time. */
static int gemm_fastest(struct gemm *g, const struct choice_trial *t,
                        const cublasLtMatmulHeuristicResult_t *candidate, int n, float *least)
{
    float first = choice_time(g, t, &candidate[0].algo, NULL);
    int best = 0;
    *least = first;
    for (int i = 1; i < n; i++) {
        float ms = choice_time(g, t, &candidate[i].algo, NULL);
        if (ms < 0.0f || (*least >= 0.0f && ms >= *least)) continue;
        if (first >= 0.0f && ms >= CHOICE_CLEARLY * first) continue;
        *least = ms;
        best = i;
    }
    /* Time the favourite again: something may have slowed down its first timing. */
    if (best > 0 && first >= 0.0f) {
        float again = choice_time(g, t, &candidate[0].algo, NULL);
        if (again < 0.0f || *least < CHOICE_CLEARLY * again) return best;
        *least = again;
        return 0;
    }
    return best;
}

/* True if a product with column sums or a mask, whose algorithm takes `whole` milliseconds, is
 * better done in parts: the plain product and the end of p. As above, only if that is clearly
 * faster than two timings. */
static int choice_in_parts(struct gemm *g, bool *in_parts, const struct choice_trial *t,
                           const cublasLtMatmulAlgo_t *algorithm, float whole, struct err *e)
{
    const struct gemm_product plain = gemm_plain(t->p);
    const cublasLtMatmulAlgo_t *plain_algorithm;
    struct gemm_call call;
    struct choice_trial parts = {.call = &call, .p = &plain, .to = t->to};
    *in_parts = whole < 0.0f;
    if (*in_parts || !t->p->end) return 0;
    TRY(gemm_call_init(g, &call, &plain, e));
    TRY(gemm_choose(g, &plain_algorithm, &call, &plain, e));
    float ms = choice_time(g, &parts, plain_algorithm, t->p);
    if (ms < 0.0f || ms >= CHOICE_CLEARLY * whole) return 0;
    float again = choice_time(g, t, algorithm, NULL);
    *in_parts = again < 0.0f || ms < CHOICE_CLEARLY * again;
    return 0;
}

/* Chooses one of n candidates, the first if choices are closed; words of zeros if the product is
 * better done in parts. Timed runs of an accumulating product write to temporary memory, since c
 * must be added to once only; if there is no such memory, the first is chosen. */
static int choice_by_time(struct gemm *g, cublasLtMatmulAlgo_t *out,
                          const cublasLtMatmulHeuristicResult_t *candidate, int n,
                          const struct gemm_call *call, const struct gemm_product *p, struct err *e)
{
    int rc = 0;
    struct choice_trial t = {.call = call, .p = p, .to = p->c};
    size_t bytes = (size_t)(p->m * p->chunks_n * p->stride_c) * dtype_bytes(p->to);
    void *own = NULL;
    bool in_parts = false;
    float ms;
    *out = candidate[0].algo;
    if (g->is_closed || (n == 1 && !gemm_has_own_class(p))) return 0;
    if (p->accumulate) {
        if (cudaMalloc(&own, bytes) != cudaSuccess) {
            (void)cudaGetLastError();
            return 0;
        }
        t.to = own;
    }
    *out = candidate[gemm_fastest(g, &t, candidate, n, &ms)].algo;
    if (gemm_has_own_class(p)) TRY_OUT(rc, choice_in_parts(g, &in_parts, &t, out, ms, e));
    if (in_parts) memset(out, 0, sizeof *out);
out:
    (void)cudaFree(own);
    return rc;
}

/* Removes the candidates that do not fit a single chunk, since exact products use one algorithm for
 * any number of chunks. */
static int choice_keep_exact(struct gemm *g, cublasLtMatmulHeuristicResult_t *candidate, int n,
                             int *left_n, const struct gemm_product *p, struct err *e)
{
    struct gemm_call call;
    struct gemm_product single = *p;
    single.chunks_n = 1;
    TRY(gemm_call_init(g, &call, &single, e));
    *left_n = 0;
    for (int i = 0; i < n; i++)
        if (gemm_fits(g, &call, &candidate[i].algo)) candidate[(*left_n)++] = candidate[i];
    if (*left_n > 0) return 0;
    return gemm_reject(p, ERR_INTERNAL, "no algorithm takes one chunk as well as several", e);
}

static int choice_make(struct gemm *g, struct gemm_choice **out, const struct gemm_class *c,
                       const struct gemm_call *call, const struct gemm_product *p, struct err *e)
{
    cublasLtMatmulHeuristicResult_t candidate[GEMM_CANDIDATES];
    struct gemm_choice choice = {.of = *c};
    int n = 0;
    TRY(gemm_forbid_in_capture(g, p, "its algorithm is chosen by timing", e));
    TRY(choice_candidates(g, candidate, &n, c, p, e));
    if (p->exact) TRY(choice_keep_exact(g, candidate, n, &n, p, e));
    if (n > 0) TRY(choice_by_time(g, &choice.algorithm, candidate, n, call, p, e));
    TRY(gemm_add_choice(g, &choice, e));
    *out = &g->choice_own[g->choices_n - 1];
    return 0;
}

int gemm_choose(struct gemm *g, const cublasLtMatmulAlgo_t **out, const struct gemm_call *call,
                const struct gemm_product *p, struct err *e)
{
    static const cublasLtMatmulAlgo_t none;
    char why[160];
    for (int rounded = 1; rounded >= 0; rounded--) {
        struct gemm_class c = gemm_class_of(p, rounded);
        struct gemm_choice *choice = gemm_find(g, &c);
        if (!choice) TRY(choice_make(g, &choice, &c, call, p, e));
        bool is_none = memcmp(&choice->algorithm, &none, sizeof none) == 0;
        *out = is_none ? NULL : &choice->algorithm;
        if (is_none || gemm_fits(g, call, *out)) return 0;
        if (!p->exact) continue;
        snprintf(why, sizeof why,
                 "the algorithm of exact products refuses %" PRId64
                 " chunks; another would change the bits of a row with its batch",
                 p->chunks_n);
        return gemm_reject(p, ERR_INTERNAL, why, e);
    }
    *out = NULL;
    if (gemm_has_own_class(p)) return 0;
    return gemm_reject(p, ERR_INTERNAL, "the algorithm chosen for it does not fit", e);
}

/* ---- choices as text ---- */

static int text_print(char *line, size_t bytes, const struct gemm_choice *choice)
{
    const struct gemm_class *c = &choice->of;
    int n =
        snprintf(line, bytes, "%" PRId64 " %" PRId64 " %" PRId64 " %d %d %d %d %d %d %d %d %d %d",
                 c->m, c->n, c->k, c->transpose_a, c->transpose_b, c->from, c->to, c->ending,
                 c->exact, c->alignment_a, c->alignment_b, c->alignment_c, c->rounded);
    for (size_t i = 0; i < ALGORITHM_WORDS; i++)
        n += snprintf(line + n, bytes - (size_t)n, " %" PRIx64, choice->algorithm.data[i]);
    return n + snprintf(line + n, bytes - (size_t)n, "\n");
}

void gemm_close_choices(struct gemm *g)
{
    g->is_closed = true;
}

size_t gemm_choices(const struct gemm *g, char *text, size_t bytes)
{
    char line[TEXT_LINE_BYTES];
    size_t n = (size_t)snprintf(text, bytes, "%s\n", g->identity);
    for (int32_t i = 0; i < g->choices_n; i++) {
        size_t line_n = (size_t)text_print(line, sizeof line, &g->choice_own[i]);
        if (n + line_n < bytes) memcpy(text + n, line, line_n + 1);
        n += line_n;
    }
    return n;
}

static int text_scan(struct gemm_choice *choice, const char *line)
{
    struct gemm_class *c = &choice->of;
    int at = 0;
    memset(choice, 0, sizeof *choice);
    if (sscanf(line, "%" SCNd64 " %" SCNd64 " %" SCNd64 " %d %d %d %d %d %d %d %d %d %d%n", &c->m,
               &c->n, &c->k, &c->transpose_a, &c->transpose_b, &c->from, &c->to, &c->ending,
               &c->exact, &c->alignment_a, &c->alignment_b, &c->alignment_c, &c->rounded, &at) < 13)
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
                   "choices of products were made by \"%.*s\", this is %s; they are timed again",
                   (int)strcspn(text, "\n"), text, g->identity);
    for (const char *line = text + identity_n + 1; *line; line += strcspn(line, "\n")) {
        struct gemm_choice choice;
        line += *line == '\n';
        if (*line == '\0') break;
        if (!text_scan(&choice, line))
            return ERR(e, ERR_DATA, "choices of products: expected a choice, found \"%.60s\"",
                       line);
        if (!gemm_find(g, &choice.of)) TRY(gemm_add_choice(g, &choice, e));
    }
    return 0;
}
