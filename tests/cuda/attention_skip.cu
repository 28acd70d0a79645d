// attention_skip.cu - skip bounds: what they skip is as small as promised; how many tiles they skip;
// and the results are those of a dense pass.
//
// The slopes are ALiBi's for eight heads. Queries and keys are random. Scores are at most about 11,
// as cuda/attention_skip.cuh expects, or smaller, or larger, or a few keys have large norms.
#include "attention_oracle.h"

#include "../bench/bench_live.h"
#include "attention_skip.cuh"

enum { HEADS = 8, WIDTH = 16 };

// Every number is multiplied by spread; with long_keys, every 50th key by 6.
struct norms {
    double spread;
    bool long_keys;
};
static const struct norms typical = {1.66, false}; // scale |q| |k| is about 11 at width 16

static void skip_open(struct attention_fixture &f, int32_t T, const struct norms &n)
{
    const struct attention_case c = {1, T, HEADS, WIDTH, DTYPE_BF16, BIAS_SLOPE, 0, 0, false, 0};
    fixture_open(f, c);
    for (int i = 0; i < 2; i++) {
        std::vector<float> &x = f.qkv[i].host;
        for (size_t at = 0; at < x.size(); at++) {
            double factor = n.spread;
            if (i == 1 && n.long_keys && at / (HEADS * WIDTH) % 50 == 7) factor *= 6.0;
            x[at] = rounded((float)(factor * (double)x[at]), DTYPE_BF16);
        }
        matrix_put(f.qkv[i]);
    }
}

// The skip bounds of a call, on the host.
static std::vector<float> skip_bounds(struct attention_fixture &f)
{
    std::vector<float> out((size_t)attention_parts_of(&f.a).delta);
    attention_skip_bounds(NULL, &f.a, (float *)f.workspace, false);
    cudaMemcpy(out.data(), f.workspace, out.size() * 4, cudaMemcpyDeviceToHost);
    return out;
}

// The number of earlier tiles of keys that the kernels may read for row i.
static int32_t skip_past_n(int32_t i)
{
    return i < SKIP_FROM ? 0 : i / 128 * 128 / ATTENTION_NORM_TILE;
}

// Everything that a row skips holds less than 2^-26 of its softmax.
static void skip_bounds_limit_what_is_lost(const struct norms &n)
{
    const int32_t T = 704;
    struct attention_fixture f;
    int64_t dead_n = 0;
    double most = 0.0;
    skip_open(f, T, n);
    std::vector<float> w = skip_bounds(f);
    struct attention_parts parts = attention_parts_of(&f.a);
    for (int32_t h = 0; h < HEADS; h++) {
        struct attention_skip skip = attention_skip_of(w.data(), parts, h, T);
        for (int32_t i = SKIP_FROM; i < T; i += 3) {
            struct oracle_row r = oracle_row_of(f, 0, h, i);
            double lost = 0.0;
            for (int32_t tile = 0; tile < skip_past_n(i); tile++) {
                if (!row_is_dead(skip, i, tile, f.slope[(size_t)h] / f.a.scale)) continue;
                dead_n++;
                for (int j = 0; j < ATTENTION_NORM_TILE; j++)
                    lost += r.p[(size_t)(tile * ATTENTION_NORM_TILE + j)];
            }
            most = fmax(most, lost);
        }
    }
    device_free();
    printf("spread %.2f%s: %lld dead tiles of rows, at most 2^%.0f of a row lost\n", n.spread,
           n.long_keys ? ", long keys" : "", (long long)dead_n, most > 0.0 ? log2(most) : -1074.0);
    count_check(most < 0x1p-26 && dead_n > 0, "more than 2^-26 is left out, or nothing at all",
          "skip bounds", T, dead_n);
}

