/* test_schedule.c - compares the schedule with the rates of the authors' program and with the
 * formula. */
#include "harness/test.h"

#include <math.h>
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

    assert_ok(safetensors_open(&s, "tests/fixtures/oracle/cosine_readme.safetensors", &e));
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

TEST(rates_at_the_ends_of_warm_up_and_periods)
{
    struct spec_train lowest = readme;
    const struct spec_train fixed = {
        .schedule = SPEC_FIXED, .lr = 0.5, .lr_init = 0.1, .warmup = 4};
    const struct {
        const struct spec_train *t;
        int64_t update;
        double rate, relative;
    } cases[] = {
        {&readme, 0, 1e-7, 0},
        {&readme, 16000, 1.0, 0},
        {&readme, 285999, 1.0000003e-4, 1e-7},
        {&readme, 286000, 0.75, 1e-15},
        {&lowest, 0, 1e-4, 0}, /* a negative initial rate means the lowest */
        {&fixed, 0, 0.1, 0},
        {&fixed, 2, 0.3, 1e-15},
        {&fixed, 4, 0.5, 0},
        {&fixed, 1000000, 0.5, 0},
    };

    lowest.lr_init = -1.0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_near(schedule_rate(cases[i].t, cases[i].update), cases[i].rate, cases[i].relative);
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

TEST(unusual_settings_terminate)
{
    struct spec_train t = {.schedule = SPEC_COSINE, .lr = 1.0, .lr_shrink = 1.0};
    assert_true(schedule_rate(&t, 7) == 1.0);
    t.period = 8;
    t.period_multiplier = 0.0;
    assert_true(isfinite(schedule_rate(&t, 1000)));
    t.period_multiplier = 0.5;
    assert_true(isfinite(schedule_rate(&t, 1000)));
}
