/* blas.h - single-precision matrix products of oneDNN, loaded at run time.
 *
 * 1. The backend multiplies on several threads at the same time, one product per thread. Therefore
 *    the library must be safe in threads and must not create any. Debian's serial OpenBLAS is not
 *    safe: its calls share a buffer.
 * 2. The library uses the instruction set of the backend's v3 or v4 kernels, which ALIBI_KERNELS
 *    may limit; it needs more than the base kernels.
 * 3. It stays loaded until the process ends, because it owns generated kernels. */
#ifndef CPU_BLAS_H
#define CPU_BLAS_H

#include <stdint.h>

#include "base/err.h"

/* dnnl_sgemm: 'N' not transposed, 'T' transposed; row major; returns 0 on success. */
typedef int (*blas_sgemm)(char transpose_a, char transpose_b, int64_t m, int64_t n, int64_t k,
                          float alpha, const float *a, int64_t lda, const float *b, int64_t ldb,
                          float beta, float *c, int64_t ldc);

struct blas {
    blas_sgemm sgemm;
    char text[96]; /* library, version and kernels, for display */
};

/* blas_open - loads the library for the kernels v3 or v4. Errors: ERR_UNAVAILABLE names the
 * package. */
int blas_open(struct blas *b, const char *kernels, struct err *e);

/* A product c (m,n) = a (m,k) b (k,n) + beta c, row major; a and b may be transposed. */
struct blas_product {
    int transpose_a, transpose_b;
    int64_t m, n, k;
    const float *a, *b;
    float *c;
    int64_t stride_a, stride_b, stride_c;
    float beta;
};
/* blas_multiply - 0, or the library's error status. */
enum { BLAS_NO_MEMORY = 1 };
int blas_multiply(const struct blas *b, const struct blas_product *p);

#endif
