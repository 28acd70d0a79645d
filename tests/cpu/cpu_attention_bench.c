/* cpu_attention_bench.c - see cpu_attention_bench.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/cpu_attention_bench.h"
#include "cpu/cpu_fixture.h"

struct attention_bench *attention_bench_make(struct attention_size s, enum bias_form form, float p,
                                             float size)
{
    struct attention_bench *t = calloc(1, sizeof *t);
    int64_t N = (int64_t)s.B * s.T, C = (int64_t)s.H * s.D;
    struct attention *a = &t->a;
    t->qkv = cpu_random_make(N * 3 * C, size, 1);
    t->dout = cpu_random_make(N * C, 1.0f, 2);
    t->out = cpu_zeros(N * C);
    t->lse = cpu_zeros(N * s.H);
    t->dqkv = cpu_zeros(N * 3 * C);
    *a = (struct attention){.B = s.B, .T = s.T, .H = s.H, .D = s.D};
    a->scale = 1.0f / sqrtf((float)s.D);
    struct tensor *thirds[2][3] = {{&a->q, &a->k, &a->v}, {&a->dq, &a->dk, &a->dv}};
    for (int w = 0; w < 6; w++) {
        struct tensor *x = thirds[w / 3][w % 3];
        *x = tensor_make((w < 3 ? t->qkv : t->dqkv) + (w % 3) * C, N, C, DTYPE_F32);
        x->stride = 3 * C;
    }
    a->out = tensor_make(t->out, N, C, DTYPE_F32);
    a->dout = tensor_make(t->dout, N, C, DTYPE_F32);
    a->lse = tensor_make(t->lse, (int64_t)s.B * s.H, s.T, DTYPE_F32);
    cpu_random(t->near, HEADS_MAX * NEAR_MAX, 1.0f, 3);
    cpu_random(t->offset, HEADS_MAX, 1.0f, 4);
    for (int h = 0; h < HEADS_MAX; h++) t->slope[h] = -ldexpf(1.0f, -h - 1);
    if (form == BIAS_SLOPE) a->bias.tail_slope_dev = t->slope;
    if (form == BIAS_NEAR)
        a->bias = (struct attention_bias){.bias_table_n = NEAR_MAX,
                                          .bias_table_dev = t->near,
                                          .tail_offset_dev = t->offset,
                                          .bias_table_grad_dev = t->near_grad,
                                          .tail_offset_grad_dev = t->offset_grad};
    t->step.update = 7;
    a->dropout =
        (struct dropout){.p = p, .key = 99, .stream = 17, .step_dev = &t->step, .first_row = 3};
    return t;
}

void attention_bench_free(struct attention_bench *t)
{
    free(t->qkv);
    free(t->out);
    free(t->lse);
    free(t->dout);
    free(t->dqkv);
    free(t);
}

void attention_bench_run(struct backend *b, struct attention_bench *t)
{
    struct err e = {0};
    memset(t->near_grad, 0, sizeof t->near_grad);
    assert_int_equal(b->ops->attention(b, &t->a, &e), 0);
    assert_int_equal(b->ops->attention_bwd(b, &t->a, &e), 0);
}
