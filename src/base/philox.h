/* philox.h - counter-based random numbers: the same bits on CPU and GPU, from C and from CUDA.
 *
 * Philox 4x32-10 (Salmon, Moraes, Dror, Shaw 2011). A draw is a pure function of key and counter: a
 * resumed run equals an uninterrupted one, and the order of work does not matter. Valid as C17,
 * C++17 and CUDA C++.
 *
 * Counter layout of the project: [0..1] element index (64 bit), [2] step, [3] stream (layer and
 * site). */
#ifndef BASE_PHILOX_H
#define BASE_PHILOX_H

#include <stdint.h>

#ifdef __CUDACC__
#define PHILOX_FN static __host__ __device__ inline
#else
#define PHILOX_FN static inline
#endif

struct philox_block {
    uint32_t word[4];
};

/* philox_4x32 - ten rounds on counter words c0..c3 under a 64-bit key. */
PHILOX_FN struct philox_block philox_4x32(uint64_t key, uint32_t c0, uint32_t c1, uint32_t c2,
                                          uint32_t c3)
{
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    struct philox_block out;
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * c0;
        uint64_t p1 = (uint64_t)0xCD9E8D57u * c2;
        uint32_t n0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        uint32_t n2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)p1;
        c3 = (uint32_t)p0;
        c0 = n0;
        c2 = n2;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out.word[0] = c0;
    out.word[1] = c1;
    out.word[2] = c2;
    out.word[3] = c3;
    return out;
}

/* philox_word - 32 random bits for one element: word (element % 4) of block (element / 4), so that
 * four neighbouring elements share one block. */
PHILOX_FN uint32_t philox_word(uint64_t key, uint64_t element, uint32_t step, uint32_t stream)
{
    uint64_t block = element / 4;
    return philox_4x32(key, (uint32_t)block, (uint32_t)(block >> 32), step, stream)
        .word[element % 4];
}

/* philox_uniform - a number in [0, 1) with 24 bits, exact in float. */
PHILOX_FN float philox_uniform(uint32_t word)
{
    return (float)(word >> 8) * 0x1p-24f;
}

/* philox_keep_below - dropout with probability p keeps an element if its word is below this
 * threshold. */
PHILOX_FN uint32_t philox_keep_below(float p)
{
    double keep = (1.0 - (double)p) * 4294967296.0;
    return keep >= 4294967295.0 ? 0xFFFFFFFFu : (uint32_t)keep;
}

#endif
