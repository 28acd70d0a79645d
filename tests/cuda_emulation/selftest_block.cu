/* selftest_block.cu - what the warps of a block, and blocks, do together: barriers, shared memory,
 * asynchronous copies, addresses. */
#include "selftest.h"

enum { THREADS = 64, TILES = 5, TILE = 4 * THREADS };

static struct both<float> numbers(size_t n) {
    struct both<float> x = both_make<float>(n);
    for (size_t i = 0; i < n; i++) x.host_own[i] = (float)(i % 97 + 1);
    both_up(&x);
    return x;
}

static int
unlike(float got, double want)
{
    return !(fabs(got - want) <= 1e-4 * (1 + fabs(want)));
}

/* ---- two sums over a block, one after the other ---- */

enum { SUM_NO_BARRIER = 1, SUM_WARP_BARRIER, SUM_SCRATCH_REUSED, SUM_NO_FILL };

static __device__ float block_sum(float v, int bug)
{
    SHARED(float, part, [THREADS / 32]);
    v = warp_sum(v);
    if (threadIdx.x % 32 == 0 && bug != SUM_NO_FILL) part[threadIdx.x / 32] = v;
    if (bug == SUM_WARP_BARRIER) __syncwarp();
    if (bug != SUM_WARP_BARRIER && bug != SUM_NO_BARRIER) __syncthreads();
    v = part[0] + part[1];
    if (bug != SUM_SCRATCH_REUSED) __syncthreads();
    return v;
}

/* A block of 64 writes out = (sum of x, sum of squares) for each thread. */
static __global__ void sums_k(float *out, const float *x, int bug)
{
    float v = x[threadIdx.x];
    out[threadIdx.x] = block_sum(v, bug);
    out[THREADS + threadIdx.x] = block_sum(v * v, bug);
}

static int sums(int bug)
{
    struct both<float> x = numbers(THREADS), o = both_make<float>(2 * THREADS);
    double sum = 0, squares = 0;
    int wrong = 0;
    for (int i = 0; i < THREADS; i++) {
        sum += x.host_own[i];
        squares += (double)x.host_own[i] * x.host_own[i];
    }
    MUST(launch(sums_k, 1, THREADS, 0, 0, o.device_own, x.device_own, bug));
    both_down(&o);
    for (int i = 0; i < THREADS; i++)
        wrong += unlike(o.host_own[i], sum) + unlike(o.host_own[THREADS + i], squares);
    both_free(&x), both_free(&o);
    return wrong;
}

/* ---- tiles that stream through two buffers ---- */

enum {
    PIPE_NO_BARRIER_BEFORE_REFILL = 1,
    PIPE_NO_BARRIER_AFTER_WAIT,
    PIPE_WAITS_TOO_LITTLE,
    PIPE_LAST_NOT_COMMITTED
};

/* out[i] = sum over tiles of the tile's element from the other end; the last tile has n elements,
 * then zeros. */
static __global__ void pipe_k(float *out, const float *x, int n, int bug)
{
    SHARED(float, buffer, [2][TILE]);
    int t = threadIdx.x * 4;
    float sum[4] = {0, 0, 0, 0};
    cp_async16(&buffer[0][t], x + t, true);
    cp_async_commit();
    for (int j = 0; j < TILES; j++) {
        bool more = j + 1 < TILES;
        if (more)
            cp_async16(&buffer[(j + 1) % 2][t], x + (j + 1) * TILE + t, j + 2 < TILES || t < n);
        if (more || bug != PIPE_LAST_NOT_COMMITTED) cp_async_commit();
        if (bug == PIPE_WAITS_TOO_LITTLE)
            cp_async_wait<2>();
        else
            cp_async_wait<1>();
        if (bug != PIPE_NO_BARRIER_AFTER_WAIT) __syncthreads();
        for (int i = 0; i < 4; i++) sum[i] += buffer[j % 2][TILE - 1 - t - i];
        if (bug != PIPE_NO_BARRIER_BEFORE_REFILL) __syncthreads();
    }
    for (int i = 0; i < 4; i++) out[t + i] = sum[i];
}

static int pipe(int bug)
{
    enum { LAST = TILE / 4 };
    struct both<float> x = numbers((TILES - 1) * TILE + LAST), o = both_make<float>(TILE);
    int wrong = 0;
    MUST(launch(pipe_k, 1, THREADS, 0, 0, o.device_own, x.device_own, (int)LAST, bug));
    both_down(&o);
    for (int i = 0; i < TILE; i++) {
        double want = 0;
        for (size_t at = TILE - 1 - i; at < x.n; at += TILE) want += x.host_own[at];
        wrong += unlike(o.host_own[i], want);
    }
    both_free(&x), both_free(&o);
    return wrong;
}

/* ---- addresses, sizes and shapes ---- */

enum {
    PLACE_SHARED_BEYOND = 1,
    PLACE_RAGGED_END,
    PLACE_MISALIGNED,
    PLACE_SMALL_LAUNCH,
    PLACE_EARLY_RETURN,
    PLACE_TWO_BARRIERS,
    PLACE_BLOCKS_COLLIDE
};

/* A block doubles its 64 of n elements through shared memory, and counts itself. */
static __global__ void place_k(float *out, int *count, const float *x, int n, int bug)
{
    SHARED_DYNAMIC(float, s);
    int t = threadIdx.x, i = blockIdx.x * THREADS + t;
    s[t] = i < n ? x[i] : 0;
    if (bug == PLACE_SHARED_BEYOND && t == THREADS - 1) s[t + 1] = 0;
    if (bug == PLACE_EARLY_RETURN && i >= n) return;
    if (bug == PLACE_TWO_BARRIERS && t < 32)
        __syncthreads();
    else
        __syncthreads();
    if (i < n || bug == PLACE_RAGGED_END) out[i] = 2 * s[t];
    if (bug == PLACE_MISALIGNED && t == 0) *(float2 *)(out + i + 1) = make_float2(0, 0);
    if (t == 5) count[bug == PLACE_BLOCKS_COLLIDE ? 0 : blockIdx.x] += 1;
}

