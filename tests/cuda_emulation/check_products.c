/* check_products.c - how cuda/gemm*.c choose what cuBLASLt offers: the emulated library is told to
 * offer less, to be slow, or to order the bits of a mask differently (cublaslt_emulated.c).
 * Whatever is chosen, results are right, and the choice stands in the text of choices. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ops/op_bench.h"
#include "ops/op_half.h"
#include "ops/op_reference.h"
#include "ops/ops.h"

enum { N = 70, I = 300, O = 40, TEXT_BYTES = 1 << 14 };
enum { WITH_NOTHING, WITH_SUMS, WITH_MASK, WITH_RELU };              /* of a line of choices */
enum { ONE_CALL, NOT_OFFERED, NOT_SHOWN, NOT_FASTER, NO_LINE = -1 }; /* and how it is done */

/* A backend on a library that was told these words, and a backward pass through relu. */
struct desk {
    struct op_bench k;
    enum dtype dtype;
    struct op_matrix dy, w, y, x, dx, dw, dbias;
    double *want, *want_dw, *want_dbias;
};

static struct op_matrix random_matrix(struct desk *d, int64_t rows, int64_t cols)
{
    return d->dtype == DTYPE_BF16 ? op_half_random(&d->k, rows, cols, 1)
                                  : op_random(&d->k, rows, cols, 0);
}

static void open_backend(struct desk *d, const char *words, enum dtype dtype)
{
    struct err e = {0};
    struct backend *b = NULL;
    assert_int_equal(setenv("EMULATION_PRODUCTS", words, 1), 0);
    op_ok(backend_open(&b, "cuda:emulated", 1, dtype, &e), &e);
    op_bench_init(&d->k, b, 20260101);
    d->dtype = dtype;
}

static void open_desk(struct desk *d, const char *words, enum dtype dtype)
{
    struct err e = {0};
    struct dropout none = {0};
    open_backend(d, words, dtype);
    d->dy = random_matrix(d, N, O);
    d->w = random_matrix(d, O, I);
    d->x = random_matrix(d, N, I);
    d->y = random_matrix(d, N, I);
    d->dx = random_matrix(d, N, I);
    d->dw = op_random(&d->k, O, I, 0);
    d->dbias = op_random(&d->k, 1, O, 0);
    d->want = op_doubles(&d->k, N * I);
    d->want_dw = op_doubles(&d->k, O * I);
    d->want_dbias = op_doubles(&d->k, O);
    op_linear_bwd_input_double(d->want, d->dy.host, d->w.host, N, I, O);
    op_linear_bwd_weight_double(d->want_dw, d->want_dbias, d->dy.host, d->x.host, N, I, O);
    for (int64_t j = 0; j < N * I; j++)
        if (d->x.host[j] <= 0.0f) d->want[j] = 0.0;
    op_ok(ops_relu(d->k.b, &d->y.t, &d->x.t, &none, &e), &e);
}

static void close_desk(struct desk *d)
{
    struct backend *b = d->k.b;
    op_bench_fini(&d->k);
    backend_close(b);
}

static int pass_relu(struct desk *d, const struct tensor *y, struct err *e)
{
    struct dropout none = {0};
    return ops_linear_relu_bwd(d->k.b, &d->dx.t, &d->dy.t, &d->w.t, y, &none, e);
}

static void pass_and_sum(struct desk *d)
{
    struct err e = {0};
    op_ok(pass_relu(d, &d->y.t, &e), &e);
    op_ok(ops_linear_bwd_weight(d->k.b, &d->dw.t, &d->dbias.t, &d->dy.t, &d->x.t, 0, &e), &e);
}

/* dx as floats. */
static float *result(struct desk *d)
{
    struct err e = {0};
    struct op_matrix wide = op_random(&d->k, N, I, 0);
    op_ok(ops_cast(d->k.b, &wide.t, &d->dx.t, &e), &e);
    return op_get(&d->k, &wide.t);
}

/* How many elements of dx are cut off and should not be, or the other way round. */
static int miscut_n(struct desk *d)
{
    const float *got = result(d);
    int n = 0;
    for (int64_t j = 0; j < N * I; j++) n += (got[j] == 0.0f) != (d->want[j] == 0.0);
    return n;
}

static void check_results(struct desk *d)
{
    op_half_check(&d->k, "dx", &d->dx.t, d->want, d->dtype == DTYPE_BF16 ? OP_HALF_ULPS(1) : 1e-6,
                  0);
    assert_int_equal(miscut_n(d), 0);
    op_half_check(&d->k, "dw", &d->dw.t, d->want_dw, 1e-5, 0);
    op_half_check(&d->k, "dbias", &d->dbias.t, d->want_dbias, 1e-5, 0);
}

