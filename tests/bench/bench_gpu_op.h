/* bench_gpu_op.h - one op at a time on a device: its arguments, its memory, its time. */
#ifndef TESTS_BENCH_GPU_OP_H
#define TESTS_BENCH_GPU_OP_H

#include "bench/bench_gpu.h"
#include "ops/ops.h"

enum { OPS_HELD_MAX = 64 };

/* Which of the arguments an op uses, its function says. */
struct ops {
    struct backend *b;
    bool tiny;
    double elements; /* bytes of an activation */
    int64_t N, C, F; /* tokens, width, inner width */
    struct spec spec;
    float *random_own;  /* a block of numbers in [-1, 1) */
    uint16_t *half_own; /* the same in bf16 */
    void *step_own;     /* of dropout, on the device */
    void *held_own[OPS_HELD_MAX];
    int32_t held_n;
    json_t *rows; /* a loan */
    /* arguments */
    struct tensor x, y, r, w, dw, stats, gain, bias, dgain, dbias;
    struct attention attention;
    struct dropout dropout;
    const int32_t *index_dev;
    float *theta_dev, *momentum_dev, *grad_dev;
    void *bf16_dev;
    double *squares_dev;
    int64_t n;
};
typedef int (*op_call)(struct ops *o, struct err *e);

/* op_open - a backend of the case's precision and the sizes of its model; rows: where op_row
 * writes.
 */
int op_open(struct ops *o, json_t *rows, const struct bench_case *c, const struct bench_options *p,
            struct err *e);
void op_close(struct ops *o);

/* Memory until op_release. op_random: numbers in [-1, 1), the same block over and over. */
int op_memory(struct ops *o, void **out, size_t bytes, struct err *e);
void op_release(struct ops *o);
int op_random(struct ops *o, void *dev, int64_t n, enum dtype dtype, struct err *e);
int op_tensor(struct ops *o, struct tensor *out, int64_t rows, int64_t cols, enum dtype dtype,
              struct err *e);
/* op_activation - a tensor of the backend's precision. */
int op_activation(struct ops *o, struct tensor *out, int64_t rows, int64_t cols, struct err *e);

/* op_row - times a call and adds its row. A refusal ends this row only, which has it; a device
 * that is gone or full ends the case. */
int op_row(struct ops *o, const char *name, op_call call, double bytes, double flops,
           struct err *e);

/* The parts of an ops case: products and rows, attention (bench_gpu_attention.c). */
int bench_attention(struct ops *o, struct err *e);

#endif
