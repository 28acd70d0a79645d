/* test_slots.c - the devices of this machine and what --devices may say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/slots.h"

struct place {
    struct arena arena;
    struct slots slots;
    struct err e;
};

static int setup(void **state)
{
    struct place *p = calloc(1, sizeof *p);
    arena_init(&p->arena);
    *state = p;
    return 0;
}

static int teardown(void **state)
{
    struct place *p = *state;
    arena_fini(&p->arena);
    free(p);
    return 0;
}

static int32_t cores_allowed(void)
{
    cpu_set_t set;
    assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
    return CPU_COUNT(&set);
}

static void the_processor_is_listed_first(void **state)
{
    struct device d[8];
    struct err e;
    int32_t n;
    (void)state;
    assert_int_equal(device_list(d, 8, &n, &e), 0);
    assert_true(n >= 2);
    assert_string_equal(d[0].name, "cpu");
    assert_true(*d[0].description != '\0');
    assert_in_range(d[0].slots, 1, cores_allowed());
    assert_true(d[0].memory_bytes > 0 && d[0].free_bytes > 0);
    assert_true(d[0].free_bytes <= d[0].memory_bytes);
    assert_true(d[0].flops_per_s > 1e8);
    assert_string_equal(d[0].unusable, "");
}

static void a_gpu_that_cannot_be_used_says_why(void **state)
{
    struct place *p = *state;
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (driver) {
        dlclose(driver);
        skip(); /* a machine with a driver: the reason depends on the build */
    }
    assert_int_equal(slots_open(&p->slots, &p->arena, "cuda:0", &p->e), ERR_UNAVAILABLE);
    assert_non_null(strstr(p->e.text, "libcuda.so.1"));
    assert_int_equal(slots_open(&p->slots, &p->arena, "auto", &p->e), 0);
    assert_int_equal(p->slots.slot[0].cuda, -1);
}

static void auto_is_one_worker_a_core(void **state)
{
    struct place *p = *state;
    assert_int_equal(slots_open(&p->slots, &p->arena, "cpu", &p->e), 0);
    assert_int_equal(p->slots.n, p->slots.device[0].slots);
    if (p->slots.n == cores_allowed())
        for (int32_t i = 1; i < p->slots.n; i++)
            assert_true(p->slots.slot[i].cpu > p->slots.slot[i - 1].cpu);
}

static void a_number_of_workers_may_be_given(void **state)
{
    struct place *p = *state;
    assert_int_equal(slots_open(&p->slots, &p->arena, "cpu:300", &p->e), 0);
    assert_int_equal(p->slots.n, 300);
    assert_int_equal(p->slots.slot[0].cpu, -1);
}

static void what_is_no_device_is_refused(void **state)
{
    static const char *const wrong[] = {"gpu", "cpu:0",   "cpu:-1", "cpu:many",
                                        "",    "cpu,cpu", "cpu,",   "cpu:5000"};
    struct place *p = *state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(slots_open(&p->slots, &p->arena, wrong[i], &p->e), ERR_USAGE);
        assert_non_null(strstr(p->e.text, "--devices"));
    }
    assert_int_equal(slots_open(&p->slots, &p->arena, "cuda:63", &p->e), ERR_UNAVAILABLE);
}

static void memory_limits_who_runs_together_but_never_all(void **state)
{
    struct place *p = *state;
    struct slots *sl = &p->slots;
    assert_int_equal(slots_open(sl, &p->arena, "cpu:2", &p->e), 0);
    sl->device[0].free_bytes = 1000;
    int32_t first = slots_take(sl, 600);
    assert_int_equal(first, 0);
    assert_false(slots_fit(sl, 600));
    assert_true(slots_fit(sl, 400));
    assert_int_equal(slots_take(sl, 600), -1);
    slots_leave(sl, first, 600);
    assert_true(slots_fit(sl, 5000)); /* alone: the planned bytes may be too careful */
    assert_int_equal(slots_free_n(sl), 2);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_processor_is_listed_first),
        CASE(a_gpu_that_cannot_be_used_says_why),
        CASE(auto_is_one_worker_a_core),
        CASE(a_number_of_workers_may_be_given),
        CASE(what_is_no_device_is_refused),
        CASE(memory_limits_who_runs_together_but_never_all),
    };
    return cmocka_run_group_tests_name("slots", tests, NULL, NULL);
}
