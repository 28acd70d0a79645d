/* mutants_warp.cu - bugs within a warp, and in the mathematics. */
#include "mutants.h"

enum { PRODUCT_REGISTERS_SWAPPED = 1, PRODUCT_NO_WARP_BARRIER, PRODUCT_MISALIGNED };

/* One warp: d (16x8) = a (16x16) b (16x8). */
static __global__ void warp_product_k(float *d, const bf16 *a, const bf16 *b, int bug)
{
    SHARED(bf16, rows, [16 * 16 + 16 * 8 + 8]);
    int lane = threadIdx.x;
    for (int i = lane; i < 384; i += 32) rows[i] = i < 256 ? a[i] : b[i - 256];
    if (bug != PRODUCT_NO_WARP_BARRIER) __syncwarp();
    uint32_t fa[4], fb[2];
    ldmatrix_x4(fa, rows + lane % 16 * 16 + lane / 16 * 8);
    ldmatrix_x2_trans(fb, rows + 256 + lane % 16 * 8 + (bug == PRODUCT_MISALIGNED));
    float sums[4] = {0, 0, 0, 0};
    if (bug == PRODUCT_REGISTERS_SWAPPED)
        mma_16x8x16(sums, fa, fb[1], fb[0]);
    else
        mma_16x8x16(sums, fa, fb[0], fb[1]);
    for (int i = 0; i < 4; i++) d[(lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2] = sums[i];
}

static int product(int bug)
{
    struct both<bf16> a = both_make<bf16>(256), b = both_make<bf16>(128);
    struct both<float> d = both_make<float>(128);
    int wrong = 0;
    for (int i = 0; i < 256; i++) a.host_own[i] = __float2bfloat16((float)(i * 7 % 13 - 6));
    for (int i = 0; i < 128; i++) b.host_own[i] = __float2bfloat16((float)(i * 5 % 11 - 5));
    both_up(&a), both_up(&b);
    launch(warp_product_k, 1, 32, 0, 0, d.device_own, a.device_own, b.device_own, bug);
    both_down(&d);
    for (int i = 0; i < 128; i++) {
        int sum = 0;
        for (int k = 0; k < 16; k++)
            sum += ((i / 8 * 16 + k) * 7 % 13 - 6) * ((k * 8 + i % 8) * 5 % 11 - 5);
        wrong += d.host_own[i] != (float)sum;
    }
    both_free(&a), both_free(&b), both_free(&d);
    return wrong;
}

enum { PREFIX_OFF_BY_ONE = 1, PREFIX_HALF_WARP_SHUFFLE, PREFIX_SOURCE_OUTSIDE, PREFIX_TWO_LINES };

/* One warp: out[i] = sum of x[j] over j <= i. */
static __global__ void prefix_k(float *out, const float *x, int bug)
{
    int lane = threadIdx.x;
    float sum = 0, value = x[lane];
    for (int j = 0; j < 32; j++) {
        float other = __shfl_sync(0xffffffffu, value, j);
        if (j < lane || (j == lane && bug != PREFIX_OFF_BY_ONE)) sum += other;
    }
    if (bug == PREFIX_HALF_WARP_SHUFFLE && lane < 16) sum = __shfl_xor_sync(0xffffffffu, sum, 0);
    if (bug == PREFIX_SOURCE_OUTSIDE && lane < 16) sum = __shfl_sync(0x0000ffffu, sum, lane + 1);
    if (bug == PREFIX_TWO_LINES && lane < 16)
        sum = __shfl_xor_sync(0xffffffffu, sum, 0);
    else if (bug == PREFIX_TWO_LINES)
        sum = __shfl_xor_sync(0xffffffffu, sum, 0);
    out[lane] = sum;
}

static int prefix(int bug)
{
    struct both<float> x = both_make<float>(32), o = both_make<float>(32);
    for (int i = 0; i < 32; i++) x.host_own[i] = (float)(i + 1);
    both_up(&x);
    launch(prefix_k, 1, 32, 0, 0, o.device_own, x.device_own, bug);
    both_down(&o);
    int wrong = 0;
    for (int i = 0; i < 32; i++) wrong += o.host_own[i] != (float)((i + 1) * (i + 2) / 2);
    both_free(&x), both_free(&o);
    return wrong;
}

const struct mutant mutants_warp[] = {
    {"registers of a product swapped", product, PRODUCT_REGISTERS_SWAPPED, WRONG, WRONG, WRONG},
    {"no warp barrier before rows are loaded", product, PRODUCT_NO_WARP_BARRIER, WRONG, WRONG,
     RACE},
    {"a row that is not aligned", product, PRODUCT_MISALIGNED, STOPPED, STOPPED, STOPPED},
    {"a causal mask that is off by one", prefix, PREFIX_OFF_BY_ONE, WRONG, WRONG, WRONG},
    {"a full-mask shuffle in half a warp", prefix, PREFIX_HALF_WARP_SHUFFLE, STOPPED, STOPPED,
     STOPPED},
    {"a shuffle from outside its mask", prefix, PREFIX_SOURCE_OUTSIDE, STOPPED, STOPPED, STOPPED},
    {"one mask in two branches", prefix, PREFIX_TWO_LINES, STOPPED, STOPPED, STOPPED},
    {nullptr, nullptr, 0, 0, 0, 0},
};
