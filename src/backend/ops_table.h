/* ops_table.h - the op descriptors: names, roles, dtypes and shapes of the arguments of every op.
 * The argument checks of src/ops, the checking backend and the tests derive from them. */
#ifndef BACKEND_OPS_TABLE_H
#define BACKEND_OPS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend/backend.h"
#include "base/err.h"

/* Type of an argument in the argument struct. */
enum op_argument_type {
    ARG_TENSOR,      /* struct tensor of fp32 or bf16 */
    ARG_SAME,        /* struct tensor of the dtype of the op's first tensor */
    ARG_SAME_OR_F32, /* struct tensor of that dtype or of fp32 */
    ARG_TENSOR_F32,  /* struct tensor of fp32 */
    ARG_MASK,        /* struct tensor of i32: a bit for each element of the shape, in rows of
                        relu_mask_words(columns); the bits after them need not be written */
    ARG_F32,         /* pointers to as many elements as the shape states */
    ARG_F64,
    ARG_BF16,
    ARG_I32,
    ARG_STEP,     /* struct step_state */
    ARG_DROPOUT,  /* struct dropout; the shape is that of rows_dev */
    ARG_POSITIVE, /* a float, above 0 and finite */
    ARG_SIZE_32,  /* an int32_t or int64_t that binds the first letter of its shape; 0 is the size
                     of a second letter */
    ARG_SIZE_64
};

enum op_role {
    ARG_READ,
    ARG_WRITE,           /* overwritten completely */
    ARG_UPDATE,          /* read and written */
    ARG_WRITE_OR_UPDATE, /* UPDATE if the op's flag is set, else WRITE */
    ARG_READ_OR_UPDATE   /* UPDATE if the op's flag is set, else READ */
};

struct op_argument {
    const char *name; /* for messages; NULL ends the list */
    enum op_argument_type type;
    enum op_role role;
    size_t offset; /* in the argument struct */
    /* "N C": rows and columns; one of them for a vector. The first use of a letter binds its size;
     * later uses must agree. Products are written B*T; N/Q is the number of parts of
     * Q elements, and 1 if Q is 0. */
    const char *shape;
    const char *may_be; /* arguments whose memory an output may share, such as "x r" */
    bool optional;      /* may be absent; a size may be 0 */
};

enum { OP_ARGUMENTS_MAX = 40 };
struct op_descriptor {
    bool fused;  /* may be NULL in a backend */
    size_t flag; /* offset of a bool in the argument struct; 0: none */
    int (*rule)(const void *args, struct err *e); /* checks what the table cannot state, or NULL */
    struct op_argument argument[OP_ARGUMENTS_MAX];
};
extern const struct op_descriptor op_table[OPS_N];

/* The memory of one argument. */
struct op_memory {
    const struct op_argument *argument;
    enum op_role role; /* READ, WRITE or UPDATE */
    const char *name;
    char *data;
    int64_t rows;
    size_t row_bytes, stride_bytes;
    int64_t mask_bits; /* of a row of a mask, without the bits after them; else 0 */
};

/* op_arguments - checks an argument struct and lists the memory of its arguments, at most
 * OP_ARGUMENTS_MAX entries. Errors: ERR_INTERNAL names op, argument, found and expected value;
 * ERR_UNAVAILABLE for a dtype that the backend does not support. */
int op_arguments(const struct backend *b, enum op op, const void *args,
                 struct op_memory memory[OP_ARGUMENTS_MAX], int32_t *memory_n, struct err *e);

/* op_dimension - the next dimension of an argument's shape, moving *shape past it; size has the
 * value of each letter. A shape that has ended is 1. */
enum { OP_LETTERS_N = 26 };
int64_t op_dimension(const char **shape, const int64_t size[OP_LETTERS_N]);

/* op_name - "layernorm_bwd". op_rows_n - N, of an op with a tensor of N rows. */
const char *op_name(enum op op);
int64_t op_rows_n(enum op op, const void *args);

/* op_is_listed - true if a list such as "x r", or NULL, has the name. */
bool op_is_listed(const char *list, const char *name);

/* op_run - calls the backend's function without checking arguments. */
int op_run(struct backend *b, enum op op, const void *args, struct err *e);

#endif
