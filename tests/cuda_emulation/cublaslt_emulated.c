/* cublaslt_emulated.c - cuBLASLt as plain loops, for cuda/gemm*.c on the emulated GPU.
 *
 * 1. A product is queued on the stream like a library's kernel, so that host code which does not
 *    wait for it reads old data here too. Sums are fp32.
 * 2. Calls that the library's documentation forbids fail, with a sentence on stderr.
 * 3. An algorithm is a number from 1. The first sums in rising k, the others in falling k, so that
 *    their bits differ. An algorithm remembers the promised alignment and rejects less.
 * 4. Times are simulated (work_spent_ms), so that choices by timing are reproducible.
 * 5. EMULATION_PRODUCTS, read when the library is opened, is a list of words that change this:
 *      three         offers three algorithms for each product, the last clearly the fastest
 *      turns         with three: every second backend of a process sees equal times, so that, as on
 *                    a GPU, two backends may choose differently
 *      picky         the first algorithm rejects odd numbers of columns; for those it is the second
 *      even          with three: all are equally fast
 *      alone         the last of three algorithms rejects a batch of one
 *      few           every algorithm rejects a batch of more than eight
 *      cold          the first products take three times as long
 *      relu-absent   no algorithm has a relu epilogue
 *      sums-absent   no algorithm has an epilogue that sums columns
 *      mask-absent   no algorithm has an epilogue that writes or reads a mask
 *      sums-refused  an epilogue that sums columns is CUBLAS_STATUS_INVALID_VALUE
 *      sums-slow     a product with an epilogue that sums columns takes three times as long
 *      mask-slow     so does one with a mask
 *      mask-order    the bits of a byte of a mask are in the other order
 *      lazy          the first product with an epilogue takes device memory for good, as kernels
 *                    that are loaded do
 * 6. Of a sample of blocks (emulation_control.h) no products run, but the small one that verifies
 *    the order of a mask's bits: host code depends on it. */
#include <cublasLt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emulation_control.h"
#include "gemm_internal.h"

enum { ALGORITHMS_N = 3, COLD_N = 8, FEW_N = 8, SAMPLE_MULTIPLICATIONS = 1 << 22 };

struct cublasLtContext {
    char words[256];
    int cold_n; /* products that will still be slow */
    int alike;  /* all algorithms take the same time */
};

static int has_word(cublasLtHandle_t handle, const char *word)
{
    return strstr(handle->words, word) != NULL;
}

size_t cublasLtGetVersion(void)
{
    return 0;
}

const char *cublasLtGetStatusString(cublasStatus_t status)
{
    return status == CUBLAS_STATUS_SUCCESS         ? "CUBLAS_STATUS_SUCCESS"
           : status == CUBLAS_STATUS_ALLOC_FAILED  ? "CUBLAS_STATUS_ALLOC_FAILED"
           : status == CUBLAS_STATUS_INVALID_VALUE ? "CUBLAS_STATUS_INVALID_VALUE"
           : status == CUBLAS_STATUS_NOT_SUPPORTED ? "CUBLAS_STATUS_NOT_SUPPORTED"
                                                   : "CUBLAS_STATUS_EXECUTION_FAILED";
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle)
{
    static int opened_n;
    const char *words = getenv("EMULATION_PRODUCTS");
    *handle = calloc(1, sizeof **handle);
    if (!*handle) return CUBLAS_STATUS_ALLOC_FAILED;
    snprintf((*handle)->words, sizeof(*handle)->words, "%s", words ? words : "");
    (*handle)->cold_n = has_word(*handle, "cold") ? COLD_N : 0;
    (*handle)->alike =
        has_word(*handle, "even") || (has_word(*handle, "turns") && opened_n++ % 2 == 1);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle)
{
    free(handle);
    return CUBLAS_STATUS_SUCCESS;
}

/* ---- descriptions ---- */

