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
    emulation_barrier(at);
}
inline void __syncwarp(unsigned mask = ~0u, EMULATION_AT)
{
    emulation_collective(mask, "__syncwarp", nullptr, nullptr, true, at);
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

template <class T> inline T __shfl_sync(unsigned mask, T value, int from, EMULATION_AT)
{
    return emulation_shuffled(mask, value, (unsigned)from % warpSize, at);
}
template <class T> inline T __shfl_xor_sync(unsigned mask, T value, int other, EMULATION_AT)
{
    return emulation_shuffled(mask, value, emulation_lane() ^ (unsigned)other, at);
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

/* ---- matrix product of a warp: D (16x8) += A (16x16) B (16x8), bf16 in, fp32 sums ----
 * With g = lane / 4 and t = lane % 4, the registers of a lane hold
 *   A: (g, 2t) (g+8, 2t) (g, 2t+8) (g+8, 2t+8), each with the next column
 *   B: (2t, g) (2t+8, g), each with the next row      D: (g, 2t) (g, 2t+1) (g+8, 2t) (g+8, 2t+1) */

struct emulation_product {
    float d[4];
    uint32_t a[4], b[2];
};

EMULATION_RAW inline void emulation_unpack(float *pair, uint32_t bits)
{
    pair[0] = __builtin_bit_cast(float, bits << 16);
    pair[1] = __builtin_bit_cast(float, bits & 0xffff0000u);
}

/* Tensor cores truncate sums; other arithmetic rounds to nearest. */
EMULATION_RAW inline float emulation_cut_off(double sum)
{
    float near = (float)sum;
    bool away = __builtin_fabs((double)near) > __builtin_fabs(sum);
    return away ? __builtin_bit_cast(float, __builtin_bit_cast(uint32_t, near) - 1) : near;
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
        emulation_product *p = (emulation_product *)slots[lane];
        for (unsigned i = 0; i < 4; i++) {
            const float *row = a[lane / 4 + 8 * (i >> 1)], *column = b[2 * (lane % 4) + (i & 1)];
            double sum = p->d[i];
            for (int k = 0; k < 16; k++) sum += (double)row[k] * (double)column[k];
            p->d[i] = emulation_cut_off(sum);
        }
    }
}

inline void mma_16x8x16(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1,
                        EMULATION_AT)
{
    emulation_product p = {{d[0], d[1], d[2], d[3]}, {a[0], a[1], a[2], a[3]}, {b0, b1}};
    emulation_collective(~0u, "mma", &p, order_is_sample() ? nullptr : emulation_product_combine,
                         false, at);
    for (int i = 0; i < 4; i++) d[i] = p.d[i];
}

/* ---- ldmatrix: 8x8 matrices of 16-bit elements; lane i names row i % 8 of matrix i / 8, and gets
 * of each matrix elements (g, 2t) and (g, 2t+1), or transposed (2t, g) and (2t+1, g) ---- */

typedef uint32_t __attribute__((may_alias)) emulation_word;

struct emulation_rows {
    uint32_t row[4], out[4]; /* a row of 8 elements in, a register of each matrix out */
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
    for (unsigned m = 0; m < 4; m++)
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

inline void emulation_ldmatrix(uint32_t (&r)[4], const void *row, bool transposed,
                               emulation_place at)
{
    emulation_rows s = {{}, {}, transposed};
    if ((uintptr_t)row % 16) emulation_fail(at, "ldmatrix: %p is not aligned to 16 bytes", row);
    for (int i = 0; i < 4; i++) s.row[i] = ((const emulation_word *)row)[i];
    emulation_collective(~0u, "ldmatrix", &s, emulation_rows_combine, false, at);
    for (int i = 0; i < 4; i++) r[i] = s.out[i];
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

inline void cp_async16(void *to, const void *from, bool valid, EMULATION_AT)
{
    emulation_copy_issue(to, from, valid, at);
    for (int i = 0; i < 4; i++) ((emulation_word *)to)[i] = ~0u;
}
inline void cp_async_commit()
{
    emulation_copy_commit();
}
template <int KEEP> inline void cp_async_wait()
{
    emulation_copy c;
    while (emulation_copy_next(KEEP, &c))
        for (int i = 0; i < 4; i++)
            ((emulation_word *)c.to)[i] = c.valid ? ((const emulation_word *)c.from)[i] : 0;
}

#endif
