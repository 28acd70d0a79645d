/* selftest_warp.cu - what a thread and a warp do: shuffles, votes, products, conversions. */
#include "selftest.h"

#include "base/philox.h"

enum : unsigned { FULL = 0xffffffffu };

enum { SHUFFLE_HALF_WARP = 1, SHUFFLE_SOURCE_OUTSIDE, SHUFFLE_TWO_LINES };

/* One warp. */
static __global__ void shuffles_k(int *out, int bug)
{
    int lane = threadIdx.x;
    out[lane] = __shfl_sync(FULL, lane * 10, 5);
    out[32 + lane] = __shfl_xor_sync(FULL, lane, 16);
    if (lane < 16)
        out[64 + lane] = __shfl_xor_sync(0x0000ffffu, lane, 1);
    else
        out[64 + lane] = __shfl_xor_sync(0xffff0000u, lane, 2);
    out[96 + lane] = (int)__shfl_xor_sync(FULL, 0.5 * lane, 1);
    if (bug == SHUFFLE_HALF_WARP && lane < 16) out[lane] = __shfl_xor_sync(FULL, lane, 0);
    if (bug == SHUFFLE_SOURCE_OUTSIDE && lane < 16)
        out[lane] = __shfl_sync(0x0000ffffu, lane, lane + 1);
    if (bug == SHUFFLE_TWO_LINES && lane < 16)
        out[lane] = __shfl_xor_sync(FULL, lane, 0);
    else if (bug == SHUFFLE_TWO_LINES)
        out[lane] = __shfl_xor_sync(FULL, lane, 0);
}

static int shuffles(int bug)
{
    struct both<int> o = both_make<int>(128);
    int wrong = 0;
    MUST(launch(shuffles_k, 1, 32, 0, 0, o.device_own, bug));
    both_down(&o);
    for (int lane = 0; lane < 32; lane++) {
        const int *at = o.host_own + lane;
        wrong += (at[0] != 50) + (at[32] != (lane ^ 16));
        wrong += at[64] != (lane < 16 ? lane ^ 1 : lane ^ 2);
        wrong += at[96] != (lane ^ 1) / 2;
    }
    both_free(&o);
    return wrong;
}

/* One warp and 8 lanes. */
static __global__ void votes_k(unsigned *out)
{
    unsigned t = threadIdx.x, mask = t < 32 ? FULL : 0xffu;
    out[t] = __ballot_sync(mask, t % 3 == 0);
    out[40 + t] = __any_sync(mask, t == 39);
}

static int votes(int)
{
    struct both<unsigned> o = both_make<unsigned>(80);
    int wrong = 0;
    MUST(launch(votes_k, 1, 40, 0, 0, o.device_own));
    both_down(&o);
    for (int t = 0; t < 40; t++) {
        wrong += o.host_own[t] != (t < 32 ? 0x49249249u : 0x92u);
        wrong += o.host_own[40 + t] != (t >= 32);
    }
    both_free(&o);
    return wrong;
}

enum { PRODUCT_REGISTERS_SWAPPED = 1, PRODUCT_NO_WARP_BARRIER, PRODUCT_MISALIGNED };

/* One warp: d (16x8) = a (16x16) b (16x8); bt is the transpose of b. One product for each of the two
 * ways to load b's registers; lanes 16 ... 31 name the same rows. */
