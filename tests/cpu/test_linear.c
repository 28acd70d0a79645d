/* test_linear.c - the linear maps against plain loops in double precision, and their exactness by
 * row. */
#include "harness/test.h"

#include <stddef.h>

#include <stdlib.h>
#include <string.h>

#include "cpu/cpu.h"
#include "cpu/cpu_fixture.h"
#include "ops/ops.h"

struct maps {
    int64_t N, I, O;
    float *x, *w, *bias, *dy, *y, *dx, *dw, *dbias;
    struct tensor tx, tw, tbias, tdy, ty, tdx, tdw, tdbias;
};

/* Rows of x and y are longer than their tensors are wide, as thirds of a matrix are. */
static struct maps *maps_make(int64_t N, int64_t I, int64_t O)
{
    struct maps *m = calloc(1, sizeof *m);
    *m = (struct maps){.N = N, .I = I, .O = O};
    m->x = cpu_random_make(N * (I + 8), 1.0f, 1);
    m->w = cpu_random_make(O * I, 1.0f, 2);
    m->bias = cpu_random_make(O, 1.0f, 3);
    m->dy = cpu_random_make(N * O, 1.0f, 4);
    m->y = cpu_random_make(N * (O + 8), 1.0f, 5);
    m->dx = cpu_random_make(N * I, 1.0f, 6);
    m->dw = cpu_random_make(O * I, 1.0f, 7);
    m->dbias = cpu_random_make(O, 1.0f, 8);
    m->tx = tensor_make(m->x, N, I, DTYPE_F32);
    m->tx.stride = I + 8;
    m->ty = tensor_make(m->y, N, O, DTYPE_F32);
    m->ty.stride = O + 8;
    m->tw = tensor_make(m->w, O, I, DTYPE_F32);
    m->tbias = tensor_make(m->bias, 1, O, DTYPE_F32);
    m->tdy = tensor_make(m->dy, N, O, DTYPE_F32);
    m->tdx = tensor_make(m->dx, N, I, DTYPE_F32);
    m->tdw = tensor_make(m->dw, O, I, DTYPE_F32);
    m->tdbias = tensor_make(m->dbias, 1, O, DTYPE_F32);
    return m;
}

static void maps_free(struct maps *m)
{
    float *all[] = {m->x, m->w, m->bias, m->dy, m->y, m->dx, m->dw, m->dbias};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
    free(m);
}

/* A sum of n products of numbers below 1: n + 1 roundings of at most n ulps of 1 (half each). */
static double bound(int64_t n)
{
    return 2.0 + (double)n;
}

static void check_y(const struct maps *m, const float *before, int with_bias, int accumulate)
{
    for (int64_t i = 0; i < m->N; i++)
        for (int64_t o = 0; o < m->O; o++) {
            double sum = with_bias ? (double)m->bias[o] : 0.0;
            if (accumulate) sum += (double)before[i * m->ty.stride + o];
            for (int64_t c = 0; c < m->I; c++)
                sum += (double)m->x[i * m->tx.stride + c] * (double)m->w[o * m->I + c];
            cpu_check("y", &m->y[i * m->ty.stride + o], &sum, 1, 1.0, bound(m->I));
        }
}

static void check_gradients(const struct maps *m, const struct maps *before, int accumulate)
{
    for (int64_t i = 0; i < m->N; i++)
        for (int64_t c = 0; c < m->I; c++) {
            double sum = accumulate ? (double)before->dx[i * m->I + c] : 0.0;
            for (int64_t o = 0; o < m->O; o++)
                sum += (double)m->dy[i * m->O + o] * (double)m->w[o * m->I + c];
            cpu_check("dx", &m->dx[i * m->I + c], &sum, 1, 1.0, bound(m->O));
        }
    for (int64_t o = 0; o < m->O; o++) {
        double column = accumulate ? (double)before->dbias[o] : 0.0;
        for (int64_t i = 0; i < m->N; i++) column += (double)m->dy[i * m->O + o];
        cpu_check("dbias", &m->dbias[o], &column, 1, 1.0, bound(m->N));
        for (int64_t c = 0; c < m->I; c++) {
            double sum = accumulate ? (double)before->dw[o * m->I + c] : 0.0;
            for (int64_t i = 0; i < m->N; i++)
                sum += (double)m->dy[i * m->O + o] * (double)m->x[i * m->tx.stride + c];
            cpu_check("dw", &m->dw[o * m->I + c], &sum, 1, 1.0, bound(m->N));
        }
    }
}

static void check_all(int64_t N, int64_t I, int64_t O)
{
    for (int variant = 0; variant < CPU_VARIANTS; variant++)
        for (int accumulate = 0; accumulate < 2; accumulate++) {
            struct backend *b = cpu_variant_open(variant);
            struct err e = {0};
            if (!b) continue;
            struct maps *m = maps_make(N, I, O), *before = maps_make(N, I, O);
            struct tensor *bias = variant % 2 ? &m->tbias : NULL;
            assert_int_equal(ops_linear(b, &m->ty, &m->tx, &m->tw, bias, accumulate, &e), 0);
            check_y(m, before->y, bias != NULL, accumulate);
            assert_int_equal(ops_linear_rows(b, &m->ty, &m->tx, &m->tw, &m->tbias, &e), 0);
            check_y(m, before->y, 1, 0);
            assert_int_equal(ops_linear_bwd_input(b, &m->tdx, &m->tdy, &m->tw, accumulate, &e), 0);
            assert_int_equal(
                ops_linear_bwd_weight(b, &m->tdw, &m->tdbias, &m->tdy, &m->tx, accumulate, &e), 0);
            check_gradients(m, before, accumulate);
            maps_free(m);
            maps_free(before);
            backend_close(b);
        }
}

