/* test_simd_attention_skip.c - the backward pass skips tiles, and skipping changes no bit, on every
 * instruction set.
 *
 * The reference is the same pass with a table of the same biases; for a table no tile is skipped.
 */
#include "harness/test.h"

#include <math.h>
#include <string.h>

#include "cpu/cpu_fixture.h"
#include "ops/op_attention.h"

enum { T = 800, H = 8, D = 8, C = H * D, TILE = 64 };
/* What q and k are: random; constant, where the skip bound is reached, not only kept; of two
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

static struct attention_case skip_make(struct op_bench *k, float *near, enum skip_data data)
{
    struct attention_case c = op_attention_case(k, (int32_t[]){1, T, H, D}, FORM_NONE, 0.0f);
    c.a.bias.tail_slope_dev = slopes;
    for (int64_t h = 0; h < H; h++)
        for (int64_t d = 0; d < T; d++) near[h * T + d] = slopes[h] * (float)d;
    skip_fill(c.a.q.data, data);
    return c;
}

static void skip_use_table(struct attention_case *c, const float *near)
{
    c->a.bias = (struct attention_bias){.bias_table_n = T, .bias_table_dev = near};
}

/* Only the last queries have a gradient: what a far key gets of them is all that it gets, down to
 * the smallest numbers. */
static void check_bits(struct op_bench *k, enum skip_data data)
{
    op_bench_reset(k);
    float *near = op_floats(k, (int64_t)H * T);
    struct attention_case c = skip_make(k, near, data);
    memset(c.dout.t.data, 0, (size_t)(T - TILE) * C * sizeof(float));
    op_attention_run(k, &c);
    const float *expected = op_get(k, &c.dqkv.t);
    skip_use_table(&c, near);
    op_attention_run(k, &c);
    op_same("dqkv", op_get(k, &c.dqkv.t), expected, (int64_t)T * 3 * C);
}

TEST(skipped_tiles_change_no_bit)
{
    for (int variant = 0; variant < CPU_VARIANTS; variant++) {
        struct op_bench k;
        struct backend *b = cpu_variant_open(variant);
        if (!b) continue;
        op_bench_init(&k, b, 1);
        for (int data = 0; data < SKIP_DATA; data++) check_bits(&k, (enum skip_data)data);
        op_bench_close(&k);
    }
}

/* A NaN among the first values reaches every query's gradient unless their tile is skipped. */
TEST(a_tile_of_zero_probabilities_is_not_read)
{
    struct op_bench k;
    op_bench_init(&k, cpu_variant_best(1), 1);
    float *near = op_floats(&k, (int64_t)H * T);
    struct attention_case c = skip_make(&k, near, RANDOM);
    const float *last = (float *)c.dqkv.t.data + (int64_t)(T - 1) * 3 * C;

    op_attention_run(&k, &c);
    for (int64_t i = 0; i < C; i++) ((float *)c.a.v.data)[i] = NAN;
    assert_ok(k.b->ops->attention_bwd(k.b, &c.a, &e));
    /* The nearest pair is more than 700 apart: 2^-180 from the fourth head on. The third's 2^-120
     * and less may or may not be enough. */
    for (int64_t h = 0; h < H; h++)
        if (h != 2) assert_int_equal(isnan(last[h * D]) != 0, h < 2);
    skip_use_table(&c, near);
    assert_ok(k.b->ops->attention_bwd(k.b, &c.a, &e));
    for (int64_t h = 0; h < H; h++) assert_true(isnan(last[h * D]));
    op_bench_close(&k);
}
