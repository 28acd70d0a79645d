/* check_products.c - tests how cuda/gemm*.c choose among the algorithms of cuBLASLt. The emulated
 * library can offer less, or be slow (cublaslt_emulated.c). Results are right for every choice, and
 * the text of choices contains it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/test.h"
#include "ops/op_bench.h"
#include "ops/ops.h"

enum { N = 70, I = 300, O = 40, TEXT_BYTES = 1 << 14 };

/* A backend whose library has the given settings, and the product dx (N,I) = dy (N,O) w (O,I). */
struct fixture {
    struct op_bench k;
    struct op_matrix dy, w, dx;
};

static void open_fixture(struct fixture *d, const char *words)
{
    struct backend *b = NULL;
    assert_int_equal(setenv("EMULATION_PRODUCTS", words, 1), 0);
    assert_ok(backend_open(&b, "cuda:emulated", 1, DTYPE_F32, &e));
    op_bench_init(&d->k, b, 20260101);
    d->dy = op_random(&d->k, N, O, 0);
    d->w = op_random(&d->k, O, I, 0);
    d->dx = op_random(&d->k, N, I, 0);
}

static void close_fixture(struct fixture *d)
{
    struct backend *b = d->k.b;
    op_bench_fini(&d->k);
    backend_close(b);
}

static int multiply(struct fixture *d, struct err *e)
{
    return OPS(d->k.b, linear_bwd_input, e, .dx = d->dx.t, .dy = d->dy.t, .w = d->w.t);
}

/* ---- the text of choices ---- */

static char *choices_of(struct fixture *d)
{
    char *text = malloc(TEXT_BYTES);
    assert_non_null(text);
    assert_true(d->k.b->ops->choices(d->k.b, text, TEXT_BYTES) < TEXT_BYTES);
    return text;
}

/* The algorithm number of the only class of products. */
static unsigned long algorithm_of(struct fixture *d)
{
    char *text = choices_of(d);
    const char *line = strchr(text, '\n') + 1;
    unsigned long number = 0;
    assert_int_equal(
        sscanf(line, "%*d %*d %*d %*d %*d %*d %*d %*d %*d %*d %*d %*d %*d %lx", &number), 1);
    assert_string_equal(strchr(line, '\n'), "\n");
    free(text);
    return number;
}

/* The algorithm number of the class with this bit of its ending (enum gemm_ending); 0: none. */
static unsigned long algorithm_of_ending(struct fixture *d, int bit)
{
    char *text = choices_of(d);
    unsigned long number = 0;
    int found_n = 0, ending = 0;
    for (const char *line = strchr(text, '\n') + 1; *line; line = strchr(line, '\n') + 1) {
        unsigned long of = 0;
        assert_int_equal(
            sscanf(line, "%*d %*d %*d %*d %*d %*d %*d %d %*d %*d %*d %*d %*d %lx", &ending, &of),
            2);
        if (ending & bit) number = of, found_n++;
    }
    assert_int_equal(found_n, 1);
    free(text);
    return number;
}

static float *copy_of(struct fixture *d, const struct tensor *t)
{
    size_t bytes = sizeof(float) * (size_t)(t->rows * t->cols);
    float *copy = malloc(bytes);
    assert_non_null(copy);
    memcpy(copy, op_get(&d->k, t), bytes);
    return copy;
}

/* ---- cases ---- */

TEST(what_was_adopted_is_taken_and_not_timed)
{
    struct fixture d;
    open_fixture(&d, "three");
    assert_ok(multiply(&d, &e));
    char *text = choices_of(&d);
    close_fixture(&d);
    open_fixture(&d, "three even"); /* timing would choose the first */
    assert_ok(d.k.b->ops->restore_choices(d.k.b, text, &e));
    assert_ok(multiply(&d, &e));
    char *now = choices_of(&d);
    assert_string_equal(now, text);
    close_fixture(&d);
    free(now);
    free(text);
}

/* A class that was timed keeps its algorithm; a later one gets the library's first, even one with
 * an epilogue that is slow. */
