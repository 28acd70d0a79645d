/* emulation_block.h - the state of the running block, shared by the emulator's files. Internal.
 *
 * Each block allocates new barriers, collectives and shared memory, so that the race detector sees
 * no order between blocks through them. */
#ifndef EMULATION_BLOCK_H
#define EMULATION_BLOCK_H

#include <vector>

#include "emulation_fiber.h"

enum { WARP = 32, WARPS_MAX = 32, STATICS_MAX = 32 };
/* Shared memory of a block by default. launch() in gpu.cuh raises the limit if the dynamic part
 * alone needs more; then it is emulation_shared_most(). */
enum { SHARED_UNASKED = 48 << 10 };

/* Two tokens alternate by generation: with one, a fast thread that arrives again would hide races
 * of threads that have not left. */
struct block_barrier {
    unsigned arrived, generation;
    uint32_t waiting[WARPS_MAX]; /* lanes, by warp */
    emulation_place at;
    char token[2];
};

struct block_collective {
    unsigned mask, arrived, generation;
    const char *what;
    emulation_place at;
    void *slot[WARP];
    char token[2];
};

struct block_warp {
    struct block_collective collective[WARP]; /* one per mask, in the order of first use */
};

struct block_static {
    const void *key;
    void *data;
};

struct block {
    struct block_barrier barrier;
    struct block_warp warp[WARPS_MAX];
    struct block_static statics[STATICS_MAX];
    int statics_n;
    void *dynamic;
    size_t dynamic_bytes, shared_bytes; /* shared: static and dynamic */
    char start_token;
};

/* The emulated GPU: one launch runs at a time. */
struct machine {
    struct fiber scheduler, *current;
    std::vector<struct fiber *> pool;
    struct fiber **by_thread; /* of the running block, in the pool */
    unsigned threads, warps, live;
    uint32_t ready[WARPS_MAX]; /* lanes that can run, by warp */
    struct block *block;
    const std::function<void()> *call;
    char done_token; /* released by every thread; acquired at the end of a launch */
};
extern struct machine machine;

/* machine_run - runs a launch to its end. The caller has checked the shapes. */
void machine_run(dim3 grid, dim3 block, size_t shared_bytes, const std::function<void()> &call);

/* machine_wait - blocks the running thread until another sets its ready bit. */
void machine_wait(const char *what, emulation_place at);

/* block_memory - allocates exactly so many bytes, all bits 1: NaN as float and as bf16. */
void *block_memory(size_t bytes);

/* The order in which warps and lanes run. */
void order_begin_block();
/* order_next - the next thread to run, or -1 if none is ready. */
int order_next();
/* order_blocks_n - how many blocks of a launch run; order_block - the n-th of them. */
long order_blocks_n(long blocks);
long order_block(long n, long blocks);

#endif
