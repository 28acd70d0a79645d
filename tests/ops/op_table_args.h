/* op_table_args.h - arguments for any op, made from its row in the table of ops. */
#ifndef OPS_OP_TABLE_ARGS_H
#define OPS_OP_TABLE_ARGS_H

#include "backend/ops_table.h"
#include "ops/op_bench.h"

enum { OP_TABLE_ARGS_BYTES = 2048, OP_LETTERS_N = 26 };

/* op_dimension - the next dimension of an argument's shape, moving *shape past it; size has the
 * value of each letter. A shape that has ended is 1. */
static inline int64_t op_dimension(const char **shape, const int64_t size[OP_LETTERS_N])
{
    int64_t n = 1;
    const char *at = *shape;
    for (; *at != '\0' && *at != ' '; at++)
        if (*at != '*') n *= *at >= '0' && *at <= '9' ? *at - '0' : size[*at - 'A'];
    *shape = *at == ' ' ? at + 1 : at;
    return n;
}

/* op_table_args - an argument struct in the bench's arena: every argument is there, with random
 * numbers in f32, lists of zeros, dropout of one half and the op's flag as given. */
void *op_table_args(struct op_bench *k, enum op op, bool flag);

/* op_memory_get - the content of an argument without gaps between rows, in the arena. */
unsigned char *op_memory_get(struct op_bench *k, const struct op_memory *m);
size_t op_memory_bytes(const struct op_memory *m);

#endif
