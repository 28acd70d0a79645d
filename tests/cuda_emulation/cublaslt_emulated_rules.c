/* cublaslt_emulated_rules.c - what cuBLASLt's documents forbid, for the emulated one. */
#include "cublaslt_emulated.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { MASK_UNIT = 128, MASK_ALIGNMENT = 16 };

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

const char *cublaslt_fault_of(const cublasLtMatmulDescOpaque_t *d,
                              const cublasLtMatrixLayoutOpaque_t *a,
                              const cublasLtMatrixLayoutOpaque_t *b,
                              const cublasLtMatrixLayoutOpaque_t *c,
                              const cublasLtMatrixLayoutOpaque_t *to)
{
    int vector = d->epilogue == CUBLASLT_EPILOGUE_BGRADB || (d->epilogue & CUBLASLT_EPILOGUE_BIAS);
    const char *fault = fault_of_shapes(d, a, b, to);
    if (fault) return fault;
    if (memcmp(c, to, sizeof *c) != 0) return "C and D are laid out differently";
    if (vector && !d->bias) return "an epilogue without its vector";
    if (d->epilogue == CUBLASLT_EPILOGUE_BGRADB && to->batch_n > 1) return "sums of a batch";
    if (d->epilogue != CUBLASLT_EPILOGUE_DRELU) return NULL;
    if (!d->aux || (uintptr_t)d->aux % MASK_ALIGNMENT != 0) return "a mask that is not aligned";
    if (d->aux_ld % MASK_UNIT != 0 || d->aux_ld < (int64_t)to->rows)
        return "a mask's leading dimension is no multiple of 128 or below the rows";
    return to->batch_n > 1 ? "a mask of a batch" : NULL;
}

/* In bytes, a byte each: A, B, C, D and the vector. 256 is the library's default, 128 as good. */
enum { PROMISES_N = 5, PROMISE_MOST = 128, VECTOR_MOST = 16 };

static uint32_t alignment_of(const void *p, size_t most)
{
    while ((uintptr_t)p % most != 0) most /= 2;
    return (uint32_t)most;
}

uint64_t cublaslt_promised(const cublasLtMatmulPreferenceOpaque_t *preference,
                           const cublasLtMatmulDescOpaque_t *d)
{
    uint64_t out = (uint64_t)alignment_of(d->bias, VECTOR_MOST) << 8 * (PROMISES_N - 1);
    for (int i = 0; i < PROMISES_N - 1; i++) {
        uint32_t bytes = preference->alignment[i];
        out |= (uint64_t)(bytes == 0 || bytes > PROMISE_MOST ? PROMISE_MOST : bytes) << 8 * i;
    }
    return out;
}

const char *cublaslt_fault_of_places(const cublasLtMatmulAlgo_t *algorithm,
                                     const cublasLtMatmulDescOpaque_t *d, const void *a,
                                     const void *b, const void *c, const void *to)
{
    static const char *const faults[PROMISES_N] = {
        "A is less aligned than was promised", "B is less aligned than was promised",
        "C is less aligned than was promised", "D is less aligned than was promised",
        "the vector is less aligned than the one asked about"};
    const void *const places[PROMISES_N] = {a, b, c, to, d->bias};
    for (int i = 0; i < PROMISES_N; i++)
        if ((uintptr_t)places[i] % (algorithm->data[PROMISE_WORD] >> 8 * i & 0xff) != 0)
            return faults[i];
    return NULL;
}