/* ---- the text of choices ---- */

static char *choices_of(struct desk *d)
{
    char *text = malloc(TEXT_BYTES);
    assert_non_null(text);
    assert_true(d->k.b->ops->choices(d->k.b, text, TEXT_BYTES) < TEXT_BYTES);
    return text;
}

/* Of the lines with that: how many, how the last is done, and the number of its algorithm. */
static int lines_with(struct desk *d, int with, int *apart, unsigned long *algorithm)
{
    char *text = choices_of(d);
    int n = 0, line_with = 0, line_apart = 0;
    unsigned long number = 0;
    *apart = NO_LINE;
    for (const char *line = strchr(text, '\n') + 1; *line; line = strchr(line, '\n') + 1) {
        int read = sscanf(line, "%*d %*d %*d %*d %*d %*d %*d %*d %*d %d %*d %*d %*d %*d %d %lx",
                          &line_with, &line_apart, &number);
        assert_int_equal(read, 3);
        if (line_with != with) continue;
        n++;
        *apart = line_apart;
        *algorithm = number;
    }
    free(text);
    return n;
}

static int how(struct desk *d, int with)
{
    int apart;
    unsigned long algorithm;
    return lines_with(d, with, &apart, &algorithm) == 1 ? apart : NO_LINE;
}

/* ---- cases ---- */

static void whatever_is_offered_results_are_right(void **state)
{
    (void)state;
    static const struct {
        const char *words;
        int sums, mask;
    } rows[] = {
        {"", ONE_CALL, ONE_CALL},
        {"three", ONE_CALL, ONE_CALL},
        {"mask-absent sums-absent", NOT_OFFERED, NOT_OFFERED},
        {"mask-slow sums-slow", NOT_FASTER, NOT_FASTER},
        {"mask-bits", ONE_CALL, NOT_SHOWN},
        {"mask-bytes", ONE_CALL, NOT_SHOWN},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int half = 0; half < 2; half++) {
            struct desk d;
            open_desk(&d, rows[i].words, half ? DTYPE_BF16 : DTYPE_F32);
            for (int again = 0; again < 2; again++) { /* chosen, then as chosen */
                pass_and_sum(&d);
                check_results(&d);
            }
            if (how(&d, WITH_SUMS) != rows[i].sums || how(&d, WITH_MASK) != rows[i].mask)
                fail_msg("\"%s\": sums %d, mask %d", rows[i].words, how(&d, WITH_SUMS),
                         how(&d, WITH_MASK));
            close_desk(&d);
        }
}

static void a_mask_that_cuts_nothing_shows_nothing(void **state)
{
    (void)state;
    struct desk d;
    struct err e = {0};
    open_desk(&d, "", DTYPE_F32);
    for (int64_t j = 0; j < N * I; j++) d.x.host[j] = 1.0f + (float)j;
    op_set(&d.k, &d.x);
    op_ok(pass_relu(&d, &d.x.t, &e), &e);
    assert_int_equal(how(&d, WITH_MASK), NOT_SHOWN);
    close_desk(&d);
}

/* The bits of the library that is told to have another order would be found wrong if they were
 * looked at. */
static void what_was_adopted_is_not_compared_again(void **state)
{
    (void)state;
    struct desk d;
    struct err e = {0};
    open_desk(&d, "", DTYPE_BF16);
    pass_and_sum(&d);
    char *text = choices_of(&d);
    close_desk(&d);
    open_desk(&d, "mask-bits", DTYPE_BF16);
    op_ok(d.k.b->ops->restore_choices(d.k.b, text, &e), &e);
    pass_and_sum(&d);
    assert_true(miscut_n(&d) > N * I / 8);
    char *now = choices_of(&d);
    assert_string_equal(now, text);
    close_desk(&d);
    free(now);
    free(text);
}

static void texts_of_others_and_torn_ones_are_refused(void **state)
{
    (void)state;
    struct desk d;
    struct err e = {0};
    open_desk(&d, "", DTYPE_F32);
    pass_and_sum(&d);
    char *text = choices_of(&d);
    assert_int_equal(
        d.k.b->ops->restore_choices(d.k.b, "cuBLASLt 130000, another GPU, sm_80\n", &e), ERR_DATA);
    assert_non_null(strstr(e.text, "another GPU"));
    text[strlen(text) - 3] = 'x';
    assert_int_equal(d.k.b->ops->restore_choices(d.k.b, text, &e), ERR_DATA);
    assert_non_null(strstr(e.text, "is no choice"));
    free(text);
    close_desk(&d);
}

