/* test_attention.c - fused attention against plain loops in double precision, forward and backward,
 * for every instruction set and one and two threads. */
#include "harness/test.h"

#include <stddef.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/cpu.h"
#include "cpu/cpu_attention_bench.h"
#include "cpu/cpu_attention_plain.h"
#include "cpu/cpu_fixture.h"

static double *doubles(int64_t n)
{
    double *out = calloc((size_t)n, sizeof *out);
    assert_non_null(out);
    return out;
}

/* A gradient of a third, out of its matrix. */
static void check_third(const char *what, const struct tensor *got, const double *expected,
                        double ulps)
{
    float *flat = cpu_zeros(got->rows * got->cols);
    for (int64_t i = 0; i < got->rows; i++)
        memcpy(flat + i * got->cols, (float *)got->data + i * got->stride,
               (size_t)got->cols * sizeof *flat);
    cpu_check(what, flat, expected, got->rows * got->cols, 1.0, ulps);
    free(flat);
}

/* A sum of n terms in f32 is off by at most n half ulps of the sum of magnitudes; scores of size s
 * put an error of s ulps into the exponent, thus the relative error of a probability. */
static void check_masked(struct attention_size s, enum bias_form form, float p,
                         struct attention_mask mask)
{
    struct attention_bench *t = attention_bench_make(s, form, p, 1.0f);
    t->a.mask = mask;
    int64_t n = (int64_t)s.B * s.T * s.H * s.D;
    struct plain_attention plain = {
        doubles(n), doubles((int64_t)s.B * s.H * s.T), doubles(n),        doubles(n),
        doubles(n), doubles(HEADS_MAX * NEAR_MAX),     doubles(HEADS_MAX)};
    double ulps = 64.0 + 4.0 * s.D + 2.0 * s.T;
    plain_attention_run(&plain, &t->a);
    for (int variant = 0; variant < CPU_VARIANTS; variant++) {
        struct backend *b = cpu_variant_open(variant);
        struct err e = {0};
        if (!b) continue;
        memset(t->near_grad, 0, sizeof t->near_grad);
        memset(t->offset_grad, 0, sizeof t->offset_grad);
        assert_int_equal(b->ops->attention(b, &t->a, &e), 0);
        assert_int_equal(b->ops->attention_bwd(b, &t->a, &e), 0);
        cpu_check("out", t->out, plain.out, n, 1.0, ulps);
        cpu_check("lse", t->lse, plain.lse, (int64_t)s.B * s.H * s.T, 1.0, ulps);
        check_third("dq", &t->a.dq, plain.dq, ulps);
        check_third("dk", &t->a.dk, plain.dk, ulps);
        check_third("dv", &t->a.dv, plain.dv, ulps);
        if (form == BIAS_NEAR) {
            cpu_check("near", t->near_grad, plain.near_grad, s.H * NEAR_MAX, 1.0, 16.0 * ulps);
            cpu_check("offset", t->offset_grad, plain.offset_grad, s.H, 1.0, 64.0 * ulps);
        }
        backend_close(b);
    }
    double *all[] = {plain.out, plain.lse,       plain.dq,         plain.dk,
                     plain.dv,  plain.near_grad, plain.offset_grad};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
    attention_bench_free(t);
}

static void check_against_plain(struct attention_size s, enum bias_form form, float p)
{
    check_masked(s, form, p, (struct attention_mask){0});
}

TEST(every_head_width_and_bias_form_agrees_with_plain_loops)
{
    static const int32_t widths[] = {2,  4,  6,  8,  10, 12, 14,  16,  18,
                                     20, 30, 32, 64, 80, 96, 112, 128, 256};
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
        for (int form = 0; form < BIAS_FORMS; form++)
            check_against_plain((struct attention_size){2, 70, 2, widths[w]}, (enum bias_form)form,
                                0.0f);
}

TEST(a_head_width_that_is_odd_or_above_256_is_refused)
{
    static const int32_t widths[] = {7, 258};
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
        struct attention_bench *t = attention_bench_make(
            (struct attention_size){1, 4, 1, widths[w]}, BIAS_NONE, 0.0f, 1.0f);
        struct backend *b = cpu_variant_best(1);
        e = (struct err){0};
        assert_int_equal(b->ops->attention(b, &t->a, &e), ERR_UNAVAILABLE);
        assert_int_equal(b->ops->attention_bwd(b, &t->a, &e), ERR_UNAVAILABLE);
        assert_non_null(strstr(e.text, "even width"));
        backend_close(b);
        attention_bench_free(t);
    }
}

