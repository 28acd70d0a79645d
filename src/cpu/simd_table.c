/* simd_table.c - the table of kernels of one instruction set. */
#include "cpu/simd.h"

#define TEXT2(name) #name
#define TEXT(name) TEXT2(name)
#define ENTRY(NAME, name, args) .name = SIMD_NAME(simd_##name),

const struct simd_kernels SIMD_NAME(simd_kernels) = {
    SIMD_KERNELS(ENTRY)
#undef ENTRY
        .name = TEXT(SIMD_ISA),
    .linear = &SIMD_NAME(simd_linear),
#if defined(SIMD_SPLITS)
    .splits = &SIMD_NAME(simd_splits),
#endif
    .attention = &SIMD_NAME(simd_attention),
    .attention_bwd = &SIMD_NAME(simd_attention_bwd),
};
