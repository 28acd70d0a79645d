/* test_speed.c - what counts for words per second and what does not. */
#include "harness/test.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "worker/bench.h"

TEST(a_burst_of_a_neighbour_does_not_change_the_figure)
{
    struct speed s;
    speed_init(&s, 1000);
    /* Ten updates of warm-up at a hundredth of the speed, then 50 windows, three of them slow. */
    for (int i = 0; i < 10; i++) assert_int_equal(speed_add(&s, 100, 10.0, NULL), 0);
    for (int i = 0; i < 500; i++)
        assert_int_equal(speed_add(&s, 100, i < 30 ? 5.0 : 0.125, NULL), 0);
    assert_true(speed_rate(&s) == 800.0);
    speed_fini(&s);
}

TEST(windows_end_where_the_device_is_synchronised)
{
    struct speed s;
    speed_init(&s, 40);
    for (int i = 0; i < 40; i++) {
        /* Two updates of warm-up, then windows of ten. */
        assert_int_equal(speed_window_ends(&s), i == 1 || (i >= 2 && (i - 2) % 10 == 9));
        assert_int_equal(speed_add(&s, 1, 1.0, NULL), 0);
    }
    speed_fini(&s);
}

TEST(an_attempt_shorter_than_a_window_is_measured_by_what_it_has)
{
    struct speed s;
    speed_init(&s, 4);
    assert_true(isnan(speed_rate(&s)));
    for (int i = 0; i < 4; i++) assert_int_equal(speed_add(&s, 10, 0.5, NULL), 0);
    assert_true(speed_rate(&s) == 20.0);
    speed_fini(&s);
}

TEST(a_median_of_an_even_number_is_the_middle_of_two)
{
    double four[] = {4.0, 1.0, 3.0, 2.0}, three[] = {9.0, 1.0, 5.0};
    assert_true(speed_median(four, 4) == 2.5);
    assert_true(speed_median(three, 3) == 5.0);
    assert_true(isnan(speed_median(three, 0)));
}