TEST(small_and_odd_shapes_agree_with_plain_loops)
{
    check_all(1, 8, 1);
    check_all(5, 8, 24);
    check_all(67, 24, 33);
    check_all(130, 64, 65);
}

/* The gradient of a tall weight has a kernel of its own, which takes rows in steps of at most 256.
 */
TEST(tall_weights_agree_with_plain_loops)
{
    check_all(70, 8, 45);
    check_all(300, 10, 61);
}

/* One row among many neighbours, at every position, in every number of rows. */
TEST(a_row_of_linear_rows_has_the_same_bits_wherever_it_stands)
{
    enum { N = 150 };
    static const int64_t shapes[][2] = {{64, 192}, {64, 300}, {256, 64}, {24, 50}, {7, 3}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (int variant = 0; variant < CPU_VARIANTS; variant++) {
            int64_t I = shapes[s][0], O = shapes[s][1];
            struct backend *b = cpu_variant_open(variant);
            e = (struct err){0};
            if (!b) continue;
            struct maps *m = maps_make(N, I, O);
            float *row = cpu_random_make(I, 1.0f, 11), *first = cpu_zeros(O);
            for (int64_t at = 0; at < N; at += at < 26 ? 1 : 17) {
                m->tx.rows = m->ty.rows = at + 1 + at % 5 < N ? at + 1 + at % 5 : N;
                cpu_random(m->x, N * (I + 8), 1.0f, (uint64_t)at + 100);
                memcpy(m->x + at * m->tx.stride, row, (size_t)I * sizeof *row);
                assert_int_equal(ops_linear_rows(b, &m->ty, &m->tx, &m->tw, &m->tbias, &e), 0);
                const float *got = m->y + at * m->ty.stride;
                if (at == 0) memcpy(first, got, (size_t)O * sizeof *first);
                cpu_check_bits("row", got, first, (size_t)O * sizeof *first);
            }
            free(row);
            free(first);
            maps_free(m);
            backend_close(b);
        }
}

TEST(the_same_product_has_the_same_bits_again)
{
    for (int32_t threads = 1; threads <= 2; threads++) {
        struct backend *b = cpu_variant_best(threads);
        e = (struct err){0};
        struct maps *m = maps_make(100, 64, 192), *again = maps_make(100, 64, 192);
        struct maps *both[] = {m, again};
        for (int i = 0; i < 2; i++) {
            struct maps *k = both[i];
            assert_int_equal(ops_linear(b, &k->ty, &k->tx, &k->tw, NULL, 0, &e), 0);
            assert_int_equal(ops_linear_bwd_input(b, &k->tdx, &k->tdy, &k->tw, 0, &e), 0);
            assert_int_equal(ops_linear_bwd_weight(b, &k->tdw, &k->tdbias, &k->tdy, &k->tx, 0, &e),
                             0);
        }
        cpu_check_bits("y", m->y, again->y, 100 * 200 * sizeof(float));
        cpu_check_bits("dx", m->dx, again->dx, 100 * 64 * sizeof(float));
        cpu_check_bits("dw", m->dw, again->dw, 192 * 64 * sizeof(float));
        maps_free(m);
        maps_free(again);
        backend_close(b);
    }
}

/* Whichever library a machine has, the arithmetic is right; what is not installed is not tested. */
TEST(every_installed_library_multiplies_rightly)
{
    static const char *const makes[] = {"onednn", "openblas", "blis"};
    int found = 0;
    for (size_t i = 0; i < sizeof makes / sizeof *makes; i++) {
        struct backend *b = cpu_variant_best(1);
        struct blas other;
        e = (struct err){0};
        if (blas_open_named(&other, makes[i], NULL, &e) == 0) {
            struct maps *m = maps_make(33, 24, 17), *before = maps_make(33, 24, 17);
            cpu_of(b)->blas = other;
            assert_int_equal(ops_linear(b, &m->ty, &m->tx, &m->tw, &m->tbias, 0, &e), 0);
            check_y(m, before->y, 1, 0);
            assert_int_equal(ops_linear_bwd_input(b, &m->tdx, &m->tdy, &m->tw, 1, &e), 0);
            assert_int_equal(ops_linear_bwd_weight(b, &m->tdw, &m->tdbias, &m->tdy, &m->tx, 1, &e),
                             0);
            check_gradients(m, before, 1);
            maps_free(m);
            maps_free(before);
            found++;
        }
        backend_close(b);
    }
    assert_true(found > 0);
}

TEST(an_avoided_library_is_opened_last)
{
    struct blas first, second, openblas;

    assert_int_equal(blas_open(&first, &e), 0);
    setenv("ALIBI_AVOID_BLAS", first.text, 1);
    int rc = blas_open(&second, &e);
    unsetenv("ALIBI_AVOID_BLAS");
    assert_int_equal(rc, 0);
    bool others = first.dnnl && blas_open_named(&openblas, "openblas", NULL, &e) == 0;
    assert_string_equal(second.text, others ? openblas.text : first.text);
}

TEST(a_missing_library_names_the_package)
{
    struct blas b;
    assert_int_equal(blas_open_named(&b, "nothing", NULL, &e), ERR_UNAVAILABLE);
    assert_non_null(strstr(e.text, "libdnnl2"));
    assert_non_null(strstr(e.text, "libopenblas0-serial"));
}
