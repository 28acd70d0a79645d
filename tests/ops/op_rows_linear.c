/* op_rows_linear.c - rows of the op table: linear ops, gather, scatter and add. */
#include "harness/test.h"

#include <string.h>

#include "ops/op_bench.h"
#include "ops/op_reference.h"
#include "ops/ops.h"

/* N, I, O: single elements, ragged, whole vectors, more rows than a tile, tall weights. */
static const int32_t shapes[][3] = {
    {1, 1, 1},     {3, 5, 7},     {16, 16, 16},  {33, 17, 65},  {64, 64, 192},
    {130, 24, 48}, {257, 64, 33}, {21, 300, 12}, {1, 8, 1},     {5, 8, 24},
    {67, 24, 33},  {130, 64, 65}, {70, 8, 45},   {300, 10, 61},
};
enum { SHAPES_N = sizeof shapes / sizeof *shapes };

static void check_linear(struct op_bench *k, const int32_t *size, int64_t spare, int with_bias,
                         int accumulate, int by_row)
{
    struct err e = {0};
    op_bench_reset(k);
    int64_t N = size[0], I = size[1], O = size[2];
    struct op_matrix x = op_random(k, N, I, spare), w = op_random(k, O, I, 0);
    struct op_matrix bias = op_random(k, 1, O, 0), y = op_random(k, N, O, spare);
    const struct tensor *b = with_bias ? &bias.t : NULL;
    double *want = op_doubles(k, N * O);
    float *plain = op_floats(k, N * O);
    op_linear_double(want, x.host, w.host, with_bias ? bias.host : NULL, N, I, O);
    op_linear_float(plain, x.host, w.host, with_bias ? bias.host : NULL, N, I, O);
    if (by_row)
        op_ok(ops_linear_rows(k->b, &y.t, &x.t, &w.t, b, &e), &e);
    else
        op_ok(ops_linear(k->b, &y.t, &x.t, &w.t, b, accumulate, &e), &e);
    tol_check_tensor(k, "y", &y.t, want, plain, accumulate ? y.host : NULL);
}

static void linear(struct op_bench *k)
{
    for (int i = 0; i < SHAPES_N; i++)
        for (int form = 0; form < 4; form++)
            check_linear(k, shapes[i], 6 * (i % 2), form & 1, form >> 1, 0);
}

static void linear_rows(struct op_bench *k)
{
    for (int i = 0; i < SHAPES_N; i++) check_linear(k, shapes[i], 4 * (i % 2), i & 1, 0, 1);
}

/* Any sub-batch of rows, in any place, gives the same bits. */
static void linear_rows_is_exact(struct op_bench *k)
{
    struct err e = {0};
    struct op_matrix x = op_random(k, 75, 40, 8), w = op_random(k, 29, 40, 0);
    struct op_matrix bias = op_random(k, 1, 29, 0), y = op_random(k, 75, 29, 0);
    op_ok(ops_linear_rows(k->b, &y.t, &x.t, &w.t, &bias.t, &e), &e);
    const float *all = op_get(k, &y.t);
    static const int32_t first[] = {0, 1, 17, 74, 30}, n[] = {1, 3, 33, 1, 45};
    for (int i = 0; i < 5; i++) {
        struct tensor part = x.t;
        part.data = (float *)x.t.data + first[i] * x.t.stride;
        part.rows = n[i];
        struct op_matrix some = op_random(k, n[i], 29, 0);
        op_ok(ops_linear_rows(k->b, &some.t, &part, &w.t, &bias.t, &e), &e);
        op_same("row", op_get(k, &some.t), all + first[i] * 29, n[i] * 29);
    }
}

/* Fused or not: negative values become zero, all others keep the bits of linear. */
static void linear_relu(struct op_bench *k)
{
    struct err e = {0};
    for (int i = 0; i < SHAPES_N; i++)
        for (int form = 0; form < 4; form++) {
            op_bench_reset(k);
            int exact = form & 1;
            int64_t N = shapes[i][0], I = shapes[i][1], O = shapes[i][2];
            struct op_matrix x = op_random(k, N, I, 0), w = op_random(k, O, I, 0);
            struct op_matrix bias = op_random(k, 1, O, 0), y = op_random(k, N, O, 4 * (i % 2));
            double *want = op_doubles(k, N * O);
            float *plain = op_floats(k, N * O);
            op_linear_double(want, x.host, w.host, bias.host, N, I, O);
            op_linear_float(plain, x.host, w.host, bias.host, N, I, O);
            for (int64_t j = 0; j < N * O; j++) {
                if (want[j] < 0.0) want[j] = 0.0;
                if (plain[j] < 0.0f) plain[j] = 0.0f;
            }
            struct linear_relu_args a = {
                .y = y.t, .x = x.t, .w = w.t, .bias = bias.t, .exact = exact};
            if (form & 2) a.mask = op_mask(k, N, O);
            op_ok(ops_linear_relu(k->b, &a, &e), &e);
            if (form & 2) op_check_mask(k, &a.mask, &y.t);
            tol_check_tensor(k, "y", &y.t, want, plain, NULL);
            if (!exact) continue;
            float *made = op_get(k, &y.t);
            op_ok(ops_linear_rows(k->b, &y.t, &x.t, &w.t, &bias.t, &e), &e);
            float *linear_made = op_get(k, &y.t);
            for (int64_t j = 0; j < N * O; j++)
                if (linear_made[j] < 0.0f) linear_made[j] = 0.0f;
            op_same("y by rows", made, linear_made, N * O);
        }
}

