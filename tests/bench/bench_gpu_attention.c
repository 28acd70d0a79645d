/* bench_gpu_attention.c - attention of every position method at every length, with and without its
 * dropout, forward and backward. */
#include <math.h>
#include <stdio.h>

#include "bench/bench_gpu_op.h"
#include "shape/shape.h"

static int call_attention(struct ops *o, struct err *e)
{
    return ops_attention(o->b, &o->attention, e);
}
static int call_attention_bwd(struct ops *o, struct err *e)
{
    return ops_attention_bwd(o->b, &o->attention, e);
}

static int set_position(struct ops *o, enum spec_position position, struct err *e)
{
    struct attention *a = &o->attention;
    struct tensor t;
    const struct position_shape shape = spec_position_shape(&o->spec);
    int32_t bias_table_n =
        position_table_length(position_methods[position].functions, &shape, a->T);
    if (position == SPEC_ALIBI) {
        TRY(op_tensor(o, &t, 1, a->H, DTYPE_F32, e));
        float slope[64];
        for (int32_t h = 0; h < a->H; h++) slope[h] = -ldexpf(1.0f, -(h + 1)); /* of 8 heads */
        TRY(o->b->ops->upload(o->b, t.data, slope, (size_t)a->H * sizeof *slope, e));
        a->bias.tail_slope_dev = t.data;
    } else if (position == SPEC_T5) {
        float **const to[] = {(float **)&a->bias.bias_table_dev, &a->bias.bias_table_grad_dev};
        float **const far[] = {(float **)&a->bias.tail_offset_dev, &a->bias.tail_offset_grad_dev};
        a->bias.bias_table_n = bias_table_n;
        for (int i = 0; i < 2; i++) {
            TRY(op_tensor(o, &t, a->H, bias_table_n, DTYPE_F32, e));
            *to[i] = t.data;
            TRY(op_tensor(o, &t, 1, a->H, DTYPE_F32, e));
            *far[i] = t.data;
        }
    } else if (position == SPEC_ROTARY) {
        TRY(op_tensor(o, &a->rotary.cosine, a->T, a->D / 2, DTYPE_F32, e));
        TRY(op_tensor(o, &a->rotary.sine, a->T, a->D / 2, DTYPE_F32, e));
    }
    return 0;
}

static int time_attention(struct ops *o, enum spec_position position, int32_t length, bool dropout,
                          struct err *e)
{
    struct attention *a = &o->attention;
    char name[BENCH_NAME_BYTES];
    struct tensor *const parts[] = {&a->q, &a->k, &a->v, &a->out, &a->dout, &a->dq, &a->dk, &a->dv};

    *a = (struct attention){.B = (int32_t)(o->N / length),
                            .T = length,
                            .H = o->spec.model.heads,
                            .D = (int32_t)(o->C / o->spec.model.heads)};
    a->scale = 1.0f / sqrtf((float)a->D);
    o->spec.model.position = position;
    int64_t n = (int64_t)a->B * a->T;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        TRY(op_activation(o, parts[i], n, o->C, e));
    TRY(op_tensor(o, &a->lse, (int64_t)a->B * a->H, a->T, DTYPE_F32, e));
    TRY(set_position(o, position, e));
    a->dropout = o->dropout;
    a->dropout.p = dropout ? 0.1f : 0.0f;
    double product = (double)n * (length + 1.0) * (double)o->C; /* 2 flops a pair, half of them */
    double bytes = o->elements * (double)(n * o->C);
    const char *how = dropout ? " drop" : "";
    snprintf(name, sizeof name, "attention %s %d%s", spec_position_name(position), length, how);
    TRY(op_row(o, name, call_attention, 4 * bytes, 2 * product, e));
    snprintf(name, sizeof name, "attention_bwd %s %d%s", spec_position_name(position), length, how);
    TRY(op_row(o, name, call_attention_bwd, 8 * bytes, 5 * product, e));
    op_release(o);
    return 0;
}

/* Dropout is timed at the middle length. */
int bench_attention(struct ops *o, struct err *e)
{
    static const enum spec_position positions[] = {SPEC_SINUSOIDAL, SPEC_ROTARY, SPEC_T5,
                                                   SPEC_ALIBI};
    static const int32_t lengths[] = {512, 1024, 3072};
    int32_t divisor = 9216 / o->spec.train.shard_tokens;

    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++)
        for (size_t p = 0; p < sizeof positions / sizeof *positions; p++)
            for (int dropout = 0; dropout < (l == 1 ? 2 : 1); dropout++)
                TRY(time_attention(o, positions[p], lengths[l] / divisor, dropout, e));
    return 0;
}
