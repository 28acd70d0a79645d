/* selftest.h - what the parts of the self-test share. A case returns the number of errors. */
#ifndef SELFTEST_H
#define SELFTEST_H

#include "gpu.cuh"

#include <stdio.h>
#include <stdlib.h>

struct selftest_case {
    const char *name; /* a sentence */
    int (*wrong)();
};
extern const struct selftest_case selftest_runtime[]; /* ends with a row without a name */

/* Ends the program with a sentence if the runtime returned an error. */
void selftest_must(cudaError_t error, const char *what);
#define MUST(call) selftest_must((call), #call)

/* Memory on host and device, initially zeros. */
template <class T> struct both {
    T *host_own, *device_own;
    size_t n;
};
template <class T> inline void both_up(const struct both<T> *b)
{
    MUST(cudaMemcpy(b->device_own, b->host_own, b->n * sizeof(T), cudaMemcpyHostToDevice));
}
template <class T> inline void both_down(const struct both<T> *b)
{
    MUST(cudaGetLastError());
    MUST(cudaDeviceSynchronize());
    MUST(cudaMemcpy(b->host_own, b->device_own, b->n * sizeof(T), cudaMemcpyDeviceToHost));
}
template <class T> inline struct both<T> both_make(size_t n) {
    struct both<T> b = {
        (T *)calloc(n, sizeof(T)), nullptr, n
    };
    MUST(b.host_own ? cudaSuccess : cudaErrorMemoryAllocation);
    MUST(cudaMalloc((void **)&b.device_own, n * sizeof(T)));
    both_up(&b);
    return b;
} template <class T> inline void both_free(struct both<T> *b)
{
    MUST(cudaFree(b->device_own));
    free(b->host_own);
}

#endif
