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

/* Three GPUs in place of this machine's devices, with 1000, 3000 and 2000 bytes. */
static void put_gpus(struct slots *sl)
{
    static const int64_t bytes[] = {1000, 3000, 2000};
    sl->devices_n = sl->n = 3;
    for (int32_t i = 0; i < 3; i++) {
        sl->device[i] = (struct device){.name = "cuda:n", .free_bytes = bytes[i], .slots = 1};
        sl->slot[i] = (struct slot){.device = i, .cpu = -1, .cuda = i};
    }
}

static void a_job_goes_to_a_gpu_that_can_hold_it(void **state)
{
    struct place *p = *state;
    struct slots *sl = &p->slots;
    assert_int_equal(slots_open(sl, &p->arena, "cpu", &p->e), 0);
    put_gpus(sl);
    assert_int_equal(slots_take(sl, 1500), 1);
    assert_int_equal(slots_take(sl, 1500), 2);
    assert_false(slots_fit(sl, 1500)); /* the first is idle but too small */
    assert_int_equal(slots_take(sl, 1000), 0);
}

static void a_lost_gpu_gets_nothing_more(void **state)
{
    struct place *p = *state;
    struct slots *sl = &p->slots;
    assert_int_equal(slots_open(sl, &p->arena, "cpu", &p->e), 0);
    put_gpus(sl);
    int32_t slot = slots_take(sl, 2500);
    assert_int_equal(slot, 1);
    assert_int_equal(slots_lose(sl, slot, "it fell off the bus"), 2);
    slots_leave(sl, slot, 2500);
    assert_string_equal(sl->device[1].unusable, "it fell off the bus");
    assert_int_equal(slots_free_n(sl), 2);
    assert_ptr_equal(slots_largest(sl), &sl->device[2]);
    assert_int_equal(slots_take(sl, 2500), 2); /* the largest that is left may try */
    assert_int_equal(slots_lose(sl, 2, ""), 1);
    assert_int_equal(slots_lose(sl, 0, ""), 0);
    assert_int_equal(slots_take(sl, 1), -1);
}

static void a_gpu_that_loses_one_worker_after_the_other_is_given_up(void **state)
{
    struct place *p = *state;
    struct slots *sl = &p->slots;
    assert_int_equal(slots_open(sl, &p->arena, "cpu", &p->e), 0);
    put_gpus(sl);
    for (int32_t tries = 0; tries < 5; tries++) /* one job: it is the job */
        assert_false(slots_suspect(sl, 1, 7, true));
    assert_false(slots_suspect(sl, 1, 8, false)); /* this one got somewhere */
    assert_false(slots_suspect(sl, 1, 7, true));
    assert_false(slots_suspect(sl, 1, 7, true));
    assert_false(slots_suspect(sl, 0, 8, true)); /* another device's */
    assert_true(slots_suspect(sl, 1, 8, true));
    (void)slots_lose(sl, 1, "");
    (void)slots_lose(sl, 2, "");
    for (int32_t job = 9; job < 15; job++) /* the last that is left */
        assert_false(slots_suspect(sl, 0, job, true));
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
        CASE(a_job_goes_to_a_gpu_that_can_hold_it),
        CASE(a_lost_gpu_gets_nothing_more),
        CASE(a_gpu_that_loses_one_worker_after_the_other_is_given_up),
    };
    return cmocka_run_group_tests_name("slots", tests, NULL, NULL);
}