TEST(closed_choices_are_not_timed)
{
    enum { SUMS = 2 };
    struct fixture d;
    open_fixture(&d, "three sums-slow");
    assert_ok(multiply(&d, &e));
    d.k.b->ops->close_choices(d.k.b);
    assert_ok(multiply(&d, &e));
    assert_int_equal(algorithm_of(&d), 3);
    struct op_matrix x = op_random(&d.k, N, I, 0), dw = op_random(&d.k, O, I, 0);
    struct op_matrix dbias = op_random(&d.k, 1, O, 0);
    assert_ok(
        OPS(d.k.b, linear_bwd_weight, &e, .dw = dw.t, .dbias = dbias.t, .dy = d.dy.t, .x = x.t));
    assert_int_equal(algorithm_of_ending(&d, SUMS), 1);
    close_fixture(&d);
}

TEST(texts_of_others_and_torn_ones_are_refused)
{
    struct fixture d;
    open_fixture(&d, "");
    assert_ok(multiply(&d, &e));
    char *text = choices_of(&d);
    assert_fails(ERR_DATA, "another GPU",
                 d.k.b->ops->restore_choices(d.k.b, "cuBLASLt 130000, another GPU, sm_80\n", &e));
    text[strlen(text) - 3] = 'x';
    assert_fails(ERR_DATA, "expected a choice", d.k.b->ops->restore_choices(d.k.b, text, &e));
    free(text);
    close_fixture(&d);
}

TEST(a_product_is_captured_once_its_algorithm_is_chosen)
{
    struct fixture d;
    void *graph = NULL;
    open_fixture(&d, "three");
    assert_ok(d.k.b->ops->graph_begin(d.k.b, &e));
    assert_fails(ERR_INTERNAL, "chosen by timing, which is not possible during graph capture",
                 multiply(&d, &e));
    assert_ok(d.k.b->ops->graph_end(d.k.b, NULL, &e));

    assert_ok(multiply(&d, &e));
    const float *want = op_get(&d.k, &d.dx.t);
    assert_ok(d.k.b->ops->graph_begin(d.k.b, &e));
    assert_ok(multiply(&d, &e));
    assert_ok(d.k.b->ops->graph_end(d.k.b, &graph, &e));
    assert_ok(d.k.b->ops->zero(d.k.b, d.dx.t.data, sizeof(float) * N * I, &e));
    assert_ok(d.k.b->ops->graph_launch(d.k.b, graph, &e));
    op_same("dx", op_get(&d.k, &d.dx.t), want, N * I);
    d.k.b->ops->graph_free(d.k.b, graph);
    close_fixture(&d);
}

TEST(of_three_algorithms_the_clearly_fastest_is_taken_for_a_class)
{
    struct fixture d;
    open_fixture(&d, "three");
    for (int64_t rows = N; rows > N - 9; rows -= 3) { /* one class */
        struct tensor dy = d.dy.t, dx = d.dx.t;
        dy.rows = dx.rows = rows;
        assert_ok(OPS(d.k.b, linear_bwd_input, &e, .dx = dx, .dy = dy, .w = d.w.t));
    }
    assert_int_equal(algorithm_of(&d), 3);
    close_fixture(&d);
}

TEST(relu_has_the_same_bits_within_a_product_and_after_it)
{
    static const char *const words[] = {"", "relu-absent"};
    float *made[2];
    for (int exact = 0; exact < 2; exact++) {
        for (int i = 0; i < 2; i++) {
            struct fixture d;
            open_fixture(&d, words[i]);
            struct op_matrix x = op_random(&d.k, N, O, 0), w = op_random(&d.k, I, O, 0);
            struct op_matrix bias = op_random(&d.k, 1, I, 0), y = op_random(&d.k, N, I, 0);
            struct linear_relu_args relu = {
                .y = y.t, .x = x.t, .w = w.t, .bias = bias.t, .exact = exact};
            assert_ok(ops_linear_relu(d.k.b, &relu, &e));
            made[i] = copy_of(&d, &y.t);
            close_fixture(&d);
        }
        op_same("y", made[1], made[0], N * I);
        for (int i = 0; i < 2; i++) free(made[i]);
    }
}