static void linear_bwd_input(struct op_bench *k)
{
    struct err e = {0};
    for (int i = 0; i < SHAPES_N; i++)
        for (int accumulate = 0; accumulate < 2; accumulate++) {
            op_bench_reset(k);
            int64_t N = shapes[i][0], I = shapes[i][1], O = shapes[i][2], spare = 4 * (i % 3);
            struct op_matrix dy = op_random(k, N, O, spare), w = op_random(k, O, I, 0);
            struct op_matrix dx = op_random(k, N, I, spare);
            double *want = op_doubles(k, N * I);
            float *plain = op_floats(k, N * I);
            op_linear_bwd_input_double(want, dy.host, w.host, N, I, O);
            op_linear_bwd_input_float(plain, dy.host, w.host, N, I, O);
            op_ok(ops_linear_bwd_input(k->b, &dx.t, &dy.t, &w.t, accumulate, &e), &e);
            tol_check_tensor(k, "dx", &dx.t, want, plain, accumulate ? dx.host : NULL);
        }
}

/* y or its mask says which elements pass; without or with dropout. */
static void linear_bwd_relu(struct op_bench *k)
{
    struct err e = {0};
    struct step_state step = {0};
    for (int i = 0; i < SHAPES_N; i++)
        for (int form = 0; form < 4; form++) {
            op_bench_reset(k);
            int64_t N = shapes[i][0], I = shapes[i][1], O = shapes[i][2];
            struct op_matrix dy = op_random(k, N, O, 0), w = op_random(k, O, I, 0);
            struct op_matrix y = op_random(k, N, I, 0), dx = op_random(k, N, I, 4 * (i % 2));
            struct dropout d = {
                .p = form & 2 ? 0.5f : 0.0f, .key = 3, .step_dev = op_step(k, &step)};
            struct relu_args relu = {.y = y.t, .x = y.t, .dropout = d};
            if (form & 1) relu.mask = op_mask(k, N, I);
            op_ok(ops_relu(k->b, &relu, &e), &e);
            const float *passed = op_get(k, &y.t), scale = form & 2 ? 2.0f : 1.0f;
            double *want = op_doubles(k, N * I);
            float *plain = op_floats(k, N * I);
            op_linear_bwd_input_double(want, dy.host, w.host, N, I, O);
            op_linear_bwd_input_float(plain, dy.host, w.host, N, I, O);
            for (int64_t j = 0; j < N * I; j++) {
                want[j] = passed[j] != 0.0f ? want[j] * (double)scale : 0.0;
                plain[j] = passed[j] != 0.0f ? plain[j] * scale : 0.0f;
            }
            struct linear_bwd_relu_args a = {
                .dx = dx.t, .dy = dy.t, .w = w.t, .y = y.t, .mask = relu.mask, .dropout = d};
            op_ok(ops_linear_bwd_relu(k->b, &a, &e), &e);
            tol_check_tensor(k, "dx", &dx.t, want, plain, NULL);
        }
}

static void check_linear_bwd_weight(struct op_bench *k, const int32_t *size, int64_t spare,
                                    int with_bias, int accumulate)
{
    struct err e = {0};
    op_bench_reset(k);
    int64_t N = size[0], I = size[1], O = size[2];
    struct op_matrix dy = op_random(k, N, O, spare), x = op_random(k, N, I, spare);
    struct op_matrix dw = op_random(k, O, I, 0), dbias = op_random(k, 1, O, 0);
    double *want = op_doubles(k, O * I), *want_bias = op_doubles(k, O);
    float *plain = op_floats(k, O * I), *plain_bias = op_floats(k, O);
    op_linear_bwd_weight_double(want, want_bias, dy.host, x.host, N, I, O);
    op_linear_bwd_weight_float(plain, plain_bias, dy.host, x.host, N, I, O);
    op_ok(ops_linear_bwd_weight(k->b, &dw.t, with_bias ? &dbias.t : NULL, &dy.t, &x.t, accumulate,
                                &e),
          &e);
    tol_check_tensor(k, "dw", &dw.t, want, plain, accumulate ? dw.host : NULL);
    if (with_bias)
        tol_check_tensor(k, "dbias", &dbias.t, want_bias, plain_bias,
                         accumulate ? dbias.host : NULL);
    else
        op_same("dbias", op_get(k, &dbias.t), dbias.host, O);
}

static void linear_bwd_weight(struct op_bench *k)
{
    for (int i = 0; i < SHAPES_N; i++)
        for (int form = 0; form < 4; form++)
            check_linear_bwd_weight(k, shapes[i], 6 * (i % 2), form & 1, form >> 1);
}

static const int32_t row_shapes[][3] = {{1, 1, 1}, {7, 5, 3}, {40, 16, 64}, {33, 100, 65}};
enum { ROW_SHAPES_N = sizeof row_shapes / sizeof *row_shapes };

