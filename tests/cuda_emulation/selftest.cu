/* selftest.cu - tests every primitive that kernels use against its documented meaning.
 *
 * nvcc compiles this file for a real GPU, and a host compiler for the emulator. If both print ok, the
 * emulator lays out registers as the hardware does. Prints a line for each case; exit status 0 if
 * all pass, 77 without a device. */
#include "selftest.h"

#include "base/philox.h"

enum : unsigned { FULL = 0xffffffffu };

void selftest_must(cudaError_t error, const char *what)
{
    if (error == cudaSuccess) return;
    printf("FAIL  %s: %s\n", what, cudaGetErrorString(error));
    exit(1);
}

/* One warp. */
static __global__ void shuffles_k(int *out)
{
    int lane = threadIdx.x;
    out[lane] = __shfl_sync(FULL, lane * 10, 5);
    out[32 + lane] = __shfl_sync(FULL, lane, 3, 8);
    out[64 + lane] = __shfl_xor_sync(FULL, lane, 16);
    out[96 + lane] = __shfl_down_sync(FULL, lane, 4, 16);
    out[128 + lane] = __shfl_up_sync(FULL, lane, 4);
    if (lane < 16)
        out[160 + lane] = __shfl_xor_sync(0x0000ffffu, lane, 1);
    else
        out[160 + lane] = __shfl_xor_sync(0xffff0000u, lane, 2);
    out[192 + lane] = (int)__shfl_down_sync(FULL, 0.5 * lane, 1);
}

static int shuffles_follow_width_and_mask()
{
    struct both<int> o = both_make<int>(224);
    launch(shuffles_k, 1, 32, 0, 0, o.device_own);
    both_down(&o);
    int wrong = 0;
    for (int lane = 0; lane < 32; lane++) {
        const int *at = o.host_own + lane;
        wrong += at[0] != 50;
        wrong += at[32] != (lane & ~7) + 3;
        wrong += at[64] != (lane ^ 16);
        wrong += at[96] != (lane % 16 + 4 < 16 ? lane + 4 : lane);
        wrong += at[128] != (lane < 4 ? lane : lane - 4);
        wrong += at[160] != (lane < 16 ? lane ^ 1 : lane ^ 2);
        wrong += at[192] != (lane < 31 ? lane + 1 : lane) / 2;
    }
    both_free(&o);
    return wrong;
}

/* One warp and 8 lanes. */
static __global__ void votes_k(unsigned *out)
{
    unsigned t = threadIdx.x, mask = t < 32 ? FULL : 0xffu;
    out[t] = __ballot_sync(mask, t % 3 == 0);
    out[40 + t] = __any_sync(mask, t == 39) + 2 * __all_sync(mask, t < 39);
}

static int votes_count_the_lanes_of_their_mask()
{
    struct both<unsigned> o = both_make<unsigned>(80);
    launch(votes_k, 1, 40, 0, 0, o.device_own);
    both_down(&o);
    int wrong = 0;
    for (int t = 0; t < 40; t++) {
        wrong += o.host_own[t] != (t < 32 ? 0x49249249u : 0x92u);
        wrong += o.host_own[40 + t] != (t < 32 ? 2u : 1u);
    }
    both_free(&o);
    return wrong;
}

/* One warp: d (16x8) = a (16x16) b (16x8); bt is the transpose of b. One product for each of the four
 * ways to load b's registers. */
