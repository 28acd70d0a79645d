/* cpu.h - the inside of the CPU backend: its state, its threads, and the slots each file fills.
 *
 * 1. fp32 only. Kernels are in simd_*.c, compiled for several instruction sets and chosen when the
 * backend opens; files without that prefix divide work among threads and call them.
 * 2. Every slot runs its work through cpu_parallel: with one thread that is a plain call. A thread
 * gets one contiguous share, so results for a number of threads are always the same.
 * 3. Subnormal numbers are flushed to zero in every thread that computes: ALiBi's far weights would
 * otherwise cost a third of the speed.
 * 4. Scratch memory is kept per thread and grows to the largest need: nothing is allocated in a
 * training step after the first.
 * 5. Dropout counts elements of the whole update: (from + row) * cols + column, row replaced by
 * rows_dev[row] where given; attention: ((from + b) * H + h) * T * T + i * T + j. from: backend.h.
 */
#ifndef CPU_CPU_H
#define CPU_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend/backend.h"
#include "base/err.h"
#include "cpu/blas.h"
#include "cpu/simd.h"

/* For backend_register. */
const struct backend_library *backend_cpu_library(void);

struct cpu_scratch {
    void *data_own;
    size_t bytes;
};

struct cpu {
    struct backend backend; /* first: a struct backend * is a struct cpu * */
    struct blas blas;
    const struct simd_kernels *simd;
    struct cpu_scratch *scratch_own; /* (threads) */
};

static inline struct cpu *cpu_of(struct backend *b)
{
    return (struct cpu *)(void *)b;
}

/* cpu_simd_best - the kernels for this processor; cpu_simd_named("base", "v3" or "v4") a given set,
 * NULL when this processor or this build lacks it. */
const struct simd_kernels *cpu_simd_best(void);
const struct simd_kernels *cpu_simd_named(const char *name);

/* A thread's part of a slot's work: items begin ... end - 1. */
struct cpu_share {
    struct cpu *cpu;
    int64_t begin, end;
    int32_t thread;
};
typedef void (*cpu_task)(const struct cpu_share *share, void *arguments);

/* cpu_parallel - divides items 0 ... n - 1 among the threads in contiguous shares whose borders are
 * multiples of grain, and runs task once for each share that is not empty. */
void cpu_parallel(struct cpu *c, int64_t n, int64_t grain, cpu_task task, void *arguments);

/* cpu_items - the same for a kernel. */
void cpu_items(struct backend *b, int64_t n, int64_t grain, simd_kernel *kernel, const void *args);

/* cpu_scratch_reserve - every thread's scratch holds at least bytes. Errors: ERR_NOMEM. */
int cpu_scratch_reserve(struct cpu *c, size_t bytes, struct err *e);
/* cpu_scratch_reserve_first - the same for the first thread's only, where it is read by all. */
int cpu_scratch_reserve_first(struct cpu *c, size_t bytes, struct err *e);
static inline void *cpu_scratch_of(const struct cpu_share *s)
{
    return s->cpu->scratch_own[s->thread].data_own;
}

/* The ops, by file: linear.c, rows.c, attention.c, update.c. Of the fused ones there is
 * residual_layernorm only. */
#define CPU_FUNCTION(NAME, name, args)                                                             \
    int cpu_##name(struct backend *b, const struct args *a, struct err *e);
BACKEND_OPS(CPU_FUNCTION)
#undef CPU_FUNCTION

#endif
