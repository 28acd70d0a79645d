/* emulation_control.h - how tests steer the emulated GPU. Valid as C17 and C++17.
 *
 * The same from the environment, read once:
 *   EMULATION_ORDER=forward|reverse|SEED   who runs first (forward)
 *   EMULATION_MEMORY=BYTES                 device memory (4 GiB)
 *   EMULATION_SHARED=KB                    shared memory of a block, at most (227, as of an H100;
 *                                          an A100 has 163, an RTX 4090 99)
 *   EMULATION_LOSE=N[@GPU]                 the device is lost at launch N, counted from 0; with GPU
 *                                          only where CUDA_VISIBLE_DEVICES is that
 *   EMULATION_OPEN=ERROR[@GPU]             the first call of a process answers this cudaError_t;
 *                                          GPU as above
 *   EMULATION_BLOCKS=N                     N blocks of each launch (emulation_set_blocks)
 *   EMULATION_PRODUCTS=WORDS               what cuBLASLt offers: cublaslt_emulated.c
 *   EMULATION_LAUNCHES=FILE                the process appends at its end a line for each kernel:
 *                                          its address in the library, threads of a block, and
 *                                          the most dynamic shared memory
 *   EMULATION_COUNTS=1                     prints what was run when the process ends */
#ifndef EMULATION_CONTROL_H
#define EMULATION_CONTROL_H

#include <cuda_runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

/* emulation_set_order - forward, reverse, or a number that seeds a random order. */
void emulation_set_order(const char *text);
/* emulation_set_memory - how much memory the device has, from the next cudaMalloc on. */
void emulation_set_memory(size_t bytes);
/* emulation_set_shared - how much shared memory a block may have, from the next launch on. */
void emulation_set_shared(size_t bytes);
/* emulation_shared_most - how much that is. */
size_t emulation_shared_most(void);
/* emulation_set_blocks - for launches of sizes that a processor cannot compute: of each launch the
 * first block, the last and others between them are run, n in all (0: every one); a library's
 * kernels are not, nor copies and fills of more than 64 MiB. Results mean nothing; what is seen is
 * whether launches are allowed and where blocks read and write. Before the first allocation: device
 * memory is then address space, zeros until written, with nothing behind its ends. */
void emulation_set_blocks(long n);
/* emulation_lose_device - after so many more launches every call answers that the device is lost,
 * until cudaDeviceReset; negative: never. */
void emulation_lose_device(long launches);

/* emulation_enqueue - puts a host function on a stream which may touch device memory, as a
 * library's kernel would; it gets a copy of `argument`. */
cudaError_t emulation_enqueue(cudaStream_t stream, void (*call)(void *argument),
                              const void *argument, size_t bytes);
/* emulation_spend - the work at hand takes so much longer on the device's clock, which events tell:
 * it does not run with time, but 0.01 ms for each piece of work, so that what is chosen by
 * measuring is chosen alike each time. */
void emulation_spend(double ms);

#ifdef __cplusplus
}
#endif
#endif
