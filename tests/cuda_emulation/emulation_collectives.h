/* emulation_collectives.h - what the threads of a block do together, under CUDA's names: barriers,
 * shuffles, votes; matrix products and asynchronous copies under the names of gpu.cuh.
 *
 * 1. Every operation of a warp is one emulation_collective: lanes post a slot on their own stack,
 *    the last one combines the slots.
 * 2. The lane that accesses memory on the GPU does so here, with plain typed accesses, so that the
 *    sanitizers see them and name the right lane. They might not see an inlined memcpy.
 * 3. As CUDA documents, only barriers and __syncwarp order memory.
 * 4. Stricter than the hardware: all lanes of a collective must be on the same line. */
#ifndef EMULATION_COLLECTIVES_H
#define EMULATION_COLLECTIVES_H

#include "emulation_machine.h"

/* ---- barriers ---- */

inline void __syncthreads(EMULATION_AT)
{
    emulation_barrier(0, 0, at);
}
/* barrier_sync - `threads` threads of the block meet at barrier 1 ... 15. */
inline void barrier_sync(int id, unsigned threads, EMULATION_AT)
{
    emulation_barrier(id, threads, at);
}
inline void __syncwarp(unsigned mask = ~0u, EMULATION_AT)
{
    emulation_collective(mask, "__syncwarp", nullptr, nullptr, true, at);
}
inline void __threadfence()
{
}
inline void __threadfence_block()
{
}

/* ---- shuffles ---- */

template <class T> struct emulation_shuffle {
    T in, out;
    unsigned from;
    emulation_place at;
};

template <class T> EMULATION_RAW void emulation_shuffle_combine(void **slots, unsigned mask)
{
    for (unsigned lane = 0; lane < warpSize; lane++) {
        if (!(mask >> lane & 1)) continue;
        emulation_shuffle<T> *s = (emulation_shuffle<T> *)slots[lane];
        if (!(mask >> s->from & 1))
            emulation_fail(s->at, "shuffle: lane %u reads lane %u, which is not in mask %08x", lane,
                           s->from, mask);
        s->out = ((const emulation_shuffle<T> *)slots[s->from])->in;
    }
}

template <class T>
inline T emulation_shuffled(unsigned mask, T value, unsigned from, emulation_place at)
{
    emulation_shuffle<T> s = {value, value, from, at};
    emulation_collective(mask, "shuffle", &s, emulation_shuffle_combine<T>, false, at);
    return s.out;
}

/* Lanes form groups of `width`; a source lane outside the group is replaced by the lane itself. */
template <class T>
inline T __shfl_sync(unsigned mask, T value, int from, int width = 32, EMULATION_AT)
{
    unsigned w = (unsigned)width - 1;
    return emulation_shuffled(mask, value, (emulation_lane() & ~w) | ((unsigned)from & w), at);
}
template <class T>
inline T __shfl_xor_sync(unsigned mask, T value, int other, int width = 32, EMULATION_AT)
{
    unsigned lane = emulation_lane(), from = lane ^ (unsigned)other;
    bool inside = from < (lane & ~((unsigned)width - 1)) + (unsigned)width;
    return emulation_shuffled(mask, value, inside ? from : lane, at);
}
template <class T>
inline T __shfl_down_sync(unsigned mask, T value, unsigned by, int width = 32, EMULATION_AT)
{
    unsigned lane = emulation_lane();
    bool inside = (lane & ((unsigned)width - 1)) + by < (unsigned)width;
    return emulation_shuffled(mask, value, inside ? lane + by : lane, at);
}
template <class T>
inline T __shfl_up_sync(unsigned mask, T value, unsigned by, int width = 32, EMULATION_AT)
{
    unsigned lane = emulation_lane();
    bool inside = (lane & ((unsigned)width - 1)) >= by;
    return emulation_shuffled(mask, value, inside ? lane - by : lane, at);
}

/* ---- votes ---- */

struct emulation_vote {
    bool yes;
    unsigned ballot;
};