/* The fields of an opaque struct, by the number of their attribute. */
struct field {
    size_t at, bytes;
};
#define FIELD(type, name)                                                                          \
    {                                                                                              \
        offsetof(type, name), sizeof((type){0}.name)                                               \
    }

static cublasStatus_t assign(void *to, const struct field *fields, size_t n, size_t attribute,
                             const void *value, size_t bytes)
{
    if (attribute >= n || bytes == 0 || bytes != fields[attribute].bytes)
        return CUBLAS_STATUS_INVALID_VALUE;
    memcpy((char *)to + fields[attribute].at, value, bytes);
    return CUBLAS_STATUS_SUCCESS;
}
#define ASSIGN(to, fields)                                                                         \
    assign(to, fields, sizeof(fields) / sizeof *(fields), (size_t)name, value, bytes)

cublasStatus_t cublasLtMatmulDescInit_internal(cublasLtMatmulDesc_t d, size_t bytes,
                                               cublasComputeType_t compute, cudaDataType scale)
{
    if (bytes != sizeof *d) return CUBLAS_STATUS_INVALID_VALUE;
    memset(d, 0, sizeof *d);
    d->compute = compute;
    d->scale = scale;
    d->epilogue = CUBLASLT_EPILOGUE_DEFAULT;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t d,
                                              cublasLtMatmulDescAttributes_t name,
                                              const void *value, size_t bytes)
{
    static const struct field fields[] = {
        [CUBLASLT_MATMUL_DESC_TRANSA] = FIELD(cublasLtMatmulDescOpaque_t, transpose_a),
        [CUBLASLT_MATMUL_DESC_TRANSB] = FIELD(cublasLtMatmulDescOpaque_t, transpose_b),
        [CUBLASLT_MATMUL_DESC_EPILOGUE] = FIELD(cublasLtMatmulDescOpaque_t, epilogue),
        [CUBLASLT_MATMUL_DESC_BIAS_POINTER] = FIELD(cublasLtMatmulDescOpaque_t, vector),
        [CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER] = FIELD(cublasLtMatmulDescOpaque_t, mask),
        [CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD] = FIELD(cublasLtMatmulDescOpaque_t, mask_ld)};
    return ASSIGN(d, fields);
}

cublasStatus_t cublasLtMatrixLayoutInit_internal(cublasLtMatrixLayout_t layout, size_t bytes,
                                                 cudaDataType type, uint64_t rows, uint64_t cols,
                                                 int64_t ld)
{
    const cublasLtMatrixLayoutOpaque_t made = {
        .type = type, .rows = rows, .cols = cols, .ld = ld, .batch_n = 1};
    if (bytes != sizeof *layout) return CUBLAS_STATUS_INVALID_VALUE;
    *layout = made;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t name,
                                                const void *value, size_t bytes)
{
    static const struct field fields[] = {[CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT] =
                                              FIELD(cublasLtMatrixLayoutOpaque_t, batch_n),
                                          [CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET] =
                                              FIELD(cublasLtMatrixLayoutOpaque_t, batch_step)};
    return ASSIGN(layout, fields);
}

cublasStatus_t cublasLtMatmulPreferenceInit_internal(cublasLtMatmulPreference_t preference,
                                                     size_t bytes)
{
    if (bytes != sizeof *preference) return CUBLAS_STATUS_INVALID_VALUE;
    memset(preference, 0, sizeof *preference);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t name,
                                                    const void *value, size_t bytes)
{
    typedef cublasLtMatmulPreferenceOpaque_t opaque;
    static const struct field fields[] = {
        [CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES] = FIELD(opaque, workspace_bytes),
        [CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK] = FIELD(opaque, reductions),
        [CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES] = FIELD(opaque, alignment[0]),
        [CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES] = FIELD(opaque, alignment[1]),
        [CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES] = FIELD(opaque, alignment[2]),
        [CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES] = FIELD(opaque, alignment[3])};
    return ASSIGN(preference, fields);
}

/* ---- what the library's documentation forbids: a sentence, or NULL ---- */

