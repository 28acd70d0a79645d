/* cpu_attention_bench.h - one call of attention with its memory, for the tests of both passes. */
#ifndef TESTS_CPU_CPU_ATTENTION_BENCH_H
#define TESTS_CPU_CPU_ATTENTION_BENCH_H

#include "backend/backend.h"

/* Bias forms under test. */
enum bias_form { BIAS_NONE, BIAS_SLOPE, BIAS_NEAR, BIAS_FORMS };
enum { HEADS_MAX = 8, NEAR_MAX = 8 };

struct attention_bench {
    struct attention a;
    struct step_state step;
    float *qkv, *out, *lse, *dout, *dqkv;
    float near[HEADS_MAX * NEAR_MAX], offset[HEADS_MAX], slope[HEADS_MAX];
    float near_grad[HEADS_MAX * NEAR_MAX], offset_grad[HEADS_MAX];
};

struct attention_size {
    int32_t B, T, H, D;
};

/* attention_bench_make - random q, k, v of that size and dout; q, k and v are thirds of one matrix,
 * as in the model. BIAS_SLOPE: 2^-1, 2^-2, ...; BIAS_NEAR: a random table, gradient wanted. */
struct attention_bench *attention_bench_make(struct attention_size s, enum bias_form form, float p,
                                             float size);
void attention_bench_free(struct attention_bench *t);

/* attention_bench_run - forward, then backward, the gradients of the table from zero. */
void attention_bench_run(struct backend *b, struct attention_bench *t);

#endif