static void a_mask_is_recorded_once_it_was_chosen(void **state)
{
    (void)state;
    struct desk d;
    struct err e = {0};
    void *graph = NULL;
    open_desk(&d, "", DTYPE_F32);
    struct op_matrix again = op_random(&d.k, N, I, 0);
    /* Scratch memory is there, the choice is not. */
    op_ok(ops_linear_rows(d.k.b, &d.dy.t, &d.x.t, &d.w.t, NULL, &e), &e);
    op_ok(d.k.b->ops->graph_begin(d.k.b, &e), &e);
    assert_int_equal(pass_relu(&d, &d.y.t, &e), ERR_INTERNAL);
    assert_non_null(
        strstr(e.text, "chosen by measuring, which is forbidden while work is recorded"));
    op_ok(d.k.b->ops->graph_end(d.k.b, NULL, &e), &e);

    pass_and_sum(&d);
    op_ok(d.k.b->ops->graph_begin(d.k.b, &e), &e);
    op_ok(pass_relu(&d, &d.y.t, &e), &e);
    op_ok(d.k.b->ops->graph_end(d.k.b, &graph, &e), &e);
    /* Another y: the bits are made at each replay. */
    for (int64_t j = 0; j < N * I; j++) {
        again.host[j] = d.x.host[j] > 0.0f ? 0.0f : -d.x.host[j];
        d.want[j] = 0.0;
    }
    op_set(&d.k, &again);
    op_ok(d.k.b->ops->copy(d.k.b, d.y.t.data, again.t.data, sizeof(float) * N * I, &e), &e);
    op_ok(pass_relu(&d, &d.y.t, &e), &e);
    const float *want = result(&d);
    op_ok(d.k.b->ops->zero(d.k.b, d.dx.t.data, sizeof(float) * N * I, &e), &e);
    op_ok(d.k.b->ops->graph_launch(d.k.b, graph, &e), &e);
    const float *got = result(&d);
    op_same("dx", got, want, N * I);
    for (int64_t j = 0; j < N * I; j++) assert_true((got[j] == 0.0f) == (again.host[j] == 0.0f));
    d.k.b->ops->graph_free(d.k.b, graph);
    close_desk(&d);
}

static void of_three_algorithms_the_clearly_fastest_is_taken_for_a_class(void **state)
{
    (void)state;
    struct desk d;
    struct err e = {0};
    int apart;
    unsigned long algorithm = 0;
    open_desk(&d, "three", DTYPE_BF16);
    for (int64_t rows = N; rows > N - 9; rows -= 3) { /* one class */
        struct tensor dy = d.dy.t, dx = d.dx.t;
        dy.rows = dx.rows = rows;
        op_ok(ops_linear_bwd_input(d.k.b, &dx, &dy, &d.w.t, 0, &e), &e);
    }
    assert_int_equal(lines_with(&d, WITH_NOTHING, &apart, &algorithm), 1);
    assert_int_equal(algorithm, 3);
    assert_int_equal(apart, ONE_CALL);
    close_desk(&d);
}

static void relu_has_the_same_bits_within_a_product_and_after_it(void **state)
{
    (void)state;
    static const struct {
        const char *words;
        int relu;
    } rows[] = {{"", ONE_CALL}, {"relu-absent", NOT_OFFERED}, {"relu-slow", NOT_FASTER}};
    float *made[3];
    for (int exact = 0; exact < 2; exact++) {
        for (int i = 0; i < 3; i++) {
            struct desk d;
            struct err e = {0};
            struct dropout none = {0};
            open_backend(&d, rows[i].words, DTYPE_F32);
            struct op_matrix x = op_random(&d.k, N, O, 0), w = op_random(&d.k, I, O, 0);
            struct op_matrix bias = op_random(&d.k, 1, I, 0), y = op_random(&d.k, N, I, 0);
            op_ok(ops_linear_relu(d.k.b, &y.t, &x.t, &w.t, &bias.t, &none, exact, &e), &e);
            assert_int_equal(how(&d, WITH_RELU), rows[i].relu);
            made[i] = malloc(sizeof(float) * N * I);
            assert_non_null(made[i]);
            memcpy(made[i], op_get(&d.k, &y.t), sizeof(float) * N * I);
            close_desk(&d);
        }
        for (int i = 0; i < 3; i++) op_same("y", made[i], made[0], N * I);
        for (int i = 0; i < 3; i++) free(made[i]);
    }
}

