/* test_simd_vector.c - the elementary functions against the C library in double precision, over
 * their whole range, as compiled here (the instruction sets differ in multiply-add only). */
#include "harness/test.h"

#include <math.h>

#include "cpu/simd_transpose.h"
#include "cpu/simd_vector.h"

/* The distance of got from expected in units of the last place of expected. */
static double ulps(float got, double expected)
{
    int exponent;
    (void)frexp(expected, &exponent);
    return fabs((double)got - expected) / ldexp(1.0, exponent - 24);
}

typedef vector_f32 (*vector_function)(vector_f32);

static double worst_ulps(vector_function f, double (*reference)(double), float from, float to)
{
    double worst = 0.0;
    float step = (to - from) / 400000.0f;
    for (int i = 0; i < 400000; i += VECTOR_LANES) {
        float x[VECTOR_LANES], y[VECTOR_LANES];
        for (int l = 0; l < VECTOR_LANES; l++) x[l] = from + step * (float)(i + l);
        vector_store(y, f(vector_load(x)));
        for (int l = 0; l < VECTOR_LANES; l++) {
            double off = ulps(y[l], reference((double)x[l]));
            if (off > worst) worst = off;
        }
    }
    return worst;
}

static vector_f32 call_exp(vector_f32 x)
{
    return vector_exp(x);
}

static vector_f32 call_exp2(vector_f32 x)
{
    return vector_exp2(x);
}

static vector_f32 call_log2(vector_f32 x)
{
    return vector_log2(x);
}

TEST(exponentials_are_within_two_ulp)
{
    assert_true(worst_ulps(call_exp, exp, -87.0f, 88.0f) <= 2.0);
    assert_true(worst_ulps(call_exp, exp, -1.0f, 1.0f) <= 2.0);
    assert_true(worst_ulps(call_exp2, exp2, -126.0f, 127.0f) <= 2.0);
    assert_true(worst_ulps(call_exp2, exp2, -1.0f, 1.0f) <= 2.0);
}

/* Except near 1, where log2 is near 0 and the error is absolute. */
TEST(the_logarithm_is_within_two_ulp)
{
    assert_true(worst_ulps(call_log2, log2, 2.0f, 4.0f) <= 2.0);
    assert_true(worst_ulps(call_log2, log2, 2.0f, 5000.0f) <= 2.0);
    for (float x = 0.9f; x < 1.1f; x += 1e-4f) {
        float y[VECTOR_LANES];
        vector_store(y, vector_log2(vector_set(x)));
        assert_true(fabs((double)y[0] - log2((double)x)) < 0x1p-23);
    }
}

static vector_f32 call_sigmoid(vector_f32 x)
{
    return vector_sigmoid(x);
}

static double sigmoid(double x)
{
    return 1.0 / (1.0 + exp(-x));
}

static vector_f32 call_normal(vector_f32 x)
{
    return vector_normal(x);
}

static double normal(double x)
{
    return 0.5 * erfc(-x / sqrt(2.0));
}

/* Times x, a share below -6 is less than 1e-8. */
TEST(distribution_functions_keep_their_precision)
{
    assert_true(worst_ulps(call_sigmoid, sigmoid, -87.0f, 87.0f) <= 2.5);
    assert_true(worst_ulps(call_normal, normal, 0.0f, 40.0f) <= 1.2);
    assert_true(worst_ulps(call_normal, normal, -1.0f, 0.0f) <= 3.0);
    assert_true(worst_ulps(call_normal, normal, -6.0f, -1.0f) <= 64.0);
    for (float x = -6.0f; x > -1e38f; x *= 1.01f) {
        float y[VECTOR_LANES];
        vector_store(y, vector_normal(vector_set(x)));
        assert_true(y[0] >= 0.0f && (double)(y[0] * -x) < 1e-8);
    }
}

TEST(special_values_are_exact)
{
    float y[VECTOR_LANES];
    vector_store(y, vector_exp2(vector_set(0.0f)));
    assert_true(y[0] == 1.0f);
    vector_store(y, vector_exp(vector_set(0.0f)));
    assert_true(y[0] == 1.0f);
    vector_store(y, vector_log2(vector_set(1.0f)));
    assert_true(y[0] == 0.0f);
    vector_store(y, vector_exp2(vector_set(-INFINITY)));
    assert_true(y[0] == 0.0f);
    vector_store(y, vector_exp2(vector_set(-1000.0f)));
    assert_true(y[0] == 0.0f);
    vector_store(y, vector_exp(vector_set(-INFINITY)));
    assert_true(y[0] == 0.0f);
    vector_store(y, vector_exp2(vector_set(NAN)));
    assert_true(isnan(y[0]));
    vector_store(y, vector_exp(vector_set(NAN)));
    assert_true(isnan(y[0]));
    vector_store(y, vector_sigmoid(vector_set(NAN)));
    assert_true(isnan(y[0]));
    vector_store(y, vector_normal(vector_set(-NAN)));
    assert_true(isnan(y[0]));
    vector_store(y, vector_sigmoid(vector_set(-INFINITY)));
    assert_true(y[0] == 0.0f);
    vector_store(y, vector_normal(vector_set(INFINITY)));
    assert_true(y[0] == 1.0f);
    vector_store(y, vector_normal(vector_set(-INFINITY)));
    assert_true(y[0] == 0.0f);
}

TEST(transposes_move_every_element_and_nothing_beside_it)
{
    enum { ROWS = 13, ROOM = 24 };
    float in[ROWS * ROOM], columns[2 * TRANSPOSE_BLOCK * ROOM];
    float square[VECTOR_LANES * VECTOR_LANES], transposed[VECTOR_LANES * VECTOR_LANES];
    for (int i = 0; i < ROWS * ROOM; i++) in[i] = (float)i;
    for (int cols = 2; cols <= 2 * TRANSPOSE_BLOCK; cols += 2) {
        float back[ROWS * ROOM] = {0};
        transpose_to_columns(columns, ROOM, in, ROOM, ROWS, cols, 2.0f);
        for (int c = 0; c < transpose_padded(cols); c++)
            for (int r = 0; r < 16; r++)
                assert_true(columns[c * ROOM + r] ==
                            (r < ROWS && c < cols ? 2.0f * in[r * ROOM + c] : 0.0f));
        transpose_to_rows(back, ROOM, columns, ROOM, ROWS, cols, 0.5f);
        for (int r = 0; r < ROWS; r++)
            for (int c = 0; c < ROOM; c++)
                assert_true(back[r * ROOM + c] == (c < cols ? in[r * ROOM + c] : 0.0f));
    }
    for (int i = 0; i < VECTOR_LANES * VECTOR_LANES; i++) square[i] = (float)i;
    transpose_square(transposed, VECTOR_LANES, square, VECTOR_LANES);
    for (int i = 0; i < VECTOR_LANES * VECTOR_LANES; i++)
        assert_true(transposed[i] == square[i % VECTOR_LANES * VECTOR_LANES + i / VECTOR_LANES]);
}
