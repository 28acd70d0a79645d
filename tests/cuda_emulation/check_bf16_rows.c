/* check_bf16_rows.c - the ops on rows with bf16 activations on the backends named on the command
 * line. They compute in f32 and round once, so most results are known bit for bit. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "ops/op_bench.h"
#include "ops/op_bf16.h"
#include "ops/op_reference.h"
#include "ops/ops.h"

enum { UPDATE = 41 };

static const char *device; /* of the running group */

/* Rows of whole eights, ragged ones, and one that begins anywhere. */
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

        /* A gradient of f32 is the sum in rising order of rows of bf16. */
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
        op_ok(ops_relu(k.b, &y.t, &x.t, &d, &e), &e);
        op_bf16_same(&k, "relu", y.t.data, want, n * C);
        for (int64_t j = 0; j < n * C; j++)
            want[j] = x.host[j] > 0.0f && factor[j] > 0.0f ? r.host[j] * factor[j] : 0.0f;
        op_ok(ops_relu_bwd(k.b, &dx.t, &r.t, &y.t, NULL, &d, &e), &e);
        op_bf16_same(&k, "relu, back", dx.t.data, want, n * C);
        op_bench_reset(&k);
    }
    op_bench_close(&k);
}

/* The LayerNorm is that of the sum as it is stored. */
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_are_gathered_and_scattered),
                                       cmocka_unit_test(sums_dropout_and_relu_round_once),
                                       cmocka_unit_test(residual_layernorms_agree),
                                       cmocka_unit_test(softmaxes_agree)};
    int failed = 0;
    if (argc < 2) {
        fprintf(stderr, "usage: check_bf16_rows DEVICE...\n");
        return 64;
    }
    for (int i = 1; i < argc; i++) {
        device = argv[i];
        failed += cmocka_run_group_tests_name(argv[i], tests, NULL, NULL);
    }
    return failed != 0;
}