static int place(int bug)
{
    enum { BLOCKS = 3, COUNT = BLOCKS * THREADS - 15 };
    struct both<float> x = numbers(COUNT), o = both_make<float>(COUNT);
    struct both<int> count = both_make<int>(BLOCKS);
    size_t bytes = (size_t)THREADS * sizeof(float) / (bug == PLACE_SMALL_LAUNCH ? 2 : 1);
    MUST(launch(place_k, BLOCKS, THREADS, bytes, 0, o.device_own, count.device_own, x.device_own,
           (int)COUNT, bug));
    both_down(&o), both_down(&count);
    int wrong = count.host_own[0] + count.host_own[1] + count.host_own[2] != BLOCKS;
    for (int i = 0; i < COUNT; i++) wrong += unlike(o.host_own[i], 2.0 * x.host_own[i]);
    both_free(&x), both_free(&o), both_free(&count);
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

static int indices(int)
{
    struct both<int> o = both_make<int>(2 * 2 * 3 * 30);
    int wrong = 0;
    MUST(launch(indices_k, dim3(2, 2, 3), dim3(5, 3, 2), 0, 0, o.device_own));
    both_down(&o);
    for (int i = 0; i < 360; i++) {
        int t = i % 30;
        wrong += o.host_own[i] != t % 5 + t / 5 % 3 * 10 + t / 15 * 100 + i / 120 * 1000;
    }
    both_free(&o);
    return wrong;
}

/* ---- the two kinds of shared memory ---- */

enum { SHARED_UNASKED = 1 };

/* Reverses a block's numbers through static shared memory, 4096 bytes, and dynamic. */
static __global__ void reverse_k(float *x, int last)
{
    SHARED(float, still, [1024]);
    SHARED_DYNAMIC(float, moving);
    still[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    moving[last - threadIdx.x] = still[THREADS - 1 - threadIdx.x];
    x[threadIdx.x] = moving[last - threadIdx.x];
}

/* 44 + 4 KiB are within the default limit. 46 + 4 are not, and launch() raises the limit only if the
 * dynamic part alone exceeds 48: 64 + 4 are allowed. */
static int shared_kinds(int bug)
{
    const int kilobytes[] = {bug == SHARED_UNASKED ? 46 : 44, 64};
    struct both<float> x = numbers(THREADS);
    int wrong = 0;
    for (int i = 0; i < 2; i++) {
        size_t bytes = (size_t)kilobytes[i] << 10;
        MUST(launch(reverse_k, 1, THREADS, bytes, 0, x.device_own, (int)(bytes / sizeof(float)) - 1));
        both_down(&x);
        for (int t = 0; t < THREADS; t++)
            wrong += x.host_own[t] != (float)(i ? t + 1 : THREADS - t);
    }
    both_free(&x);
    return wrong;
}

const struct selftest_row selftest_block[] = {
    {"sums over a block are added in order", sums, 0, PASSES, PASSES, PASSES},
    {"no barrier before partial sums are read", sums, SUM_NO_BARRIER, WRONG, WRONG, RACE},
    {"a warp's barrier where the block's is needed", sums, SUM_WARP_BARRIER, WRONG, WRONG, RACE},
    {"no barrier before scratch is used again", sums, SUM_SCRATCH_REUSED, WRONG, WRONG, RACE},
    {"shared memory read before it is written", sums, SUM_NO_FILL, WRONG, WRONG, WRONG},
    {"asynchronous copies arrive group by group", pipe, 0, PASSES, PASSES, PASSES},
    {"no barrier before a buffer is refilled", pipe, PIPE_NO_BARRIER_BEFORE_REFILL, WRONG, WRONG,
     RACE},
    {"no barrier after waiting for a copy", pipe, PIPE_NO_BARRIER_AFTER_WAIT, WRONG, WRONG, RACE},
    {"one group too many left under way", pipe, PIPE_WAITS_TOO_LITTLE, STOPPED, STOPPED, STOPPED},
    {"the last group not committed", pipe, PIPE_LAST_NOT_COMMITTED, STOPPED, STOPPED, STOPPED},
    {"blocks access their own elements", place, 0, PASSES, PASSES, PASSES},
    {"one element beyond shared memory", place, PLACE_SHARED_BEYOND, ANY, ADDRESS, ANY},
    {"too little shared memory in the launch", place, PLACE_SMALL_LAUNCH, ANY, ADDRESS, ANY},
    {"a write beyond the ragged end", place, PLACE_RAGGED_END, ANY, ADDRESS, ANY},
    {"a misaligned vector store", place, PLACE_MISALIGNED, ANY, UNDEFINED, ANY},
    {"a barrier after some threads returned", place, PLACE_EARLY_RETURN, STOPPED, STOPPED, STOPPED},
    {"two barriers in two branches", place, PLACE_TWO_BARRIERS, STOPPED, STOPPED, STOPPED},
    {"blocks that add to one cell", place, PLACE_BLOCKS_COLLIDE, PASSES, PASSES, RACE},
    {"indices run through three dimensions", indices, 0, PASSES, PASSES, PASSES},
    {"shared memory is static, dynamic and large", shared_kinds, 0, PASSES, PASSES, PASSES},
    {"shared memory of two kinds, too much without asking", shared_kinds, SHARED_UNASKED, STOPPED,
     STOPPED, STOPPED},
    {nullptr, nullptr, 0, 0, 0, 0},
};
