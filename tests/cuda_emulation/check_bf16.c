/* check_bf16.c - tests the ops with bf16 activations, on the backends named on the command line.
 * The op table is in fp32, and tensor cores multiply bf16 only.
 *
 * Inputs are exact in bf16; the oracle computes with them in double. An op rounds its result, and
 * the operands of products inside, to bf16. Its error may therefore be a few bf16 units in the last
 * place of the largest number, or of the largest term that cancels. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "ops/op_bench.h"
#include "ops/op_bf16.h"
#include "ops/op_reference.h"
#include "ops/ops.h"

static const char *device; /* of the running test group */

static double most(const float *x, int64_t n)
{
    double out = 0.0;
    for (int64_t i = 0; i < n; i++) out = fmax(out, fabs((double)x[i]));
    return out;
}

/* ---- linear maps ---- */

static void linear_maps_agree_in_bf16(void **state)
{
    (void)state;
    enum { N = 70, I = 48, O = 40 };
    struct op_bench k;
    struct err e = {0};
    op_bf16_open(&k, device);
    struct op_matrix x = op_bf16_random(&k, N, I, 1), w = op_bf16_random(&k, O, I, 1);
    struct op_matrix y = op_bf16_random(&k, N, O, 1), dy = op_bf16_random(&k, N, O, 1);
    struct op_matrix dx = op_bf16_random(&k, N, I, 1), dw = op_random(&k, O, I, 0);
    double *want = op_doubles(&k, N * O), *want_dx = op_doubles(&k, N * I);
    double *want_dw = op_doubles(&k, O * I), *want_dbias = op_doubles(&k, O);
    struct op_matrix dbias = op_random(&k, 1, O, 0);
    op_linear_double(want, x.host, w.host, NULL, N, I, O);
    op_linear_bwd_input_double(want_dx, dy.host, w.host, N, I, O);
    op_linear_bwd_weight_double(want_dw, want_dbias, dy.host, x.host, N, I, O);
    op_ok(ops_linear(k.b, &y.t, &x.t, &w.t, NULL, 0, &e), &e);
    op_bf16_check(&k, "y", &y.t, want, OP_BF16_ULPS(1), 0);
    op_ok(ops_linear_rows(k.b, &y.t, &x.t, &w.t, NULL, &e), &e);
    op_bf16_check(&k, "y by rows", &y.t, want, OP_BF16_ULPS(1), 0);
    struct op_matrix wide = op_random(&k, N, O, 0); /* an fp32 result of bf16 operands */
    op_ok(ops_linear(k.b, &wide.t, &x.t, &w.t, NULL, 0, &e), &e);
    op_bf16_check(&k, "y in f32", &wide.t, want, 1e-6, 0);
    op_ok(ops_linear_rows(k.b, &wide.t, &x.t, &w.t, NULL, &e), &e);
    op_bf16_check(&k, "y by rows in f32", &wide.t, want, 1e-6, 0);
    op_ok(ops_linear_bwd_input(k.b, &dx.t, &dy.t, &w.t, 0, &e), &e);
    op_bf16_check(&k, "dx", &dx.t, want_dx, OP_BF16_ULPS(1), 0);
    op_ok(ops_linear_bwd_weight(k.b, &dw.t, &dbias.t, &dy.t, &x.t, 0, &e), &e);
    op_bf16_check(&k, "dw", &dw.t, want_dw, 1e-5, 0);
    op_bf16_check(&k, "dbias", &dbias.t, want_dbias, 1e-5, 0);
    op_bench_close(&k);
}

