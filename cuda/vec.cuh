/* vec.cuh - eight neighbouring elements of fp32 or bf16, loaded and stored 16 bytes at a time. */
#ifndef CUDA_VEC_CUH
#define CUDA_VEC_CUH

#include "gpu.cuh"

struct vec8 {
    float x[8];
};

__device__ inline struct vec8 vec8_load(const float *from)
{
    const float4 *four = (const float4 *)from;
    float4 a = four[0], b = four[1];
    struct vec8 out = {{a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w}};
    return out;
}

__device__ inline struct vec8 vec8_load(const bf16 *from)
{
    uint4 v = *(const uint4 *)from;
    struct vec8 out = {{__uint_as_float(v.x << 16), __uint_as_float(v.x & 0xffff0000u),
                        __uint_as_float(v.y << 16), __uint_as_float(v.y & 0xffff0000u),
                        __uint_as_float(v.z << 16), __uint_as_float(v.z & 0xffff0000u),
                        __uint_as_float(v.w << 16), __uint_as_float(v.w & 0xffff0000u)}};
    return out;
}

__device__ inline void vec8_store(float *to, const struct vec8 &v)
{
    ((float4 *)to)[0] = make_float4(v.x[0], v.x[1], v.x[2], v.x[3]);
    ((float4 *)to)[1] = make_float4(v.x[4], v.x[5], v.x[6], v.x[7]);
}

__device__ inline void vec8_store(bf16 *to, const struct vec8 &v)
{
    *(uint4 *)to = make_uint4(pack_bf16(v.x[0], v.x[1]), pack_bf16(v.x[2], v.x[3]),
                              pack_bf16(v.x[4], v.x[5]), pack_bf16(v.x[6], v.x[7]));
}

#endif
