/* op_rows_table.c - rows of the op table that hold for every op, derived from its description. */
#include "harness/test.h"

#include <string.h>

#include "ops/op_case.h"

static int run_op(struct op_bench *k, enum op op, const void *args, const struct op_memory *memory,
                  int32_t n, unsigned char *const *before, struct err *e)
{
    for (int32_t i = 0; i < n; i++)
        TRY(k->b->ops->upload(k->b, memory[i].data, before[i], op_memory_bytes(&memory[i]), e));
    return op_run(k->b, op, args, e);
}

/* Inputs are unchanged, and outputs have the same bits when repeated. */
static void check_op(struct op_bench *k, enum op op, bool flag)
{
    struct op_memory memory[OP_ARGUMENTS_MAX];
    unsigned char *before[OP_ARGUMENTS_MAX], *after[OP_ARGUMENTS_MAX], *again;
    int32_t n;
    struct op_case c;
    const void *args = op_case_args(&c, k, op, flag);
    assert_ok(op_arguments(k->b, op, args, memory, &n, &e));
    for (int32_t i = 0; i < n; i++) before[i] = op_memory_get(k, &memory[i]);
    assert_ok(run_op(k, op, args, memory, n, before, &e));
    for (int32_t i = 0; i < n; i++) after[i] = op_memory_get(k, &memory[i]);
    assert_ok(run_op(k, op, args, memory, n, before, &e));
    for (int32_t i = 0; i < n; i++) {
        size_t bytes = op_memory_bytes(&memory[i]);
        if (memory[i].role == ARG_READ && memcmp(before[i], after[i], bytes) != 0)
            fail_msg("op %s changed its input %s", op_name((enum op)op), memory[i].name);
        again = op_memory_get(k, &memory[i]);
        if (memcmp(after[i], again, bytes) != 0)
            fail_msg("op %s gave other bits in %s when it was repeated", op_name((enum op)op),
                     memory[i].name);
    }
}

static void every_op(struct op_bench *k)
{
    for (int op = 0; op < OPS_N; op++)
        for (int flag = 0; flag <= (op_table[op].flag != 0); flag++)
            if (op_exists(k->b, (enum op)op)) check_op(k, (enum op)op, flag);
}

static void required_ops(struct op_bench *k)
{
    for (int op = 0; op < OPS_N; op++)
        if (!op_table[op].fused && !op_exists(k->b, (enum op)op) &&
            !(op == OP_ROTARY && k->b->ops->attention_rotates))
            fail_msg("%s lacks op %s", k->b->name, op_name((enum op)op));
}

const struct op_row op_rows_table[] = {
    {"every required op is there", .run = required_ops},
    {"every op keeps its inputs and gives the same bits again", .run = every_op},
    {.name = NULL},
};