static void a_relu_passes_gradients_in_bf16(void **state)
{
    (void)state;
    enum { N = 70, I = 300, O = 40, UPDATE = 2 };
    static const float chances[] = {0.0f, 0.1f};
    struct op_bench k;
    struct err e = {0};
    op_bf16_open(&k, device);
    for (int c = 0; c < 4; c++) { /* without and with a mask */
        op_bench_reset(&k);
        struct step_state step = {.update = UPDATE};
        struct dropout d = {.p = chances[c % 2], .key = 4, .step_dev = op_step(&k, &step)};
        struct op_matrix x = op_bf16_random(&k, N, I, 1), w = op_bf16_random(&k, O, I, 1);
        struct op_matrix dy = op_bf16_random(&k, N, O, 1), y = op_bf16_random(&k, N, I, 1);
        struct op_matrix dx = op_bf16_random(&k, N, I, 1), wide = op_random(&k, N, I, 0);
        const float *factor = op_factors(&k, &d, NULL, UPDATE, N, I);
        double *want = op_doubles(&k, N * I);
        op_linear_bwd_input_double(want, dy.host, w.host, N, I, O);
        for (int64_t j = 0; j < N * I; j++)
            want[j] = x.host[j] > 0.0f ? want[j] * (double)factor[j] : 0.0;
        struct relu_args fwd = {.y = y.t, .x = x.t, .dropout = d};
        if (c >= 2) fwd.mask = op_mask(&k, N, I);
        struct linear_bwd_relu_args bwd = {
            .dx = dx.t, .dy = dy.t, .w = w.t, .y = y.t, .mask = fwd.mask, .dropout = d};
        op_ok(ops_relu(k.b, &fwd, &e), &e);
        op_ok(ops_linear_bwd_relu(k.b, &bwd, &e), &e);
        op_bf16_check(&k, "dx", &dx.t, want, OP_BF16_ULPS(2), 0);
        op_ok(ops_cast(k.b, &wide.t, &dx.t, &e), &e);
        const float *got = op_get(&k, &wide.t);
        for (int64_t j = 0; j < N * I; j++) assert_true(want[j] != 0.0 || got[j] == 0.0f);
    }
    op_bench_close(&k);
}

/* ---- casts and the bf16 copy of the weights ---- */

static void casts_round_to_the_nearest(void **state)
{
    (void)state;
    static const float ties[] = {1.00390625f, 1.01171875f,   -1.00390625f,
                                 1.0039063f,  3.3895314e38f, 0x1.fffffep0f,
                                 1e-40f,      0.0f,          -0.0f};
    static const int64_t sizes[][2] = {{1, 9}, {1, 4099}, {37, 21}, {9, 64}};
    struct op_bench k;
    struct err e = {0};
    op_bf16_open(&k, device);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int64_t N = sizes[i][0], C = sizes[i][1];
        struct op_matrix x = op_random(&k, N, C, 0), y = op_bf16_random(&k, N, C, 1);
        struct op_matrix back = op_random(&k, N, C, 0);
        memcpy(x.host, ties, sizeof ties);
        op_set(&k, &x);
        op_ok(ops_cast(k.b, &y.t, &x.t, &e), &e);
        op_bf16_same(&k, "y", y.t.data, x.host, N * C);
        op_ok(ops_cast(k.b, &back.t, &y.t, &e), &e);
        for (int64_t j = 0; j < N * C; j++) {
            uint16_t half;
            x.host[j] = op_bf16_round(x.host[j], &half);
        }
        op_same("back", op_get(&k, &back.t), x.host, N * C);
        op_bench_reset(&k);
    }
    op_bench_close(&k);
}

static void an_update_rewrites_the_weights_in_bf16(void **state)
{
    (void)state;
    static const int64_t lengths[] = {1, 7, 64, 4097};
    static const struct step_state content = {
        .lr = 0.25f, .lr_previous = 0.5f, .gradient_scale = 0.5f, .clip = 0.1f, .adam_step = 3};
    struct op_bench k;
    struct err e = {0};
    op_bf16_open(&k, device);
    for (size_t i = 0; i < 2 * sizeof lengths / sizeof *lengths; i++) {
        int64_t n = lengths[i / 2];
        struct op_matrix theta = op_random(&k, 1, n, 0), first = op_random(&k, 1, n, 0);
        struct op_matrix second = op_random(&k, 1, n, 0), grad = op_random(&k, 1, n, 0);
        struct op_matrix half = op_bf16_random(&k, 1, n, 1);
        const struct step_state *step = op_step(&k, &content);
        double *squares = op_memory(&k, NULL, sizeof *squares);
        op_ok(ops_sum_squares(k.b, squares, grad.t.data, n, &e), &e);
        for (int64_t j = 0; j < n; j++) second.host[j] *= second.host[j];
        op_set(&k, &second);
        if (i % 2)
            op_ok(ops_nag(k.b,
                          &(struct nag_args){.theta_dev = theta.t.data,
                                             .momentum_dev = first.t.data,
                                             .grad_dev = grad.t.data,
                                             .n = n,
                                             .mu = 0.9f,
                                             .weight_decay = 0.01f,
                                             .squares_dev = squares,
                                             .step_dev = step,
                                             .bf16_dev = half.t.data},
                          &e),
                  &e);
        else
            op_ok(ops_adam(k.b,
                           &(struct adam_args){.theta_dev = theta.t.data,
                                               .m_dev = first.t.data,
                                               .v_dev = second.t.data,
                                               .grad_dev = grad.t.data,
                                               .n = n,
                                               .beta1 = 0.9f,
                                               .beta2 = 0.98f,
                                               .eps = 1e-8f,
                                               .weight_decay = 0.01f,
                                               .squares_dev = squares,
                                               .step_dev = step,
                                               .bf16_dev = half.t.data},
                           &e),
                  &e);
        op_bf16_same(&k, "half", half.t.data, op_get(&k, &theta.t), n);
        op_bench_reset(&k);
    }
    op_bench_close(&k);
}