static const char *fault_of_shapes(const cublasLtMatmulDescOpaque_t *d,
                                   const cublasLtMatrixLayoutOpaque_t *a,
                                   const cublasLtMatrixLayoutOpaque_t *b,
                                   const cublasLtMatrixLayoutOpaque_t *to)
{
    uint64_t m = d->transpose_a ? a->cols : a->rows, k = d->transpose_a ? a->rows : a->cols;
    uint64_t n = d->transpose_b ? b->rows : b->cols, other = d->transpose_b ? b->cols : b->rows;
    if (m != to->rows || n != to->cols || k != other) return "shapes do not fit";
    if (a->ld < (int64_t)a->rows || b->ld < (int64_t)b->rows || to->ld < (int64_t)to->rows)
        return "a leading dimension below the rows";
    if (a->batch_n != to->batch_n || b->batch_n != to->batch_n) return "batches of unlike counts";
    if (a->type != b->type || (a->type == CUDA_R_32F && to->type != CUDA_R_32F))
        return "types that are not multiplied";
    return NULL;
}

enum { MASKED = 128, REVERSED = 8 }; /* bits of an epilogue */

static const char *fault_of(const cublasLtMatmulDescOpaque_t *d,
                            const cublasLtMatrixLayoutOpaque_t *a,
                            const cublasLtMatrixLayoutOpaque_t *b,
                            const cublasLtMatrixLayoutOpaque_t *c,
                            const cublasLtMatrixLayoutOpaque_t *to)
{
    const char *fault = fault_of_shapes(d, a, b, to);
    if (fault) return fault;
    if (memcmp(c, to, sizeof *c) != 0) return "C and D are laid out differently";
    if ((d->epilogue & (CUBLASLT_EPILOGUE_BIAS | CUBLASLT_EPILOGUE_BGRADB)) && !d->vector)
        return "an epilogue without its vector";
    if ((d->epilogue & MASKED) && !d->mask) return "an epilogue without its mask";
    if ((d->epilogue & MASKED) && (d->mask_ld % 128 != 0 || d->mask_ld < (int64_t)to->rows))
        return "rows of a mask that are not multiples of 128 bits, or shorter than a column of D";
    if ((d->epilogue & MASKED) && to->batch_n > 1) return "a mask of a batch";
    return NULL;
}

/* Alignments in bytes of A, B, C, D and the bias, one byte each. The library's default is 256; 128
 * has the same effect. */
enum { PROMISE_WORD = 2, PROMISES_N = 5, PROMISE_MOST = 128, VECTOR_MOST = 16 };

static uint32_t alignment_of(const void *p, size_t most)
{
    while ((uintptr_t)p % most != 0) most /= 2;
    return (uint32_t)most;
}

/* The alignments that an algorithm may rely on: those of the preference, and that of the
 * descriptor's bias. */
static uint64_t promised(const cublasLtMatmulPreferenceOpaque_t *preference,
                         const cublasLtMatmulDescOpaque_t *d)
{
    uint64_t out = (uint64_t)alignment_of(d->vector, VECTOR_MOST) << 8 * (PROMISES_N - 1);
    for (int i = 0; i < PROMISES_N - 1; i++) {
        uint32_t bytes = preference->alignment[i];
        out |= (uint64_t)(bytes == 0 || bytes > PROMISE_MOST ? PROMISE_MOST : bytes) << 8 * i;
    }
    return out;
}

static const char *fault_of_places(const cublasLtMatmulAlgo_t *algorithm,
                                   const cublasLtMatmulDescOpaque_t *d, const void *a,
                                   const void *b, const void *c, const void *to)
{
    static const char *const faults[PROMISES_N] = {
        "A is less aligned than was promised", "B is less aligned than was promised",
        "C is less aligned than was promised", "D is less aligned than was promised",
        "the vector is less aligned than the one asked about"};
    const void *const places[PROMISES_N] = {a, b, c, to, d->vector};
    for (int i = 0; i < PROMISES_N; i++)
        if ((uintptr_t)places[i] % (algorithm->data[PROMISE_WORD] >> 8 * i & 0xff) != 0)
            return faults[i];
    return NULL;
}

