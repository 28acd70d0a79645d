/* cpu_fixture.c - see cpu_fixture.h. */
#include "cpu/cpu_fixture.h"

#include "cpu/cpu.h"
#include "harness/test.h"

struct backend *cpu_variant_best(int32_t threads)
{
    struct backend *b = NULL;
    assert_ok(backend_cpu_library()->open(&b, 0, threads, DTYPE_F32, &e));
    return b;
}

struct backend *cpu_variant_open(int variant)
{
    static const char *const names[CPU_SETS] = {"base", "v3", "v4"};
    const struct simd_kernels *kernels = cpu_simd_named(names[variant % CPU_SETS]);
    if (!kernels) return NULL;
    struct backend *b = cpu_variant_best(1 + variant / CPU_SETS);
    cpu_of(b)->simd = kernels;
    return b;
}