/* ---- layernorm ---- */

static void norms_agree_in_bf16(void **state)
{
    (void)state;
    static const int64_t widths[] = {8, 100, 256, 1024};
    struct op_bench k;
    struct err e = {0};
    op_bf16_open(&k, device);
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        int64_t N = 9, C = widths[i];
        struct op_matrix x = op_bf16_random(&k, N, C, 1), y = op_bf16_random(&k, N, C, 1);
        struct op_matrix dy = op_bf16_random(&k, N, C, 1), dx = op_bf16_random(&k, N, C, 1);
        struct op_matrix gain = op_random(&k, 1, C, 0), bias = op_random(&k, 1, C, 0);
        struct op_matrix stats = op_random(&k, N, 2, 0);
        struct op_matrix dgain = op_random(&k, 1, C, 0), dbias = op_random(&k, 1, C, 0);
        double *want = op_doubles(&k, N * C), *want_dx = op_doubles(&k, N * C);
        double *want_stats = op_doubles(&k, N * 2);
        double *want_dgain = op_doubles(&k, C), *want_dbias = op_doubles(&k, C);
        op_layernorm_double(want, want_stats, x.host, gain.host, bias.host, N, C);
        op_layernorm_bwd_double(want_dx, want_dgain, want_dbias, dy.host, x.host, gain.host, N, C);
        for (int64_t c = 0; c < C; c++) { /* these two are accumulated */
            want_dgain[c] += dgain.host[c];
            want_dbias[c] += dbias.host[c];
        }
        op_ok(ops_layernorm(k.b, &y.t, &stats.t, &x.t, &gain.t, &bias.t, &e), &e);
        op_bf16_check(&k, "y", &y.t, want, OP_BF16_ULPS(1), 0);
        op_ok(ops_layernorm_bwd(k.b,
                                &(struct layernorm_bwd_args){.dx = dx.t,
                                                             .dgain = dgain.t,
                                                             .dbias = dbias.t,
                                                             .dy = dy.t,
                                                             .x = x.t,
                                                             .stats = stats.t,
                                                             .gain = gain.t},
                                &e),
              &e);
        op_bf16_check(&k, "dx", &dx.t, want_dx, OP_BF16_ULPS(1), 1);
        op_bf16_check(&k, "dgain", &dgain.t, want_dgain, 1e-5, 10);
        op_bf16_check(&k, "dbias", &dbias.t, want_dbias, 1e-5, 10);
        op_bench_reset(&k);
    }
    op_bench_close(&k);
}

/* ---- attention ---- */

enum { UPDATE = 41 };

struct attention_size {
    int32_t B, T, H, D;
    int sloped, bias_table_n;
    float p;
    int rotated; /* 0: no rotary, 1: adjacent pairs, 2: halves */
};