/* If the algorithm of a class does not fit one product, that product has another; so has relu. */
TEST(relu_has_the_algorithm_that_its_product_has)
{
    struct fixture d;
    open_fixture(&d, "picky");
    struct op_matrix x = op_random(&d.k, N, O, 0), w = op_random(&d.k, I, O, 0);
    struct op_matrix y = op_random(&d.k, N, I, 0), plain = op_random(&d.k, N, I, 0);
    for (int odd = 1; odd >= 0; odd--) {
        struct tensor few = x.t, to = y.t, alone = plain.t;
        few.rows = to.rows = alone.rows = N - odd;
        struct linear_relu_args fused = {.y = to, .x = few, .w = w.t};
        struct relu_args relu = {.y = alone, .x = alone};
        assert_ok(ops_linear_relu(d.k.b, &fused, &e));
        assert_ok(OPS(d.k.b, linear, &e, .y = alone, .x = few, .w = w.t));
        assert_ok(ops_relu(d.k.b, &relu, &e));
        op_same("y", op_get(&d.k, &to), op_get(&d.k, &alone), to.rows * to.cols);
    }
    close_fixture(&d);
}

/* The mask is written by a product or after it, and read by a product or after it: four ways. */
TEST(a_mask_has_the_same_bits_within_a_product_and_after_it)
{
    static const char *const words[] = {"", "mask-absent", "mask-absent relu-absent"};
    float *made[3];
    for (int i = 0; i < 3; i++) {
        struct fixture d;
        open_fixture(&d, words[i]);
        struct op_matrix x = op_random(&d.k, N, O, 0), w = op_random(&d.k, I, O, 0);
        struct op_matrix bias = op_random(&d.k, 1, I, 0), y = op_random(&d.k, N, I, 0);
        struct tensor mask = op_mask(&d.k, NULL, N, I);
        struct linear_relu_args fwd = {.y = y.t, .x = x.t, .mask = mask, .w = w.t, .bias = bias.t};
        struct linear_bwd_relu_args bwd = {
            .dx = d.dx.t, .dy = d.dy.t, .w = d.w.t, .y = y.t, .mask = mask};
        assert_ok(ops_linear_relu(d.k.b, &fwd, &e));
        op_check_mask(&d.k, &mask, &y.t);
        assert_ok(ops_linear_bwd_relu(d.k.b, &bwd, &e));
        made[i] = copy_of(&d, &d.dx.t);
        close_fixture(&d);
    }
    for (int i = 1; i < 3; i++) op_same("dx", made[i], made[0], N * I);
    for (int i = 0; i < 3; i++) free(made[i]);
}

/* A class for which the library has nothing is asked about once, and remembered by its text. */
TEST(sums_that_no_algorithm_computes_are_recorded_and_adopted)
{
    struct fixture d;
    open_fixture(&d, "sums-absent");
    struct op_matrix x = op_random(&d.k, N, I, 0), dw = op_random(&d.k, O, I, 0);
    struct op_matrix dbias = op_random(&d.k, 1, O, 0);
    assert_ok(
        OPS(d.k.b, linear_bwd_weight, &e, .dw = dw.t, .dbias = dbias.t, .dy = d.dy.t, .x = x.t));
    float *want = copy_of(&d, &dbias.t);
    char *text = choices_of(&d);
    close_fixture(&d);
    open_fixture(&d, "");
    assert_ok(d.k.b->ops->restore_choices(d.k.b, text, &e));
    x = op_random(&d.k, N, I, 0), dw = op_random(&d.k, O, I, 0), dbias = op_random(&d.k, 1, O, 0);
    assert_ok(
        OPS(d.k.b, linear_bwd_weight, &e, .dw = dw.t, .dbias = dbias.t, .dy = d.dy.t, .x = x.t));
    char *now = choices_of(&d);
    assert_string_equal(now, text);
    op_same("dbias", op_get(&d.k, &dbias.t), want, O);
    close_fixture(&d);
    free(want);
    free(now);
    free(text);
}