TEST(lengths_around_a_tile_agree_with_plain_loops)
{
    static const int32_t lengths[] = {1,  2,  7,  8,  15,  16,  17,  31,
                                      33, 63, 64, 65, 127, 128, 129, 200};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (int form = 0; form < BIAS_FORMS; form++)
            for (int32_t D = 8; D <= 12; D += 4)
                check_against_plain((struct attention_size){1, lengths[i], 3, D},
                                    (enum bias_form)form, 0.0f);
}

TEST(windows_and_sinks_agree_with_plain_loops)
{
    static const int32_t lengths[] = {1, 4, 7, 15, 16, 33, 65, 130, 200},
                         windows[] = {1, 3, 16, 40, 64};
    static const int32_t sinks[] = {0, 1, 4, 20, 70};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (size_t w = 0; w < sizeof windows / sizeof *windows; w++)
            for (size_t s = 0; s < sizeof sinks / sizeof *sinks; s++)
                check_masked((struct attention_size){1, lengths[i], 2, 8},
                             (enum bias_form)((i + w + s) % BIAS_FORMS), w % 2 ? 0.25f : 0.0f,
                             (struct attention_mask){windows[w], sinks[s],
                                                     s % 2 ? SINKS_TEXT : SINKS_CACHE});
}

TEST(dropout_takes_the_documented_elements_forward_and_backward)
{
    static const int32_t lengths[] = {8, 13, 64, 70};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        check_against_plain((struct attention_size){2, lengths[i], 3, 8}, BIAS_SLOPE, 0.3f);
    check_against_plain((struct attention_size){2, 40, 2, 32}, BIAS_NEAR, 0.5f);
    check_against_plain((struct attention_size){2, 70, 2, 20}, BIAS_NEAR, 0.5f);
}

/* A window's prefix equals the shorter window bit for bit: the query's own tokens are all it sees.
 */
TEST(a_query_has_the_same_bits_in_a_longer_window)
{
    enum { LONG = 150, H = 2, D = 8, C = H * D };
    for (int form = 0; form < BIAS_FORMS; form++) {
        struct attention_bench *whole = attention_bench_make((struct attention_size){1, LONG, H, D},
                                                             (enum bias_form)form, 0, 2);
        for (int variant = 0; variant < CPU_VARIANTS; variant++) {
            struct backend *b = cpu_variant_open(variant);
            e = (struct err){0};
            if (!b) continue;
            assert_int_equal(b->ops->attention(b, &whole->a, &e), 0);
            for (int32_t T = 1; T < LONG; T += T < 20 ? 1 : 13) {
                struct attention_bench *part = attention_bench_make(
                    (struct attention_size){1, T, H, D}, (enum bias_form)form, 0, 2);
                memcpy(part->qkv, whole->qkv, (size_t)T * 3 * C * sizeof(float));
                assert_int_equal(b->ops->attention(b, &part->a, &e), 0);
                cpu_check_bits("prefix", part->out, whole->out, (size_t)T * C * sizeof(float));
                attention_bench_free(part);
            }
            backend_close(b);
        }
        attention_bench_free(whole);
    }
}

/* Threads take whole heads: one thread or two, the same bits, again and again. */
TEST(threads_and_repetition_do_not_change_bits)
{
    enum { T = 90, N = 3 * T, C = 24 };
    float first_out[N * C], first_dqkv[N * 3 * C];
    for (int run = 0; run < 4; run++) {
        struct attention_bench *t =
            attention_bench_make((struct attention_size){3, T, 3, 8}, BIAS_SLOPE, 0.1f, 1.0f);
        struct backend *b = cpu_variant_best(1 + run % 2);
        e = (struct err){0};
        assert_int_equal(b->ops->attention(b, &t->a, &e), 0);
        assert_int_equal(b->ops->attention_bwd(b, &t->a, &e), 0);
        if (run == 0) {
            memcpy(first_out, t->out, sizeof first_out);
            memcpy(first_dqkv, t->dqkv, sizeof first_dqkv);
        }
        cpu_check_bits("out", t->out, first_out, sizeof first_out);
        cpu_check_bits("dqkv", t->dqkv, first_dqkv, sizeof first_dqkv);
        backend_close(b);
        attention_bench_free(t);
    }
}