static void set_bias(struct op_bench *k, struct op_attention *ref, struct attention *a,
                     const struct attention_size *s)
{
    struct op_matrix slope = op_random(k, 1, s->H, 0);
    for (int32_t h = 0; h < s->H; h++) slope.host[h] = -0.25f / (float)(h + 1);
    op_set(k, &slope);
    if (s->sloped) {
        ref->slope = slope.host;
        a->bias.tail_slope_dev = slope.t.data;
    }
    if (s->bias_table_n == 0) return;
    struct op_matrix near = op_random(k, s->H, s->bias_table_n, 0),
                     offset = op_random(k, 1, s->H, 0);
    ref->bias_table_n = a->bias.bias_table_n = s->bias_table_n;
    ref->near = near.host;
    ref->offset = offset.host;
    a->bias.bias_table_dev = near.t.data;
    a->bias.tail_offset_dev = offset.t.data;
}

/* The random number of a pair is ((first_row + b) * H + h) * T * T + i * T + j. */
static void set_dropout(struct op_bench *k, struct op_attention *ref, struct attention *a, float p)
{
    struct step_state step = {.update = UPDATE};
    a->dropout = (struct dropout){.p = p,
                                  .key = 7,
                                  .stream = dropout_stream(0, DROPOUT_ATTENTION),
                                  .step_dev = op_step(k, &step)};
    if (p > 0.0f)
        ref->factor = op_factors(k, &a->dropout, NULL, UPDATE, (int64_t)ref->B * ref->H,
                                 (int64_t)ref->T * ref->T);
}

/* A different angle for each token and pair. */
static void set_rotary(struct op_bench *k, struct op_attention *ref, struct attention *a,
                       const struct attention_size *s)
{
    struct op_matrix cosine = op_random(k, s->T + 1, s->D / 2, 0);
    struct op_matrix sine = op_random(k, s->T + 1, s->D / 2, 0);
    for (int64_t i = 0; i < cosine.t.rows * cosine.t.cols; i++) {
        double angle = 3.0 * (double)cosine.host[i];
        cosine.host[i] = (float)cos(angle);
        sine.host[i] = (float)sin(angle);
    }
    op_set(k, &cosine);
    op_set(k, &sine);
    ref->cosine = cosine.host;
    ref->sine = sine.host;
    ref->layout = s->rotated == 2;
    a->rotary = (struct attention_rotary){cosine.t, sine.t, s->rotated == 2};
}

static void check_attention(struct op_bench *k, const struct attention_size *s)
{
    struct err e = {0};
    int64_t N = (int64_t)s->B * s->T, C = (int64_t)s->H * s->D, n = N * C;
    float scale = (float)(1.0 / sqrt((double)s->D));
    struct op_matrix q = op_bf16_random(k, N, C, 2), key = op_bf16_random(k, N, C, 2);
    struct op_matrix v = op_bf16_random(k, N, C, 1), dout = op_bf16_random(k, N, C, 1);
    struct op_matrix out = op_bf16_random(k, N, C, 1), dq = op_bf16_random(k, N, C, 1);
    struct op_matrix dk = op_bf16_random(k, N, C, 1), dv = op_bf16_random(k, N, C, 1);
    struct op_matrix lse = op_random(k, (int64_t)s->B * s->H, s->T, 0);
    struct op_attention ref = {.B = s->B, .T = s->T, .H = s->H, .D = s->D, .scale = scale};
    struct attention a = {.B = s->B,
                          .T = s->T,
                          .H = s->H,
                          .D = s->D,
                          .scale = scale,
                          .q = q.t,
                          .k = key.t,
                          .v = v.t,
                          .out = out.t,
                          .lse = lse.t,
                          .dout = dout.t,
                          .dq = dq.t,
                          .dk = dk.t,
                          .dv = dv.t};
    double *want = op_doubles(k, n), *want_lse = op_doubles(k, lse.t.rows * lse.t.cols);
    double *want_dq = op_doubles(k, n), *want_dk = op_doubles(k, n), *want_dv = op_doubles(k, n);
    double *none = op_doubles(k, (int64_t)s->H * (s->bias_table_n + 1)),
           *offset = op_doubles(k, s->H);
    set_bias(k, &ref, &a, s);
    set_dropout(k, &ref, &a, s->p);
    if (s->rotated) set_rotary(k, &ref, &a, s);
    op_attention_double(want, want_lse, q.host, key.host, v.host, &ref);
    op_attention_bwd_double(want_dq, want_dk, want_dv, none, offset, q.host, key.host, v.host,
                            dout.host, &ref);
    op_ok(ops_attention(k->b, &a, &e), &e);
    op_bf16_check(k, "out", &out.t, want, OP_BF16_ULPS(2), 0);
    /* Rotated q and k are rounded to bf16, which changes a score of size 1 visibly. */
    op_bf16_check(k, "lse", &lse.t, want_lse, s->rotated ? OP_BF16_ULPS(1) : 1e-5, 1);
    op_ok(ops_attention_bwd(k->b, &a, &e), &e);
    /* dp is a sum of D products of dout and v. Terms of its typical size times q or k cancel. */
    double term = scale * sqrt((double)s->D) / (1.0 - s->p) * most(q.host, n);
    op_bf16_check(k, "dv", &dv.t, want_dv, OP_BF16_ULPS(3), 1 / (1.0 - s->p));
    op_bf16_check(k, "dq", &dq.t, want_dq, OP_BF16_ULPS(3), term);
    op_bf16_check(k, "dk", &dk.t, want_dk, OP_BF16_ULPS(3), term);
}

