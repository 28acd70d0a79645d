/* op_attention.h - a call of attention with its inputs and outputs, for the op table and the tests
 * of single backends. */
#ifndef OPS_OP_ATTENTION_H
#define OPS_OP_ATTENTION_H

#include "ops/op_case.h"
#include "ops/op_reference.h"

/* The bias: none, slopes, a table with constants beyond it, a table with slopes beyond it. */
enum form { FORM_NONE, FORM_SLOPE, FORM_TABLE, FORM_ALL, FORMS_N };

enum attention_result {
    OUT,
    LSE,
    DQ,
    DK,
    DV,
    DSUMS,
    TABLE_GRAD,
    OFFSET_GRAD,
    HEAD_GRAD,
    ATTENTION_RESULTS
};

/* q, k, v as thirds of one matrix, as in the model. */
struct attention_case {
    struct op_attention ref;
    struct attention a;
    float *q, *k, *v; /* packed */
    struct op_matrix out, dout, dqkv, table_grad, offset_grad, head_grad;
    bool forward_only; /* attention has no backward pass of it */
    int64_t summed_n;  /* terms in a sum of a bias gradient whose roundings add up; 0: one */
    double *want[ATTENTION_RESULTS]; /* the oracle's results; NULL: not computed yet */
    float *plain[ATTENTION_RESULTS]; /* those of plain loops */
};

/* op_attention_case - random operands of size B, T, H, D, with dropout p; in the bench's memory. */
struct attention_case op_attention_case(struct op_bench *k, const int32_t size[4], enum form form,
                                        float p);
/* op_attention_check - forward and backward pass of k->b agree with the oracle, which is computed
 * once per case. */
void op_attention_check(struct op_bench *k, struct attention_case *c);
/* op_attention_run - both passes. */
void op_attention_run(struct op_bench *k, const struct attention_case *c);

#endif
