/* test_probe.c - the probe finds every method at work, and finds one that is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "worker/probe.h"

static struct spec spec_of(enum spec_position position, int32_t heads, int32_t width)
{
    struct spec s;
    spec_init(&s);
    s.model.position = position;
    s.model.heads = heads;
    s.model.dim = heads * width;
    s.model.layers = 3;
    s.model.dropout = 0.3;
    s.data.vocab = 1000;
    return s;
}

static void every_method_at_work_passes(void **state)
{
    struct err e = {0};
    static const int32_t widths[] = {8, 32, 128};

    for (int p = SPEC_SINUSOIDAL; p <= SPEC_ALIBI; p++) {
        for (int32_t heads = 1; heads <= 8; heads += heads < 3 ? 1 : 5) {
            for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
                const struct spec s = spec_of((enum spec_position)p, heads, widths[i]);
                if (probe_position(*state, &s, &e) < 0) fail_msg("%s", e.text);
            }
        }
    }
}

static void a_method_without_effect_is_found(void **state)
{
    struct err e = {0};
    struct spec s = spec_of(SPEC_T5, 8, 64);

    s.model.t5_multiplier = 0.0;
    assert_int_equal(probe_position(*state, &s, &e), ERR_INTERNAL);
    assert_non_null(strstr(e.text, "t5 is not at work"));
}

static int open_cpu(void **state)
{
    struct err e = {0};
    return backend_open((struct backend **)state, "cpu", 1, DTYPE_F32, &e);
}

static int close_cpu(void **state)
{
    backend_close(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_method_at_work_passes),
        cmocka_unit_test(a_method_without_effect_is_found),
    };
    return cmocka_run_group_tests(tests, open_cpu, close_cpu);
}