TEST(what_others_left_in_scratch_memory_does_not_matter)
{
    enum { T = 45, C = 24 };
    float first_dqkv[T * 3 * C], first_near[HEADS_MAX * NEAR_MAX];
    for (int variant = 0; variant < CPU_VARIANTS; variant++)
        for (int32_t length = 5; length <= T; length += 40) {
            struct backend *b = cpu_variant_open(variant);
            if (!b) continue;
            size_t dqkv_bytes = (size_t)length * 3 * C * sizeof(float);
            struct attention_bench *t = attention_bench_make(
                (struct attention_size){1, length, 3, 8}, BIAS_NEAR, 0.1f, 1.0f);
            attention_bench_run(b, t);
            memcpy(first_dqkv, t->dqkv, dqkv_bytes);
            memcpy(first_near, t->near_grad, sizeof first_near);
            for (int32_t i = 0; i < b->threads; i++) /* all bits set: a NaN */
                memset(cpu_of(b)->scratch_own[i].data_own, 0xff, cpu_of(b)->scratch_own[i].bytes);
            attention_bench_run(b, t);
            cpu_check_bits("dqkv", t->dqkv, first_dqkv, dqkv_bytes);
            cpu_check_bits("near", t->near_grad, first_near, sizeof first_near);
            backend_close(b);
            attention_bench_free(t);
        }
}

TEST(a_row_with_its_own_first_row_drops_what_it_drops_in_the_whole_batch)
{
    enum { T = 20, C = 24, HALF = T * C };
    struct backend *b = cpu_variant_best(1);
    struct attention_bench *whole =
        attention_bench_make((struct attention_size){2, T, 3, 8}, BIAS_NONE, 0.4f, 1.0f);
    struct attention_bench *second =
        attention_bench_make((struct attention_size){1, T, 3, 8}, BIAS_NONE, 0.4f, 1.0f);
    memcpy(second->qkv, whole->qkv + 3 * HALF, 3 * HALF * sizeof(float));
    second->a.dropout.first_row = whole->a.dropout.first_row + 1;
    assert_int_equal(b->ops->attention(b, &whole->a, &e), 0);
    assert_int_equal(b->ops->attention(b, &second->a, &e), 0);
    cpu_check_bits("row", second->out, whole->out + HALF, HALF * sizeof(float));
    backend_close(b);
    attention_bench_free(whole);
    attention_bench_free(second);
}

/* sum of out * dout, as the backward pass differentiates it. */
static double objective(struct backend *b, struct attention_bench *t, int64_t n)
{
    struct err e = {0};
    double sum = 0.0;
    assert_int_equal(b->ops->attention(b, &t->a, &e), 0);
    for (int64_t i = 0; i < n; i++) sum += (double)t->out[i] * (double)t->dout[i];
    return sum;
}

TEST(gradients_agree_with_finite_differences)
{
    enum { T = 12, H = 2, D = 8, N = T * H * D };
    struct backend *b = cpu_variant_best(1);
    struct attention_bench *t =
        attention_bench_make((struct attention_size){1, T, H, D}, BIAS_NEAR, 0.2f, 1.0f);
    const float step = 0x1p-6f;
    objective(b, t, N);
    assert_int_equal(b->ops->attention_bwd(b, &t->a, &e), 0);
    for (int64_t i = 0; i < 3 * N; i += 5) {
        float kept = t->qkv[i];
        t->qkv[i] = kept + step;
        double above = objective(b, t, N);
        t->qkv[i] = kept - step;
        double below = objective(b, t, N);
        t->qkv[i] = kept;
        double slope = (above - below) / (2.0 * (double)step);
        /* Truncation step^2 / 6 times a third derivative of order 1; rounding 1e-6 / step. */
        assert_true(fabs(slope - (double)t->dqkv[i]) < 2e-3);
    }
    for (int i = 0; i < H * NEAR_MAX; i++) {
        float kept = t->near[i];
        t->near[i] = kept + step;
        double above = objective(b, t, N);
        t->near[i] = kept - step;
        double below = objective(b, t, N);
        t->near[i] = kept;
        assert_true(fabs((above - below) / (2.0 * (double)step) - (double)t->near_grad[i]) < 2e-3);
    }
    backend_close(b);
    attention_bench_free(t);
}