static void gather_rows(struct op_bench *k)
{
    struct err e = {0};
    for (int i = 0; i < ROW_SHAPES_N; i++) {
        int32_t n = row_shapes[i][0], from = row_shapes[i][1], C = row_shapes[i][2];
        struct op_matrix x = op_random(k, from, C, 0), y = op_random(k, n, C, 4 * (i % 2));
        const int32_t *at = NULL, *index = op_list(k, &at, n, from, 1);
        float scale = i % 2 ? 1.0f : 8.0f, *want = op_floats(k, n * C);
        for (int32_t j = 0; j < n * C; j++)
            want[j] = at[j / C] < 0 ? 0.0f : scale * x.host[at[j / C] * C + j % C];
        op_ok(ops_gather_rows(k->b, &y.t, &x.t, index, scale, &e), &e);
        op_same("y", op_get(k, &y.t), want, n * C);
    }
}

/* Rows named twice receive both, in rising order; the order makes the sum exact to compare. */
static void scatter_rows_adds(struct op_bench *k)
{
    struct err e = {0};
    for (int i = 0; i < ROW_SHAPES_N; i++) {
        int32_t n = row_shapes[i][0], to = row_shapes[i][1], C = row_shapes[i][2];
        struct op_matrix x = op_random(k, n, C, 4 * (i % 2)), y = op_random(k, to, C, 0);
        const int32_t *at = NULL, *index = op_list(k, &at, n, to, 1);
        double *want = op_doubles(k, to * C);
        float *plain = op_floats(k, to * C);
        for (int32_t j = 0; j < n * C; j++) {
            if (at[j / C] < 0) continue;
            want[at[j / C] * C + j % C] += 2.0 * (double)x.host[j];
            plain[at[j / C] * C + j % C] += 2.0f * x.host[j];
        }
        op_ok(ops_scatter_rows(k->b, &y.t, &x.t, index, 2.0f, 1, &e), &e);
        tol_check_tensor(k, "y", &y.t, want, plain, y.host);
    }
}

static void scatter_rows_overwrites(struct op_bench *k)
{
    struct err e = {0};
    int32_t at[] = {4, -1, 0, 2}, C = 19;
    struct op_matrix x = op_random(k, 4, C, 0), y = op_random(k, 6, C, 5);
    const int32_t *index = op_memory(k, at, sizeof at);
    for (int32_t i = 0; i < 4; i++)
        for (int32_t c = 0; at[i] >= 0 && c < C; c++)
            y.host[at[i] * C + c] = 8.0f * x.host[i * C + c];
    op_ok(ops_scatter_rows(k->b, &y.t, &x.t, index, 8.0f, 0, &e), &e);
    op_same("y", op_get(k, &y.t), y.host, 6 * C);
}

static void add_rows(struct op_bench *k)
{
    struct err e = {0};
    for (int in_place = 0; in_place < 2; in_place++) {
        int32_t n = 37, C = 21;
        struct op_matrix x = op_random(k, n, C, 3), y = op_random(k, n, C, 0);
        struct op_matrix table = op_random(k, 9, C, 0);
        const int32_t *at = NULL, *index = op_list(k, &at, n, 9, 0);
        float *want = op_floats(k, n * C);
        for (int32_t j = 0; j < n * C; j++) want[j] = x.host[j] + table.host[at[j / C] * C + j % C];
        struct tensor *out = in_place ? &x.t : &y.t;
        op_ok(ops_add_rows(k->b, out, &x.t, &table.t, index, &e), &e);
        op_same("y", op_get(k, out), want, n * C);
    }
}

static void cast(struct op_bench *k)
{
    struct err e = {0};
    static const int32_t sizes[][2] = {{1, 1}, {1, 4099}, {37, 21}, {70, 64}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int spare = 0; spare < 6; spare += 3) {
            int64_t n = sizes[i][0], C = sizes[i][1];
            struct op_matrix x = op_random(k, n, C, spare), y = op_random(k, n, C, 3 - spare);
            op_ok(ops_cast(k->b, &y.t, &x.t, &e), &e);
            op_same("y", op_get(k, &y.t), x.host, n * C);
        }
}

const struct op_row op_rows_linear[] = {
    {"linear is x times w transposed plus bias", linear},
    {"linear_rows is linear", linear_rows},
    {"linear_rows gives a row the same bits in any batch", linear_rows_is_exact},
    {"linear_relu is linear followed by relu", linear_relu},
    {"linear_bwd_input is dy times w", linear_bwd_input},
    {"linear_bwd_relu is dy times w where relu let x pass", linear_bwd_relu},
    {"linear_bwd_weight is dy transposed times x and its column sums", linear_bwd_weight},
    {"gather_rows scales listed rows and gives zeros for a gap", gather_rows},
    {"scatter_rows adds every listed row", scatter_rows_adds},
    {"scatter_rows overwrites listed rows only", scatter_rows_overwrites},
    {"add_rows adds rows of a table", add_rows},
    {"cast to the same dtype is a copy", cast},
    {NULL, NULL},
};
