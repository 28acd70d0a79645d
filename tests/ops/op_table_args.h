/* op_table_args.h - arguments for any op, made from its row in the table of ops. */
#ifndef OPS_OP_TABLE_ARGS_H
#define OPS_OP_TABLE_ARGS_H

#include "backend/ops_table.h"
#include "ops/op_bench.h"

enum { OP_TABLE_ARGS_BYTES = 2048 };

/* op_table_args - an argument struct in the bench's arena: every argument is there, with random
 * numbers in f32, lists of zeros, dropout of one half and the op's flag as given. */
void *op_table_args(struct op_bench *k, enum op op, bool flag);

/* op_memory_get - the content of an argument without gaps between rows, in the arena. */
unsigned char *op_memory_get(struct op_bench *k, const struct op_memory *m);
size_t op_memory_bytes(const struct op_memory *m);

#endif
