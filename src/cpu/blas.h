/* blas.h - single-precision matrix products of a BLAS library, loaded at run time.
 *
 * 1. With AVX-512, oneDNN is preferred: it generates kernels for the processor, and was the fastest
 *    on the small products of this project. Then OpenBLAS, the serial build first, then BLIS.
 * 2. The backend runs one product per thread, so libraries must not create threads.
 * 3. A library uses the instruction set of the backend's v3 or v4 kernels, which ALIBI_KERNELS may
 *    limit. OpenBLAS selects kernels by processor model, and very slow ones for unknown models;
 *    therefore the set is named before it is loaded. With base kernels OpenBLAS chooses.
 * 4. ALIBI_AVOID_BLAS is the description (or its first word) of a library that failed in a
 *    worker; this library is tried last. The scheduler sets it for the next attempt. */
#ifndef CPU_BLAS_H
#define CPU_BLAS_H

#include <stdint.h>

#include "base/err.h"

/* cblas_sgemm: row major = 101, not transposed = 111, transposed = 112. */
typedef void (*blas_sgemm)(int order, int transpose_a, int transpose_b, int m, int n, int k,
                           float alpha, const float *a, int lda, const float *b, int ldb,
                           float beta, float *c, int ldc);

/* dnnl_sgemm: 'N' not transposed, 'T' transposed; row major; returns 0 on success. */
typedef int (*blas_dnnl_sgemm)(char transpose_a, char transpose_b, int64_t m, int64_t n, int64_t k,
                               float alpha, const float *a, int64_t lda, const float *b,
                               int64_t ldb, float beta, float *c, int64_t ldc);

/* One of sgemm and dnnl is set. The library stays loaded until the process ends, because it owns
 * generated kernels and thread memory. */
struct blas {
    blas_sgemm sgemm;
    blas_dnnl_sgemm dnnl;
    char text[96]; /* library, version and kernels, for display */
};

/* blas_open - loads the first library found, for the instruction set of the kernels base, v3 or v4.
 * Errors: ERR_UNAVAILABLE names the package. */
int blas_open(struct blas *b, const char *kernels, struct err *e);
/* blas_open_named - loads onednn, openblas or blis, for tests and measurements. cores: OpenBLAS's
 * name of its kernels, effective on the first load in a process; NULL: as in blas_open. Errors:
 * ERR_UNAVAILABLE, also for cores that need more than this processor and `kernels` have. */
int blas_open_named(struct blas *b, const char *make, const char *cores, const char *kernels,
                    struct err *e);

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
int blas_multiply(const struct blas *b, const struct blas_product *p);

#endif