static void attention_agrees_in_bf16(void **state)
{
    (void)state;
    static const struct attention_size sizes[] = {
        {1, 33, 2, 8, 1, 0, 0, 0},       {2, 70, 2, 16, 0, 0, 0, 0},
        {1, 64, 2, 32, 1, 0, 0.1f, 0},   {1, 130, 1, 64, 1, 0, 0.2f, 0},
        {1, 65, 2, 64, 0, 9, 0, 0},      {1, 97, 1, 128, 1, 0, 0, 0},
        {2, 1, 1, 64, 1, 0, 0, 0},       {1, 40, 2, 128, 1, 7, 0.1f, 0},
        {1, 35, 2, 8, 0, 0, 0, 1},       {1, 35, 2, 8, 0, 0, 0, 2},
        {2, 70, 1, 16, 0, 0, 0, 1},      {1, 129, 2, 16, 0, 0, 0, 2},
        {1, 66, 1, 24, 0, 0, 0, 1},      {1, 66, 1, 24, 0, 0, 0, 2},
        {1, 97, 1, 32, 1, 0, 0.1f, 2},   {1, 65, 2, 64, 0, 5, 0, 1},
        {1, 131, 1, 128, 0, 0, 0.1f, 1}, {2, 97, 2, 128, 0, 0, 0, 2}};
    struct op_bench k;
    op_bf16_open(&k, device);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        print_message("T %d, D %d, slopes %d, table %d, p %.1f, rotated %d\n", sizes[i].T,
                      sizes[i].D, sizes[i].sloped, sizes[i].bias_table_n, (double)sizes[i].p,
                      sizes[i].rotated);
        check_attention(&k, &sizes[i]);
        op_bench_reset(&k);
    }
    op_bench_close(&k);
}

/* ---- ops on rows compute in fp32 and round once, so most results are known bit for bit ---- */

/* Columns in full groups of eight, ragged, and a single one. */
static const int64_t shapes[][2] = {{9, 64}, {37, 21}, {5, 1}, {3, 1027}};
enum { SHAPES_N = sizeof shapes / sizeof *shapes };

static struct dropout make_dropout(struct op_bench *k, float p)
{
    struct step_state step = {.update = UPDATE};
    return (struct dropout){
        .p = p, .key = 7, .stream = dropout_stream(3, DROPOUT_RELU), .step_dev = op_step(k, &step)};
}

