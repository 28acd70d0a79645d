/* cpu.h - internals of the CPU backend: state, threads, and the ops of each file.
 *
 * 1. fp32 only. Kernels are in simd_*.c, which are compiled for several instruction sets and
 *    selected when the backend opens. Files without that prefix divide work among threads and call
 *    kernels.
 * 2. Every op runs its work through cpu_parallel; with one thread that is a plain call. A thread
 *    gets a contiguous share, so that results for a given number of threads are always the same.
 * 3. All computing threads flush subnormal numbers to zero: ALiBi's small weights at long distances
 *    would otherwise cost a third of the speed.
 * 4. Scratch memory is per thread and grows to the largest need: only the first training step
 *    allocates.
 * 5. Dropout elements are numbered within the update as stated in backend.h. */
#ifndef CPU_CPU_H
#define CPU_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend/backend.h"
#include "base/err.h"
#include "cpu/blas.h"
#include "cpu/simd.h"

/* The argument of backend_register. */
const struct backend_library *backend_cpu_library(void);

struct cpu_scratch {
    void *data_own;
    size_t bytes;
};

/* Which gradients of linear the library computes; zero: none. */
struct linear_rule {
    bool library_input;           /* dx */
    int64_t library_weight_below; /* dw with fewer rows per column than this */
};

struct cpu {
    struct backend backend; /* first: a struct backend * is a struct cpu * */
    struct blas blas;       /* empty: the rule needs no library */
    const struct simd_kernels *simd;
    struct linear_rule rule;
    const struct simd_splits *splits; /* NULL: this processor has no matrix units */
    struct cpu_scratch *scratch_own;  /* (threads) */
};

static inline struct cpu *cpu_of(struct backend *b)
{
    return (struct cpu *)(void *)b;
}

/* cpu_simd_named - the kernels "base", "v3" or "v4"; NULL if this processor or this build lacks
 * them. cpu_simd_choose - those that ALIBI_KERNELS names, or else the best for this processor.
 * Errors: ERR_USAGE the name. */
const struct simd_kernels *cpu_simd_named(const char *name);
int cpu_simd_choose(const struct simd_kernels **out, struct err *e);
/* cpu_linear_choose - opens the library and sets the rule, if this processor's kernels gain by it.
 * ALIBI_AVOID_BLAS is the description of a library that failed in a worker, which the scheduler
 * sets for the next attempt: it is not used. */
void cpu_linear_choose(struct cpu *c);
/* cpu_use_library - gives every gradient of linear to the library, for tests and measurements.
 * Errors: those of blas_open. */
int cpu_use_library(struct backend *b, struct err *e);

/* cpu_parallel - divides items 0 ... n - 1 among the threads into contiguous ranges with borders at
 * multiples of grain, and runs the kernel for each range that is not empty, with the thread's
 * scratch. */
void cpu_parallel(struct backend *b, int64_t n, int64_t grain, simd_kernel *kernel,
                  const void *args);

/* cpu_scratch_reserve - grows every thread's scratch to at least bytes. Errors: ERR_NOMEM. */
int cpu_scratch_reserve(struct cpu *c, size_t bytes, struct err *e);
/* cpu_scratch_reserve_first - cpu_scratch_reserve for the first thread's scratch only, for data
 * that all threads read. */
int cpu_scratch_reserve_first(struct cpu *c, size_t bytes, struct err *e);

/* The ops, by file: linear.c, rows.c, attention.c, update.c. */
#define CPU_FUNCTION(NAME, name, args)                                                             \
    int cpu_##name(struct backend *b, const struct args *a, struct err *e);
BACKEND_OPS(CPU_FUNCTION)
#undef CPU_FUNCTION

#endif
