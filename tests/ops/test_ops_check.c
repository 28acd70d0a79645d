/* test_ops_check.c - arguments that ops rejects before calling a backend, and composed ops. */
#include "harness/test.h"

#include <math.h>
#include <string.h>

#include "ops/op_bench.h"
#include "ops/op_case.h"
#include "ops/ops.h"

static struct op_bench k; /* of the running case, on the CPU */

static int setup(void **state)
{
    struct backend *b = NULL;
    (void)state;
    assert_ok(backend_open(&b, "cpu", 1, DTYPE_F32, &e));
    op_bench_init(&k, b, 3);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    op_bench_close(&k);
    return 0;
}

TEST_EACH(setup, teardown)

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
    float memory[64] = {0};
    struct tensor x = tensor_make(memory, 2, 3, DTYPE_F32),
                  w = tensor_make(memory, 4, 3, DTYPE_F32);
    struct tensor y = tensor_make(memory, 2, 5, DTYPE_F32);
    int rc = OPS(k.b, linear, &e, .y = y, .x = x, .w = w);
    assert_refused(rc, &e, "op linear", "argument y is 2 x 5 f32, expected 2 x 4 f32");
    w.cols = w.stride = 2;
    rc = OPS(k.b, linear_rows, &e, .y = y, .x = x, .w = w);
    assert_refused(rc, &e, "op linear_rows", "argument x");
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

static bool spoil_number(const struct op_argument *a, char *args)
{
    static const float odd[] = {0.0f, -1.0f, INFINITY, NAN};
    static unsigned turn;
    if (a->type != ARG_POSITIVE) return false;
    memcpy(args + a->offset, &odd[turn++ % 4], sizeof *odd);
    return true;
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
                  {spoil_number, "above 0 and finite"},
                  {spoil_chance, "below 1"}};
    struct op_memory memory[OP_ARGUMENTS_MAX];
    int32_t n, refused_n = 0;
    for (int op = 0; op < OPS_N; op++)
        for (const struct op_argument *a = op_table[op].argument; a->name != NULL; a++)
            for (size_t f = 0; f < sizeof faults / sizeof *faults; f++) {
                struct op_case c;
                char *args = op_case_args(&c, &k, (enum op)op, true);
                assert_ok(op_arguments(k.b, (enum op)op, args, memory, &n, &e));
                if (!faults[f].spoil(a, args)) continue;
                int rc = op_arguments(k.b, (enum op)op, args, memory, &n, &e);
                assert_refused(rc, &e, op_name((enum op)op), a->name);
                assert_names(&e, "op ", faults[f].word);
                refused_n++;
            }
    assert_true(refused_n > 290);
}

TEST(weights_in_bf16_are_rejected_by_a_backend_of_f32)
{
    static const enum op ops[] = {OP_NAG, OP_ADAM};
    for (int i = 0; i < 2; i++) {
        struct op_memory memory[OP_ARGUMENTS_MAX];
        int32_t n = 0;
        struct op_case c;
        char *args = op_case_args(&c, &k, ops[i], false);
        for (const struct op_argument *a = op_table[ops[i]].argument; a->name != NULL; a++)
            if (a->type == ARG_BF16) memcpy(args + a->offset, &args, sizeof args);
        assert_unavailable(op_arguments(k.b, ops[i], args, memory, &n, &e), &e, op_name(ops[i]),
                           "bf16");
    }
}

TEST(a_mask_of_another_shape_is_rejected)
{
    float memory[512] = {0};
    struct tensor x = tensor_make(memory, 2, 129, DTYPE_F32),
                  y = tensor_make(memory, 2, 130, DTYPE_F32),
                  mask = tensor_make(memory, 2, relu_mask_words(128), DTYPE_I32);
    assert_refused(OPS(k.b, relu, &e, .y = x, .x = x, .mask = mask), &e, "op relu",
                   "mask is 2 x 4 i32, expected 2 x 8 i32");
    assert_refused(OPS(k.b, relu_bwd, &e, .dx = x, .dy = x, .y = x, .mask = mask), &e,
                   "op relu_bwd", "mask is 2 x 4 i32, expected 2 x 8 i32");
    assert_refused(OPS(k.b, relu_bwd, &e, .dx = x, .dy = x, .y = y), &e, "op relu_bwd",
                   "argument d");
}

TEST(dropout_without_a_step_is_rejected)
{
    float memory[64] = {0};
    struct tensor x = tensor_make(memory, 2, 3, DTYPE_F32);
    struct dropout d = {.p = 0.5f};
    assert_refused(OPS(k.b, dropout, &e, .y = x, .x = x, .dropout = d), &e, "op dropout", "step");
    d.p = 1.0f;
    assert_refused(OPS(k.b, dropout, &e, .y = x, .x = x, .dropout = d), &e, "op dropout",
                   "below 1");
}

