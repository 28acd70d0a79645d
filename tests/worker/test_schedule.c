/* test_schedule.c - the schedule against the rates of the authors' program and against the formula.
 */
#include "harness/test.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "interchange/safetensors.h"
#include "worker/train.h"

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

TEST(the_recipe_of_the_readme_gives_the_authors_rates)
{
    struct safetensors *s = NULL;

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

TEST(the_first_update_of_the_readme_uses_the_initial_rate)
{
    assert_true(schedule_rate(&readme, 0) == 1e-7);
    assert_true(schedule_rate(&readme, 16000) == 1.0);
    assert_near(schedule_rate(&readme, 285999), 1.0000003e-4, 1e-7);
    assert_near(schedule_rate(&readme, 286000), 0.75, 1e-15);
}

TEST(a_negative_initial_rate_means_the_lowest_rate)
{
    struct spec_train t = readme;
    t.lr_init = -1.0;
    assert_true(schedule_rate(&t, 0) == 1e-4);
}

TEST(a_fixed_rate_stays_after_its_warm_up)
{
    struct spec_train t = {.schedule = SPEC_FIXED, .lr = 0.5, .lr_init = 0.1, .warmup = 4};
    assert_true(schedule_rate(&t, 0) == 0.1);
    assert_near(schedule_rate(&t, 2), 0.3, 1e-15);
    assert_true(schedule_rate(&t, 4) == 0.5);
    assert_true(schedule_rate(&t, 1000000) == 0.5);
}

TEST(equal_periods_repeat_and_shrink)
{
    struct spec_train t = {.schedule = SPEC_COSINE,
                           .lr = 1.0,
                           .period = 10,
                           .period_multiplier = 1.0,
                           .lr_shrink = 0.5};
    for (int64_t u = 0; u < 40; u++) {
        double factor = pow(0.5, (double)(u / 10));
        double expected = factor * 0.5 * (1.0 + cos(acos(-1.0) * (double)(u % 10) / 10.0));
        assert_near(schedule_rate(&t, u), expected, 1e-12);
    }
}

TEST(odd_settings_still_end)
{
    struct spec_train t = {.schedule = SPEC_COSINE, .lr = 1.0, .lr_shrink = 1.0};
    assert_true(schedule_rate(&t, 7) == 1.0);
    t.period = 8;
    t.period_multiplier = 0.0;
    assert_true(isfinite(schedule_rate(&t, 1000)));
    t.period_multiplier = 0.5;
    assert_true(isfinite(schedule_rate(&t, 1000)));
}
