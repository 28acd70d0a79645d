/* emulation_control.h - settings of the emulated GPU, for tests. Valid as C17 and C++17.
 *
 * Settings from the environment, read once:
 *   EMULATION_ORDER=forward|reverse|SEED   who runs first (forward)
 *   EMULATION_MEMORY=BYTES                 device memory (4 GiB)
 *   EMULATION_SHARED=KB                    most shared memory of a block (227, as on an H100; an
 *                                          A100 has 163, an RTX 4090 99)
 *   EMULATION_LOSE=N[@GPU]                 the device is lost at launch N, counted from 0; with
 *                                          @GPU only if CUDA_VISIBLE_DEVICES is GPU
 *   EMULATION_OPEN=ERROR[@GPU]             the first call of a process returns this cudaError_t;
 *                                          @GPU as above
 *   EMULATION_BLOCKS=N                     runs N blocks of each launch (emulation_set_blocks)
 *   EMULATION_PRODUCTS=WORDS               what cuBLASLt offers: cublaslt_emulated.c
 *   EMULATION_LAUNCHES=FILE                at its end the process appends a line for each kernel:
 *                                          address in the library, threads of a block, largest
 *                                          dynamic shared memory */
#ifndef EMULATION_CONTROL_H
#define EMULATION_CONTROL_H

#include <cuda_runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

/* emulation_set_order - forward, reverse, or a number that seeds a random order. */
void emulation_set_order(const char *text);
/* emulation_set_memory - sets the device's memory, from the next cudaMalloc on. */
void emulation_set_memory(size_t bytes);
/* emulation_set_shared - sets the most shared memory of a block, from the next launch on. */
void emulation_set_shared(size_t bytes);
/* emulation_shared_most - the most shared memory of a block. */
size_t emulation_shared_most(void);
/* emulation_set_blocks - for launches that are too large for a CPU. Runs n blocks of each launch:
 * the first, the last and some between (0: all). Skips the kernels of libraries, and copies and
 * fills of more than 64 MiB. Results are meaningless; the test is whether launches are allowed and
 * where blocks read and write. Call it before the first allocation: device memory is then address
 * space, zeros until written, between inaccessible pages. */
void emulation_set_blocks(long n);
/* emulation_lose_device - after so many more launches every call fails as on a lost device, until
 * cudaDeviceReset; negative: never. */
void emulation_lose_device(long launches);

/* emulation_enqueue - queues a host function that may access device memory, in place of a library's
 * kernel. It gets a copy of `argument`. */
cudaError_t emulation_enqueue(cudaStream_t stream, void (*call)(void *argument),
                              const void *argument, size_t bytes);
/* emulation_spend - the running work takes so much longer on the device's clock, which events read.
 * The clock does not follow real time but advances 0.01 ms for each piece of work, so that choices
 * by timing are reproducible. */
void emulation_spend(double ms);

#ifdef __cplusplus
}
#endif
#endif