/* ---- algorithms ---- */

static cublasStatus_t refused(const char *fault)
{
    if (!fault) return CUBLAS_STATUS_SUCCESS;
    fprintf(stderr, "emulated cuBLASLt: %s\n", fault);
    return CUBLAS_STATUS_INVALID_VALUE;
}

static int offered(cublasLtHandle_t handle, const cublasLtMatmulDescOpaque_t *d)
{
    return !((d->epilogue & CUBLASLT_EPILOGUE_RELU) && has_word(handle, "relu-absent")) &&
           !((d->epilogue & CUBLASLT_EPILOGUE_BGRADB) && has_word(handle, "sums-absent")) &&
           !((d->epilogue & MASKED) && has_word(handle, "mask-absent"));
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t d,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t to,
                                              cublasLtMatmulPreference_t preference, int wanted_n,
                                              cublasLtMatmulHeuristicResult_t *results,
                                              int *found_n)
{
    int n = has_word(handle, "three") ? ALGORITHMS_N : 1;
    cublasStatus_t status = refused(fault_of(d, a, b, c, to));
    *found_n = 0;
    if (status != CUBLAS_STATUS_SUCCESS) return status;
    if ((d->epilogue & CUBLASLT_EPILOGUE_BGRADB) && has_word(handle, "sums-refused"))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (!offered(handle, d)) return CUBLAS_STATUS_NOT_SUPPORTED;
    for (; *found_n < n && *found_n < wanted_n; ++*found_n) {
        cublasLtMatmulHeuristicResult_t *r = &results[*found_n];
        memset(r, 0, sizeof *r);
        r->algo.data[0] = (uint64_t)*found_n + 1;
        if (has_word(handle, "picky")) r->algo.data[0] += to->cols % 2;
        r->algo.data[PROMISE_WORD] = promised(preference, d);
    }
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t handle, cublasLtMatmulDesc_t d,
                                       cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                       cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t to,
                                       const cublasLtMatmulAlgo_t *algorithm,
                                       cublasLtMatmulHeuristicResult_t *result)
{
    memset(result, 0, sizeof *result);
    result->algo = *algorithm;
    if (algorithm->data[0] < 1 || algorithm->data[0] > ALGORITHMS_N || !offered(handle, d) ||
        (has_word(handle, "picky") && algorithm->data[0] == 1 && to->cols % 2) ||
        (has_word(handle, "alone") && algorithm->data[0] == ALGORITHMS_N && to->batch_n == 1) ||
        (has_word(handle, "few") && to->batch_n > FEW_N))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    return refused(fault_of(d, a, b, c, to));
}

/* ---- products ---- */

struct product {
    cublasLtMatmulDescOpaque_t how;
    cublasLtMatrixLayoutOpaque_t layout_a, layout_b, layout_to;
    const void *a, *b, *c;
    void *to;
    float alpha, beta;
    int falling;  /* sums run in falling k */
    int reversed; /* the bits of a byte of the mask */
    double spent_ms;
};

static size_t type_bytes(cudaDataType type)
{
    return type == CUDA_R_16BF ? 2 : 4;
}

