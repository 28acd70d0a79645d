/* gemm.h - matrix products of the CUDA backend, all behind one call, by cuBLASLt. On the emulated
 * GPU plain loops play that library (tests/cuda_emulation/cublaslt_emulated.c).
 *
 * 1. Sums are fp32 for fp32 and for bf16 operands; nothing is rounded to TF32.
 * 2. The algorithm of a product is chosen once for each class of shapes and then kept; only
 *    algorithms whose sums have a fixed order are considered, so two runs that chose alike give the
 *    same bits. What was chosen can be written down and given to another process.
 * 3. Matrices are row-major with a stride, as struct tensor has them. */
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

/* How a product ends: as it is, max(c, 0), or 0 where the mask has no bit. */
enum gemm_relu { GEMM_LINEAR, GEMM_RELU, GEMM_RELU_BWD };

/* c (m,n) = a (m,k) b (k,n) + bias (n), and + c when `accumulate`; chunks_n such products whose a
 * and c follow one another, m rows each, and share b. */
struct gemm_product {
    const void *a, *b;
    void *c;
    const void *bias; /* of the type of c; NULL: none */
    void *sums; /* (m) of the type of c: sums of the columns of a as stored (k,m), written even
                   when c is accumulated; NULL: none */
    enum gemm_relu relu;
    void *mask;          /* of struct relu_args: what GEMM_RELU writes (NULL: nothing), and what
                            GEMM_RELU_BWD          reads */
    int64_t mask_stride; /* words from row to row */
    int64_t m, n, k, chunks_n;
    int64_t stride_a, stride_b, stride_c;
    int transpose_a; /* a is stored (k,m) */
    int transpose_b; /* b is stored (n,k) */
    int accumulate;
    int exact;           /* the same algorithm for any chunks_n, and no sum in parts */
    enum dtype from, to; /* of a and b; of c */
};

/* gemm_open - products on a stream of the current device. text: library and version, for people and
 * records. Errors: ERR_UNAVAILABLE, ERR_NOMEM. */
int gemm_open(struct gemm **out, void *stream, char *text, size_t bytes, struct err *e);
void gemm_close(struct gemm *g); /* takes NULL */
/* gemm_multiply - queues the product. *ended: the library's kernel also does what follows the
 * product, (relu, mask, sums); else that is left to the caller. Errors: ERR_INTERNAL when
 * the library refuses the product, ERR_NOMEM. */
int gemm_multiply(struct gemm *g, const struct gemm_product *p, bool *ended, struct err *e);

/* gemm_choices - one line for each choice made so far, after a line that names library and GPU; the
 * return value is the length that the whole text has. gemm_adopt takes such a text: products of
 * these classes use what it names. A text of another library or GPU: ERR_DATA, nothing adopted. */
size_t gemm_choices(const struct gemm *g, char *text, size_t bytes);
int gemm_adopt(struct gemm *g, const char *text, struct err *e);

#ifdef __cplusplus
}
#endif
#endif