static __global__ void product_k(float *d, const bf16 *a, const bf16 *b, const bf16 *bt)
{
    SHARED(bf16, rows_a, [16 * 16]);
    SHARED(bf16, rows_b, [16 * 8]);
    SHARED(bf16, rows_bt, [8 * 16]);
    int lane = threadIdx.x;
    for (int i = lane; i < 256; i += 32) rows_a[i] = a[i];
    for (int i = lane; i < 128; i += 32) {
        rows_b[i] = b[i];
        rows_bt[i] = bt[i];
    }
    __syncwarp();
    uint32_t fa[4], four[4], two[4][2];
    ldmatrix_x4(fa, rows_a + lane % 16 * 16 + lane / 16 * 8);
    ldmatrix_x2_trans(two[0], rows_b + lane % 16 * 8);
    ldmatrix_x2(two[1], rows_bt + lane % 8 * 16 + lane / 8 % 2 * 8);
    ldmatrix_x4_trans(four, rows_b + lane % 16 * 8);
    two[2][0] = four[0], two[2][1] = four[1];
    ldmatrix_x4(four, rows_bt + lane % 8 * 16 + lane / 8 % 2 * 8);
    two[3][0] = four[2], two[3][1] = four[3]; /* lanes 16 ... 31 name the same rows */
    for (int way = 0; way < 4; way++) {
        float sums[4] = {0, 0, 0, 0};
        mma_16x8x16(sums, fa, two[way][0], two[way][1]);
        for (int i = 0; i < 4; i++)
            d[way * 128 + (lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2] = sums[i];
    }
}

static int products_and_row_loads_place_every_element()
{
    struct both<bf16> a = both_make<bf16>(256), b = both_make<bf16>(128), bt = both_make<bf16>(128);
    struct both<float> d = both_make<float>(4 * 128);
    int va[256], vb[128], wrong = 0;
    for (int i = 0; i < 256; i++)
        a.host_own[i] = __float2bfloat16((float)(va[i] = (int)(philox_word(1, i, 0, 0) % 17) - 8));
    for (int i = 0; i < 128; i++) {
        b.host_own[i] = __float2bfloat16((float)(vb[i] = (int)(philox_word(2, i, 0, 0) % 17) - 8));
        bt.host_own[i % 8 * 16 + i / 8] = b.host_own[i];
    }
    both_up(&a), both_up(&b), both_up(&bt);
    launch(product_k, 1, 32, 0, 0, d.device_own, a.device_own, b.device_own, bt.device_own);
    both_down(&d);
    for (int i = 0; i < 4 * 128; i++) {
        int sum = 0;
        for (int k = 0; k < 16; k++) sum += va[i % 128 / 8 * 16 + k] * vb[k * 8 + i % 8];
        wrong += d.host_own[i] != (float)sum;
    }
    both_free(&a), both_free(&b), both_free(&bt), both_free(&d);
    return wrong;
}

static __global__ void atomics_k(int *bins, float *total, unsigned *highest, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    atomicAdd(&bins[i % 7], 1);
    atomicAdd(total, 0.5f);
    atomicMax(highest, (unsigned)i);
    if (i == 77) atomicExch(&bins[7], i);
    atomicCAS(&bins[8], 0, 5);
}

static int atomics_lose_nothing()
{
    struct both<int> bins = both_make<int>(9);
    struct both<float> total = both_make<float>(1);
    struct both<unsigned> highest = both_make<unsigned>(1);
    launch(atomics_k, 40, 256, 0, 0, bins.device_own, total.device_own, highest.device_own, 10000);
    both_down(&bins), both_down(&total), both_down(&highest);
    int wrong = (total.host_own[0] != 5000) + (highest.host_own[0] != 9999) +
                (bins.host_own[7] != 77) + (bins.host_own[8] != 5);
    for (int i = 0; i < 7; i++) wrong += bins.host_own[i] != 10000 / 7 + (i < 10000 % 7);
    both_free(&bins), both_free(&total), both_free(&highest);
    return wrong;
}

/* Blocks of 5 x 3 x 2 threads, not a whole number of warps. */
static __global__ void indices_k(int *out)
{
    int t = threadIdx.x + 5 * (threadIdx.y + 3 * threadIdx.z);
    int b = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    out[b * 30 + t] = threadIdx.x + 10 * threadIdx.y + 100 * threadIdx.z + 1000 * blockIdx.z;
    __syncthreads();
}

static int indices_run_through_three_dimensions()
{
    struct both<int> o = both_make<int>(2 * 2 * 3 * 30);
    launch(indices_k, dim3(2, 2, 3), dim3(5, 3, 2), 0, 0, o.device_own);
    both_down(&o);
    int wrong = 0;
    for (int i = 0; i < 360; i++) {
        int t = i % 30;
        wrong += o.host_own[i] != t % 5 + t / 5 % 3 * 10 + t / 15 * 100 + i / 120 * 1000;
    }
    both_free(&o);
    return wrong;
}

/* A block of 32 x 8 owns a tile of 32 x 32. */
static __global__ void transpose_k(float *out, const float *x, int n)
{
    SHARED(float, tile, [32][33]);
    int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 32;
    for (int i = threadIdx.y; i < 32; i += 8)
        if (row + i < n && column < n) tile[i][threadIdx.x] = x[(row + i) * n + column];
    __syncthreads();
    column = blockIdx.y * 32 + threadIdx.x, row = blockIdx.x * 32;
    for (int i = threadIdx.y; i < 32; i += 8)
        if (row + i < n && column < n) out[(row + i) * n + column] = tile[threadIdx.x][i];
}

static int barriers_and_shared_memory_transpose_a_matrix()
{
    enum { N = 100 };
    struct both<float> x = both_make<float>(N * N), o = both_make<float>(N * N);
    for (int i = 0; i < N * N; i++) x.host_own[i] = (float)i;
    both_up(&x);
    launch(transpose_k, dim3(4, 4), dim3(32, 8), 0, 0, o.device_own, x.device_own, N);
    both_down(&o);
    int wrong = 0;
    for (int i = 0; i < N * N; i++) wrong += o.host_own[i] != x.host_own[i % N * N + i / N];
    both_free(&x), both_free(&o);
    return wrong;
}

/* One warp: two groups of copies. In the second, elements beyond 64 are zeros. */
static __global__ void copies_k(float *out, const float *x)
{
    SHARED(float, s, [288]);
    int t = threadIdx.x * 4;
    cp_async16(&s[t], &x[t], true);
    cp_async_commit();
    cp_async16(&s[128 + t], &x[128 + t], t < 64);
    cp_async4(&s[256 + threadIdx.x], &x[threadIdx.x], threadIdx.x < 16);
    cp_async_commit();
    cp_async_wait<1>();
    __syncwarp();
    for (int i = 0; i < 4; i++) out[t + i] = s[127 - t - i];
    cp_async_wait<0>();
    __syncwarp();
    for (int i = 0; i < 4; i++) out[128 + t + i] = s[255 - t - i];
    out[256 + threadIdx.x] = s[287 - threadIdx.x];
}

static int asynchronous_copies_arrive_group_by_group()
{
    struct both<float> x = both_make<float>(256), o = both_make<float>(288);
    for (int i = 0; i < 256; i++) x.host_own[i] = (float)(i + 1);
    both_up(&x);
    launch(copies_k, 1, 32, 0, 0, o.device_own, x.device_own);
    both_down(&o);
    int wrong = 0;
    for (int i = 0; i < 128; i++) {
        wrong += o.host_own[i] != (float)(128 - i);
        wrong += o.host_own[128 + i] != (float)(i < 64 ? 0 : 256 - i);
    }
    for (int i = 0; i < 32; i++) wrong += o.host_own[256 + i] != (float)(i < 16 ? 0 : 32 - i);
    both_free(&x), both_free(&o);
    return wrong;
}

/* Two halves of a block meet at separate barriers, then all threads together. */
static __global__ void halves_k(int *out)
{
    SHARED_DYNAMIC(int, s); /* 64 KB: more than the default limit */
    int half = threadIdx.x / 64, t = threadIdx.x % 64;
    s[8192 * half + t] = 100 * half + t;
    barrier_sync(1 + half, 64);
    int other = s[8192 * half + 63 - t];
    __syncthreads();
    out[blockIdx.x * 128 + threadIdx.x] = other + 1000 * s[8192 * (1 - half) + t];
}

static int named_barriers_and_large_shared_memory_work()
{
    struct both<int> o = both_make<int>(256);
    launch(halves_k, 2, 128, 64 << 10, 0, o.device_own);
    both_down(&o);
    int wrong = 0;
    for (int i = 0; i < 256; i++) {
        int half = i / 64 % 2, t = i % 64;
        wrong += o.host_own[i] != 100 * half + 63 - t + 1000 * (100 * (1 - half) + t);
    }
    both_free(&o);
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

static int bf16_rounds_to_nearest_even()
{
    enum { N = 4096 };
    static const uint32_t edges[] = {0x3f808000u, 0x3f818000u, 0x3f807fffu,
                                     0x3f808001u, 0x7f7fffffu, 0x00000001u,
                                     0x00008000u, 0x7f800000u, 0};
    struct both<uint32_t> x = both_make<uint32_t>(N), o = both_make<uint32_t>(2 * N);
    for (uint32_t i = 0; i < N; i++) {
        uint32_t bits = i < 9 ? edges[i] : philox_word(3, i, 0, 0) & 0x7fffffffu;
        x.host_own[i] = bits > 0x7f800000u ? 0x3f800000u : bits; /* no NaN */
    }
    both_up(&x);
    launch(round_k, N / 128, 128, 0, 0, o.device_own, x.device_own, (int)N);
    both_down(&o);
    int wrong = 0;
    for (int i = 0; i < N; i++) {
        uint32_t want = rounded(x.host_own[i]);
        wrong += o.host_own[i] != (want >> 16 | ((want | 0x80000000u) & 0xffff0000u));
        wrong += o.host_own[N + i] != want;
    }
    both_free(&x), both_free(&o);
    return wrong;
}

static __global__ void arithmetic_k(float *out, uint32_t *bits)
{
    float x = 0.5f + (float)threadIdx.x;
    out[threadIdx.x] = __expf(-x) * __fdividef(1.0f, rsqrtf(x)) + __logf(x) - exp2f(-x);
    bits[threadIdx.x] = (uint32_t)(__popc(threadIdx.x) + 100 * __clz((int)threadIdx.x) +
                                   10000 * __ffs((int)threadIdx.x)) +
                        __umulhi(threadIdx.x << 28, 1u << 24);
    bits[32 + threadIdx.x] = philox_word(5, threadIdx.x, 7, 9);
}

static int arithmetic_and_random_words_equal_the_host()
{
    struct both<float> o = both_make<float>(32);
    struct both<uint32_t> b = both_make<uint32_t>(64);
    launch(arithmetic_k, 1, 32, 0, 0, o.device_own, b.device_own);
    both_down(&o), both_down(&b);
    int wrong = 0;
    for (uint32_t i = 0; i < 32; i++) {
        double x = 0.5 + i, want = exp(-x) * sqrt(x) + log(x) - exp2(-x);
        int zeros = 32;
        while (zeros > 0 && i >> (32 - zeros)) zeros--;
        uint32_t bits =
            (uint32_t)(__builtin_popcount(i) + 100 * zeros + 10000 * __builtin_ffs((int)i));
        wrong += fabs(o.host_own[i] - want) > 1e-5;
        wrong += b.host_own[i] != bits + (uint32_t)((uint64_t)(i << 28) * (1u << 24) >> 32);
        wrong += b.host_own[32 + i] != philox_word(5, i, 7, 9);
    }
    both_free(&o), both_free(&b);
    return wrong;
}

static const struct selftest_case selftest_kernels[] = {
    {"shuffles follow width and mask", shuffles_follow_width_and_mask},
    {"votes count the lanes of their mask", votes_count_the_lanes_of_their_mask},
    {"products and row loads place every element", products_and_row_loads_place_every_element},
    {"atomics lose nothing", atomics_lose_nothing},
    {"indices run through three dimensions", indices_run_through_three_dimensions},
    {"barriers and shared memory transpose a matrix",
     barriers_and_shared_memory_transpose_a_matrix},
    {"asynchronous copies arrive group by group", asynchronous_copies_arrive_group_by_group},
    {"named barriers and large shared memory work", named_barriers_and_large_shared_memory_work},
    {"bf16 rounds to nearest even", bf16_rounds_to_nearest_even},
    {"arithmetic and random words equal the host's", arithmetic_and_random_words_equal_the_host},
    {nullptr, nullptr},
};

static int run(const struct selftest_case *c)
{
    int failed = 0;
    for (; c->name; c++) {
        int wrong = c->wrong();
        failed += wrong != 0;
        printf("%s  %s", wrong ? "FAIL" : "ok  ", c->name);
        if (wrong) printf(": %d wrong", wrong);
        putchar('\n');
        fflush(stdout);
    }
    return failed;
}

int main()
{
    enum { SKIPPED = 77 };
    int devices = 0;
    cudaError_t error = cudaGetDeviceCount(&devices);
    if (error != cudaSuccess || devices == 0) {
        printf("skipped: no CUDA device: %s\n", cudaGetErrorString(error));
        return SKIPPED;
    }
    struct cudaDeviceProp p;
    MUST(cudaGetDeviceProperties(&p, 0));
    printf("self-test on %s, sm_%d%d\n", p.name, p.major, p.minor);
    int failed = run(selftest_kernels) + run(selftest_runtime);
    printf("self-test: %s\n", failed ? "FAILED" : "ok");
    return failed != 0;
}
