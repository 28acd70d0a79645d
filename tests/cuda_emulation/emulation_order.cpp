/* emulation_order.cpp - which thread runs next.
 *
 * A warp runs until none of its lanes is ready; then the next warp with ready lanes runs. Within a
 * warp, lanes alternate. `forward` and `reverse` go by number; a seed shuffles the warps each round
 * and picks lanes at random. */
#include "emulation_block.h"
#include "emulation_device.h"

#include <stdlib.h>

enum order_kind { ORDER_FORWARD, ORDER_REVERSE, ORDER_SEEDED };

static struct {
    bool chosen, sampled; /* sampled: blocks_n was set */
    long blocks_n;        /* blocks to run of a launch; 0: all */
    enum order_kind kind;
    uint64_t random;
    unsigned lane, turn; /* the running lane, and the running warp's place in warp_at */
    unsigned char warp_at[WARPS_MAX];
} order;

void emulation_set_order(const char *text)
{
    order.chosen = true;
    if (!text || strcmp(text, "forward") == 0)
        order.kind = ORDER_FORWARD;
    else if (strcmp(text, "reverse") == 0)
        order.kind = ORDER_REVERSE;
    else {
        order.kind = ORDER_SEEDED;
        order.random = strtoull(text, nullptr, 10);
    }
}

/* splitmix64: accepts any seed, also 0. */
static unsigned order_random(unsigned below)
{
    uint64_t x = order.random += 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return (unsigned)((x >> 32) * below >> 32);
}

static void order_shuffle_warps()
{
    for (unsigned i = machine.warps; i > 1; i--) {
        unsigned j = order_random(i);
        unsigned char warp = order.warp_at[i - 1];
        order.warp_at[i - 1] = order.warp_at[j];
        order.warp_at[j] = warp;
    }
}

static void order_ask_environment()
{
    if (!order.chosen) emulation_set_order(getenv("EMULATION_ORDER"));
}

void order_begin_block()
{
    for (unsigned i = 0; i < machine.warps; i++)
        order.warp_at[i] = (unsigned char)(order.kind == ORDER_REVERSE ? machine.warps - 1 - i : i);
    if (order.kind == ORDER_SEEDED) order_shuffle_warps();
    order.turn = 0;
    order.lane = order.kind == ORDER_REVERSE ? 0 : WARP - 1;
}

/* The next lane after the running one among the ready lanes, at least one. */
static unsigned order_next_lane(uint32_t ready)
{
    uint32_t after;
    switch (order.kind) {
    case ORDER_FORWARD:
        after = ready & ~(uint32_t)((2ull << order.lane) - 1);
        return (unsigned)__builtin_ctz(after ? after : ready);
    case ORDER_REVERSE:
        after = ready & ((1u << order.lane) - 1);
        return 31u - (unsigned)__builtin_clz(after ? after : ready);
    case ORDER_SEEDED:
        break;
    }
    unsigned from = order_random(WARP);
    after = ready & (~0u << from);
    return (unsigned)__builtin_ctz(after ? after : ready);
}

int order_next()
{
    for (unsigned tried = 0; tried < 2 * machine.warps + 1; tried++) {
        unsigned warp = order.warp_at[order.turn];
        if (machine.ready[warp]) {
            order.lane = order_next_lane(machine.ready[warp]);
            return (int)(warp * WARP + order.lane);
        }
        if (++order.turn == machine.warps) {
            order.turn = 0;
            if (order.kind == ORDER_SEEDED) order_shuffle_warps();
        }
    }
    return -1;
}

void emulation_set_blocks(long n)
{
    order.sampled = true;
    order.blocks_n = n;
}

bool order_is_sample()
{
    const char *text = order.sampled ? nullptr : getenv("EMULATION_BLOCKS");
    if (!order.sampled) emulation_set_blocks(text ? strtol(text, nullptr, 10) : 0);
    return order.blocks_n > 0;
}

long order_blocks_n(long blocks)
{
    return order_is_sample() && order.blocks_n < blocks ? order.blocks_n : blocks;
}

long order_block(long n, long blocks)
{
    long run_n = order_blocks_n(blocks);
    order_ask_environment();
    if (run_n < blocks) n = run_n == 1 ? blocks - 1 : n * (blocks - 1) / (run_n - 1);
    return order.kind == ORDER_REVERSE ? blocks - 1 - n : n;
}
