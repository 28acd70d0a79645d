/* emulation.h - CUDA on the host, for kernels: gpu.cuh includes it under a host compiler.
 *
 * Kernels keep three rules that CUDA does not have. Start them with launch(). Declare shared memory
 * with SHARED and SHARED_DYNAMIC. Do not call memcpy or memset on shared or global memory: the race
 * detector might not see it. The emulated GPU: emulation_machine.h. */
#ifndef EMULATION_H
#define EMULATION_H

#include "emulation_collectives.h"
#include "emulation_machine.h"
#include "emulation_types.h"

typedef __nv_bfloat16 bf16;

template <class T> inline void emulation_check_pointer(const T &, int)
{
}
template <class T> inline void emulation_check_pointer(T *const &p, int number)
{
    emulation_check_argument(p, number);
}

/* launch - starts kernel(args...) on a stream. Arguments that are pointers must be device memory.
 */
template <class... P, class... A>
[[nodiscard]] cudaError_t launch(void (*kernel)(P...), dim3 grid, dim3 block, size_t shared_bytes,
                                 cudaStream_t stream, A... args)
{
    int number = 0;
    (emulation_check_pointer(P(args), ++number), ...);
    auto call = [=] { kernel(P(args)...); };
    static_assert(__is_trivially_copyable(decltype(call)), "kernel arguments are plain data");
    return emulation_launch((const void *)kernel, grid, block, shared_bytes, stream, call);
}

#define SHARED(type, name, dimensions)                                                             \
    typedef type name##_type dimensions;                                                           \
    static char name##_key;                                                                        \
    name##_type &name = *(name##_type *)emulation_shared_static(&name##_key, sizeof(name##_type))
#define SHARED_DYNAMIC(type, name) type *name = (type *)emulation_shared_dynamic()

#endif
