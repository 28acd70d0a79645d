/* emulation_machine.h - the emulated GPU, as the headers that kernels include see it.
 *
 * 1. Every CUDA thread of a block is a fiber. It runs until it must wait at a barrier or in a warp
 *    collective, so a warp gets as far ahead of the others as the program allows.
 * 2. Blocks run one after another in one OS thread. Fibers and barriers are declared to
 *    ThreadSanitizer, so that it reports races within and between blocks.
 * 3. A broken rule of CUDA ends the process with status EMULATION_EXIT and one sentence that names
 *    file, line, block and thread. */
#ifndef EMULATION_MACHINE_H
#define EMULATION_MACHINE_H

#include <cuda_runtime.h>
#include <functional>

#include "emulation_types.h"

enum { EMULATION_EXIT = 70 };

/* A function of the emulator itself, which accesses only the slots of lanes, not a kernel's memory:
 * checks of its accesses would take most of a sanitized build's time. */
#define EMULATION_RAW __attribute__((no_sanitize("thread", "address", "undefined")))

/* Source location of a call in a kernel, as a default argument. */
struct emulation_place {
    const char *file;
    int line;
};
#define EMULATION_AT emulation_place at = {__builtin_FILE(), __builtin_LINE()}

extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;
enum { warpSize = 32 };

[[noreturn]] void emulation_fail(emulation_place at, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* emulation_launch - queues a kernel; `call` runs a thread of it. As in CUDA, wrong shapes set the
 * last error. Stricter than CUDA, so does capturing a kernel that has never run: a driver with lazy
 * loading would load it during the capture. */
cudaError_t emulation_launch(const void *kernel, dim3 grid, dim3 block, size_t shared_bytes,
                             cudaStream_t stream, const std::function<void()> &call);

/* emulation_check_argument - ends the process if p is neither NULL nor device memory. */
void emulation_check_argument(const void *p, int number);

/* emulation_barrier - waits for all threads of the block. */
void emulation_barrier(emulation_place at);

/* emulation_collective - every lane of mask arrives with a slot on its stack; the last one runs
 * combine(slots, mask) and wakes the others. */
void emulation_collective(unsigned mask, const char *what, void *slot,
                          void (*combine)(void **slots, unsigned mask), bool orders_memory,
                          emulation_place at);
unsigned emulation_lane();

/* order_is_sample - whether only a sample of blocks runs (emulation_set_blocks); results then mean
 * nothing. */
bool order_is_sample();

/* Shared memory of the running block: new for each block, of exact size, filled with NaN. */
void *emulation_shared_dynamic();
void *emulation_shared_static(const void *key, size_t bytes);

/* Asynchronous copies of the running thread. emulation_copy_next removes the oldest copy that is in
 * none of the `keep` youngest committed groups. */
struct emulation_copy {
    void *to;
    const void *from;
    bool valid;
    long group;
    emulation_place at;
};
void emulation_copy_issue(void *to, const void *from, bool valid, emulation_place at);
void emulation_copy_commit();
bool emulation_copy_next(int keep, emulation_copy *out);

#endif
