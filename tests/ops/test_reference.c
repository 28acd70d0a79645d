/* test_reference.c - the oracle's gradients are those of its own forward formulas: central
 * differences in double, with inputs on a grid so that the steps are exact. */
#include "harness/test.h"

#include <math.h>
#include <string.h>

#include "base/philox.h"
#include "ops/op_reference.h"

enum { N = 5, I = 4, O = 3, ROOM = 4096 };
static const float STEP = 0x1p-10f;

/* Multiples of 1/64 in [-1, 1). */
static void fill_random(float *x, int64_t n, uint32_t stream)
{
    for (int64_t i = 0; i < n; i++)
        x[i] = (float)(philox_word(7, (uint64_t)i, 0, stream) % 128) / 64.0f - 1.0f;
}

static double dot(const double *y, const float *by, int64_t n)
{
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++) sum += y[i] * (double)by[i];
    return sum;
}

/* A forward function of some inputs to one number: the outputs times dy. */
typedef double (*scalar_fn)(void *context);

/* d f / d x[i] for each i against `gradient`. The third derivative of these functions is of order
 * one, so the difference errs by some STEP^2. */
static void check_differences(scalar_fn f, void *context, float *x, const double *gradient,
                              int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        float at = x[i];
        x[i] = at + STEP;
        double above = f(context);
        x[i] = at - STEP;
        double below = f(context);
        x[i] = at;
        double slope = (above - below) / (2.0 * (double)STEP);
        if (!(fabs(slope - gradient[i]) <= 2e-5 * (1.0 + fabs(slope))))
            fail_msg("element %d: difference %.9g, gradient %.9g", (int)i, slope, gradient[i]);
    }
}

struct linear {
    float x[N * I], w[O * I], bias[O], dy[N * O];
};

static double linear_value(void *context)
{
    struct linear *l = context;
    double y[N * O];
    op_linear_double(y, l->x, l->w, l->bias, N, I, O);
    return dot(y, l->dy, N * O);
}

TEST(linear_gradients_are_differences)
{
    struct linear l;
    double dx[N * I], dw[O * I], dbias[O];
    fill_random(l.x, N * I, 1);
    fill_random(l.w, O * I, 2);
    fill_random(l.bias, O, 3);
    fill_random(l.dy, N * O, 4);
    op_linear_bwd_input_double(dx, l.dy, l.w, N, I, O);
    op_linear_bwd_weight_double(dw, dbias, l.dy, l.x, N, I, O);
    check_differences(linear_value, &l, l.x, dx, N * I);
    check_differences(linear_value, &l, l.w, dw, O * I);
    check_differences(linear_value, &l, l.bias, dbias, O);
}

struct norm {
    float x[N * I], gain[I], bias[I], dy[N * I];
};

static double norm_value(void *context)
{
    struct norm *l = context;
    double y[N * I], stats[2 * N];
    op_layernorm_double(y, stats, l->x, l->gain, l->bias, N, I, 1e-5f, 0);
    return dot(y, l->dy, N * I);
}

TEST(norm_gradients_are_differences)
{
    struct norm l;
    double dx[N * I], dgain[I], dbias[I];
    fill_random(l.x, N * I, 1);
    fill_random(l.gain, I, 2);
    fill_random(l.bias, I, 3);
    fill_random(l.dy, N * I, 4);
    op_layernorm_bwd_double(dx, dgain, dbias, l.dy, l.x, l.gain, N, I);
    check_differences(norm_value, &l, l.x, dx, N * I);
    check_differences(norm_value, &l, l.gain, dgain, I);
    check_differences(norm_value, &l, l.bias, dbias, I);
}

struct attention_inputs {
    struct op_attention a;
    int64_t n;
    float q[ROOM], k[ROOM], v[ROOM], dout[ROOM], near[64], offset[8], slope[8], factor[ROOM];
    float cosine[64], sine[64], query_factor[8], head_factor[8], high[64], low[64];
};

static double attention_value(void *context)
{
    struct attention_inputs *l = context;
    static double out[ROOM], lse[ROOM];
    op_attention_double(out, lse, l->q, l->k, l->v, &l->a);
    return dot(out, l->dout, l->n);
}