EMULATION_RAW inline void emulation_vote_combine(void **slots, unsigned mask)
{
    unsigned ballot = 0;
    for (unsigned lane = 0; lane < warpSize; lane++)
        if ((mask >> lane & 1) && ((const emulation_vote *)slots[lane])->yes) ballot |= 1u << lane;
    for (unsigned lane = 0; lane < warpSize; lane++)
        if (mask >> lane & 1) ((emulation_vote *)slots[lane])->ballot = ballot;
}
inline unsigned __ballot_sync(unsigned mask, int yes, EMULATION_AT)
{
    emulation_vote v = {yes != 0, 0};
    emulation_collective(mask, "vote", &v, emulation_vote_combine, false, at);
    return v.ballot;
}
inline int __any_sync(unsigned mask, int yes, EMULATION_AT)
{
    return __ballot_sync(mask, yes, at) != 0;
}
inline int __all_sync(unsigned mask, int yes, EMULATION_AT)
{
    return __ballot_sync(mask, yes, at) == mask;
}

/* ---- matrix product of a warp: D (16x8) += A (16x16) B (16x8), bf16 in, fp32 sums ----
 * With g = lane / 4 and t = lane % 4, the registers of a lane hold
 *   A: (g, 2t) (g+8, 2t) (g, 2t+8) (g+8, 2t+8), each with the next column
 *   B: (2t, g) (2t+8, g), each with the next row      D: (g, 2t) (g, 2t+1) (g+8, 2t) (g+8, 2t+1) */

struct emulation_product {
    float *d;
    const uint32_t *a;
    uint32_t b[2];
};

EMULATION_RAW inline void emulation_unpack(float *pair, uint32_t bits)
{
    pair[0] = __uint_as_float(bits << 16);
    pair[1] = __uint_as_float(bits & 0xffff0000u);
}

/* Tensor cores truncate sums; other arithmetic rounds to nearest. */
EMULATION_RAW inline float emulation_cut_off(double sum)
{
    float near = (float)sum;
    bool away = fabs((double)near) > fabs(sum);
    return away ? __uint_as_float(__float_as_uint(near) - 1) : near;
}

EMULATION_RAW inline void emulation_product_combine(void **slots, unsigned)
{
    float a[16][16], b[8][16]; /* b by column */
    for (unsigned lane = 0; lane < warpSize; lane++) {
        const emulation_product *p = (const emulation_product *)slots[lane];
        unsigned g = lane / 4, t = lane % 4;
        for (unsigned r = 0; r < 4; r++)
            emulation_unpack(&a[g + 8 * (r & 1)][2 * t + 8 * (r >> 1)], p->a[r]);
        for (unsigned r = 0; r < 2; r++) emulation_unpack(&b[g][2 * t + 8 * r], p->b[r]);
    }
    for (unsigned lane = 0; lane < warpSize; lane++) {
        const emulation_product *p = (const emulation_product *)slots[lane];
        for (unsigned i = 0; i < 4; i++) {
            const float *row = a[lane / 4 + 8 * (i >> 1)], *column = b[2 * (lane % 4) + (i & 1)];
            double sum = p->d[i];
            for (int k = 0; k < 16; k++) sum += (double)row[k] * (double)column[k];
            p->d[i] = emulation_cut_off(sum);
        }
    }
    emulation_counted.products++;
}

inline void mma_16x8x16(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1,
                        EMULATION_AT)
{
    emulation_product p = {d, a, {b0, b1}};
    emulation_collective(~0u, "mma", &p, emulation_product_combine, false, at);
}

/* ---- ldmatrix: 8x8 matrices of 16-bit elements; lane i names row i % 8 of matrix i / 8, and gets
 * of each matrix elements (g, 2t) and (g, 2t+1), or transposed (2t, g) and (2t+1, g) ---- */

typedef uint32_t __attribute__((may_alias)) emulation_word;

struct emulation_rows {
    const void *address;
    uint32_t row[4], out[4]; /* a row of 8 elements in, a register of each matrix out */
    unsigned matrices;
    bool transposed;
};

EMULATION_RAW inline uint32_t emulation_element(void **slots, unsigned matrix, unsigned row,
                                                unsigned column)
{
    const emulation_rows *s = (const emulation_rows *)slots[8 * matrix + row];
    return s->row[column / 2] >> 16 * (column % 2) & 0xffffu;
}

EMULATION_RAW inline void emulation_rows_combine(void **slots, unsigned)
{
    unsigned matrices = ((const emulation_rows *)slots[0])->matrices;
    for (unsigned m = 0; m < matrices; m++) {
        unsigned banks = 0; /* a row fills four of the 32 banks; eight rows should fill all */
        for (unsigned i = 0; i < 8; i++)
            banks |= 1u << ((uintptr_t)((emulation_rows *)slots[8 * m + i])->address >> 4 & 7);
        emulation_counted.bank_conflicts += 8 - __builtin_popcount(banks);
        for (unsigned lane = 0; lane < warpSize; lane++) {
            emulation_rows *s = (emulation_rows *)slots[lane];
            unsigned g = lane / 4, t = 2 * (lane % 4);
            uint32_t low = s->transposed ? emulation_element(slots, m, t, g)
                                         : emulation_element(slots, m, g, t);
            uint32_t high = s->transposed ? emulation_element(slots, m, t + 1, g)
                                          : emulation_element(slots, m, g, t + 1);
            s->out[m] = low | high << 16;
        }
    }
    emulation_counted.row_loads++;
}

