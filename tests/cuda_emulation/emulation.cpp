/* emulation.cpp - runs a grid: one block after another, with a fiber for each thread of a block. */
#include "emulation_block.h"

#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;
struct machine machine;

void emulation_fail(emulation_place at, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "emulation: %s:%d: block (%u,%u,%u) thread (%u,%u,%u): ", at.file, at.line,
            blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x, threadIdx.y, threadIdx.z);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    fflush(nullptr);
    _exit(EMULATION_EXIT);
}

unsigned emulation_lane()
{
    return machine.current->thread % WARP;
}

/* Deadlock: reports where the threads wait, and ends the process. */
[[noreturn]] static void machine_stuck()
{
    enum { SHOWN = 8 };
    const struct fiber *before = nullptr;
    fprintf(stderr, "emulation: block (%u,%u,%u) is stuck; waiting threads:\n", blockIdx.x,
            blockIdx.y, blockIdx.z);
    for (unsigned t = 0, shown = 0; t < machine.threads && shown < SHOWN; t++) {
        const struct fiber *f = machine.by_thread[t];
        if (f->done) continue;
        if (before && before->waits_at.line == f->waits_at.line && before->waits_in == f->waits_in)
            continue;
        fprintf(stderr, "  thread %u and on: in %s, %s:%d\n", t, f->waits_in, f->waits_at.file,
                f->waits_at.line);
        before = f;
        shown++;
    }
    fprintf(stderr, "  (%u of %u threads have ended)\n", machine.threads - machine.live,
            machine.threads);
    fflush(nullptr);
    _exit(EMULATION_EXIT);
}

static void machine_switch(struct fiber *to)
{
    struct fiber *from = machine.current;
    if (to == from) return;
    machine.current = to;
    threadIdx = to->index;
    fiber_switch(from, to);
}

/* Switches from the running thread to the next ready one, or to the scheduler if the block is done.
 */
static void machine_yield()
{
    if (machine.live == 0) {
        machine_switch(&machine.scheduler);
        return;
    }
    int next = order_next();
    if (next < 0) machine_stuck();
    machine_switch(machine.by_thread[next]);
}

void machine_wait(const char *what, emulation_place at)
{
    struct fiber *me = machine.current;
    me->waits_in = what;
    me->waits_at = at;
    machine.ready[me->thread / WARP] &= ~(1u << me->thread % WARP);
    machine_yield();
}

static void thread_end(struct fiber *me)
{
    if (!me->copies.empty())
        emulation_fail(me->copies.front().at,
                       "this cp.async is still under way when its thread ends: it was never "
                       "waited for");
    me->group = 0;
    me->done = true;
    machine.ready[me->thread / WARP] &= ~(1u << me->thread % WARP);
    machine.live--;
}

/* The main function of a fiber: runs one thread of each block. */
static void thread_main()
{
    fiber_entered();
    for (;;) {
        race_acquire(&machine.block->start_token);
        (*machine.call)();
        race_release(&machine.done_token);
        thread_end(machine.current);
        machine_yield();
    }
}

/* Makes enough fibers for a block, in each of the alternating sets. */
static void machine_prepare(dim3 block)
{
    unsigned wanted = FIBER_SETS * machine.threads;
    while (machine.pool.size() < wanted) machine.pool.push_back(fiber_make(thread_main));
    for (unsigned i = 0; i < wanted; i++) {
        unsigned t = i % machine.threads;
        struct fiber *f = machine.pool[i];
        f->thread = t;
        f->index = {t % block.x, t / block.x % block.y, t / (block.x * block.y)};
    }
}

static void run_block(size_t shared_bytes)
{
    struct block *b = (struct block *)calloc(1, sizeof *b);
    if (!b) emulation_fail({"launch", 0}, "no memory for a block");
    machine.block = b;
    b->dynamic = block_memory(shared_bytes);
    b->dynamic_bytes = b->shared_bytes = shared_bytes;
    for (unsigned w = 0; w < machine.warps; w++) {
        unsigned lanes = machine.threads - w * WARP;
        machine.ready[w] = lanes >= WARP ? ~0u : (1u << lanes) - 1;
    }
    for (unsigned t = 0; t < machine.threads; t++) machine.by_thread[t]->done = false;
    machine.live = machine.threads;
    order_begin_block();
    race_release(&b->start_token);
    machine_yield();
}

static void end_block(struct block *b)
{
    void *token = &machine.done_token;
    for (int i = 0; i < b->statics_n; i++) race_free(b->statics[i].data, token, &machine.scheduler);
    race_free(b->dynamic, token, &machine.scheduler);
    race_free(b, token, &machine.scheduler);
}

void machine_run(dim3 grid, dim3 block, size_t shared_bytes, const std::function<void()> &call)
{
    long blocks = (long)grid.x * grid.y * grid.z;
    gridDim = grid;
    blockDim = block;
    machine.threads = block.x * block.y * block.z;
    machine.warps = (machine.threads + WARP - 1) / WARP;
    machine.call = &call;
    machine.current = &machine.scheduler;
    fiber_adopt(&machine.scheduler);
    machine_prepare(block);
    for (long n = 0, run_n = order_blocks_n(blocks); n < run_n; n++) {
        long i = order_block(n, blocks);
        blockIdx = {(unsigned)(i % gridDim.x), (unsigned)(i / gridDim.x % gridDim.y),
                    (unsigned)(i / ((long)gridDim.x * gridDim.y))};
        machine.by_thread = machine.pool.data() + n % FIBER_SETS * machine.threads;
        run_block(shared_bytes);
        end_block(machine.block);
    }
    race_acquire(&machine.done_token);
}
