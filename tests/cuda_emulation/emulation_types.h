/* emulation_types.h - CUDA's qualifiers, vector types, bf16 and arithmetic on the host.
 *
 * Only what kernels use. The vector types have CUDA's alignment, so that UBSan reports misaligned
 * accesses. */
#ifndef EMULATION_TYPES_H
#define EMULATION_TYPES_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define __global__
#define __device__
#define __host__
#define __launch_bounds__(...)

struct uint3 {
    unsigned x, y, z;
};
struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_)
    {
    }
};

struct alignas(8) float2 {
    float x, y;
};
struct alignas(16) float4 {
    float x, y, z, w;
};
struct alignas(8) uint2 {
    unsigned x, y;
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};
inline float2 make_float2(float x, float y)
{
    return {x, y};
}
inline float4 make_float4(float x, float y, float z, float w)
{
    return {x, y, z, w};
}
inline uint2 make_uint2(unsigned x, unsigned y)
{
    return {x, y};
}
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w)
{
    return {x, y, z, w};
}

/* ---- bits ---- */

inline uint32_t __float_as_uint(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}
inline float __uint_as_float(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}
inline float __int_as_float(int bits)
{
    return __uint_as_float((uint32_t)bits);
}
inline int __popc(unsigned x)
{
    return __builtin_popcount(x);
}

/* ---- bf16: conversions only, as in kernels; rounds to nearest even ---- */

struct __nv_bfloat16 {
    uint16_t bits;
};
struct alignas(4) __nv_bfloat162 {
    __nv_bfloat16 x, y;
};

inline float __bfloat162float(__nv_bfloat16 b)
{
    return __uint_as_float((uint32_t)b.bits << 16);
}
inline __nv_bfloat16 __float2bfloat16(float f)
{
    uint32_t bits = __float_as_uint(f);
    if (f != f) return {0x7fff};
    return {(uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}
inline __nv_bfloat162 __floats2bfloat162_rn(float x, float y)
{
    return {__float2bfloat16(x), __float2bfloat16(y)};
}
/* ---- arithmetic ---- */

/* ex2.approx.ftz with the largest error it may have, 2^-22, up or down; exact for integers. */
inline float emulation_exp2_approx(float x)
{
    if (x < -126.0f) return 0.0f;
    float y = exp2f(x), error = __float_as_uint(x) & 1 ? 0x1p-22f : -0x1p-22f;
    return x == truncf(x) ? y : y + y * error;
}
/* exp2f is ex2.approx, too; its results may be subnormal. */
inline float emulation_exp2f(float x)
{
    return x < -126.0f ? exp2f(x) : emulation_exp2_approx(x);
}
#define exp2f emulation_exp2f

/* The compiler must not contract these with a following operation. */
template <class T> inline T emulation_apart(T x)
{
    asm("" : "+m"(x));
    return x;
}
inline float __fadd_rn(float x, float y)
{
    return emulation_apart(x + y);
}
inline float __fmul_rn(float x, float y)
{
    return emulation_apart(x * y);
}
/* As in CUDA, min and max of mixed types take the common type. */
template <class A, class B> inline auto min(A a, B b) -> decltype(true ? A() : B())
{
    return b < a ? b : a;
}
template <class A, class B> inline auto max(A a, B b) -> decltype(true ? A() : B())
{
    return a < b ? b : a;
}

#endif