static float load_element(const void *data, int64_t at, cudaDataType type)
{
    float value;
    if (type == CUDA_R_32F) return ((const float *)data)[at];
    uint32_t bits = (uint32_t)((const uint16_t *)data)[at] << 16;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Rounds to the nearest bf16, ties to even. */
static void store(void *data, int64_t at, cudaDataType type, float value)
{
    uint32_t bits;
    if (type == CUDA_R_32F) {
        ((float *)data)[at] = value;
        return;
    }
    memcpy(&bits, &value, sizeof bits);
    if (value == value) bits += 0x7fffu + (bits >> 16 & 1u);
    ((uint16_t *)data)[at] = (uint16_t)(bits >> 16);
}

/* Packs an operand as (lines, k); lines are its columns or rows. */
static float *pack(const void *data, const cublasLtMatrixLayoutOpaque_t *l, int lines_are_rows,
                   int falling)
{
    int64_t lines = (int64_t)(lines_are_rows ? l->rows : l->cols);
    int64_t k_n = (int64_t)(lines_are_rows ? l->cols : l->rows);
    float *out = malloc((size_t)(lines * k_n + 1) * sizeof *out);
    if (!out) abort();
    for (int64_t i = 0; i < lines; i++)
        for (int64_t k = 0; k < k_n; k++)
            out[i * k_n + (falling ? k_n - 1 - k : k)] =
                load_element(data, lines_are_rows ? k * l->ld + i : i * l->ld + k, l->type);
    return out;
}

static float finished(const struct product *p, const void *c, int64_t i, int64_t j, float sum)
{
    const cublasLtMatmulDescOpaque_t *d = &p->how;
    int64_t ld = p->layout_to.ld;
    sum *= p->alpha;
    if (p->beta != 0.0f) sum += p->beta * load_element(c, j * ld + i, p->layout_to.type);
    if (d->epilogue & CUBLASLT_EPILOGUE_BIAS) sum += load_element(d->vector, i, p->layout_to.type);
    int64_t bit = j * d->mask_ld + i;
    if (p->reversed) bit ^= 7;
    uint8_t *byte = (uint8_t *)d->mask + bit / 8, one = (uint8_t)(1 << bit % 8);
    if (d->epilogue & REVERSED) return *byte & one ? sum : 0.0f;
    if (d->epilogue & MASKED) *byte = (uint8_t)(sum > 0.0f ? *byte | one : *byte & ~one);
    return (d->epilogue & CUBLASLT_EPILOGUE_RELU) && sum < 0.0f ? 0.0f : sum;
}

/* Computes a column of D, four sums at a time, each in the order of k. */
static void column(const struct product *p, const float *a, const float *b, const void *c, void *to,
                   int64_t j, int64_t k_n)
{
    int64_t rows = (int64_t)p->layout_to.rows;
    for (int64_t i = 0; i < rows; i += 4) {
        float sum[4] = {0};
        int64_t n = rows - i < 4 ? rows - i : 4;
        const float *from[4];
        for (int64_t r = 0; r < 4; r++) from[r] = a + (i + (r < n ? r : 0)) * k_n;
        for (int64_t k = 0; k < k_n; k++)
            for (int r = 0; r < 4; r++) sum[r] += b[k] * from[r][k];
        for (int64_t r = 0; r < n; r++)
            store(to, j * p->layout_to.ld + i + r, p->layout_to.type,
                  finished(p, c, i + r, j, sum[r]));
    }
}

/* The sums over k of b, packed (columns of D, k), in the order of k. */
static void sum_columns(const struct product *p, const float *b, int64_t k_n)
{
    for (int64_t j = 0; j < (int64_t)p->layout_to.cols; j++) {
        float sum = 0.0f;
        for (int64_t k = 0; k < k_n; k++) sum += b[j * k_n + k];
        store(p->how.vector, j, p->layout_to.type, sum);
    }
}

static const void *batch_at(const void *data, const cublasLtMatrixLayoutOpaque_t *l, int32_t number)
{
    return (const char *)data + (size_t)(number * l->batch_step) * type_bytes(l->type);
}

static void multiply(void *argument)
{
    const struct product *p = argument;
    int64_t k_n = (int64_t)(p->how.transpose_a ? p->layout_a.rows : p->layout_a.cols);
    for (int32_t n = 0; n < p->layout_to.batch_n; n++) {
        const void *c = batch_at(p->c, &p->layout_to, n);
        void *to = (char *)p->to + ((const char *)c - (const char *)p->c);
        float *a =
            pack(batch_at(p->a, &p->layout_a, n), &p->layout_a, !p->how.transpose_a, p->falling);
        float *b =
            pack(batch_at(p->b, &p->layout_b, n), &p->layout_b, p->how.transpose_b, p->falling);
        for (int64_t j = 0; j < (int64_t)p->layout_to.cols; j++)
            column(p, a, b + j * k_n, c, to, j, k_n);
        if (p->how.epilogue & CUBLASLT_EPILOGUE_BGRADB) sum_columns(p, b, k_n);
        free(a);
        free(b);
    }
    emulation_spend(p->spent_ms);
}

/* With `lazy`, a kernel that is loaded at its first use. */
static void load_kernel(cublasLtHandle_t handle, uint32_t epilogue)
{
    enum { KERNEL_BYTES = 8 << 20, EPILOGUES = 1024 };
    static char loaded[EPILOGUES];
    void *code = NULL;
    if (loaded[epilogue % EPILOGUES] || !has_word(handle, "lazy")) return;
    if (cudaMalloc(&code, KERNEL_BYTES) == cudaSuccess) loaded[epilogue % EPILOGUES] = 1;
}

/* Time of the product, in addition to that of any piece of work. */
static double work_spent_ms(cublasLtHandle_t handle, const cublasLtMatmulDescOpaque_t *d,
                            const cublasLtMatmulAlgo_t *algorithm)
{
    static const double ms[ALGORITHMS_N] = {0.04, 0.039, 0.03};
    int is_slow = ((d->epilogue & CUBLASLT_EPILOGUE_BGRADB) && has_word(handle, "sums-slow")) ||
                  ((d->epilogue & MASKED) && has_word(handle, "mask-slow")) || handle->cold_n > 0;
    if (handle->cold_n > 0) handle->cold_n--;
    return ms[handle->alike ? 0 : algorithm->data[0] - 1] * (is_slow ? 3.0 : 1.0);
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t d, const void *alpha,
                              const void *a, cublasLtMatrixLayout_t layout_a, const void *b,
                              cublasLtMatrixLayout_t layout_b, const void *beta, const void *c,
                              cublasLtMatrixLayout_t layout_c, void *to,
                              cublasLtMatrixLayout_t layout_to,
                              const cublasLtMatmulAlgo_t *algorithm, void *workspace,
                              size_t workspace_bytes, cudaStream_t stream)
{
    cublasLtMatmulHeuristicResult_t checked;
    cublasStatus_t status = cublasLtMatmulAlgoCheck(handle, d, layout_a, layout_b, layout_c,
                                                    layout_to, algorithm, &checked);
    (void)workspace;
    (void)workspace_bytes;
    if (status == CUBLAS_STATUS_SUCCESS)
        status = refused(fault_of_places(algorithm, d, a, b, c, to));
    if (status != CUBLAS_STATUS_SUCCESS) return status;
    load_kernel(handle, d->epilogue);
    struct product p = {.how = *d,
                        .layout_a = *layout_a,
                        .layout_b = *layout_b,
                        .layout_to = *layout_to,
                        .a = a,
                        .b = b,
                        .c = c,
                        .to = to,
                        .alpha = *(const float *)alpha,
                        .beta = *(const float *)beta,
                        .falling = algorithm->data[0] > 1,
                        .reversed = has_word(handle, "mask-order"),
                        .spent_ms = work_spent_ms(handle, d, algorithm)};
    uint64_t k_n = d->transpose_a ? layout_a->rows : layout_a->cols;
    if (getenv("EMULATION_BLOCKS") &&
        layout_to->rows * layout_to->cols * k_n <= SAMPLE_MULTIPLICATIONS)
        multiply(&p);
    return emulation_enqueue(stream, multiply, &p, sizeof p) == cudaSuccess
               ? CUBLAS_STATUS_SUCCESS
               : CUBLAS_STATUS_EXECUTION_FAILED;
}

int cublaslt_open(struct cublaslt *out, struct err *e)
{
    (void)e;
#define FUNCTION(field, name) .field = name,
    *out = (struct cublaslt){CUBLASLT_FUNCTIONS(FUNCTION)};
    return 0;
}