TEST(attention_gradients_are_differences)
{
    static struct attention_inputs l;
    static double dq[ROOM], dk[ROOM], dv[ROOM];
    double dbias_table[64], dtail_offset[8], dhead[8], dsums[64];
    enum { B = 2, T = 6, H = 2, D = 4, NEAR = 3 };
    l.a = (struct op_attention){.B = B,
                                .T = T,
                                .H = H,
                                .D = D,
                                .bias_table_n = NEAR,
                                .scale = 0.5f,
                                .near = l.near,
                                .offset = l.offset,
                                .slope = l.slope,
                                .factor = l.factor};
    l.n = B * T * H * D;
    fill_random(l.q, l.n, 1);
    fill_random(l.k, l.n, 2);
    fill_random(l.v, l.n, 3);
    fill_random(l.dout, l.n, 4);
    fill_random(l.near, H * NEAR, 5);
    fill_random(l.offset, H, 6);
    fill_random(l.slope, H, 7);
    for (int i = 0; i < B * H * T * T; i++) l.factor[i] = i % 5 == 0 ? 0.0f : 1.25f;
    fill_random(l.cosine, T * D / 2, 8);
    fill_random(l.sine, T * D / 2, 9);
    fill_random(l.query_factor, T, 10);
    fill_random(l.head_factor, H, 11);
    l.a.pairs = D / 2;
    fill_random(l.high, B * H * T, 12);
    fill_random(l.low, B * H * T, 13);
    l.a.low = l.low;
    l.a.dsums = dsums;
    static const struct attention_mask masks[] = {{0, 0, SINKS_TEXT, 0},
                                                  {2, 0, SINKS_TEXT, 0},
                                                  {2, 1, SINKS_TEXT, 0},
                                                  {2, 2, SINKS_CACHE, 0}};
    for (int way = 0; way < 36; way++) {
        int rotation = way % 3; /* none, adjacent pairs, halves */
        l.a.mask = masks[way / 3 % 4];
        l.a.query_factor = way >= 12 ? l.query_factor : NULL;
        l.a.head_factor = way >= 12 ? l.head_factor : NULL;
        l.a.inside = way >= 24;
        l.a.cosine = l.a.key_cosine = rotation > 0 ? l.cosine : NULL;
        l.a.sine = l.a.key_sine = rotation > 0 ? l.sine : NULL;
        l.a.layout = rotation == 2;
        l.a.high = way % 2 ? l.high : NULL;
        op_attention_bwd_double(dq, dk, dv, dbias_table, dtail_offset, dhead, l.q, l.k, l.v, l.dout,
                                &l.a);
        check_differences(attention_value, &l, l.q, dq, l.n);
        check_differences(attention_value, &l, l.k, dk, l.n);
        check_differences(attention_value, &l, l.v, dv, l.n);
        check_differences(attention_value, &l, l.near, dbias_table, H * NEAR);
        check_differences(attention_value, &l, l.offset, dtail_offset, H);
        if (way >= 12) check_differences(attention_value, &l, l.head_factor, dhead, H);
        if (l.a.high) check_differences(attention_value, &l, l.high, dsums, B * H * T);
    }
}

struct softmax {
    float logits[N * I];
    int32_t target[N];
};

static double softmax_value(void *context)
{
    struct softmax *l = context;
    double loss[N], sum = 0.0;
    op_softmax_double(loss, NULL, l->logits, l->target, N, I);
    for (int i = 0; i < N; i++) sum += loss[i];
    return sum;
}

TEST(softmax_gradients_are_differences)
{
    struct softmax l = {.target = {0, 3, -1, 2, 1}};
    double loss[N], dlogits[N * I];
    fill_random(l.logits, N * I, 1);
    op_softmax_double(loss, dlogits, l.logits, l.target, N, I);
    check_differences(softmax_value, &l, l.logits, dlogits, N * I);
}

TEST(rotary_backwards_undoes_rotary)
{
    enum { T = 3, H = 2, D = 4 };
    float x[T * H * D], as_float[T * H * D], cosine[T * D / 2], sine[T * D / 2];
    double rotated[T * H * D], back[T * H * D];
    fill_random(x, T * H * D, 1);
    for (int i = 0; i < T * D / 2; i++) {
        cosine[i] = cosf((float)i);
        sine[i] = sinf((float)i);
    }
    for (int layout = 0; layout < 2; layout++) {
        op_rotary_double(rotated, x, cosine, sine, T, T, H, D, D / 2, layout, 0);
        for (int i = 0; i < T * H * D; i++) as_float[i] = (float)rotated[i];
        op_rotary_double(back, as_float, cosine, sine, T, T, H, D, D / 2, layout, 1);
        for (int i = 0; i < T * H * D; i++) assert_true(fabs(back[i] - (double)x[i]) < 1e-6);
    }
}