static __global__ void product_k(float *d, const bf16 *a, const bf16 *b, const bf16 *bt, int bug)
{
    SHARED(bf16, rows_a, [16 * 16]);
    SHARED(bf16, rows_b, [16 * 8 + 8]);
    SHARED(bf16, rows_bt, [8 * 16]);
    int lane = threadIdx.x;
    for (int i = lane; i < 256; i += 32) rows_a[i] = a[i];
    for (int i = lane; i < 128; i += 32) {
        rows_b[i] = b[i];
        rows_bt[i] = bt[i];
    }
    if (bug != PRODUCT_NO_WARP_BARRIER) __syncwarp();
    uint32_t fa[4], way[2][4];
    ldmatrix_x4(fa, rows_a + lane % 16 * 16 + lane / 16 * 8);
    ldmatrix_x4_trans(way[0], rows_b + lane % 16 * 8 + (bug == PRODUCT_MISALIGNED));
    ldmatrix_x4(way[1], rows_bt + lane % 8 * 16 + lane / 8 % 2 * 8);
    for (int w = 0; w < 2; w++) {
        const uint32_t *b0 = &way[w][2 * w];
        float sums[4] = {0, 0, 0, 0};
        if (bug == PRODUCT_REGISTERS_SWAPPED)
            mma_16x8x16(sums, fa, b0[1], b0[0]);
        else
            mma_16x8x16(sums, fa, b0[0], b0[1]);
        for (int i = 0; i < 4; i++)
            d[w * 128 + (lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2] = sums[i];
    }
}

static int product(int bug)
{
    struct both<bf16> a = both_make<bf16>(256), b = both_make<bf16>(128), bt = both_make<bf16>(128);
    struct both<float> d = both_make<float>(2 * 128);
    int va[256], vb[128], wrong = 0;
    for (int i = 0; i < 256; i++)
        a.host_own[i] = __float2bfloat16((float)(va[i] = (int)(philox_word(1, i, 0, 0) % 17) - 8));
    for (int i = 0; i < 128; i++) {
        b.host_own[i] = __float2bfloat16((float)(vb[i] = (int)(philox_word(2, i, 0, 0) % 17) - 8));
        bt.host_own[i % 8 * 16 + i / 8] = b.host_own[i];
    }
    both_up(&a), both_up(&b), both_up(&bt);
    MUST(launch(product_k, 1, 32, 0, 0, d.device_own, a.device_own, b.device_own, bt.device_own, bug));
    both_down(&d);
    for (int i = 0; i < 2 * 128; i++) {
        int sum = 0;
        for (int k = 0; k < 16; k++) sum += va[i % 128 / 8 * 16 + k] * vb[k * 8 + i % 8];
        wrong += d.host_own[i] != (float)sum;
    }
    both_free(&a), both_free(&b), both_free(&bt), both_free(&d);
    return wrong;
}

static __global__ void round_k(uint32_t *out, const uint32_t *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float f = __uint_as_float(in[i]);
    out[i] = pack_bf16(f, -f);
    out[n + i] = __float_as_uint(__bfloat162float(__float2bfloat16(f)));
}

/* Rounds to nearest, ties to even, by definition: the nearer of the two neighbours. */
static uint32_t rounded(uint32_t bits)
{
    uint32_t low = bits & 0xffff0000u, rest = bits & 0xffffu;
    bool up = rest > 0x8000u || (rest == 0x8000u && (low >> 16 & 1));
    return up ? low + 0x10000u : low;
}

static int rounding(int)
{
    enum { N = 4096 };
    static const uint32_t edges[] = {0x3f808000u, 0x3f818000u, 0x3f807fffu,
                                     0x3f808001u, 0x7f7fffffu, 0x00000001u,
                                     0x00008000u, 0x7f800000u, 0};
    struct both<uint32_t> x = both_make<uint32_t>(N), o = both_make<uint32_t>(2 * N);
    int wrong = 0;
    for (uint32_t i = 0; i < N; i++) {
        uint32_t bits = i < 9 ? edges[i] : philox_word(3, i, 0, 0) & 0x7fffffffu;
        x.host_own[i] = bits > 0x7f800000u ? 0x3f800000u : bits; /* no NaN */
    }
    both_up(&x);
    MUST(launch(round_k, N / 128, 128, 0, 0, o.device_own, x.device_own, (int)N));
    both_down(&o);
    for (int i = 0; i < N; i++) {
        uint32_t want = rounded(x.host_own[i]);
        wrong += o.host_own[i] != (want >> 16 | ((want | 0x80000000u) & 0xffff0000u));
        wrong += o.host_own[N + i] != want;
    }
    both_free(&x), both_free(&o);
    return wrong;
}

static __global__ void words_k(uint32_t *words)
{
    words[threadIdx.x] = philox_word(5, threadIdx.x, 7, 9);
    words[32 + threadIdx.x] = (uint32_t)__popc(threadIdx.x);
}

static int words(int)
{
    struct both<uint32_t> b = both_make<uint32_t>(64);
    int wrong = 0;
    MUST(launch(words_k, 1, 32, 0, 0, b.device_own));
    both_down(&b);
    for (uint32_t i = 0; i < 32; i++) {
        wrong += b.host_own[i] != philox_word(5, i, 7, 9);
        wrong += b.host_own[32 + i] != (uint32_t)__builtin_popcount(i);
    }
    both_free(&b);
    return wrong;
}

const struct selftest_row selftest_warp[] = {
    {"shuffles follow their mask", shuffles, 0, PASSES, PASSES, PASSES},
    {"a full-mask shuffle in half a warp", shuffles, SHUFFLE_HALF_WARP, STOPPED, STOPPED, STOPPED},
    {"a shuffle from outside its mask", shuffles, SHUFFLE_SOURCE_OUTSIDE, STOPPED, STOPPED,
     STOPPED},
    {"one mask in two branches", shuffles, SHUFFLE_TWO_LINES, STOPPED, STOPPED, STOPPED},
    {"votes count the lanes of their mask", votes, 0, PASSES, PASSES, PASSES},
    {"products and row loads place every element", product, 0, PASSES, PASSES, PASSES},
    {"registers of a product swapped", product, PRODUCT_REGISTERS_SWAPPED, WRONG, WRONG, WRONG},
    {"no warp barrier before rows are loaded", product, PRODUCT_NO_WARP_BARRIER, WRONG, WRONG,
     RACE},
    {"a row that is not aligned", product, PRODUCT_MISALIGNED, STOPPED, STOPPED, STOPPED},
    {"bf16 rounds to nearest even", rounding, 0, PASSES, PASSES, PASSES},
    {"random words and counts of bits equal the host's", words, 0, PASSES, PASSES, PASSES},
    {nullptr, nullptr, 0, 0, 0, 0},
};