TEST(attention_of_disagreeing_sizes_is_rejected)
{
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
    assert_refused(ops_attention(k.b, &a, &e), &e, "op attention", "argument v");
    a.v.rows = 4;
    a.bias.bias_table_n = 3;
    assert_refused(ops_attention(k.b, &a, &e), &e, "op attention", "bias.bias_table");
    a.bias.bias_table_n = 0;
    a.rotary.cosine = a.rotary.sine = tensor_make(memory, 1, 4, DTYPE_F32);
    assert_refused(ops_attention(k.b, &a, &e), &e, "op attention", "expected T = 2");
    a.rotary.sine.cols = 3;
    assert_refused(ops_attention(k.b, &a, &e), &e, "op attention", "argument rotary.sine");
}

TEST(what_has_no_backward_pass_is_rejected)
{
    struct op_memory memory[OP_ARGUMENTS_MAX];
    int32_t n;
    struct op_case c;
    struct attention *a = op_case_args(&c, &k, OP_ATTENTION_BWD, false);
    float key_bias = 0.0f;
    a->K = 1;
    a->k.cols = a->v.cols = a->D;
    assert_refused(ops_attention_bwd(k.b, a, &e), &e, "op attention_bwd", "K = 1 heads");
    a = op_case_args(&c, &k, OP_ATTENTION_BWD, false);
    a->bias.key_bias_dev = &key_bias;
    assert_refused(ops_attention_bwd(k.b, a, &e), &e, "op attention_bwd", "bias.key_bias");
    a = op_case_args(&c, &k, OP_ATTENTION, false);
    a->mask = (struct attention_mask){.window = 2, .sinks = 1, .sink_positions = SINKS_CACHE};
    assert_refused(ops_attention(k.b, a, &e), &e, "op attention", "positions in a cache");
    assert_ok(op_arguments(k.b, OP_ATTENTION_BWD, op_case_args(&c, &k, OP_ATTENTION_BWD, false),
                           memory, &n, &e));
}

TEST(heads_of_k_divide_those_of_q)
{
    struct op_case c;
    struct attention *a = op_case_args(&c, &k, OP_ATTENTION, false);
    a->K = -1;
    assert_refused(ops_attention(k.b, a, &e), &e, "op attention", "argument K is -1");
    a->K = 1;
    assert_refused(ops_attention(k.b, a, &e), &e, "op attention",
                   "argument k is 6 x 16 f32, expected 6 x 8");
    a->H = 3;
    a->K = 2;
    a->q.cols = a->q.stride = 24;
    a->bias = (struct attention_bias){0};
    a->temperature = (struct attention_temperature){0};
    a->gates = (struct attention_gates){0};
    a->out = a->q;
    a->lse.rows = 6;
    assert_refused(ops_attention(k.b, a, &e), &e, "op attention", "divisor of H = 3");
}

TEST(an_rms_has_no_bias_and_an_activation_has_a_name)
{
    struct op_case c;
    struct layernorm_args *norm = op_case_args(&c, &k, OP_LAYERNORM, false);
    norm->rms = true;
    assert_refused(ops_layernorm(k.b, norm, &e), &e, "op layernorm:", "none with rms");
    struct residual_layernorm_args *sum = op_case_args(&c, &k, OP_RESIDUAL_LAYERNORM, false);
    sum->rms = true;
    assert_refused(ops_residual_layernorm(k.b, sum, &e), &e,
                   "op residual_layernorm:", "none with rms");
    struct activate_args *act = op_case_args(&c, &k, OP_ACTIVATE, false);
    act->kind = (enum activation)(ACTIVATE_SILU + 1);
    assert_refused(ops_activate(k.b, act, &e), &e, "op activate", "kind is 4");
}

/* The same numbers, whether the backend fuses residual_layernorm or ops composes it. */
TEST(a_fused_op_that_is_missing_is_composed)
{
    enum { N = 9, C = 24 };
    const struct op_choice choice = {.size = {OP_SIZE('N', N), OP_SIZE('C', C)}, .p = 0.3f};
    const struct backend_ops *fused = k.b->ops;
    struct backend_ops plain = *fused;
    float made[2][2 * N * C];
    plain.residual_layernorm = NULL;
    for (int i = 0; i < 2; i++) {
        struct op_case c;
        struct residual_layernorm_args *a = (void *)c.args;
        k.drawn = 0; /* the same operands */
        op_case_make(&c, &k, OP_RESIDUAL_LAYERNORM, &choice);
        a->s = a->x;
        k.b->ops = i == 0 ? fused : &plain;
        assert_ok(op_case_run(&c, &e));
        memcpy(made[i], op_get(&k, &a->s), sizeof made[i] / 2);
        memcpy(made[i] + N * C, op_get(&k, &a->y), sizeof made[i] / 2);
        k.b->ops = fused;
    }
    for (int i = 0; i < 2 * N * C; i++) assert_float_equal(made[0][i], made[1][i], 2e-6);
}