/* dbias (1,O) and dw, added to what they hold. */
static float *bias_gradient(struct fixture *d, const char *words)
{
    open_fixture(d, words);
    struct op_matrix x = op_random(&d->k, N, I, 0), dw = op_random(&d->k, O, I, 0);
    struct op_matrix dbias = op_random(&d->k, 1, O, 0);
    assert_ok(OPS(d->k.b, linear_bwd_weight, &e, .dw = dw.t, .dbias = dbias.t, .dy = d->dy.t,
                  .x = x.t, .accumulate = true));
    return copy_of(d, &dbias.t);
}

/* The plain product and the kernels of this backend are faster as a whole. */
TEST(sums_and_masks_of_slow_products_are_left_to_kernels)
{
    enum { SUMS = 2, MASK_WRITTEN = 4, MASK_READ = 8 };
    static const struct {
        const char *words;
        unsigned long sums, masks; /* algorithms */
    } rows[] = {{"", 1, 1},
                {"three", 3, 3},
                {"sums-slow", 0, 1},
                {"mask-slow", 1, 0},
                {"three sums-slow mask-slow", 0, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct fixture d;
        open_fixture(&d, rows[i].words);
        struct op_matrix x = op_random(&d.k, N, I, 0), dw = op_random(&d.k, O, I, 0);
        struct op_matrix dbias = op_random(&d.k, 1, O, 0), y = op_random(&d.k, N, I, 0);
        struct op_matrix w = op_random(&d.k, I, O, 0);
        struct tensor mask = op_mask(&d.k, NULL, N, I);
        struct linear_relu_args fwd = {.y = y.t, .x = d.dy.t, .mask = mask, .w = w.t};
        struct linear_bwd_relu_args bwd = {
            .dx = d.dx.t, .dy = d.dy.t, .w = d.w.t, .y = y.t, .mask = mask};
        assert_ok(OPS(d.k.b, linear_bwd_weight, &e, .dw = dw.t, .dbias = dbias.t, .dy = d.dy.t,
                      .x = x.t));
        assert_ok(ops_linear_relu(d.k.b, &fwd, &e));
        assert_ok(ops_linear_bwd_relu(d.k.b, &bwd, &e));
        unsigned long sums = algorithm_of_ending(&d, SUMS);
        unsigned long written = algorithm_of_ending(&d, MASK_WRITTEN);
        unsigned long read = algorithm_of_ending(&d, MASK_READ);
        if (sums != rows[i].sums || written != rows[i].masks || read != rows[i].masks)
            fail_msg("'%s': algorithms %lu, %lu and %lu", rows[i].words, sums, written, read);
        close_fixture(&d);
    }
}

TEST(a_choice_against_slow_sums_is_adopted_and_changes_no_gradient)
{
    struct fixture d;
    float *want = bias_gradient(&d, "sums-absent");
    close_fixture(&d);
    float *made = bias_gradient(&d, "sums-slow");
    op_same("dbias", made, want, O);
    char *text = choices_of(&d);
    close_fixture(&d);
    open_fixture(&d, ""); /* timing would choose the product */
    struct op_matrix x = op_random(&d.k, N, I, 0), dw = op_random(&d.k, O, I, 0);
    struct op_matrix dbias = op_random(&d.k, 1, O, 0);
    assert_ok(d.k.b->ops->restore_choices(d.k.b, text, &e));
    assert_ok(OPS(d.k.b, linear_bwd_weight, &e, .dw = dw.t, .dbias = dbias.t, .dy = d.dy.t,
                  .x = x.t, .accumulate = true));
    op_same("dbias", op_get(&d.k, &dbias.t), want, O);
    char *now = choices_of(&d);
    assert_string_equal(now, text);
    close_fixture(&d);
    free(text);
    free(now);
    free(made);
    free(want);
}

/* Any answer of the library but success means that it has no such epilogue. */
TEST(an_epilogue_that_the_library_refuses_is_left_to_a_kernel)
{
    struct fixture d;
    float *want = bias_gradient(&d, "sums-absent");
    close_fixture(&d);
    float *made = bias_gradient(&d, "sums-refused");
    op_same("dbias", made, want, O);
    close_fixture(&d);
    free(made);
    free(want);
}

/* A kernel writes the mask and a product reads it, and the other way round. */
TEST(masks_of_another_order_of_bits_are_left_to_kernels)
{
    static const char *const words[] = {"", "mask-order"};
    float *mixed[2], *other[2];
    for (int i = 0; i < 2; i++) {
        struct fixture d;
        open_fixture(&d, words[i]);
        struct op_matrix x = op_random(&d.k, N, O, 0), w = op_random(&d.k, I, O, 0);
        struct op_matrix y = op_random(&d.k, N, I, 0), dy = op_random(&d.k, N, I, 0);
        struct tensor mask = op_mask(&d.k, NULL, N, I);
        struct relu_args relu = {.y = y.t, .x = y.t, .mask = mask};
        struct linear_bwd_relu_args reads = {
            .dx = d.dx.t, .dy = d.dy.t, .w = d.w.t, .y = y.t, .mask = mask};
        assert_ok(ops_relu(d.k.b, &relu, &e));
        assert_ok(ops_linear_bwd_relu(d.k.b, &reads, &e));
        mixed[i] = copy_of(&d, &d.dx.t);
        struct linear_relu_args writes = {.y = y.t, .x = x.t, .mask = mask, .w = w.t};
        struct relu_bwd_args bwd = {.dx = d.dx.t, .dy = dy.t, .y = y.t, .mask = mask};
        assert_ok(ops_linear_relu(d.k.b, &writes, &e));
        assert_ok(ops_relu_bwd(d.k.b, &bwd, &e));
        other[i] = copy_of(&d, &d.dx.t);
        close_fixture(&d);
    }
    op_same("dx, the product reads", mixed[1], mixed[0], N * I);
    op_same("dx, the product writes", other[1], other[0], N * I);
    for (int i = 0; i < 2; i++) {
        free(mixed[i]);
        free(other[i]);
    }
}

/* 3 chunks at once, and one of them alone. The library's fastest algorithm rejects a single chunk.
 */
TEST(exact_rows_have_one_algorithm_for_any_batch)
{
    enum { CHUNK = 128, ROWS = 3 * CHUNK };
    struct fixture d;
    open_fixture(&d, "three alone");
    struct op_matrix x = op_random(&d.k, ROWS, O, 0), w = op_random(&d.k, I, O, 0);
    struct op_matrix whole = op_random(&d.k, ROWS, I, 0), part = op_random(&d.k, CHUNK, I, 0);
    struct tensor first = x.t;
    first.rows = CHUNK;
    assert_ok(OPS(d.k.b, linear_rows, &e, .y = whole.t, .x = x.t, .w = w.t));
    assert_ok(OPS(d.k.b, linear_rows, &e, .y = part.t, .x = first, .w = w.t));
    op_same("y", op_get(&d.k, &part.t), op_get(&d.k, &whole.t), (int64_t)CHUNK * I);
    close_fixture(&d);
}

TEST(exact_rows_fail_rather_than_change_their_algorithm)
{
    enum { ROWS = 9 * 128 };
    struct fixture d;
    open_fixture(&d, "few");
    struct op_matrix x = op_random(&d.k, ROWS, O, 0), w = op_random(&d.k, I, O, 0);
    struct op_matrix y = op_random(&d.k, ROWS, I, 0);
    assert_fails(ERR_INTERNAL, "refuses 9 chunks",
                 OPS(d.k.b, linear_rows, &e, .y = y.t, .x = x.t, .w = w.t));
    close_fixture(&d);
}

/* The first runs of a cold device are slow for every algorithm. */
TEST(a_cold_device_does_not_choose)
{
    struct fixture d;
    open_fixture(&d, "three even cold");
    assert_ok(multiply(&d, &e));
    assert_int_equal(algorithm_of(&d), 1);
    close_fixture(&d);
}
