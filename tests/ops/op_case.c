/* op_case.c - see op_case.h. */
#include "ops/op_case.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "harness/test.h"
#include "ops/op_reference.h"
#include "ops/ops.h"

/* ---- operands ---- */

static enum dtype dtype_of(const struct op_case *c, const struct op_argument *a)
{
    bool either = a->type == ARG_SAME_OR_F32 || (a->type == ARG_TENSOR && a != c->argument &&
                                                 a->role != ARG_READ); /* scatter_rows, cast */
    if (a->type == ARG_TENSOR_F32 || a->type == ARG_F32 || (either && c->choice.wide))
        return DTYPE_F32;
    return c->k->b->precision;
}

/* A view of rows of activations may begin anywhere and have any stride; a parameter block may begin
 * anywhere. */
static int64_t spare_of(const struct op_case *c, int32_t i)
{
    static const int64_t spares[] = {0, 6, 3, 4, 2};
    const struct op_argument *a = &c->argument[i];
    if (c->choice.spread == 0 || a->shape[0] != 'N') return 0;
    return spares[(c->choice.spread + i) % 5];
}

static void set_floats(struct op_case *c, int32_t i, int64_t rows, int64_t cols)
{
    const struct op_argument *a = &c->argument[i];
    struct op_matrix *m = &c->value[i].m;
    *m = op_random_of(c->k, rows, cols, spare_of(c, i), dtype_of(c, a));
    if (a->type == ARG_F32)
        memcpy(c->args + a->offset, &m->t.data, sizeof m->t.data);
    else
        memcpy(c->args + a->offset, &m->t, sizeof m->t);
}

static void set_dropout(struct op_case *c, const struct op_argument *a)
{
    const struct dropout d = {.p = c->choice.p,
                              .key = 0x0123456789ABCDEFu,
                              .stream = dropout_stream(3, DROPOUT_RELU),
                              .step_dev = c->step_dev,
                              .first_row = 13,
                              .span = 13};
    memcpy(c->args + a->offset, &d, sizeof d);
    if (a->shape[0] == 'N' && c->choice.size['C' - 'A'] > 0)
        c->factor = op_factors(c->k, &d, NULL, OP_UPDATE, c->choice.size['N' - 'A'],
                               c->choice.size['C' - 'A']);
}

static void *ones(struct op_bench *k, int64_t n)
{
    double *content = op_doubles(k, n);
    for (int64_t i = 0; i < n; i++) content[i] = 1.0;
    return op_memory(k, content, (size_t)n * sizeof *content);
}

static void set_pointer(struct op_case *c, int32_t i, int64_t n)
{
    const struct op_argument *a = &c->argument[i];
    int64_t below = c->choice.size[strcmp(a->name, "target") == 0 ? 'V' - 'A' : 'M' - 'A'];
    const void *p = c->step_dev;
    if (a->type == ARG_I32)
        p = op_list(c->k, &c->value[i].list, n, (int32_t)below, c->op != OP_ADD_ROWS);
    else if (a->type == ARG_F64)
        p = ones(c->k, n);
    else if (a->type == ARG_BF16)
        p = c->k->b->precision == DTYPE_BF16 ? op_memory(c->k, NULL, 2 * (size_t)n) : NULL;
    memcpy(c->args + a->offset, &p, sizeof p);
}

/* Without bits. */
static void set_mask(struct op_case *c, const struct op_argument *a, int64_t rows, int64_t cols)
{
    if (!c->choice.mask) return;
    const struct tensor mask = op_mask(c->k, NULL, rows, cols);
    memcpy(c->args + a->offset, &mask, sizeof mask);
}

static void set_argument(struct op_case *c, int32_t i)
{
    const struct op_argument *a = &c->argument[i];
    const char *shape = a->shape;
    int64_t rows = op_dimension(&shape, c->choice.size);
    int64_t cols = op_dimension(&shape, c->choice.size);
    int32_t size_32 = (int32_t)rows;
    const float positive = 1e-5f;
    assert(a->offset + sizeof(struct tensor) <= OP_CASE_ARGS_BYTES);
    if (a->type == ARG_SIZE_32)
        memcpy(c->args + a->offset, &size_32, sizeof size_32);
    else if (a->type == ARG_SIZE_64)
        memcpy(c->args + a->offset, &rows, sizeof rows);
    else if (a->type == ARG_DROPOUT)
        set_dropout(c, a);
    else if (a->type == ARG_POSITIVE)
        memcpy(c->args + a->offset, &positive, sizeof positive);
    else if (op_is_listed(c->choice.without, a->name))
        return;
    else if (a->type == ARG_F32)
        set_floats(c, i, 1, rows * cols);
    else if (a->type == ARG_MASK)
        set_mask(c, a, rows, cols);
    else if (a->type <= ARG_TENSOR_F32)
        set_floats(c, i, rows, cols);
    else
        set_pointer(c, i, rows * cols);
}

