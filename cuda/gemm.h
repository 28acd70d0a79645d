/* gemm.h - the matrix products of the CUDA backend, by cuBLASLt. On the emulated GPU plain loops
 * replace the library (tests/cuda_emulation/cublaslt_emulated.c).
 *
 * 1. Sums are in fp32 for fp32 and for bf16 operands, never in TF32.
 * 2. The algorithm is chosen once for each class of products, among those whose sums have a fixed
 *    order. Two runs with the same choices give the same bits; choices can be saved as text and
 *    restored in another process.
 * 3. Matrices are row-major with a stride, like struct tensor. */
#ifndef CUDA_GEMM_H
#define CUDA_GEMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend/backend.h"
#include "base/err.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gemm;

/* The end of a product: c, max(c, 0), or c / (1 - dropout) where the mask's bit is 1 and 0
 * elsewhere. */
enum gemm_relu { GEMM_LINEAR, GEMM_RELU, GEMM_RELU_BWD };

/* c (m,n) = a (m,k) b (k,n) + bias (n), added to c if `accumulate`. chunks_n such products share b;
 * their a and c are consecutive blocks of m rows. */
struct gemm_product {
    const void *a, *b;
    void *c;
    const void *bias; /* of the dtype of c; NULL: none */
    void *sums; /* (m) of the dtype of c: column sums of a as stored (k,m); overwritten also if
                   `accumulate`; NULL: none */
    enum gemm_relu relu;
    float dropout; /* probability, of GEMM_RELU_BWD */
    void *mask;    /* of struct relu_args: GEMM_RELU writes it (NULL: no), GEMM_RELU_BWD reads it */
    int64_t mask_stride; /* words from row to row */
    int64_t m, n, k, chunks_n;
    int64_t stride_a, stride_b, stride_c;
    int transpose_a; /* a is stored (k,m) */
    int transpose_b; /* b is stored (n,k) */
    int accumulate;
    int exact;           /* the same algorithm for any chunks_n, and no sum in parts */
    enum dtype from, to; /* of a and b; of c */
    /* Queues on a stream what the caller does after a product that does not end itself, and returns
     * 0 or a cudaError_t; gemm_multiply only times it. It overwrites c, mask and sums. */
    int (*end)(void *stream, const struct gemm_product *p);
    void *end_workspace;
};

/* gemm_open - products on a stream of the current device. text: library and version, for messages
 * and records. Errors: ERR_UNAVAILABLE, ERR_NOMEM. */
int gemm_open(struct gemm **out, void *stream, char *text, size_t bytes, struct err *e);
void gemm_close(struct gemm *g); /* takes NULL */
/* gemm_multiply - queues the product. *ended: relu, mask and sums are done as well; otherwise the
 * caller computes them, as `end` does. Errors: ERR_INTERNAL if the library rejects the product,
 * ERR_NOMEM. */
int gemm_multiply(struct gemm *g, const struct gemm_product *p, bool *ended, struct err *e);

/* gemm_choices - writes a line that names library and GPU, then a line for each choice; returns the
 * length of the whole text. gemm_adopt reads such a text and uses its choices. ERR_DATA: it is of
 * another library or GPU; nothing is adopted. gemm_close_choices - from now on the first candidate
 * is chosen, untimed. */
size_t gemm_choices(const struct gemm *g, char *text, size_t bytes);
int gemm_adopt(struct gemm *g, const char *text, struct err *e);
void gemm_close_choices(struct gemm *g);

#ifdef __cplusplus
}
#endif
#endif
