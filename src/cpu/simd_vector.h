/* simd_vector.h - vectors of the instruction set this file is compiled for, and operations that
 * GCC's vector extensions lack.
 *
 * 1. Only files named simd_*.c include it; each is compiled once per instruction set.
 * 2. The result of a lane depends only on that lane of the operands.
 * 3. NaN is preserved; therefore the order of operands of vector_max matters. */
#ifndef CPU_SIMD_VECTOR_H
#define CPU_SIMD_VECTOR_H

#include <stdint.h>
#include <string.h>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
#define VECTOR_LANES 16
#elif defined(__AVX2__)
#define VECTOR_LANES 8
#else
#define VECTOR_LANES 4
#endif
#define VECTOR_BYTES (VECTOR_LANES * 4)

typedef float vector_f32 __attribute__((vector_size(VECTOR_BYTES)));
typedef int32_t vector_i32 __attribute__((vector_size(VECTOR_BYTES)));
typedef uint32_t vector_u32 __attribute__((vector_size(VECTOR_BYTES)));
/* vector_f32 in memory, without alignment. */
typedef float vector_f32_any __attribute__((vector_size(VECTOR_BYTES), aligned(4), may_alias));

#define VECTOR_FN static inline __attribute__((always_inline))

VECTOR_FN vector_f32 vector_load(const float *p)
{
    return *(const vector_f32_any *)(const void *)p;
}

VECTOR_FN void vector_store(float *p, vector_f32 v)
{
    *(vector_f32_any *)(void *)p = v;
}

VECTOR_FN vector_f32 vector_set(float s)
{
    return s - (vector_f32){0};
}

VECTOR_FN vector_i32 vector_bits(vector_f32 v)
{
    return (vector_i32)v;
}

VECTOR_FN vector_f32 vector_from_bits(vector_i32 v)
{
    return (vector_f32)v;
}

/* vector_select - a where the lane of which is -1, b where it is 0. */
VECTOR_FN vector_f32 vector_select(vector_i32 which, vector_f32 a, vector_f32 b)
{
    return vector_from_bits((which & vector_bits(a)) | (~which & vector_bits(b)));
}

/* vector_max - a if a > b, else b; also b if either is NaN. */
VECTOR_FN vector_f32 vector_max(vector_f32 a, vector_f32 b)
{
#if defined(__AVX512F__)
    return (vector_f32)_mm512_max_ps((__m512)a, (__m512)b);
#elif defined(__AVX2__)
    return (vector_f32)_mm256_max_ps((__m256)a, (__m256)b);
#elif defined(__SSE2__)
    return (vector_f32)_mm_max_ps((__m128)a, (__m128)b);
#else
    return vector_select(a > b, a, b);
#endif
}

/* Horizontal sum and maximum, in a fixed order. */
VECTOR_FN float vector_sum(vector_f32 v)
{
#if defined(__AVX512F__)
    return _mm512_reduce_add_ps((__m512)v);
#else
    float lane[VECTOR_LANES];
    memcpy(lane, &v, sizeof lane);
    for (int half = VECTOR_LANES / 2; half > 0; half /= 2)
        for (int l = 0; l < half; l++) lane[l] += lane[l + half];
    return lane[0];
#endif
}

VECTOR_FN float vector_highest(vector_f32 v)
{
#if defined(__AVX512F__)
    return _mm512_reduce_max_ps((__m512)v);
#else
    float lane[VECTOR_LANES];
    memcpy(lane, &v, sizeof lane);
    for (int half = VECTOR_LANES / 2; half > 0; half /= 2)
        for (int l = 0; l < half; l++)
            lane[l] = lane[l] > lane[l + half] ? lane[l] : lane[l + half];
    return lane[0];
#endif
}

/* vector_exp2 - 2^x for x <= 127 with an error of at most 2 ulp; 0 below VECTOR_EXP2_ZERO, where
 * the result would be subnormal. Splits x exactly into the nearest integer n and a remainder of at
 * most one half; the polynomial interpolates (2^x - 1) / x at Chebyshev nodes with a relative error
 * of 5e-9. */
#define VECTOR_EXP2_ZERO (-126.5f)

