/* test_ops_check.c - arguments that ops rejects before calling a backend, and composed ops. */
#include "harness/test.h"

#include <string.h>

#include "ops/op_bench.h"
#include "ops/op_case.h"
#include "ops/ops.h"

static struct backend *open_cpu(void)
{
    struct backend *b = NULL;
    assert_ok(backend_open(&b, "cpu", 1, DTYPE_F32, &e));
    return b;
}

static void assert_names(const struct err *e, const char *op, const char *word)
{
    if (strstr(e->text, op) == NULL || strstr(e->text, word) == NULL)
        fail_msg("\"%s\" names neither %s nor %s", e->text, op, word);
}

static void assert_refused(int rc, const struct err *e, const char *op, const char *word)
{
    assert_int_equal(rc, ERR_INTERNAL);
    assert_names(e, op, word);
}

static void assert_unavailable(int rc, const struct err *e, const char *op, const char *word)
{
    assert_int_equal(rc, ERR_UNAVAILABLE);
    assert_names(e, op, word);
}

TEST(a_wrong_shape_names_op_argument_and_sizes)
{
    struct backend *b = open_cpu();
    float memory[64] = {0};
    struct tensor x = tensor_make(memory, 2, 3, DTYPE_F32),
                  w = tensor_make(memory, 4, 3, DTYPE_F32);
    struct tensor y = tensor_make(memory, 2, 5, DTYPE_F32);
    int rc = ops_linear(b, &y, &x, &w, NULL, 0, &e);
    assert_refused(rc, &e, "op linear", "argument y is 2 x 5 f32, expected 2 x 4 f32");
    w.cols = w.stride = 2;
    rc = ops_linear_rows(b, &y, &x, &w, NULL, &e);
    assert_refused(rc, &e, "op linear_rows", "argument x");
    backend_close(b);
}

/* Makes one argument of an op invalid in some way; false: not applicable. */
typedef bool (*spoil_fn)(const struct op_argument *a, char *args);

static struct tensor *tensor_of(const struct op_argument *a, char *args)
{
    return a->type <= ARG_TENSOR_F32 ? (struct tensor *)(void *)(args + a->offset) : NULL;
}

static bool spoil_memory(const struct op_argument *a, char *args)
{
    void *none = NULL;
    if (a->optional || a->type > ARG_STEP) return false;
    memcpy(args + a->offset, &none, sizeof none); /* the first member of a tensor, too */
    return true;
}

static bool spoil_stride(const struct op_argument *a, char *args)
{
    struct tensor *t = tensor_of(a, args);
    if (t) t->stride = t->cols - 1;
    return t != NULL;
}

static bool spoil_dtype(const struct op_argument *a, char *args)
{
    struct tensor *t = tensor_of(a, args);
    if (t) t->dtype = DTYPE_I32;
    return t != NULL;
}

static bool spoil_chance(const struct op_argument *a, char *args)
{
    const float one = 1.0f;
    if (a->type != ARG_DROPOUT) return false;
    memcpy(args + a->offset + offsetof(struct dropout, p), &one, sizeof one);
    return true;
}

TEST(every_op_names_the_argument_that_is_wrong)
{
    static const struct {
        spoil_fn spoil;
        const char *word;
    } faults[] = {{spoil_memory, "m"},
                  {spoil_stride, "stride"},
                  {spoil_dtype, "i32"},
                  {spoil_chance, "below 1"}};
    struct op_bench k;
    struct op_memory memory[OP_ARGUMENTS_MAX];
    int32_t n, refused_n = 0;
    op_bench_init(&k, open_cpu(), 3);
    for (int op = 0; op < OPS_N; op++)
        for (const struct op_argument *a = op_table[op].argument; a->name != NULL; a++)
            for (size_t f = 0; f < sizeof faults / sizeof *faults; f++) {
                struct op_case c;
                char *args = op_case_args(&c, &k, (enum op)op, true);
                assert_ok(op_arguments(k.b, (enum op)op, args, memory, &n, &e));
                if (!faults[f].spoil(a, args)) continue;
                int rc = op_arguments(k.b, (enum op)op, args, memory, &n, &e);
                assert_refused(rc, &e, op_table[op].name, a->name);
                assert_names(&e, "op ", faults[f].word);
                refused_n++;
            }
    assert_true(refused_n > 290);
    struct backend *b = k.b;
    op_bench_fini(&k);
    backend_close(b);
}

TEST(weights_in_bf16_are_rejected_by_a_backend_of_f32)
{
    static const enum op ops[] = {OP_NAG, OP_ADAM};
    for (int i = 0; i < 2; i++) {
        struct op_bench k;
        struct op_memory memory[OP_ARGUMENTS_MAX];
        int32_t n = 0;
        op_bench_init(&k, open_cpu(), 1);
        struct op_case c;
        char *args = op_case_args(&c, &k, ops[i], false);
        for (const struct op_argument *a = op_table[ops[i]].argument; a->name != NULL; a++)
            if (a->type == ARG_BF16) memcpy(args + a->offset, &args, sizeof args);
        assert_unavailable(op_arguments(k.b, ops[i], args, memory, &n, &e), &e,
                           op_table[ops[i]].name, "bf16");
        op_bench_close(&k);
    }
}