void op_case_make(struct op_case *c, struct op_bench *k, enum op op, const struct op_choice *o)
{
    op_bench_reset(k);
    *c = (struct op_case){.k = k, .op = op, .choice = *o, .argument = op_table[op].argument};
    c->step = (struct step_state){.lr = 0.1f,
                                  .lr_previous = 0.2f,
                                  .gradient_scale = 0.5f,
                                  .clip = 1.0f,
                                  .update = OP_UPDATE,
                                  .adam_step = 4,
                                  .first_row = OP_FIRST_ROW};
    c->step_dev = op_memory(k, &c->step, sizeof c->step);
    for (int32_t i = 0; c->argument[i].name != NULL; i++) set_argument(c, i);
    if (op_table[op].flag != 0) memcpy(c->args + op_table[op].flag, &o->flag, sizeof o->flag);
}

/* Heads fill the columns that rotary rotates, and its tables are longer than a row; there is no
 * window. */
void *op_case_args(struct op_case *c, struct op_bench *k, enum op op, bool flag)
{
    const struct op_choice o = {.size = {OP_SIZE('B', 2), OP_SIZE('T', 3), OP_SIZE('H', 2),
                                         OP_SIZE('D', 8), OP_SIZE('K', 2), OP_SIZE('L', 2),
                                         OP_SIZE('R', 4), OP_SIZE('P', 4), OP_SIZE('N', 6),
                                         OP_SIZE('M', 9), OP_SIZE('C', 16), OP_SIZE('I', 5),
                                         OP_SIZE('O', 7), OP_SIZE('V', 11), OP_SIZE('E', 4)},
                                .flag = flag,
                                .mask = true,
                                .p = op == OP_LINEAR_RELU ? 0.0f : 0.5f};
    op_case_make(c, k, op, &o);
    if (op == OP_ATTENTION || op == OP_ATTENTION_BWD)
        ((struct attention *)(void *)c->args)->scale = 0.25f;
    return c->args;
}

void op_case_step(struct op_case *c)
{
    assert_ok(c->k->b->ops->upload(c->k->b, (void *)(uintptr_t)c->step_dev, &c->step,
                                   sizeof c->step, &e));
}

static int32_t index_of(const struct op_case *c, const char *name)
{
    int32_t i = 0;
    while (c->argument[i].name != NULL && strcmp(c->argument[i].name, name) != 0) i++;
    if (c->argument[i].name == NULL) fail_msg("op %s has no %s", op_name(c->op), name);
    return i;
}

struct op_matrix *op_case_matrix(struct op_case *c, const char *name)
{
    struct op_matrix *m = &c->value[index_of(c, name)].m;
    return m->t.data != NULL ? m : NULL;
}

/* ---- the oracle ---- */

static const float *op_case_in(struct op_case *c, const char *name)
{
    const struct op_matrix *m = op_case_matrix(c, name);
    return m != NULL ? m->host : NULL;
}

static const int32_t *op_case_list(const struct op_case *c, const char *name)
{
    return c->value[index_of(c, name)].list;
}

/* The matrix as the op left it. */
static const float *op_case_made(struct op_case *c, const char *name)
{
    return op_get(c->k, &op_case_matrix(c, name)->t);
}

static int64_t elements_of(const struct op_case *c, int32_t i)
{
    const char *shape = c->argument[i].shape;
    int64_t rows = op_dimension(&shape, c->choice.size);
    return rows * op_dimension(&shape, c->choice.size);
}

/* Memory for a result, also for one that the case lacks. */
static double *op_case_out_double(struct op_case *c, const char *name)
{
    int32_t i = index_of(c, name);
    return c->value[i].want ? c->value[i].want : op_doubles(c->k, elements_of(c, i));
}

static float *op_case_out_float(struct op_case *c, const char *name)
{
    int32_t i = index_of(c, name);
    return c->value[i].plain ? c->value[i].plain : op_floats(c->k, elements_of(c, i));
}

#define SIZE(c, letter) ((c)->choice.size[(letter) - 'A'])
#define ROWS(c) SIZE(c, 'N')
#define COLS(c) SIZE(c, 'C')
#define ROW(c, i) ((i) / COLS(c))
#define COL(c, i) ((i) % COLS(c))
#define EACH(c, i) for (int64_t i = 0; i < ROWS(c) * COLS(c); i++)
#define ARGS(c) ((const void *)(c)->args)
#define IN(name) op_case_in(c, name)

#define REAL double
#define NAME(name) name##_double
#define OUT(name) op_case_out_double(c, name)
#include "ops/op_oracles.h"
#undef REAL
#undef NAME
#undef OUT
#define REAL float
#define NAME(name) name##_float
#define OUT(name) op_case_out_float(c, name)
#include "ops/op_oracles.h"

/* ---- results ---- */

int op_case_run(struct op_case *c, struct err *e)
{
    struct backend *b = c->k->b;
    struct op_memory memory[OP_ARGUMENTS_MAX];
    int32_t n = 0;
    if (c->op == OP_LINEAR_RELU) return ops_linear_relu(b, ARGS(c), e);
    if (c->op == OP_LINEAR_BWD_RELU) return ops_linear_bwd_relu(b, ARGS(c), e);
    if (c->op == OP_RESIDUAL_LAYERNORM) return ops_residual_layernorm(b, ARGS(c), e);
    if (c->op == OP_RESIDUAL_LAYERNORM_BWD) return ops_residual_layernorm_bwd(b, ARGS(c), e);
    TRY(op_arguments(b, c->op, c->args, memory, &n, e));
    return op_run(b, c->op, c->args, e);
}

