/* op_table_args.c - see op_table_args.h. */
#include "ops/op_table_args.h"

#include <assert.h>
#include <string.h>

/* Heads fill the columns that rotary rotates, and its tables are longer than a row; there is no
 * window. */
#define SIZE(letter, n) [(letter) - 'A'] = (n)
static const int64_t sizes[OP_LETTERS_N] = {
    SIZE('B', 2), SIZE('T', 3), SIZE('H', 2),  SIZE('D', 8), SIZE('K', 2),
    SIZE('R', 4), SIZE('P', 4), SIZE('N', 6),  SIZE('M', 9), SIZE('C', 16),
    SIZE('I', 5), SIZE('O', 7), SIZE('V', 11), SIZE('G', 4)};

static void *random_floats(struct op_bench *k, int64_t n)
{
    float *host = op_floats(k, n);
    for (int64_t i = 0; i < n; i++) host[i] = op_uniform(k);
    return op_memory(k, host, (size_t)n * sizeof *host);
}

static const struct step_state *step(struct op_bench *k)
{
    return op_step(k, &(struct step_state){.lr = 0.1f,
                                           .lr_previous = 0.2f,
                                           .gradient_scale = 0.5f,
                                           .clip = 1.0f,
                                           .update = 3,
                                           .adam_step = 4});
}

static void *pointer(struct op_bench *k, enum op_argument_type type, int64_t n)
{
    static const double one = 1.0;
    switch (type) {
    case ARG_F32:
        return random_floats(k, n);
    case ARG_F64:
        return op_memory(k, &one, sizeof one);
    case ARG_I32:
        return op_memory(k, NULL, (size_t)n * sizeof(int32_t));
    case ARG_STEP:
        return (void *)step(k);
    default:
        return NULL; /* bf16 is optional */
    }
}

static void set_argument(struct op_bench *k, const struct op_argument *a, char *args)
{
    const char *shape = a->shape;
    int64_t rows = op_dimension(&shape, sizes), cols = op_dimension(&shape, sizes);
    int32_t size_32 = (int32_t)rows;
    switch (a->type) {
    case ARG_SIZE_32:
        memcpy(args + a->offset, &size_32, sizeof size_32);
        break;
    case ARG_SIZE_64:
        memcpy(args + a->offset, &rows, sizeof rows);
        break;
    case ARG_DROPOUT: {
        struct dropout d = {.p = 0.5f, .key = 7, .stream = 5, .step_dev = step(k), .span = 1};
        memcpy(args + a->offset, &d, sizeof d);
        break;
    }
    case ARG_F32:
    case ARG_F64:
    case ARG_BF16:
    case ARG_I32:
    case ARG_STEP: {
        void *p = pointer(k, a->type, rows * cols);
        memcpy(args + a->offset, &p, sizeof p);
        break;
    }
    case ARG_TENSOR_I32: {
        struct tensor t = tensor_make(pointer(k, ARG_I32, rows * cols), rows, cols, DTYPE_I32);
        memcpy(args + a->offset, &t, sizeof t);
        break;
    }
    default: {
        struct tensor t = tensor_make(random_floats(k, rows * cols), rows, cols, DTYPE_F32);
        memcpy(args + a->offset, &t, sizeof t);
    }
    }
}

void *op_table_args(struct op_bench *k, enum op op, bool flag)
{
    const struct op_descriptor *d = &op_table[op];
    char *args = arena_array(&k->arena, OP_TABLE_ARGS_BYTES, 1);
    for (const struct op_argument *a = d->argument; a->name != NULL; a++) {
        assert(a->offset + sizeof(struct tensor) <= OP_TABLE_ARGS_BYTES);
        set_argument(k, a, args);
    }
    if (d->flag != 0) memcpy(args + d->flag, &flag, sizeof flag);
    /* Arguments that the table does not describe. */
    if (op == OP_ATTENTION || op == OP_ATTENTION_BWD)
        ((struct attention *)(void *)args)->scale = 0.25f;
    if (op == OP_LINEAR_RELU) ((struct linear_relu_args *)(void *)args)->dropout.p = 0.0f;
    return args;
}

size_t op_memory_bytes(const struct op_memory *m)
{
    return (size_t)m->rows * m->row_bytes;
}

unsigned char *op_memory_get(struct op_bench *k, const struct op_memory *m)
{
    struct err e = {0};
    unsigned char *out = arena_array(&k->arena, op_memory_bytes(m), 1);
    assert(m->row_bytes == m->stride_bytes || m->rows == 1);
    op_ok(k->b->ops->download(k->b, out, m->data, op_memory_bytes(m), &e), &e);
    return out;
}
