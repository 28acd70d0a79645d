/* emulation_block.h - the state of the running block, shared by the parts of the machine. Internal.
 *
 * Barriers, collectives and shared memory of a block are allocated afresh for it: the race
 * detector then sees no order between blocks through them. */
#ifndef EMULATION_BLOCK_H
#define EMULATION_BLOCK_H

#include "emulation_fiber.h"

enum { WARP = 32, WARPS_MAX = 32, BARRIERS = 16, STATICS_MAX = 32 };
/* Shared memory of a block without asking for more, as launch() in gpu.cuh does where the dynamic
 * part alone is more; then emulation_shared_most(). */
enum { SHARED_UNASKED = 48 << 10 };

/* Two tokens take turns by generation: with one, the next arrival of a fast thread would hide
 * races of those who are slow to leave. */
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
    struct block_collective collective[WARP]; /* one a mask, in the order of their first use */
};

struct block_static {
    const void *key;
    void *data;
};

struct block {
    struct block_barrier barrier[BARRIERS];
    struct block_warp warp[WARPS_MAX];
    struct block_static statics[STATICS_MAX];
    int statics_n;
    void *dynamic;
    size_t dynamic_bytes, shared_bytes; /* shared: static and dynamic */
    char start_token;
};

/* The machine: one launch runs at a time. */
struct machine {
    struct fiber scheduler, *current;
    struct fiber **pool, **by_thread; /* by_thread: those that play the running block */
    unsigned pool_n, threads, warps, live;
    uint32_t ready[WARPS_MAX]; /* lanes that can run, by warp */
    struct block *block;
    void (*call)(void *closure);
    void *closure;
    char done_token; /* released by every thread; acquired at the end of a launch */
};
extern struct machine machine;

/* A launch. */
struct machine_grid {
    dim3 grid, block;
    size_t shared_bytes;
    void (*call)(void *closure);
    void *closure;
};
/* machine_run - runs it to its end. The shapes have been checked. */
void machine_run(const struct machine_grid *g);

/* machine_wait - the running thread waits (somebody else holds the bit that makes it ready again);
 * returns when it runs on. */
void machine_wait(const char *what, emulation_place at);

/* block_memory - memory of exactly so many bytes, all ones: NaN as float and as bf16. */
void *block_memory(size_t bytes);

/* The order in which warps and lanes run. */
void order_begin_block();
/* order_next - the next thread to run, or -1 when none is ready. */
int order_next();
/* order_blocks_n - how many of a launch's blocks are run; order_block - which is the n-th. */
long order_blocks_n(long blocks);
long order_block(long n, long blocks);

#endif
