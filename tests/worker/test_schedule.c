/* test_schedule.c - the schedule against the rates of the authors' program and against the formula.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "worker/safetensors.h"
#include "worker/schedule.h"

static const struct spec_train readme = {
    .schedule = SPEC_COSINE,
    .lr = 1.0,
    .lr_init = 1e-7,
    .lr_min = 1e-4,
    .warmup = 16000,
    .period = 270000,
    .period_multiplier = 2.0,
    .lr_shrink = 0.75,
};

static void assert_near(double got, double expected, double relative)
{
    if (!(fabs(got - expected) <= relative * fabs(expected)))
        fail_msg("%.17g is not %.17g", got, expected);
}

static void the_recipe_of_the_readme_gives_the_authors_rates(void **state)
{
    struct err e = {0};
    struct safetensors *s = NULL;

    (void)state;
    assert_int_equal(safetensors_open(&s, "tests/fixtures/oracle/cosine_readme.safetensors", &e),
                     0);
    const struct safetensors_entry *update = safetensors_find(s, "update");
    const struct safetensors_entry *rate = safetensors_find(s, "lr");
    const char *exact = safetensors_metadata(s, "lr_exact"); /* doubles between commas */
    for (int64_t i = 0; i < update->elements_n; i++) {
        char *end = NULL;
        double expected = strtod(exact, &end);
        double got = schedule_rate(&readme, ((const int32_t *)update->data)[i]);
        assert_true(end > exact);
        exact = *end == ',' ? end + 1 : end;
        assert_near(got, expected, 1e-11);
        assert_near(got, (double)((const float *)rate->data)[i], 1e-6);
    }
    assert_int_equal(*exact, '\0');
    safetensors_close(s);
}

static void the_first_update_of_the_readme_uses_the_initial_rate(void **state)
{
    (void)state;
    assert_true(schedule_rate(&readme, 0) == 1e-7);
    assert_true(schedule_rate(&readme, 16000) == 1.0);
    assert_near(schedule_rate(&readme, 285999), 1.0000003e-4, 1e-7);
    assert_near(schedule_rate(&readme, 286000), 0.75, 1e-15);
}

static void a_negative_initial_rate_means_the_lowest_rate(void **state)
{
    struct spec_train t = readme;
    (void)state;
    t.lr_init = -1.0;
    assert_true(schedule_rate(&t, 0) == 1e-4);
}

static void a_fixed_rate_stays_after_its_warm_up(void **state)
{
    struct spec_train t = {.schedule = SPEC_FIXED, .lr = 0.5, .lr_init = 0.1, .warmup = 4};
    (void)state;
    assert_true(schedule_rate(&t, 0) == 0.1);
    assert_near(schedule_rate(&t, 2), 0.3, 1e-15);
    assert_true(schedule_rate(&t, 4) == 0.5);
    assert_true(schedule_rate(&t, 1000000) == 0.5);
}

static void equal_periods_repeat_and_shrink(void **state)
{
    struct spec_train t = {.schedule = SPEC_COSINE,
                           .lr = 1.0,
                           .period = 10,
                           .period_multiplier = 1.0,
                           .lr_shrink = 0.5};
    (void)state;
    for (int64_t u = 0; u < 40; u++) {
        double factor = pow(0.5, (double)(u / 10));
        double expected = factor * 0.5 * (1.0 + cos(acos(-1.0) * (double)(u % 10) / 10.0));
        assert_near(schedule_rate(&t, u), expected, 1e-12);
    }
}

static void odd_settings_still_end(void **state)
{
    struct spec_train t = {.schedule = SPEC_COSINE, .lr = 1.0, .lr_shrink = 1.0};
    (void)state;
    assert_true(schedule_rate(&t, 7) == 1.0);
    t.period = 8;
    t.period_multiplier = 0.0;
    assert_true(isfinite(schedule_rate(&t, 1000)));
    t.period_multiplier = 0.5;
    assert_true(isfinite(schedule_rate(&t, 1000)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_recipe_of_the_readme_gives_the_authors_rates),
        cmocka_unit_test(the_first_update_of_the_readme_uses_the_initial_rate),
        cmocka_unit_test(a_negative_initial_rate_means_the_lowest_rate),
        cmocka_unit_test(a_fixed_rate_stays_after_its_warm_up),
        cmocka_unit_test(equal_periods_repeat_and_shrink),
        cmocka_unit_test(odd_settings_still_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