VECTOR_FN vector_f32 vector_exp2(vector_f32 x)
{
    const float shift = 0x1.8p23f + 127.0f; /* leaves n + 127 in the lowest bits of the sum */
    x = vector_max(vector_set(-127.0f), x);
    vector_f32 shifted = x + shift;
    vector_f32 rest = x - (shifted - shift);
    vector_f32 p = vector_set(0x1.44138ap-13f);
    p = p * rest + 0x1.5f0890p-10f;
    p = p * rest + 0x1.3b2a54p-7f;
    p = p * rest + 0x1.c6af6cp-5f;
    p = p * rest + 0x1.ebfbe0p-3f;
    p = p * rest + 0x1.62e430p-1f;
    p = p * rest + 1.0f;
    return p * vector_from_bits(vector_bits(shifted) << 23);
}

/* vector_exp - e^x for x <= 88. log2(e) is split into two parts to keep the last bits of the
 * product. */
VECTOR_FN vector_f32 vector_exp(vector_f32 x)
{
    const float shift = 0x1.8p23f + 127.0f;
    x = vector_max(vector_set(-88.0f), x);
    vector_f32 shifted = x * 0x1.715476p0f + shift;
    vector_f32 n = shifted - shift;
    vector_f32 rest = x - n * 0x1.62e4p-1f;
    rest = rest - n * 0x1.7f7d1cp-20f;
    vector_f32 p = vector_set(0x1.6d4316p-10f);
    p = p * rest + 0x1.123d82p-7f;
    p = p * rest + 0x1.5554eap-5f;
    p = p * rest + 0x1.55547cp-3f;
    p = p * rest + 0.5f;
    p = p * rest + 1.0f;
    p = p * rest + 1.0f;
    return p * vector_from_bits(vector_bits(shifted) << 23);
}

/* vector_sigmoid - 1 / (1 + e^-x) with an error of at most 2.5 ulp. */
VECTOR_FN vector_f32 vector_sigmoid(vector_f32 x)
{
    vector_f32 small = vector_exp(vector_from_bits(vector_bits(x) | INT32_MIN)); /* e^-|x| */
    return vector_select(x < 0.0f, small, vector_set(1.0f)) / (1.0f + small);
}

/* vector_normal - the normal distribution function (1 + erf(x / sqrt 2)) / 2 with an error of at
 * most 1.2 ulp above 0, 3 ulp above -1 and 64 ulp above -6; below, it vanishes. With t = |x| it is
 * e^(t p(t)) / 2, or 1 less that; p interpolates ln(erfc(t / sqrt 2)) / t at Chebyshev nodes in
 * [0, 6]. */
VECTOR_FN vector_f32 vector_normal(vector_f32 x)
{
    vector_f32 t = vector_from_bits(vector_bits(x) & INT32_MAX);
    vector_f32 near = -vector_max(vector_set(-6.0f), -t);
    vector_f32 p = vector_set(0x1.0685d8p-29f);
    p = p * near - 0x1.302d08p-24f;
    p = p * near + 0x1.383dd0p-20f;
    p = p * near - 0x1.7338dep-17f;
    p = p * near + 0x1.12db72p-14f;
    p = p * near - 0x1.d05cb0p-13f;
    p = p * near + 0x1.305fbap-15f;
    p = p * near + 0x1.39ca5cp-8f;
    p = p * near - 0x1.29b08cp-5f;
    p = p * near - 0x1.45f2dep-2f;
    p = p * near - 0x1.988454p-1f;
    vector_f32 tail = 0.5f * vector_exp(t * p);
    return vector_select(x > 0.0f, 1.0f - tail, tail);
}

/* vector_log2 - for normal x > 0. x = 2^n m with m near 1; log2(m) is the odd series in (m - 1) /
 * (m + 1), whose first omitted term is below 2^-29. log2(1) is 0. */
VECTOR_FN vector_f32 vector_log2(vector_f32 x)
{
    vector_i32 bits = vector_bits(x) - 0x3f3504f3; /* sqrt(1/2): m is in [0.707, 1.414) */
    vector_f32 n = __builtin_convertvector(bits >> 23, vector_f32);
    vector_f32 m = vector_from_bits((bits & 0x7fffff) + 0x3f3504f3);
    vector_f32 t = (m - 1.0f) / (m + 1.0f), square = t * t;
    vector_f32 p = vector_set(0x1.484b14p-2f); /* 2 log2(e) / 9, then / 7, / 5, / 3, / 1 */
    p = p * square + 0x1.a61762p-2f;
    p = p * square + 0x1.2776c6p-1f;
    p = p * square + 0x1.ec709ep-1f;
    p = p * square + 0x1.715476p1f;
    return n + t * p;
}

#endif
