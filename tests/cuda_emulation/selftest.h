/* selftest.h - programs that use every primitive of kernels and every call of the runtime that this
 * project uses, and the bugs that can be switched on in them.
 *
 * Without bugs they are the self-test (selftest.cu), which nvcc compiles too. With a bug each is a
 * mutant, which the emulator must detect (mutants.cu). */
#ifndef SELFTEST_H
#define SELFTEST_H

#include "gpu.cuh"

#include <stdio.h>
#include <stdlib.h>

/* Outcomes of a process, as bits so that a row may allow several. */
enum outcome {
    PASSES = 1,  /* right numbers and no report */
    WRONG = 2,   /* wrong numbers */
    STOPPED = 4, /* the emulator reported a broken rule */
    ADDRESS = 8, /* AddressSanitizer */
    UNDEFINED = 16,
    RACE = 32, /* ThreadSanitizer */
    CRASHED = 64,
    ANY = 127
};

struct selftest_row {
    const char *name;           /* a sentence; of a mutant: its bug, as a phrase */
    int (*wrong)(int bug);      /* the number of errors */
    int bug;                    /* 0: the correct program */
    int plain, address, thread; /* outcomes in the three builds; 0: a program that reports errors */
};
/* Each list ends with a row without a name. The rows of a program follow its correct one. */
extern const struct selftest_row selftest_warp[], selftest_block[], selftest_runtime[];

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
