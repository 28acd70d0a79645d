/* op_case.h - a call of any op, made from its row in the table of ops: random operands on the
 * backend and on the host, and what plain loops make of them. */
#ifndef OPS_OP_CASE_H
#define OPS_OP_CASE_H

#include "backend/ops_table.h"
#include "ops/op_bench.h"

enum { OP_CASE_ARGS_BYTES = 2048, OP_UPDATE = 12345 };

/* OP_SIZE - sizes of letters, as .size = {OP_SIZE('N', 6), …}. */
#define OP_SIZE(letter, n) [(letter) - 'A'] = (n)

#define EXISTS(NAME, name, args)                                                                   \
    case OP_##NAME:                                                                                \
        return b->ops->name != NULL;
/* op_exists - true if the backend has the function; a fused op may be NULL. */
static inline bool op_exists(const struct backend *b, enum op op)
{
    switch (op) {
        BACKEND_OPS(EXISTS)
    case OPS_N:
        break;
    }
    return false;
}

/* What the table leaves open. */
struct op_choice {
    int64_t size[OP_LETTERS_N];
    const char *without; /* an optional argument that is absent, or NULL */
    bool flag;           /* the op's */
    bool mask;           /* masks are given */
    bool wide;           /* outputs of either dtype are f32 */
    float p;             /* of dropout */
    int spread;          /* above 0: matrices are views into wider ones, of several widths */
};

struct op_case {
    struct op_bench *k;
    enum op op;
    struct op_choice choice;
    const struct op_argument *argument; /* of the table */
    struct step_state step;
    const struct step_state *step_dev;
    const float *factor; /* dropout's, of every element of an (N,C) matrix */
    struct {
        struct op_matrix m;    /* of tensors and pointers to floats; data NULL: absent */
        const int32_t *list;   /* the host's copy of a list */
        double *want;          /* the oracle's result, or its sum that is added */
        float *plain;          /* that of plain loops */
    } value[OP_ARGUMENTS_MAX]; /* in the order of the table */
    _Alignas(16) char args[OP_CASE_ARGS_BYTES];
};

/* op_case_make - draws the operands; an earlier case of the bench is released. */
void op_case_make(struct op_case *c, struct op_bench *k, enum op op, const struct op_choice *o);
/* op_case_args - a new case's arguments at sizes that suit every op, with every argument. */
void *op_case_args(struct op_case *c, struct op_bench *k, enum op op, bool flag);
/* op_case_matrix - the matrix of an argument, or NULL. */
struct op_matrix *op_case_matrix(struct op_case *c, const char *name);
/* op_case_step - the step state, after a change of c->step. */
void op_case_step(struct op_case *c);
/* op_case_run - calls the op as the model does, composed where the backend lacks it. */
int op_case_run(struct op_case *c, struct err *e);

/* A row of the op table: one of an op's properties. Either a function that shows it, or calls that
 * are compared with the oracle: all sizes, with and without an optional argument, flag, dropout. */
struct op_row {
    const char *name; /* a sentence */
    void (*run)(struct op_bench *k);
    enum op op;
    const char *letters; /* of a size */
    const int32_t *sizes;
    int32_t sizes_n, chances_n,
        forms_n; /* numbers in sizes; chances of dropout and forms: 0 is 1 */
    const char *optional;
    void (*prepare)(struct op_case *c, int form); /* operands and settings that cannot be random */
    const char *exact;                            /* results known bit for bit, such as "y dx" */
    bool replaces;                                /* results do not add to what was there */
    double ulps;      /* allowed of results in bf16: units in the last place of the largest */
    double f32_error; /* of results in f32 from operands in bf16: share of the largest */
};
/* op_row_run - on a bench of f32 or bf16. */
void op_row_run(const struct op_row *row, struct op_bench *k);
/* op_case_check - runs the op, compares its results with the oracle's, and with its own where an
 * output may share the memory of an input. */
void op_case_check(struct op_case *c, const struct op_row *row);
extern const struct op_row op_rows[], op_rows_attention[],
    op_rows_table[]; /* each terminated by a row without a name */

/* op_memory_get - the content of an argument without gaps between rows, in the arena. */
unsigned char *op_memory_get(struct op_bench *k, const struct op_memory *m);
size_t op_memory_bytes(const struct op_memory *m);

#endif