/* Of a class whose algorithm does not fit one product, which has another then: relu follows. */
static void relu_has_the_algorithm_that_its_product_has(void **state)
{
    (void)state;
    struct desk d;
    struct err e = {0};
    struct dropout none = {0};
    open_backend(&d, "picky", DTYPE_F32);
    struct op_matrix x = op_random(&d.k, N, O, 0), w = op_random(&d.k, I, O, 0);
    struct op_matrix y = op_random(&d.k, N, I, 0), plain = op_random(&d.k, N, I, 0);
    for (int odd = 1; odd >= 0; odd--) {
        struct tensor few = x.t, to = y.t, alone = plain.t;
        few.rows = to.rows = alone.rows = N - odd;
        op_ok(ops_linear_relu(d.k.b, &to, &few, &w.t, NULL, &none, 0, &e), &e);
        op_ok(ops_linear(d.k.b, &alone, &few, &w.t, NULL, 0, &e), &e);
        op_ok(ops_relu(d.k.b, &alone, &alone, &none, &e), &e);
        op_same("y", op_get(&d.k, &to), op_get(&d.k, &alone), to.rows * to.cols);
    }
    assert_int_equal(how(&d, WITH_RELU), ONE_CALL);
    close_desk(&d);
}

/* 3 chunks at once and one of them alone, of a library whose fastest algorithm takes no chunk
 * alone. */
static void exact_rows_have_one_algorithm_for_any_batch(void **state)
{
    (void)state;
    enum { CHUNK = 128, ROWS = 3 * CHUNK };
    struct desk d;
    struct err e = {0};
    open_backend(&d, "three alone", DTYPE_F32);
    struct op_matrix x = op_random(&d.k, ROWS, O, 0), w = op_random(&d.k, I, O, 0);
    struct op_matrix whole = op_random(&d.k, ROWS, I, 0), part = op_random(&d.k, CHUNK, I, 0);
    struct tensor first = x.t;
    first.rows = CHUNK;
    op_ok(ops_linear_rows(d.k.b, &whole.t, &x.t, &w.t, NULL, &e), &e);
    op_ok(ops_linear_rows(d.k.b, &part.t, &first, &w.t, NULL, &e), &e);
    op_same("y", op_get(&d.k, &part.t), op_get(&d.k, &whole.t), (int64_t)CHUNK * I);
    close_desk(&d);
}

static void exact_rows_fail_rather_than_change_their_algorithm(void **state)
{
    (void)state;
    enum { ROWS = 9 * 128 };
    struct desk d;
    struct err e = {0};
    open_backend(&d, "few", DTYPE_F32);
    struct op_matrix x = op_random(&d.k, ROWS, O, 0), w = op_random(&d.k, I, O, 0);
    struct op_matrix y = op_random(&d.k, ROWS, I, 0);
    assert_int_equal(ops_linear_rows(d.k.b, &y.t, &x.t, &w.t, NULL, &e), ERR_INTERNAL);
    assert_non_null(strstr(e.text, "refuses 9 chunks"));
    close_desk(&d);
}

/* The first runs of a device are slow whatever they compute. */
static void a_cold_device_does_not_choose(void **state)
{
    (void)state;
    struct desk d;
    struct err e = {0};
    int apart;
    unsigned long algorithm = 0;
    open_desk(&d, "three even cold", DTYPE_F32);
    op_ok(ops_linear_bwd_input(d.k.b, &d.dx.t, &d.dy.t, &d.w.t, 0, &e), &e);
    assert_int_equal(lines_with(&d, WITH_NOTHING, &apart, &algorithm), 1);
    assert_int_equal(algorithm, 1);
    close_desk(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whatever_is_offered_results_are_right),
        cmocka_unit_test(a_mask_that_cuts_nothing_shows_nothing),
        cmocka_unit_test(what_was_adopted_is_not_compared_again),
        cmocka_unit_test(texts_of_others_and_torn_ones_are_refused),
        cmocka_unit_test(a_mask_is_recorded_once_it_was_chosen),
        cmocka_unit_test(of_three_algorithms_the_clearly_fastest_is_taken_for_a_class),
        cmocka_unit_test(exact_rows_have_one_algorithm_for_any_batch),
        cmocka_unit_test(exact_rows_fail_rather_than_change_their_algorithm),
        cmocka_unit_test(a_cold_device_does_not_choose),
        cmocka_unit_test(relu_has_the_same_bits_within_a_product_and_after_it),
        cmocka_unit_test(relu_has_the_algorithm_that_its_product_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