static void rows_are_gathered_and_scattered(void **state)
{
    (void)state;
    struct op_bench k;
    struct err e = {0};
    op_bf16_open(&k, device);
    for (int i = 0; i < SHAPES_N; i++) {
        int64_t n = shapes[i][0], C = shapes[i][1], table_n = 13;
        struct op_matrix table = op_bf16_random(&k, table_n, C, 1), y = op_bf16_random(&k, n, C, 1);
        struct op_matrix sums = op_random(&k, table_n, C, 0);
        const int32_t *at = NULL, *index = op_list(&k, &at, n, (int32_t)table_n, 1);
        float *want = op_floats(&k, n * C);
        for (int64_t j = 0; j < n * C; j++)
            want[j] = at[j / C] < 0 ? 0.0f : 3.0f * table.host[at[j / C] * C + j % C];
        op_ok(ops_gather_rows(k.b, &y.t, &table.t, index, 3.0f, &e), &e);
        op_bf16_same(&k, "gathered", y.t.data, want, n * C);

        /* The fp32 gradient is the sum of bf16 rows in rising order. */
        struct op_matrix dy = op_bf16_random(&k, n, C, 1);
        for (int64_t j = 0; j < n * C; j++)
            if (at[j / C] >= 0) sums.host[at[j / C] * C + j % C] += dy.host[j];
        op_ok(ops_scatter_rows(k.b, &sums.t, &dy.t, index, 1.0f, 1, &e), &e);
        op_same("sums", op_get(&k, &sums.t), sums.host, table_n * C);
        op_bench_reset(&k);
    }
    op_bench_close(&k);
}

static void sums_dropout_and_relu_round_once(void **state)
{
    (void)state;
    struct op_bench k;
    struct err e = {0};
    op_bf16_open(&k, device);
    for (int i = 0; i < 2 * SHAPES_N; i++) {
        int64_t n = shapes[i / 2][0], C = shapes[i / 2][1];
        struct op_matrix x = op_bf16_random(&k, n, C, 1), r = op_bf16_random(&k, n, C, 1);
        struct op_matrix y = op_bf16_random(&k, n, C, 1), dx = op_bf16_random(&k, n, C, 1);
        struct op_matrix table = op_random(&k, 4, C, 0);
        const int32_t *at = NULL, *index = op_list(&k, &at, n, 4, 0);
        struct dropout d = make_dropout(&k, i % 2 ? 0.3f : 0.0f);
        const float *factor = op_factors(&k, &d, NULL, UPDATE, n, C);
        float *want = op_floats(&k, n * C);
        for (int64_t j = 0; j < n * C; j++) want[j] = x.host[j] + r.host[j];
        op_ok(ops_add(k.b, &y.t, &x.t, &r.t, &e), &e);
        op_bf16_same(&k, "sum", y.t.data, want, n * C);
        for (int64_t j = 0; j < n * C; j++) want[j] = x.host[j] + table.host[at[j / C] * C + j % C];
        op_ok(ops_add_rows(k.b, &y.t, &x.t, &table.t, index, &e), &e);
        op_bf16_same(&k, "sum with a table", y.t.data, want, n * C);
        for (int64_t j = 0; j < n * C; j++) want[j] = x.host[j] * factor[j];
        op_ok(ops_dropout(k.b, &y.t, &x.t, &d, &e), &e);
        op_bf16_same(&k, "dropped", y.t.data, want, n * C);
        for (int64_t j = 0; j < n * C; j++) want[j] = fmaxf(x.host[j], 0.0f) * factor[j];
        op_ok(ops_relu(k.b, &(struct relu_args){.y = y.t, .x = x.t, .dropout = d}, &e), &e);
        op_bf16_same(&k, "relu", y.t.data, want, n * C);
        for (int64_t j = 0; j < n * C; j++)
            want[j] = x.host[j] > 0.0f && factor[j] > 0.0f ? r.host[j] * factor[j] : 0.0f;
        struct relu_bwd_args bwd = {.dx = dx.t, .dy = r.t, .y = y.t, .dropout = d};
        op_ok(ops_relu_bwd(k.b, &bwd, &e), &e);
        op_bf16_same(&k, "relu, back", dx.t.data, want, n * C);
        op_bench_reset(&k);
    }
    op_bench_close(&k);
}