static void ask_oracles(struct op_case *c, const struct op_row *t)
{
    for (int32_t i = 0; c->argument[i].name != NULL; i++) {
        const struct op_matrix *m = &c->value[i].m;
        if (c->argument[i].role == ARG_READ || m->t.data == NULL) continue;
        int64_t n = m->t.rows * m->t.cols;
        c->value[i].want = op_doubles(c->k, n);
        c->value[i].plain = op_floats(c->k, n);
        for (int64_t j = 0; t->replaces && j < n; j++) {
            c->value[i].plain[j] = m->host[j];
            c->value[i].want[j] = (double)m->host[j];
        }
    }
    oracles_double[c->op](c);
    oracles_float[c->op](c);
}

static void check_result(struct op_case *c, int32_t i, bool adds, const struct op_row *t)
{
    const char *name = c->argument[i].name;
    const struct op_matrix *m = &c->value[i].m;
    int64_t n = m->t.rows * m->t.cols;
    const float *got = op_get(c->k, &m->t);
    if (!op_is_listed(t->exact, name)) {
        tol_check(c->k, name, m->t.dtype, t->ulps, t->f32_error, got, c->value[i].want,
                  c->value[i].plain, adds ? m->host : NULL, n);
        return;
    }
    float *want = op_floats(c->k, n);
    for (int64_t j = 0; j < n; j++) {
        want[j] = (adds ? m->host[j] : 0.0f) + c->value[i].plain[j];
        if (m->t.dtype == DTYPE_BF16) want[j] = op_round_bf16(want[j], NULL);
        if (want[j] == 0.0f && got[j] == 0.0f) want[j] = got[j]; /* of either sign */
    }
    op_same(name, got, want, n);
}

/* The rounded copy of new weights. */
static void check_bf16_copy(struct op_case *c, const struct op_memory *memory)
{
    const struct tensor copy = tensor_make(memory->data, 1, SIZE(c, 'N'), DTYPE_BF16);
    const float *got = op_get(c->k, &copy), *theta = op_case_made(c, "theta");
    for (int64_t i = 0; i < SIZE(c, 'N'); i++) {
        const float want = op_round_bf16(theta[i], NULL);
        op_same("bf16", &got[i], &want, 1);
    }
}

static void upload_all(struct op_case *c)
{
    for (int32_t i = 0; c->argument[i].name != NULL; i++)
        if (c->value[i].m.t.data != NULL) op_set(c->k, &c->value[i].m);
}

/* The output in the memory of an input has the bits that it has beside it. */
static void check_in_place(struct op_case *c, int32_t out, int32_t in)
{
    const struct op_matrix *y = &c->value[out].m, *x = &c->value[in].m;
    char *field = c->args + c->argument[out].offset;
    const float *beside = op_get(c->k, &y->t);
    upload_all(c);
    memcpy(field, &x->t, sizeof x->t);
    assert_ok(op_case_run(c, &e));
    op_same(c->argument[in].name, op_get(c->k, &x->t), beside, y->t.rows * y->t.cols);
    memcpy(field, &y->t, sizeof y->t);
    upload_all(c);
    assert_ok(op_case_run(c, &e));
}

void op_case_check(struct op_case *c, const struct op_row *t)
{
    struct op_memory memory[OP_ARGUMENTS_MAX];
    int32_t n = 0;
    assert_ok(op_arguments(c->k->b, c->op, c->args, memory, &n, &e));
    assert_ok(op_case_run(c, &e));
    ask_oracles(c, t);
    for (int32_t i = 0; i < n; i++) {
        int32_t at = (int32_t)(memory[i].argument - c->argument);
        bool is_result = memory[i].role != ARG_READ;
        if (memory[i].argument->type == ARG_BF16)
            check_bf16_copy(c, &memory[i]);
        else if (is_result && memory[i].argument->type == ARG_MASK)
            op_check_mask(c->k, (const void *)(c->args + memory[i].argument->offset),
                          &op_case_matrix(c, "y")->t);
        else if (is_result)
            check_result(c, at, memory[i].role == ARG_UPDATE && !t->replaces, t);
        for (int32_t in = 0; is_result && c->argument[in].name != NULL; in++)
            if (op_is_listed(memory[i].argument->may_be, c->argument[in].name) &&
                c->value[in].m.t.data != NULL)
                check_in_place(c, at, in);
    }
}

size_t op_memory_bytes(const struct op_memory *m)
{
    return (size_t)m->rows * m->row_bytes;
}

unsigned char *op_memory_get(struct op_bench *k, const struct op_memory *m)
{
    unsigned char *out = arena_array(&k->arena, op_memory_bytes(m), 1);
    assert_true(m->row_bytes == m->stride_bytes || m->rows == 1);
    assert_ok(k->b->ops->download(k->b, out, m->data, op_memory_bytes(m), &e));
    return out;
}
