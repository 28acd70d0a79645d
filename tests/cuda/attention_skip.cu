// attention_skip.cu - certificates: that what they leave out is as little as they say, how much of
// the triangle it is, and that results are those of a pass that leaves out nothing.
//
// Slopes are ALiBi's of eight heads. Queries and keys are random with scores of at most about 11,
// as cuda/attention_skip.cuh is meant for, and smaller, larger, or with a few very long keys.
#include "attention_oracle.h"

#include "../bench/bench_live.h"
#include "attention_skip.cuh"

enum { HEADS = 8, WIDTH = 16 };

// Norms: every number times spread, keys of every 50th token times 6 where long_keys.
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
            x[at] = bf16_round((float)(factor * (double)x[at]));
        }
        matrix_upload(f.qkv[i]);
    }
}

// The certificates of a call, on the host.
static std::vector<float> skip_certificates(struct attention_fixture &f)
{
    std::vector<float> out((size_t)attention_parts_of(&f.a).delta);
    attention_skip_bounds(NULL, &f.a, (float *)f.workspace, false);
    cudaMemcpy(out.data(), f.workspace, out.size() * 4, cudaMemcpyDeviceToHost);
    return out;
}

// The tiles of past keys of row i which the kernels may look at.
static int32_t skip_past_n(int32_t i)
{
    return i < SKIP_FROM ? 0 : i / 128 * 128 / ATTENTION_NORM_TILE;
}

// All that a row leaves out holds less than 2^-26 of its softmax.
static int certificates_bound_what_is_lost(const struct norms &n)
{
    const int32_t T = 704;
    struct attention_fixture f;
    int64_t dead_n = 0;
    double most = 0.0;
    skip_open(f, T, n);
    std::vector<float> w = skip_certificates(f);
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
    fixture_close(f);
    printf("spread %.2f%s: %lld dead tiles of rows, at most 2^%.0f of a row lost\n", n.spread,
           n.long_keys ? ", long keys" : "", (long long)dead_n, most > 0.0 ? log2(most) : -1074.0);
    if (most < 0x1p-26 && dead_n > 0) return 0;
    printf("  FAIL a certificate leaves out more than 2^-26, or nothing at all\n");
    return 1;
}

// The part of the causal tiles, `rows` queries by 64 keys, that some row of theirs needs: a block
// of 128 queries loads a tile or not, a warp of 32 computes it or not.
static double live_share(int32_t T, int32_t rows)
{
    struct attention_fixture f;
    int64_t live_n = 0, all_n = 0;
    skip_open(f, T, typical);
    std::vector<float> w = skip_certificates(f);
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
    fixture_close(f);
    return (double)live_n / (double)all_n;
}

// The same by the loops that bench_gpu tells it with.
static double live_share_told(int32_t T)
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
    fixture_close(f);
    return (double)count.live / (double)count.all;
}

static int live_shares_are_small(int32_t T, double most)
{
    double blocks = live_share(T, 128), warps = live_share(T, 32);
    double told = live_share_told(T);
    printf(
        "T %d: live share %.3f of tiles loaded (%.3f told by bench_gpu), %.3f of tiles computed\n",
        T, blocks, told, warps);
    if (!(blocks <= most && warps <= blocks)) printf("  FAIL more than %.3f is live\n", most);
    if (fabs(told - blocks) > 0.002) printf("  FAIL bench_gpu tells another share\n");
    return !(blocks <= most && warps <= blocks) || fabs(told - blocks) > 0.002;
}

// The same bias in a form that has no certificates: a table of one distance. Slopes are powers of
// two and so is the scale: both forms give every pair the same bits.
static void skip_forbid(struct attention_fixture &f)
{
    std::vector<float> zero(HEADS, 0.0f);
    f.a.bias.bias_table_n = 1;
    f.a.bias.bias_table_dev = (float *)device_copy(f, zero.data(), zero.size() * 4);
    f.workspace = device_copy(f, NULL, cuda_attention_workspace(&f.a));
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
    for (int i = 0; i < 5; i++) got[i] = matrix_read(*results[i]);
    fixture_close(f);
}

// Less than half of the last bit of a sum is lost: the same bits.
static int results_are_those_of_a_whole_pass(int32_t T)
{
    static const char *const names[] = {"out", "lse", "dq", "dk", "dv"};
    std::vector<float> got[5], want[5];
    int failures = 0;
    skip_run(got, T, false);
    skip_run(want, T, true);
    for (int i = 0; i < 5; i++) {
        size_t differ_n = 0;
        for (size_t at = 0; at < want[i].size(); at++)
            differ_n += memcmp(&got[i][at], &want[i][at], sizeof(float)) != 0;
        if (differ_n == 0) continue;
        printf("  FAIL T %d: what is left out changes %zu of %zu numbers of %s\n", T, differ_n,
               want[i].size(), names[i]);
        failures++;
    }
    return failures;
}

int main(int argc, char **argv)
{
    bool all = argc > 1 && strcmp(argv[1], "all") == 0;
    const struct norms norms[] = {typical, {0.3, false}, {3.0, false}, {1.0, true}};
    int failures = 0;
    for (int i = 0; i < (all ? 4 : 2); i++) failures += certificates_bound_what_is_lost(norms[i]);
    failures += live_shares_are_small(1024, 0.84);
    if (all) failures += live_shares_are_small(3072, 0.61);
    failures += results_are_those_of_a_whole_pass(all ? 1024 : 640);
    printf("attention certificates: %s\n", failures ? "FAILED" : "hold");
    return failures != 0;
}
