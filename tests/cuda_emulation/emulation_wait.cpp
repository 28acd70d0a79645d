/* emulation_wait.cpp - where threads of a block meet: barriers, warp collectives, shared memory and
 * asynchronous copies. */
#include "emulation_block.h"
#include "emulation_control.h"

#include <stdlib.h>

void emulation_barrier(emulation_place at)
{
    struct block_barrier *b = &machine.block->barrier;
    const struct fiber *me = machine.current;
    if (b->arrived && (b->at.line != at.line || b->at.file != at.file))
        emulation_fail(at, "divergent __syncthreads: other threads wait at %s:%d", b->at.file,
                       b->at.line);
    b->at = at;
    char *token = &b->token[b->generation & 1];
    race_release(token);
    if (++b->arrived < machine.threads) {
        b->waiting[me->thread / WARP] |= 1u << me->thread % WARP;
        machine_wait("__syncthreads", at);
    } else {
        b->arrived = 0;
        b->generation++;
        for (unsigned w = 0; w < machine.warps; w++) {
            machine.ready[w] |= b->waiting[w];
            b->waiting[w] = 0;
        }
    }
    race_acquire(token);
}

/* The collective of this mask. Lanes may wait for others that are still in a collective of another
 * mask. Lanes with the same mask at different places would never meet. */
static struct block_collective *collective_of(struct block_warp *w, unsigned mask, const char *what,
                                              emulation_place at)
{
    struct block_collective *c = nullptr, *unused = nullptr;
    for (int i = 0; i < WARP && !c; i++) {
        struct block_collective *has = &w->collective[i];
        if (has->mask == mask) c = has;
        if (!unused && !has->arrived) unused = has;
        if (!has->mask) break;
    }
    if (!c) c = unused; /* a warp has as many collectives as lanes */
    if (c->arrived && (c->what != what || c->at.line != at.line || c->at.file != at.file))
        emulation_fail(at, "%s mask %08x: lanes %08x of the same mask wait in %s at %s:%d", what,
                       mask, c->arrived, c->what, c->at.file, c->at.line);
    c->mask = mask;
    c->what = what;
    c->at = at;
    return c;
}

void emulation_collective(unsigned mask, const char *what, void *slot,
                          void (*combine)(void **slots, unsigned mask), bool orders_memory,
                          emulation_place at)
{
    unsigned warp = machine.current->thread / WARP, lane = emulation_lane();
    unsigned rest = machine.threads - warp * WARP;
    unsigned exist = rest >= WARP ? ~0u : (1u << rest) - 1;
    if (orders_memory && mask == ~0u) mask = exist; /* plain __syncwarp() in a short last warp */
    if (!(mask >> lane & 1))
        emulation_fail(at, "%s: the calling lane %u is not in mask %08x", what, lane, mask);
    if (mask & ~exist)
        emulation_fail(at, "%s: mask %08x names lanes beyond the end of the block", what, mask);
    struct block_collective *c = collective_of(&machine.block->warp[warp], mask, what, at);
    char *token = &c->token[c->generation & 1];
    if (orders_memory) race_release(token);
    c->slot[lane] = slot;
    c->arrived |= 1u << lane;
    if (c->arrived != mask) {
        machine_wait(what, at);
    } else {
        c->arrived = 0;
        c->generation++;
        if (combine) combine(c->slot, mask);
        machine.ready[warp] |= mask;
    }
    if (orders_memory) race_acquire(token);
}

void *block_memory(size_t bytes)
{
    void *p = nullptr;
    if (posix_memalign(&p, 128, bytes ? bytes : 1) != 0)
        emulation_fail({"launch", 0}, "no memory for %zu bytes of shared memory", bytes);
    memset(p, 0xff, bytes);
    return p;
}

void *emulation_shared_dynamic()
{
    return machine.block->dynamic;
}

/* Allocated when a thread first asks, but as an access of the scheduler: as if before the block. */
void *emulation_shared_static(const void *key, size_t bytes)
{
    struct block *b = machine.block;
    for (int i = 0; i < b->statics_n; i++)
        if (b->statics[i].key == key) {
            race_acquire(&b->start_token);
            return b->statics[i].data;
        }
    if (b->statics_n == STATICS_MAX)
        emulation_fail({"launch", 0}, "more than %d pieces of static shared memory", STATICS_MAX);
    b->shared_bytes += bytes;
    size_t most = SHARED_UNASKED;
    if (b->dynamic_bytes > SHARED_UNASKED) most = emulation_shared_most();
    if (b->shared_bytes > most)
        emulation_fail({"launch", 0},
                       "%zu bytes of static and %zu of dynamic shared memory, "
                       "more than the %zu that such a launch may have",
                       b->shared_bytes - b->dynamic_bytes, b->dynamic_bytes, most);
    race_speak_as(&machine.scheduler);
    void *data = block_memory(bytes);
    b->statics[b->statics_n++] = {key, data};
    race_release(&b->start_token);
    race_speak_as(machine.current);
    race_acquire(&b->start_token);
    return data;
}

void emulation_copy_issue(void *to, const void *from, bool valid, emulation_place at)
{
    struct fiber *f = machine.current;
    if (((uintptr_t)to | (uintptr_t)from) % 16)
        emulation_fail(at, "cp.async: %p or %p is not aligned to 16 bytes", to, from);
    f->copies.push_back({to, from, valid, f->group, at});
}

void emulation_copy_commit()
{
    machine.current->group++;
}

bool emulation_copy_next(int keep, emulation_copy *out)
{
    struct fiber *f = machine.current;
    if (f->copies.empty() || f->copies.front().group + keep >= f->group) return false;
    *out = f->copies.front();
    f->copies.pop_front();
    return true;
}
