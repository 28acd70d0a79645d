/* gemm_emulated.c - cuda/gemm.h as plain loops, in place of cuBLASLt.
 *
 * 1. A product is queued on the stream like a library's kernel, so that host code which does not
 *    wait for it reads old data here too. Sums are fp32 in rising k.
 * 2. The first product of a class is refused while work is recorded: cuda/gemm_choice.c measures
 *    then, which it cannot do there. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emulation_control.h"
#include "gemm.h"
#include "kernels.h"

/* Row counts are rounded up as in cuda/gemm_choice.c. */
enum { CLASS_ROWS = 256 };

struct class
{
    int64_t m, n, k;
    int64_t stored; /* how, and in which types */
};

struct gemm {
    cudaStream_t stream;
    struct class *class_own; /* that were met */
    size_t classes_n;
};

int gemm_open(struct gemm **out, void *stream, char *text, size_t bytes, struct err *e)
{
    *out = calloc(1, sizeof **out);
    if (!*out) return ERR(e, ERR_NOMEM, "no memory for products");
    (*out)->stream = stream;
    snprintf(text, bytes, "plain loops");
    return 0;
}

void gemm_close(struct gemm *g)
{
    if (g) free(g->class_own);
    free(g);
}

static float load(const void *data, int64_t at, enum dtype type)
{
    uint16_t half;
    uint32_t bits;
    float value;
    if (type == DTYPE_F32) return ((const float *)data)[at];
    half = ((const uint16_t *)data)[at];
    bits = (uint32_t)half << 16;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* To the nearest bf16, ties to even. */
static void store(void *data, int64_t at, enum dtype type, float value)
{
    uint32_t bits;
    if (type == DTYPE_F32) {
        ((float *)data)[at] = value;
        return;
    }
    memcpy(&bits, &value, sizeof bits);
    if (value == value) bits += 0x7fffu + (bits >> 16 & 1u);
    ((uint16_t *)data)[at] = (uint16_t)(bits >> 16);
}

/* The operand with its sums' index k last: packed (rows, k). */
static float *pack(const void *data, int64_t rows, int64_t k, int64_t stride, int k_first,
                   enum dtype type)
{
    float *out = malloc((size_t)(rows * k + 1) * sizeof *out);
    if (!out) abort();
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < k; j++)
            out[i * k + j] = load(data, k_first ? j * stride + i : i * stride + j, type);
    return out;
}

/* Rows of four sums each: every one still runs in rising k. */
static void row(const struct gemm_product *p, const float *a, const float *b, int64_t c_row)
{
    for (int64_t j = 0; j < p->n; j += 4) {
        float sum[4] = {0};
        int64_t columns = p->n - j < 4 ? p->n - j : 4;
        const float *from[4];
        for (int64_t i = 0; i < 4; i++) from[i] = b + (j + (i < columns ? i : 0)) * p->k;
        for (int64_t k = 0; k < p->k; k++)
            for (int i = 0; i < 4; i++) sum[i] += a[k] * from[i][k];
        for (int64_t i = 0; i < columns; i++) {
            int64_t at = c_row * p->stride_c + j + i;
            if (p->accumulate) sum[i] += load(p->c, at, p->to);
            if (p->bias) sum[i] += load(p->bias, j + i, p->to);
            if (p->relu && sum[i] < 0.0f) sum[i] = 0.0f;
            store(p->c, at, p->to, sum[i]);
        }
    }
}

static void multiply(void *argument)
{
    const struct gemm_product *p = argument;
    int64_t rows = p->m * p->chunks_n;
    float *a = pack(p->a, rows, p->k, p->stride_a, p->transpose_a, p->from);
    float *b = pack(p->b, p->n, p->k, p->stride_b, !p->transpose_b, p->from);
    for (int64_t i = 0; i < rows; i++) row(p, a + i * p->k, b, i);
    free(a);
    free(b);
}

static int64_t rounded(int64_t rows)
{
    return (rows + CLASS_ROWS - 1) / CLASS_ROWS * CLASS_ROWS;
}

/* Meets the product's class. */
static int meet(struct gemm *g, const struct gemm_product *p, struct err *e)
{
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    const struct class c = {.m = p->exact || p->transpose_a ? p->m : rounded(p->m),
                            .n = p->n,
                            .k = p->transpose_a ? rounded(p->k) : p->k,
                            .stored = p->transpose_a | p->transpose_b << 1 | p->exact << 2 |
                                      (p->bias != NULL) << 3 | (int)p->from << 4 | (int)p->to << 6};
    for (size_t i = 0; i < g->classes_n; i++)
        if (memcmp(&g->class_own[i], &c, sizeof c) == 0) return 0;
    if (cudaStreamIsCapturing(g->stream, &status) != cudaSuccess ||
        status != cudaStreamCaptureStatusNone)
        return ERR(e, ERR_INTERNAL,
                   "a product of %lld x %lld x %lld is met for the first time while work is "
                   "recorded",
                   (long long)p->m, (long long)p->n, (long long)p->k);
    struct class *list = realloc(g->class_own, (g->classes_n + 1) * sizeof *list);
    if (!list) return ERR(e, ERR_NOMEM, "no memory for classes of products");
    list[g->classes_n++] = c;
    g->class_own = list;
    return 0;
}

/* The kernel that cuda/gemm.c takes too where the library does not offer sums. */
static int add_sums(struct gemm *g, const struct gemm_product *p)
{
    struct tensor a = tensor_make((void *)p->a, p->k, p->m, p->from);
    struct tensor out = tensor_make(p->sums, 1, p->m, DTYPE_F32);
    a.stride = p->stride_a;
    return cuda_column_sums(g->stream, &out, &a, p->accumulate, p->scratch);
}

int gemm_multiply(struct gemm *g, const struct gemm_product *p, struct err *e)
{
    TRY(meet(g, p, e));
    cudaError_t status = emulation_enqueue(g->stream, multiply, p, sizeof *p);
    if (status == cudaSuccess && p->sums) status = (cudaError_t)add_sums(g, p);
    if (status == cudaSuccess) return 0;
    return ERR(e, ERR_INTERNAL, "a product of %lld x %lld x %lld: %s", (long long)p->m,
               (long long)p->n, (long long)p->k, cudaGetErrorString(status));
}

size_t gemm_choices(const struct gemm *g, char *text, size_t bytes)
{
    (void)g;
    return (size_t)snprintf(text, bytes, "%s", "plain loops\n");
}

int gemm_adopt(struct gemm *g, const char *text, struct err *e)
{
    (void)g;
    if (strcmp(text, "plain loops\n") == 0) return 0;
    return ERR(e, ERR_DATA, "choices of products made by another library than plain loops");
}
