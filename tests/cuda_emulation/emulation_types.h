/* emulation_types.h - CUDA's qualifiers, vector types, bf16 and arithmetic on the host.
 *
 * The vector types have CUDA's alignment, so that UBSan reports misaligned accesses. The fast
 * intrinsics (__expf and such) are exact here, except emulation_exp2_approx; compare results with a
 * tolerance. */
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
#define __constant__ static
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __align__(n) alignas(n)
#define __restrict__ __restrict

struct uint3 {
    unsigned x, y, z;
};
struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_)
    {
    }
};

#define EMULATION_VECTORS(type, name)                                                              \
    struct alignas(2 * sizeof(type)) name##2                                                       \
    {                                                                                              \
        type x, y;                                                                                 \
    };                                                                                             \
    struct alignas(sizeof(type) > 4 ? 16 : 4 * sizeof(type)) name##4                               \
    {                                                                                              \
        type x, y, z, w;                                                                           \
    };                                                                                             \
    inline name##2 make_##name##2(type x, type y)                                                  \
    {                                                                                              \
        return {x, y};                                                                             \
    }                                                                                              \
    inline name##4 make_##name##4(type x, type y, type z, type w)                                  \
    {                                                                                              \
        return {x, y, z, w};                                                                       \
    }
EMULATION_VECTORS(float, float)
EMULATION_VECTORS(double, double)
EMULATION_VECTORS(int, int)
EMULATION_VECTORS(unsigned, uint)
EMULATION_VECTORS(unsigned short, ushort)
#undef EMULATION_VECTORS

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
inline int __float_as_int(float f)
{
    return (int)__float_as_uint(f);
}
inline float __int_as_float(int bits)
{
    return __uint_as_float((uint32_t)bits);
}
inline int __popc(unsigned x)
{
    return __builtin_popcount(x);
}
inline int __popcll(unsigned long long x)
{
    return __builtin_popcountll(x);
}
inline int __ffs(int x)
{
    return __builtin_ffs(x);
}
inline int __clz(int x)
{
    return x ? __builtin_clz((unsigned)x) : 32;
}
inline unsigned __umulhi(unsigned a, unsigned b)
{
    return (unsigned)((uint64_t)a * b >> 32);
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
inline __nv_bfloat16 __float2bfloat16_rn(float f)
{
    return __float2bfloat16(f);
}
inline __nv_bfloat162 __floats2bfloat162_rn(float x, float y)
{
    return {__float2bfloat16(x), __float2bfloat16(y)};
}
inline float2 __bfloat1622float2(__nv_bfloat162 b)
{
    return {__bfloat162float(b.x), __bfloat162float(b.y)};
}
inline uint16_t __bfloat16_as_ushort(__nv_bfloat16 b)
{
    return b.bits;
}
inline __nv_bfloat16 __ushort_as_bfloat16(uint16_t bits)
{
    return {bits};
}

/* ---- arithmetic ---- */

inline float rsqrtf(float x)
{
    return 1.0f / sqrtf(x);
}
inline double rsqrt(double x)
{
    return 1.0 / sqrt(x);
}
inline float __expf(float x)
{
    return expf(x);
}
inline float __logf(float x)
{
    return logf(x);
}
inline float __log2f(float x)
{
    return log2f(x);
}
/* ex2.approx.ftz with the largest error it may have, 2^-22, up or down; exact for integers. */
inline float emulation_exp2_approx(float x)
{
    if (x < -126.0f) return 0.0f;
    float y = exp2f(x), error = __float_as_uint(x) & 1 ? 0x1p-22f : -0x1p-22f;
    return x == truncf(x) ? y : y + y * error;
}
inline float __fdividef(float x, float y)
{
    return x / y;
}
inline float __frcp_rn(float x)
{
    return 1.0f / x;
}
inline float __fsqrt_rn(float x)
{
    return sqrtf(x);
}
inline float __fdiv_rn(float x, float y)
{
    return x / y;
}
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
inline float __fmaf_rn(float x, float y, float z)
{
    return fmaf(x, y, z);
}
inline double __dadd_rn(double x, double y)
{
    return emulation_apart(x + y);
}
inline double __dmul_rn(double x, double y)
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

/* Loads and stores with a cache hint are loads and stores. */
template <class T> inline T __ldg(const T *p)
{
    return *p;
}
template <class T> inline T __ldcs(const T *p)
{
    return *p;
}
template <class T> inline T __ldcg(const T *p)
{
    return *p;
}
template <class T> inline void __stcs(T *p, T value)
{
    *p = value;
}
template <class T> inline void __stcg(T *p, T value)
{
    *p = value;
}

#endif