// The share of causal tiles, `rows` queries by 64 keys, that some of their rows need. A block loads
// tiles for 128 queries, a warp computes them for 32.
static double live_share(int32_t T, int32_t rows)
{
    struct attention_fixture f;
    int64_t live_n = 0, all_n = 0;
    skip_open(f, T, typical);
    std::vector<float> w = skip_bounds(f);
    struct attention_parts parts = attention_parts_of(&f.a);
    for (int32_t h = 0; h < HEADS; h++) {
        struct attention_skip skip = attention_skip_of(w.data(), parts, h, T);
        for (int32_t first = 0; first < T; first += rows)
            for (int32_t tile = 0; tile * ATTENTION_NORM_TILE < first + rows; tile++) {
                bool live = tile >= skip_past_n(first);
                for (int32_t i = first; i < first + rows && !live; i++)
                    live = !row_is_dead(skip, i, tile, f.slope[(size_t)h] / f.a.scale);
                live_n += live;
                all_n++;
            }
    }
    device_free();
    return (double)live_n / (double)all_n;
}

// The share according to the loops of bench_gpu.
static double live_share_of_bench(int32_t T)
{
    struct attention_fixture f;
    struct live_count count = {0, 0};
    skip_open(f, T, typical);
    std::vector<float> norm((size_t)T), cutoff((size_t)T), keys((size_t)T);
    for (int32_t h = 0; h < HEADS; h++) {
        struct live_head head = {&f.qkv[0].host[(size_t)(h * WIDTH)],
                                 &f.qkv[1].host[(size_t)(h * WIDTH)],
                                 HEADS * WIDTH,
                                 T,
                                 WIDTH,
                                 -f.slope[(size_t)h],
                                 f.a.scale};
        live_add(&count, &head, norm.data(), cutoff.data(), keys.data());
    }
    device_free();
    return (double)count.live / (double)count.all;
}

static void live_shares_are_small(int32_t T, double most)
{
    double blocks = live_share(T, 128), warps = live_share(T, 32);
    double bench = live_share_of_bench(T);
    printf(
        "T %d: live share %.3f of tiles loaded (bench_gpu: %.3f), %.3f of tiles computed\n",
        T, blocks, bench, warps);
    count_check(blocks <= most && warps <= blocks, "too much is live", "live share", T, 0);
    count_check(fabs(bench - blocks) <= 0.002, "bench_gpu has another share", "live share", T, 0);
}

// The same bias in a form without skip bounds: a table of one distance. Slopes and scale are powers
// of two, so both forms give every pair the same bits.
static void skip_forbid(struct attention_fixture &f)
{
    std::vector<float> zero(HEADS, 0.0f);
    f.a.bias.bias_table_n = 1;
    f.a.bias.bias_table_dev = device_copy(zero);
    f.workspace = device_alloc(cuda_attention_workspace(&f.a));
}

// Out, lse, dq, dk, dv of both passes.
static void skip_run(std::vector<float> (&got)[5], int32_t T, bool forbidden)
{
    struct attention_fixture f;
    skip_open(f, T, typical);
    if (forbidden) skip_forbid(f);
    cuda_attention(NULL, &f.a, f.workspace);
    cuda_attention_bwd(NULL, &f.a, f.workspace);
    const struct tensor *results[] = {&f.a.out, &f.a.lse, &f.a.dq, &f.a.dk, &f.a.dv};
    for (int i = 0; i < 5; i++) got[i] = tensor_get(*results[i]);
    device_free();
}

// Skipping loses less than half of a sum's last bit, so the bits are the same.
static void results_are_those_of_a_dense_pass(int32_t T)
{
    static const char *const names[] = {"out", "lse", "dq", "dk", "dv"};
    std::vector<float> got[5], want[5];
    skip_run(got, T, false);
    skip_run(want, T, true);
    for (int i = 0; i < 5; i++) check_same(names[i], got[i], want[i]);
}

int main(void)
{
    const struct norms norms[] = {typical, {0.3, false}, {3.0, false}, {1.0, true}};
    for (const struct norms &n : norms) skip_bounds_limit_what_is_lost(n);
    live_shares_are_small(1024, 0.84);
    results_are_those_of_a_dense_pass(640);
    return checks_report("attention skip bounds");
}