template <unsigned MATRICES>
inline void emulation_ldmatrix(uint32_t (&r)[MATRICES], const void *row, bool transposed,
                               emulation_place at)
{
    emulation_rows s = {row, {}, {}, MATRICES, transposed};
    if ((uintptr_t)row % 16) emulation_fail(at, "ldmatrix: %p is not aligned to 16 bytes", row);
    for (int i = 0; i < 4 && emulation_lane() < 8 * MATRICES; i++)
        s.row[i] = ((const emulation_word *)row)[i];
    emulation_collective(~0u, "ldmatrix", &s, emulation_rows_combine, false, at);
    for (unsigned i = 0; i < MATRICES; i++) r[i] = s.out[i];
}
inline void ldmatrix_x2(uint32_t (&r)[2], const void *row, EMULATION_AT)
{
    emulation_ldmatrix(r, row, false, at);
}
inline void ldmatrix_x2_trans(uint32_t (&r)[2], const void *row, EMULATION_AT)
{
    emulation_ldmatrix(r, row, true, at);
}
inline void ldmatrix_x4(uint32_t (&r)[4], const void *row, EMULATION_AT)
{
    emulation_ldmatrix(r, row, false, at);
}
inline void ldmatrix_x4_trans(uint32_t (&r)[4], const void *row, EMULATION_AT)
{
    emulation_ldmatrix(r, row, true, at);
}

/* ---- asynchronous copies: the destination is NaN until its group has been waited for ---- */

inline void emulation_copy_start(void *to, const void *from, int bytes, bool valid,
                                 emulation_place at)
{
    emulation_copy_issue(to, from, bytes, valid, at);
    for (int i = 0; i < bytes / 4; i++) ((emulation_word *)to)[i] = ~0u;
}
inline void cp_async16(void *to, const void *from, bool valid, EMULATION_AT)
{
    emulation_copy_start(to, from, 16, valid, at);
}
inline void cp_async4(void *to, const void *from, bool valid, EMULATION_AT)
{
    emulation_copy_start(to, from, 4, valid, at);
}
inline void cp_async_commit()
{
    emulation_copy_commit();
}
template <int KEEP> inline void cp_async_wait()
{
    emulation_copy c;
    while (emulation_copy_next(KEEP, &c))
        for (int i = 0; i < c.bytes / 4; i++)
            ((emulation_word *)c.to)[i] = c.valid ? ((const emulation_word *)c.from)[i] : 0;
}

/* ---- atomics: relaxed, so that a race of an atomic with a plain access is reported ---- */

template <class T> inline T atomicCAS(T *p, T expected, T value)
{
    __atomic_compare_exchange_n(p, &expected, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return expected;
}
template <class T> inline T atomicExch(T *p, T value)
{
    return __atomic_exchange_n(p, value, __ATOMIC_RELAXED);
}
template <class T> inline T atomicAdd(T *p, T value)
{
    return __atomic_fetch_add(p, value, __ATOMIC_RELAXED);
}
template <> inline float atomicAdd(float *p, float value)
{
    emulation_word *bits = (emulation_word *)p, old = __atomic_load_n(bits, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(bits, &old, __float_as_uint(__uint_as_float(old) + value),
                                        false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
    return __uint_as_float(old);
}
template <class T> inline T atomicMax(T *p, T value)
{
    T old = __atomic_load_n(p, __ATOMIC_RELAXED);
    while (old < value && !__atomic_compare_exchange_n(p, &old, value, false, __ATOMIC_RELAXED,
                                                       __ATOMIC_RELAXED)) {
    }
    return old;
}
template <class T> inline T atomicMin(T *p, T value)
{
    T old = __atomic_load_n(p, __ATOMIC_RELAXED);
    while (value < old && !__atomic_compare_exchange_n(p, &old, value, false, __ATOMIC_RELAXED,
                                                       __ATOMIC_RELAXED)) {
    }
    return old;
}

#endif
