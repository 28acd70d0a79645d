/* gpu.cuh - the header that every kernel file includes.
 *
 * Under nvcc it is CUDA with a few wrappers of PTX instructions. Under a host compiler the emulator
 * provides the same names, so a kernel is written once and tested on any machine. Rules:
 * 1. Start kernels with launch(). Declare shared memory with
 *      SHARED(float, tile, [8][33]);      of this size
 *      SHARED_DYNAMIC(bf16, rows);        of the size passed to launch()
 * 2. No PTX outside this file. No memcpy or memset on shared or global memory.
 * 3. Convert bf16 explicitly; never use operators on it. */
#ifndef CUDA_GPU_CUH
#define CUDA_GPU_CUH

#include <math.h>
#include <stdint.h>

#ifdef __CUDACC__
#include <cuda_bf16.h>
#include <cuda_runtime.h>

typedef __nv_bfloat16 bf16;

/* Aligned for 16-byte copies and ldmatrix, whatever the type. */
#define SHARED(type, name, dimensions) __shared__ __align__(16) type name dimensions
#define SHARED_DYNAMIC(type, name)                                                                 \
    extern __shared__ __align__(128) unsigned char shared_dynamic_[];                              \
    type *name = reinterpret_cast<type *>(shared_dynamic_)

/* launch - starts kernel(args...) on a stream. Returns the error of this call, not one that an
 * earlier call has left behind. */
template <class... P, class... A>
[[nodiscard]] cudaError_t launch(void (*kernel)(P...), dim3 grid, dim3 block, size_t shared_bytes,
                                 cudaStream_t stream, A... args)
{
    enum { SHARED_WITHOUT_ASKING = 48 << 10 };
    cudaError_t rc = cudaSuccess;
    if (shared_bytes > SHARED_WITHOUT_ASKING)
        rc = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  (int)shared_bytes);
    if (rc != cudaSuccess) return rc;
    auto start = [=](P... values) {
        void *addresses[] = {&values...};
        return cudaLaunchKernel((const void *)kernel, grid, block, addresses, shared_bytes, stream);
    };
    return start(P(args)...);
}

__device__ inline uint32_t shared_address(const void *p)
{
    return (uint32_t)__cvta_generic_to_shared(p);
}

/* mma_16x8x16 - D (16x8) += A (16x16) B (16x8), bf16 in, fp32 sums. With g = lane / 4, t = lane % 4
 * a lane holds of A (g, 2t) (g+8, 2t) (g, 2t+8) (g+8, 2t+8), each with the next column; of B
 * (2t, g) (2t+8, g), each with the next row; of D (g, 2t) (g, 2t+1) (g+8, 2t) (g+8, 2t+1). */
__device__ inline void mma_16x8x16(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/* ldmatrix_x4 - four 8x8 matrices of 16-bit elements from shared memory; lane i names row i % 8 of
 * matrix i / 8 (16 bytes, aligned). A lane gets of each matrix (g, 2t) and (g, 2t+1); transposed
 * (2t, g) and (2t+1, g). */
__device__ inline void ldmatrix_x4(uint32_t (&r)[4], const void *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(row))
                 : "memory");
}
__device__ inline void ldmatrix_x4_trans(uint32_t (&r)[4], const void *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(row))
                 : "memory");
}

/* cp_async16 - copies 16 aligned bytes from global to shared memory; zeros if not valid.
 * cp_async_wait<N> waits for all but the N youngest committed groups; other threads see the bytes
 * after a barrier. */
__device__ inline void cp_async16(void *to, const void *from, bool valid)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)),
                 "l"(from), "r"(valid ? 16 : 0)
                 : "memory");
}
__device__ inline void cp_async_commit()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}
template <int KEEP> __device__ inline void cp_async_wait()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(KEEP) : "memory");
}
#else
#include "emulation.h"
#endif

/* Two bf16 in one register, the first in the low half. */
__device__ inline uint32_t pack_bf16(float low, float high)
{
    __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
    return *reinterpret_cast<const uint32_t *>(&pair);
}

/* exp2_flushed - 2^x; 0 instead of a subnormal number. */
__device__ inline float exp2_flushed(float x)
{
#ifdef __CUDACC__
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
#else
    return emulation_exp2_approx(x);
#endif
}

/* hide_from_compiler - returns x, but hides its value from the optimiser, so that code in a rare
 * branch is not hoisted out of the loop, where it would occupy registers. */
__device__ inline int32_t hide_from_compiler(int32_t x)
{
#ifdef __CUDACC__
    asm volatile("" : "+r"(x));
#endif
    return x;
}

/* All lanes of a full warp call these; each gets the same bits. */
template <class T> __device__ inline T warp_sum(T v)
{
    for (int other = 16; other; other >>= 1) v += __shfl_xor_sync(0xffffffffu, v, other);
    return v;
}
__device__ inline float warp_max(float v)
{
    for (int other = 16; other; other >>= 1) v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, other));
    return v;
}

#endif
