/* test_simd_attention_skip.c - tiles that the backward pass leaves out change no bit of it, on
 * every instruction set, and they are left out.
 *
 * What it is compared with is the same pass under a table of the same biases, which says nothing of
 * falling with distance, so that nothing is left out. */
#include "harness/test.h"

#include <stddef.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/cpu_attention_bench.h"
#include "cpu/cpu_fixture.h"

enum { T = 800, H = 8, D = 8, C = H * D, TILE = 64 };
/* What q and k are: random; constant, where the certificate's bound is met, not only kept; of two
 * kinds: the first query of a tile is the largest and has its likes far away only, one in a tile of
 * keys. The others' lse is higher, or their norm is lower by more than their lse. */
enum skip_data { RANDOM, CONSTANT, HIGHER_LSE, LOWER_NORM, SKIP_DATA };

static void skip_fill(float *qkv, enum skip_data data)
{
    for (int64_t i = 0; data != RANDOM && i < T; i++) {
        float *q = qkv + i * 3 * C, *k = q + C;
        int first = i % TILE == 0, like_first = first || (i < T / 2 && i % 32 == 31);
        for (int64_t c = 0; c < C; c++) {
            q[c] = k[c] = data == CONSTANT ? 1.0f : 0.0f;
            if (data == CONSTANT) continue;
            if (c % D == first) q[c] = first ? 16.0f : data == HIGHER_LSE ? 14.0f : 10.0f;
            if (c % D == like_first && (like_first || i >= T / 2)) k[c] = 1.0f;
        }
    }
}

/* One rises, one is flat, and one has its 2^-126.5 just within these lengths. A float holds each
 * bias exactly. */
static const float slopes[H] = {0.0f,         64 / 128.0f,  -15 / 128.0f, -24 / 128.0f,
                                -32 / 128.0f, -40 / 128.0f, -48 / 128.0f, -56 / 128.0f};

static struct attention_bench *skip_make(float *near, enum skip_data data)
{
    struct attention_bench *t =
        attention_bench_make((struct attention_size){1, T, H, D}, BIAS_SLOPE, 0.0f, 1.0f);
    for (int64_t h = 0; h < H; h++) {
        t->slope[h] = slopes[h];
        for (int64_t d = 0; d < T; d++) near[h * T + d] = t->slope[h] * (float)d;
    }
    skip_fill(t->qkv, data);
    return t;
}

static void skip_use_table(struct attention_bench *t, const float *near)
{
    t->a.bias = (struct attention_bias){.bias_table_n = T, .bias_table_dev = near};
}

/* Only the last queries have a gradient: what a far key gets of them is all that it gets, down to
 * the smallest numbers. */
static void check_bits(struct backend *b, enum skip_data data)
{
    float *near = cpu_zeros(H * T), *expected = cpu_zeros((int64_t)T * 3 * C);
    size_t bytes = (size_t)T * 3 * C * sizeof *expected;
    struct attention_bench *t = skip_make(near, data);

    memset(t->dout, 0, (size_t)(T - TILE) * C * sizeof *t->dout);
    attention_bench_run(b, t);
    memcpy(expected, t->dqkv, bytes);
    skip_use_table(t, near);
    attention_bench_run(b, t);
    cpu_check_bits("dqkv", t->dqkv, expected, bytes);
    attention_bench_free(t);
    free(expected);
    free(near);
}

TEST(tiles_left_out_change_no_bit)
{
    for (int variant = 0; variant < CPU_VARIANTS; variant++) {
        struct backend *b = cpu_variant_open(variant);
        if (!b) continue;
        for (int data = 0; data < SKIP_DATA; data++) check_bits(b, (enum skip_data)data);
        backend_close(b);
    }
}

/* A NaN among the first values meets every query's gradient unless their tile is left out. */
TEST(a_tile_of_zero_probabilities_is_not_read)
{
    float *near = cpu_zeros(H * T);
    struct backend *b = cpu_variant_best(1);
    struct attention_bench *t = skip_make(near, RANDOM);
    const float *last = t->dqkv + (int64_t)(T - 1) * 3 * C;

    attention_bench_run(b, t);
    for (int64_t c = 0; c < C; c++) t->qkv[2 * C + c] = NAN;
    assert_int_equal(b->ops->attention_bwd(b, &t->a, &e), 0);
    /* The nearest pair is more than 700 apart: 2^-180 from the fourth head on. The third's 2^-120
     * and less may or may not be enough. */
    for (int64_t h = 0; h < H; h++)
        if (h != 2) assert_int_equal(isnan(last[h * D]) != 0, h < 2);
    skip_use_table(t, near);
    assert_int_equal(b->ops->attention_bwd(b, &t->a, &e), 0);
    for (int64_t h = 0; h < H; h++) assert_true(isnan(last[h * D]));
    backend_close(b);
    attention_bench_free(t);
    free(near);
}