/* The layernorm is that of the rounded sum. */
static void residual_layernorms_agree(void **state)
{
    (void)state;
    struct op_bench k;
    struct err e = {0};
    op_bf16_open(&k, device);
    for (int i = 0; i < 2 * SHAPES_N; i++) {
        int64_t n = shapes[i / 2][0], C = shapes[i / 2][1];
        if (C == 1) continue;
        uint16_t half;
        struct op_matrix x = op_bf16_random(&k, n, C, 1), r = op_bf16_random(&k, n, C, 1);
        struct op_matrix s = op_bf16_random(&k, n, C, 1), y = op_bf16_random(&k, n, C, 1);
        struct op_matrix stats = op_random(&k, n, 2, 0), gain = op_random(&k, 1, C, 0);
        struct op_matrix bias = op_random(&k, 1, C, 0);
        struct dropout d = make_dropout(&k, i % 2 ? 0.3f : 0.0f);
        const float *factor = op_factors(&k, &d, NULL, UPDATE, n, C);
        float *sum = op_floats(&k, n * C);
        double *want = op_doubles(&k, n * C), *want_stats = op_doubles(&k, n * 2);
        for (int64_t j = 0; j < n * C; j++)
            sum[j] = op_bf16_round(fmaf(r.host[j], factor[j], x.host[j]), &half);
        op_layernorm_double(want, want_stats, sum, gain.host, bias.host, n, C);
        op_ok(ops_residual_layernorm(k.b,
                                     &(struct residual_layernorm_args){.s = s.t,
                                                                       .y = y.t,
                                                                       .stats = stats.t,
                                                                       .x = x.t,
                                                                       .r = r.t,
                                                                       .dropout = d,
                                                                       .gain = gain.t,
                                                                       .bias = bias.t},
                                     &e),
              &e);
        double *stored = op_doubles(&k, n * C);
        for (int64_t j = 0; j < n * C; j++) stored[j] = (double)sum[j];
        op_bf16_check(&k, "s", &s.t, stored, OP_BF16_ULPS(1), 0);
        op_bf16_check(&k, "y", &y.t, want, OP_BF16_ULPS(2), 0);
        op_bf16_check(&k, "stats", &stats.t, want_stats, OP_BF16_ULPS(1), 0);
        op_bench_reset(&k);
    }
    op_bench_close(&k);
}

static void softmaxes_agree(void **state)
{
    (void)state;
    static const int64_t sizes[][2] = {{16, 16}, {21, 77}, {5, 1031}, {7, 4096}};
    struct op_bench k;
    struct err e = {0};
    op_bf16_open(&k, device);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int64_t n = sizes[i][0], V = sizes[i][1];
        struct op_matrix logits = op_bf16_random(&k, n, V, 12), loss = op_random(&k, 1, n, 0);
        const int32_t *at = NULL, *target = op_list(&k, &at, n, (int32_t)V, 1);
        double *want = op_doubles(&k, n), *want_grad = op_doubles(&k, n * V);
        op_softmax_double(want, want_grad, logits.host, at, n, V);
        for (int64_t j = 0; j < n; j++) want[j] = -want[j];
        op_ok(ops_softmax_logp(k.b, &loss.t, &logits.t, target, 0, &e), &e);
        op_bf16_check(&k, "log p", &loss.t, want, 1e-6, 0);
        for (int64_t j = 0; j < n; j++) want[j] = -want[j];
        op_ok(ops_softmax_loss(k.b, &loss.t, &logits.t, target, 1, &e), &e);
        op_bf16_check(&k, "loss", &loss.t, want, 1e-6, 0);
        op_bf16_check(&k, "gradient", &logits.t, want_grad, OP_BF16_ULPS(1), 0);
        op_bench_reset(&k);
    }
    op_bench_close(&k);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(linear_maps_agree_in_bf16),
                                       cmocka_unit_test(a_relu_passes_gradients_in_bf16),
                                       cmocka_unit_test(casts_round_to_the_nearest),
                                       cmocka_unit_test(an_update_rewrites_the_weights_in_bf16),
                                       cmocka_unit_test(norms_agree_in_bf16),
                                       cmocka_unit_test(attention_agrees_in_bf16),
                                       cmocka_unit_test(rows_are_gathered_and_scattered),
                                       cmocka_unit_test(sums_dropout_and_relu_round_once),
                                       cmocka_unit_test(residual_layernorms_agree),
                                       cmocka_unit_test(softmaxes_agree)};
    int failed = 0;
    if (argc < 2) {
        fprintf(stderr, "usage: check_bf16 DEVICE...\n");
        return 64;
    }
    for (int i = 1; i < argc; i++) {
        device = argv[i];
        failed += cmocka_run_group_tests_name(argv[i], tests, NULL, NULL);
    }
    return failed != 0;
}
