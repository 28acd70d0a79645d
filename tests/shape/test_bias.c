/* test_bias.c - buckets of the T5 bias. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "shape/shape_specs.h"

static void t5_buckets_begin_where_the_authors_of_t5_begin_them(void **state)
{
    (void)state;
    static const int32_t first[] = {16, 19, 21, 24, 27, 31, 35, 40,
                                    46, 52, 59, 67, 77, 87, 99, 113};
    int32_t bucket = 0;

    for (int32_t distance = 0; distance <= 4096; distance++) {
        if (distance > 0 && distance < 16) bucket = distance;
        for (int i = 0; i < 16; i++)
            if (first[i] == distance) bucket = 16 + i;
        assert_int_equal(shape_t5_bucket(distance, 32, 128), bucket);
    }
}

static void a_bucket_border_on_an_exact_power_is_not_missed(void **state)
{
    (void)state;
    /* 16 buckets a factor of 16: every doubling is exactly four buckets. */
    for (int32_t k = 0; k < 4; k++) {
        assert_int_equal(shape_t5_bucket(16 << k, 32, 256), 16 + 4 * k);
        if (k) assert_int_equal(shape_t5_bucket((16 << k) - 1, 32, 256), 15 + 4 * k);
    }
    assert_int_equal(shape_t5_bucket(256, 32, 256), 31);
    assert_int_equal(shape_t5_bucket(2147483647, 32, 256), 31);
    /* The smallest table: two exact distances, two buckets. */
    assert_int_equal(shape_t5_bucket(2, 4, 8), 2);
    assert_int_equal(shape_t5_bucket(4, 4, 8), 3);
}

static void only_t5_tells_distances_apart_one_by_one(void **state)
{
    (void)state;
    struct spec s = shape_specs_paper(SPEC_T5, 512);

    assert_int_equal(shape_bias_distances(&s.model), 113);
    for (enum spec_position p = SPEC_SINUSOIDAL; p <= SPEC_ALIBI; p++) {
        s.model.position = p;
        if (p != SPEC_T5) assert_int_equal(shape_bias_distances(&s.model), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(t5_buckets_begin_where_the_authors_of_t5_begin_them),
        cmocka_unit_test(a_bucket_border_on_an_exact_power_is_not_missed),
        cmocka_unit_test(only_t5_tells_distances_apart_one_by_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
