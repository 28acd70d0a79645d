/* simd_dropout.h - dropout factors of consecutive elements: base/philox.h with vectors.
 *
 * A lane computes a block of four elements; the words of VECTOR_LANES blocks are then interleaved
 * into the order of the elements. The bits are those of philox_word. */
#ifndef CPU_SIMD_DROPOUT_H
#define CPU_SIMD_DROPOUT_H

#include "backend/backend.h"
#include "base/philox.h"
#include "cpu/simd_vector.h"

/* Dropout at one site: factor(element) is 0 or keep_scale. keep_scale = 0: no dropout. */
struct simd_dropout {
    uint64_t key;
    uint32_t stream, step, keep_below;
    float keep_scale; /* 1 / (1 - p) */
    int64_t first_row;
    const int32_t *rows; /* NULL: row i is first_row + i */
    int64_t cols;
};

VECTOR_FN struct simd_dropout dropout_of(const struct dropout *d, int64_t cols)
{
    struct simd_dropout out = {.cols = cols};
    if (d->p <= 0.0f) return out;
    out.key = d->key;
    out.stream = d->stream;
    out.step = d->step_dev ? d->step_dev->update : 0;
    out.keep_below = philox_keep_below(d->p);
    out.keep_scale = 1.0f / (1.0f - d->p);
    out.first_row = d->first_row + (d->step_dev ? d->span * d->step_dev->first_row : 0);
    out.rows = d->rows_dev;
    return out;
}

/* Index of a row's first element within the update. */
VECTOR_FN uint64_t dropout_row(const struct simd_dropout *d, int64_t row)
{
    int64_t update_row = d->first_row + (d->rows ? d->rows[row] : row);
    return (uint64_t)(update_row * d->cols);
}

typedef uint64_t vector_u64 __attribute__((vector_size(VECTOR_BYTES)));

/* The 64-bit products of the even elements of a and b. */
VECTOR_FN vector_u64 dropout_multiply_even(vector_u64 a, vector_u64 b)
{
#if defined(__AVX512F__)
    return (vector_u64)_mm512_mul_epu32((__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
    return (vector_u64)_mm256_mul_epu32((__m256i)a, (__m256i)b);
#elif defined(__SSE2__)
    return (vector_u64)_mm_mul_epu32((__m128i)a, (__m128i)b);
#else
    return (a & 0xFFFFFFFFu) * (b & 0xFFFFFFFFu);
#endif
}

/* High and low words of the products of all 32-bit elements with a constant. */
VECTOR_FN void dropout_multiply(vector_u32 *high, vector_u32 *low, vector_u32 x, uint32_t by)
{
    const vector_u64 low_half = (vector_u64){0} + 0xFFFFFFFFu;
    vector_u64 factor = (vector_u64){0} + by;
    vector_u64 even = dropout_multiply_even((vector_u64)x, factor);
    vector_u64 odd = dropout_multiply_even((vector_u64)x >> 32, factor);
    *low = (vector_u32)((even & low_half) | (odd << 32));
    *high = (vector_u32)((even >> 32) | (odd & ~low_half));
}

/* Element 2k of the result is a[from + k], 2k + 1 is b[from + k]: `from` is 0 or half the lanes. */
VECTOR_FN vector_u32 dropout_interleave(vector_u32 a, vector_u32 b, const int from)
{
    vector_u32 lanes;
    for (int l = 0; l < VECTOR_LANES; l++)
        lanes[l] = (uint32_t)(l / 2 + from + (l % 2) * VECTOR_LANES);
    return __builtin_shuffle(a, b, lanes);
}

/* Words of VECTOR_LANES blocks from `block` on, in the order of their elements. */
VECTOR_FN void dropout_words(vector_u32 out[4], const struct simd_dropout *d, uint64_t block)
{
    enum { HALF = VECTOR_LANES / 2 };
    vector_u32 c0, c1, c2 = (vector_u32){0} + d->step, c3 = (vector_u32){0} + d->stream;
    uint32_t k0 = (uint32_t)d->key, k1 = (uint32_t)(d->key >> 32);
    for (int l = 0; l < VECTOR_LANES; l++) {
        c0[l] = (uint32_t)(block + (uint64_t)l);
        c1[l] = (uint32_t)((block + (uint64_t)l) >> 32);
    }
    for (int round = 0; round < 10; round++) {
        vector_u32 high0, low0, high1, low1;
        dropout_multiply(&high0, &low0, c0, 0xD2511F53u);
        dropout_multiply(&high1, &low1, c2, 0xCD9E8D57u);
        c0 = high1 ^ c1 ^ k0;
        c2 = high0 ^ c3 ^ k1;
        c1 = low1;
        c3 = low0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    vector_u32 low02 = dropout_interleave(c0, c2, 0), low13 = dropout_interleave(c1, c3, 0);
    vector_u32 high02 = dropout_interleave(c0, c2, HALF), high13 = dropout_interleave(c1, c3, HALF);
    out[0] = dropout_interleave(low02, low13, 0);
    out[1] = dropout_interleave(low02, low13, HALF);
    out[2] = dropout_interleave(high02, high13, 0);
    out[3] = dropout_interleave(high02, high13, HALF);
}

/* dropout_factors - factor[i] of elements first ... first + n - 1: 0 or keep_scale. */
VECTOR_FN void dropout_factors(float *factor, const struct simd_dropout *d, uint64_t first,
                               int64_t n)
{
    const vector_i32 kept = vector_bits(vector_set(d->keep_scale));
    for (int64_t done = 0; done < n;) {
        float drawn[4 * VECTOR_LANES];
        vector_u32 words[4];
        uint64_t element = first + (uint64_t)done;
        int64_t skip = (int64_t)(element % 4), count = 4 * VECTOR_LANES - skip;
        if (count > n - done) count = n - done;
        dropout_words(words, d, element / 4);
        for (int w = 0; w < 4; w++) {
            vector_i32 keep = (vector_i32)(words[w] < (vector_u32){0} + d->keep_below);
            vector_store(drawn + w * VECTOR_LANES, vector_from_bits(keep & kept));
        }
        memcpy(factor + done, drawn + skip, (size_t)count * sizeof *factor);
        done += count;
    }
}

#endif
