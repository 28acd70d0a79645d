/* cublaslt_emulated.h - the rules that the emulated cuBLASLt keeps; each fault is a sentence, or
 * NULL. Internal to cublaslt_emulated*.c. */
#ifndef CUDA_EMULATION_CUBLASLT_EMULATED_H
#define CUDA_EMULATION_CUBLASLT_EMULATED_H

#include <cublasLt.h>

enum { PROMISE_WORD = 2 }; /* of an algorithm's data: cublaslt_promised */

const char *cublaslt_fault_of(const cublasLtMatmulDescOpaque_t *d,
                              const cublasLtMatrixLayoutOpaque_t *a,
                              const cublasLtMatrixLayoutOpaque_t *b,
                              const cublasLtMatrixLayoutOpaque_t *c,
                              const cublasLtMatrixLayoutOpaque_t *to);

/* cublaslt_promised - the alignments that an algorithm may rely on: those that the preference
 * promises, and that of the description's vector. */
uint64_t cublaslt_promised(const cublasLtMatmulPreferenceOpaque_t *preference,
                           const cublasLtMatmulDescOpaque_t *d);
const char *cublaslt_fault_of_places(const cublasLtMatmulAlgo_t *algorithm,
                                     const cublasLtMatmulDescOpaque_t *d, const void *a,
                                     const void *b, const void *c, const void *to);

#endif
