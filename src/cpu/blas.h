/* blas.h - one single-precision matrix product from a well-kept library, opened at run time.
 *
 * 1. oneDNN is preferred where the processor has AVX2: it builds its kernels for the processor at
 * hand, and is the fastest measured on the small products of this project. Then OpenBLAS, its
 * serial build first, then BLIS.
 * 2. Threads are ours (one product a thread), so a library must not fork inside a product.
 * 3. OpenBLAS chooses kernels by the processor's model and takes very slow ones for a model it does
 * not know: it is given the instruction set instead, before it is opened.
 * 4. ALIBI_AVOID_BLAS is the description of a library that failed a worker (or only its first
 * word): that make is opened last. The scheduler sets it for the next attempt. */
#ifndef CPU_BLAS_H
#define CPU_BLAS_H

#include <stdint.h>

#include "base/err.h"

/* The standard C interface of BLAS, row major = 101, as is = 111, transposed = 112. */
typedef void (*blas_sgemm)(int order, int transpose_a, int transpose_b, int m, int n, int k,
                           float alpha, const float *a, int lda, const float *b, int ldb,
                           float beta, float *c, int ldc);

/* oneDNN's: 'N' as is, 'T' transposed; row major; 0 is success. */
typedef int (*blas_dnnl_sgemm)(char transpose_a, char transpose_b, int64_t m, int64_t n, int64_t k,
                               float alpha, const float *a, int64_t lda, const float *b,
                               int64_t ldb, float beta, float *c, int64_t ldc);

/* One of sgemm and dnnl is set. The library stays open until the process ends: it keeps kernels
 * that it built and memory of its threads, which unloading would lose. */
struct blas {
    blas_sgemm sgemm;
    blas_dnnl_sgemm dnnl;
    char text[96]; /* library, version and kernels, for people */
};

/* blas_open - opens the first library that is there. Errors: ERR_UNAVAILABLE names the package. */
int blas_open(struct blas *b, struct err *e);
/* blas_open_named - only the library of that make: onednn, openblas, blis; OpenBLAS with the
 * kernels it calls so (NULL: those it is given otherwise; it keeps what a process opened first).
 * For tests and measurements. */
int blas_open_named(struct blas *b, const char *make, const char *kernels, struct err *e);

/* A product c (m,n) = a (m,k) b (k,n) + beta c, row major, each operand perhaps transposed. */
struct blas_product {
    int transpose_a, transpose_b;
    int64_t m, n, k;
    const float *a, *b;
    float *c;
    int64_t stride_a, stride_b, stride_c;
    float beta;
};
/* blas_multiply - 0, or the library's status when it refused the product. */
int blas_multiply(const struct blas *b, const struct blas_product *p);

#endif
