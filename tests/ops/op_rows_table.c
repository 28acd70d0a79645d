/* op_rows_table.c - rows of the op table that hold for every op, derived from its description. */
#include "harness/test.h"

#include <string.h>

#include "ops/op_table_args.h"

static int run(struct op_bench *k, enum op op, const void *args, const struct op_memory *memory,
               int32_t n, unsigned char *const *before, struct err *e)
{
    for (int32_t i = 0; i < n; i++)
        TRY(k->b->ops->upload(k->b, memory[i].data, before[i], op_memory_bytes(&memory[i]), e));
    return op_run(k->b, op, args, e);
}

/* Inputs are unchanged, and outputs have the same bits when repeated. */
static void check_op(struct op_bench *k, enum op op, bool flag)
{
    struct err e = {0};
    struct op_memory memory[OP_ARGUMENTS_MAX];
    unsigned char *before[OP_ARGUMENTS_MAX], *after[OP_ARGUMENTS_MAX], *again;
    int32_t n;
    op_bench_reset(k);
    const void *args = op_table_args(k, op, flag);
    op_ok(op_arguments(k->b, op, args, memory, &n, &e), &e);
    for (int32_t i = 0; i < n; i++) before[i] = op_memory_get(k, &memory[i]);
    op_ok(run(k, op, args, memory, n, before, &e), &e);
    for (int32_t i = 0; i < n; i++) after[i] = op_memory_get(k, &memory[i]);
    op_ok(run(k, op, args, memory, n, before, &e), &e);
    for (int32_t i = 0; i < n; i++) {
        size_t bytes = op_memory_bytes(&memory[i]);
        if (memory[i].role == ARG_READ && memcmp(before[i], after[i], bytes) != 0)
            fail_msg("op %s changed its input %s", op_table[op].name, memory[i].name);
        again = op_memory_get(k, &memory[i]);
        if (memcmp(after[i], again, bytes) != 0)
            fail_msg("op %s gave other bits in %s when it was repeated", op_table[op].name,
                     memory[i].name);
    }
}

static void every_op(struct op_bench *k)
{
    for (int op = 0; op < OPS_N; op++)
        for (int flag = 0; flag <= (op_table[op].flag != 0); flag++)
            if (op_exists(k->b, (enum op)op)) check_op(k, (enum op)op, flag);
}

static const struct op_memory *memory_of(const struct op_memory *memory, int32_t n,
                                         const struct op_argument *a)
{
    for (int32_t i = 0; i < n; i++)
        if (memory[i].argument == a) return &memory[i];
    fail_msg("argument %s has no memory", a->name);
    return NULL;
}

/* The output in the memory of that input is the output beside it. */
static void check_in_place(struct op_bench *k, enum op op, const struct op_argument *output,
                           const struct op_argument *input)
{
    struct err e = {0};
    struct op_memory memory[OP_ARGUMENTS_MAX];
    unsigned char *before[OP_ARGUMENTS_MAX];
    int32_t n;
    op_bench_reset(k);
    char *args = op_table_args(k, op, false);
    op_ok(op_arguments(k->b, op, args, memory, &n, &e), &e);
    const struct op_memory *out = memory_of(memory, n, output), *in = memory_of(memory, n, input);
    for (int32_t i = 0; i < n; i++) before[i] = op_memory_get(k, &memory[i]);
    op_ok(run(k, op, args, memory, n, before, &e), &e);
    const unsigned char *beside = op_memory_get(k, out);
    memcpy(args + output->offset, args + input->offset, sizeof(struct tensor));
    op_ok(run(k, op, args, memory, n, before, &e), &e);
    if (memcmp(op_memory_get(k, in), beside, op_memory_bytes(out)) != 0)
        fail_msg("op %s gives other bits where %s is %s", op_table[op].name, output->name,
                 input->name);
}

static void in_place(struct op_bench *k)
{
    int checked_n = 0;
    for (int op = 0; op < OPS_N; op++)
        for (const struct op_argument *out = op_table[op].argument; out->name != NULL; out++)
            for (const struct op_argument *in = op_table[op].argument; in->name != NULL; in++) {
                if (!op_argument_may_be(out, in->name) || !op_exists(k->b, (enum op)op)) continue;
                check_in_place(k, (enum op)op, out, in);
                checked_n++;
            }
    assert_true(checked_n >= 7);
}

static void required_ops(struct op_bench *k)
{
    for (int op = 0; op < OPS_N; op++)
        if (!op_table[op].fused && !op_exists(k->b, (enum op)op) &&
            !(op == OP_ROTARY && k->b->ops->attention_rotates))
            fail_msg("%s lacks op %s", k->b->name, op_table[op].name);
}

const struct op_row op_rows_table[] = {
    {"every required op is there", required_ops},
    {"every op keeps its inputs and gives the same bits again", every_op},
    {"every output may share the memory that the table allows", in_place},
    {NULL, NULL},
};