TEST(a_mask_of_another_shape_is_rejected)
{
    struct backend *b = open_cpu();
    float memory[64] = {0};
    struct dropout d = {0};
    struct tensor dx = tensor_make(memory, 2, 3, DTYPE_F32),
                  y = tensor_make(memory, 2, 4, DTYPE_F32);
    assert_refused(
        ops_relu_bwd(b, &(struct relu_bwd_args){.dx = dx, .dy = dx, .y = y, .dropout = d}, &e), &e,
        "op relu_bwd", "argument d");
    d.p = 0.5f;
    assert_refused(
        ops_relu_bwd(b, &(struct relu_bwd_args){.dx = dx, .dy = dx, .y = dx, .dropout = d}, &e), &e,
        "op relu_bwd", "step");
    backend_close(b);
}

TEST(dropout_without_a_step_is_rejected)
{
    struct backend *b = open_cpu();
    float memory[64] = {0};
    struct tensor x = tensor_make(memory, 2, 3, DTYPE_F32);
    struct dropout d = {.p = 0.5f};
    assert_refused(ops_dropout(b, &x, &x, &d, &e), &e, "op dropout", "step");
    d.p = 1.0f;
    assert_refused(ops_dropout(b, &x, &x, &d, &e), &e, "op dropout", "below 1");
    backend_close(b);
}

TEST(attention_of_disagreeing_sizes_is_rejected)
{
    struct backend *b = open_cpu();
    float memory[512] = {0};
    struct tensor t = tensor_make(memory, 4, 16, DTYPE_F32),
                  lse = tensor_make(memory, 4, 2, DTYPE_F32);
    struct attention a = {.B = 2,
                          .T = 2,
                          .H = 2,
                          .D = 8,
                          .scale = 1.0f,
                          .q = t,
                          .k = t,
                          .v = t,
                          .out = t,
                          .lse = lse};
    a.v.rows = 3;
    assert_refused(ops_attention(b, &a, &e), &e, "op attention", "argument v");
    a.v.rows = 4;
    a.bias.bias_table_n = 3;
    assert_refused(ops_attention(b, &a, &e), &e, "op attention", "bias.bias_table");
    a.bias.bias_table_n = 0;
    a.rotary.cosine = a.rotary.sine = tensor_make(memory, 1, 4, DTYPE_F32);
    assert_refused(ops_attention(b, &a, &e), &e, "op attention", "expected T = 2");
    a.rotary.sine.cols = 3;
    assert_refused(ops_attention(b, &a, &e), &e, "op attention", "argument rotary.sine");
    backend_close(b);
}

/* The same numbers, whether the backend fuses residual_layernorm or ops composes it. */
TEST(a_fused_op_that_is_missing_is_composed)
{
    float *result[2][2];
    struct op_bench k[2];
    struct backend *b[2] = {open_cpu(), open_cpu()};
    struct backend_ops plain = *b[1]->ops;
    plain.residual_layernorm = NULL;
    b[1]->ops = &plain;
    for (int i = 0; i < 2; i++) {
        struct step_state step = {.update = 4};
        op_bench_init(&k[i], b[i], 5);
        struct op_matrix x = op_random(&k[i], 9, 24, 0), r = op_random(&k[i], 9, 24, 0);
        struct op_matrix y = op_random(&k[i], 9, 24, 0), stats = op_random(&k[i], 9, 2, 0);
        struct op_matrix gain = op_random(&k[i], 1, 24, 0), bias = op_random(&k[i], 1, 24, 0);
        struct dropout d = {.p = 0.3f, .key = 1, .stream = 2, .step_dev = op_step(&k[i], &step)};
        assert_ok(ops_residual_layernorm(b[i],
                                         &(struct residual_layernorm_args){.s = x.t,
                                                                           .y = y.t,
                                                                           .stats = stats.t,
                                                                           .x = x.t,
                                                                           .r = r.t,
                                                                           .dropout = d,
                                                                           .gain = gain.t,
                                                                           .bias = bias.t},
                                         &e));
        result[i][0] = op_get(&k[i], &x.t);
        result[i][1] = op_get(&k[i], &y.t);
    }
    for (int j = 0; j < 2; j++)
        for (int i = 0; i < 9 * 24; i++) assert_float_equal(result[0][j][i], result[1][j][i], 2e-6);
    for (int i = 0; i < 2; i++) {
        op_bench_fini(&k[i]);
        backend_close(b[i]);
    }
}
