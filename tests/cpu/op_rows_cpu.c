/* op_rows_cpu.c - CPU backends of every instruction set (cpu_fixture.h), and the rows of the op
 * table for them alone: more cases than a slower device could run, and guarantees of this backend
 * only. */
#include "harness/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/cpu.h"
#include "cpu/cpu_fixture.h"
#include "ops/op_attention.h"
#include "ops/ops.h"

struct backend *cpu_variant_best(int32_t threads)
{
    struct backend *b = NULL;
    assert_ok(backend_cpu_library()->open(&b, 0, threads, DTYPE_F32, &e));
    return b;
}

struct backend *cpu_variant_open(int variant)
{
    static const char *const names[CPU_SETS] = {"base", "v3", "v4"};
    const char *name = names[variant % CPU_SETS];
    if (!cpu_simd_named(name)) return NULL;
    setenv("ALIBI_KERNELS", name, 1);
    struct backend *b = cpu_variant_best(1 + variant / CPU_SETS);
    unsetenv("ALIBI_KERNELS");
    return b;
}

static void attention_refuses_widths(struct op_bench *k)
{
    static const int32_t widths[] = {7, 258};
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
        struct err e = {0};
        struct attention_case c =
            op_attention_case(k, (int32_t[]){1, 4, 1, widths[w]}, FORM_NONE, 0.0f);
        assert_int_equal(k->b->ops->attention(k->b, &c.a, &e), ERR_UNAVAILABLE);
        assert_fails(ERR_UNAVAILABLE, "even width", k->b->ops->attention_bwd(k->b, &c.a, &e));
    }
}

/* The first T queries alone have the same bits: a query depends only on its past. */
static void attention_prefix(struct op_bench *k)
{
    for (int form = 0; form < FORMS_N; form++) {
        op_bench_reset(k);
        struct attention_case c =
            op_attention_case(k, (int32_t[]){1, 150, 2, 8}, (enum form)form, 0.0f);
        assert_ok(ops_attention(k->b, &c.a, &e));
        const float *whole = op_get(k, &c.a.out);
        for (int32_t T = 1; T < 150; T += T < 20 ? 1 : 13) {
            struct attention part = c.a;
            part.T = T;
            part.q.rows = part.k.rows = part.v.rows = part.out.rows = part.lse.cols = T;
            part.lse.stride = T;
            assert_ok(ops_attention(k->b, &part, &e));
            op_same("prefix", op_get(k, &part.out), whole, T * part.out.cols);
        }
    }
}

static void attention_scratch(struct op_bench *k)
{
    for (int32_t T = 5; T <= 45; T += 40) {
        op_bench_reset(k);
        struct attention_case c = op_attention_case(k, (int32_t[]){1, T, 3, 8}, FORM_TABLE, 0.1f);
        int64_t n = c.dqkv.t.rows * c.dqkv.t.cols, table_n = c.table_grad.t.cols * 3;
        op_attention_run(k, &c);
        const float *dqkv = op_get(k, &c.dqkv.t), *table = op_get(k, &c.table_grad.t);
        for (int32_t i = 0; i < k->b->threads; i++) { /* all bits set: a NaN */
            struct cpu_scratch *scratch = &cpu_of(k->b)->scratch_own[i];
            memset(scratch->data_own, 0xff, scratch->bytes);
        }
        op_set(k, &c.table_grad);
        op_attention_run(k, &c);
        op_same("dqkv", op_get(k, &c.dqkv.t), dqkv, n);
        op_same("table_grad", op_get(k, &c.table_grad.t), table, table_n);
    }
}

/* One row among other neighbours, at every place, in every number of rows. */
static void linear_rows_is_exact(struct op_bench *k)
{
    enum { N = 150 };
    static const int32_t shapes[][2] = {{64, 192}, {64, 300}, {256, 64}, {24, 50}, {7, 3}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        op_bench_reset(k);
        int64_t I = shapes[s][0], O = shapes[s][1];
        struct op_matrix x = op_random(k, N, I, 8), y = op_random(k, N, O, 8);
        struct op_matrix w = op_random(k, O, I, 0), bias = op_random(k, 1, O, 0);
        float *row = op_floats(k, I), *first = NULL;
        memcpy(row, x.host, (size_t)I * sizeof *row);
        for (int64_t at = 0; at < N; at += at < 26 ? 1 : 17) {
            struct tensor some = x.t, made = y.t;
            some.rows = made.rows = at + 1 + at % 5 < N ? at + 1 + at % 5 : N;
            for (int64_t i = 0; i < N * I; i++) x.host[i] = op_uniform(k);
            memcpy(x.host + at * I, row, (size_t)I * sizeof *row);
            op_set(k, &x);
            assert_ok(OPS(k->b, linear_rows, &e, .y = made, .x = some, .w = w.t, .bias = bias.t));
            const float *got = op_get(k, &made) + at * O;
            if (at == 0) first = memcpy(op_floats(k, O), got, (size_t)O * sizeof *first);
            op_same("row", got, first, O);
        }
    }
}

/* As large as a training's; the op table repeats smaller ones. */
static void linear_repeats(struct op_bench *k)
{
    float *got[2][3];
    struct op_matrix x = op_random(k, 100, 64, 8), y = op_random(k, 100, 192, 8);
    struct op_matrix w = op_random(k, 192, 64, 0), dw = op_random(k, 192, 64, 0);
    struct op_matrix dx = op_random(k, 100, 64, 0);
    for (int i = 0; i < 2; i++) {
        assert_ok(OPS(k->b, linear, &e, .y = y.t, .x = x.t, .w = w.t));
        assert_ok(OPS(k->b, linear_bwd_input, &e, .dx = dx.t, .dy = y.t, .w = w.t));
        assert_ok(OPS(k->b, linear_bwd_weight, &e, .dw = dw.t, .dy = y.t, .x = x.t));
        struct op_matrix *made[] = {&y, &dx, &dw};
        for (int j = 0; j < 3; j++) got[i][j] = op_get(k, &made[j]->t);
    }
    op_same("y", got[1][0], got[0][0], 100 * 192);
    op_same("dx", got[1][1], got[0][1], 100 * 64);
    op_same("dw", got[1][2], got[0][2], 192 * 64);
}

static void softmax_of_large_logits(struct op_bench *k)
{
    struct op_matrix logits = op_random(k, 1, 4, 0), loss = op_random(k, 1, 1, 0);
    const int32_t first = 0, *target = op_memory(k, &first, sizeof first);
    memcpy(logits.host, (float[]){1e30f, -1e30f, 5.0f, 1e30f}, 4 * sizeof(float));
    op_set(k, &logits);
    assert_ok(OPS(k->b, softmax_loss, &e, .loss = loss.t, .logits = logits.t, .target_dev = target,
                  .gradient = true));
    assert_true(fabsf(*op_get(k, &loss.t) - 0.69314718f) < 1e-6f);
    const float *x = op_get(k, &logits.t);
    assert_true(x[0] == -0.5f && x[1] == 0.0f && x[3] == 0.5f);
}

const struct op_row op_rows_cpu[] = {
    {"attention refuses a head width that is odd or above 256", .run = attention_refuses_widths},
    {"attention gives a query the same bits in a longer row", .run = attention_prefix},
    {"attention does not read old values in scratch memory", .run = attention_scratch},
    {"linear_rows gives a row the same bits at every place", .run = linear_rows_is_exact},
    {"linear and its gradients repeat their bits at a training's size", .run = linear_repeats},
    {"softmax_loss of large logits does not overflow", .run = softmax_of_large_logits},
    {.name = NULL},
};
