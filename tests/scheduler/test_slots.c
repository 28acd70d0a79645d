/* test_slots.c - the devices of this machine and what --devices may say. */
#include "harness/test.h"

#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "scheduler/executor.h"
#include "scheduler/slots.h"
#include "scheduler/toy_grid.h"

static struct slots *open_slots(struct toy_grid *g, const char *devices)
{
    assert_ok(slots_open(&g->slots, &g->arena, devices, 1, executor_table, &e));
    return &g->slots;
}

static int32_t cores_allowed(void)
{
    cpu_set_t set;
    assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
    return CPU_COUNT(&set);
}

TEST_EACH(NULL, NULL)

TEST(the_processor_is_listed_first)
{
    struct device d[8];
    int32_t n;
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

/* A process that has no descriptor left. */
TEST_EACH(toy_grid_setup, toy_grid_teardown)

TEST_WITH(struct toy_grid *g, a_processor_whose_memory_cannot_be_read_says_why)
{
    struct device d[8];
    struct rlimit before, none;
    int32_t n;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = (struct rlimit){.rlim_cur = 0, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    int rc = device_list(d, 8, &n, &g->e);
    int opened = slots_open(&g->slots, &g->arena, NULL, 1, executor_table, &g->e);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(rc, 0);
    assert_non_null(strstr(d[0].unusable, "/proc/meminfo"));
    assert_non_null(strstr(d[0].unusable, strerror(EMFILE)));
    assert_int_equal(opened, ERR_UNAVAILABLE);
    assert_non_null(strstr(g->e.text, "/proc/meminfo"));
}

TEST_WITH(struct toy_grid *g, a_gpu_that_cannot_be_used_says_why)
{
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (driver) {
        dlclose(driver);
        skip(); /* a machine with a driver: the reason depends on the build */
    }
    assert_fails(ERR_UNAVAILABLE, "libcuda.so.1",
                 slots_open(&g->slots, &g->arena, "cuda:0", 1, executor_table, &e));
    open_slots(g, "auto");
    assert_int_equal(g->slots.slot[0].cuda, -1);
}

TEST_WITH(struct toy_grid *g, auto_is_one_worker_a_core)
{
    open_slots(g, "cpu");
    assert_int_equal(g->slots.n, g->slots.device[0].slots);
    if (g->slots.n == cores_allowed())
        for (int32_t i = 1; i < g->slots.n; i++)
            assert_true(g->slots.slot[i].cpu > g->slots.slot[i - 1].cpu);
}

TEST_WITH(struct toy_grid *g, a_number_of_workers_up_to_that_of_cores_may_be_given)
{
    open_slots(g, "cpu:1");
    assert_int_equal(g->slots.n, 1);
    assert_string_equal(g->slots.note, "");
    open_slots(g, "cpu:4000");
    assert_int_equal(g->slots.n, g->slots.device[0].slots);
    assert_non_null(strstr(g->slots.note, "--devices cpu:4000"));
}

/* Ranks may be more than cores if their number is given twice: as ranks and as workers. */
TEST_WITH(struct toy_grid *g, ranks_may_share_cores)
{
    int32_t ranks_n = 2;
    open_slots(g, "cpu");
    while (ranks_n <= g->slots.n) ranks_n *= 2;
    const char *devices = arena_printf(&g->arena, "cpu:%ld", (long)ranks_n);
    assert_fails(ERR_USAGE, arena_printf(&g->arena, "give --devices %s", devices),
                 slots_open(&g->slots, &g->arena, "cpu", ranks_n, executor_table, &e));
    assert_ok(slots_open(&g->slots, &g->arena, devices, ranks_n, executor_table, &e));
    assert_int_equal(g->slots.n, ranks_n);
    assert_int_equal(g->slots.slot[0].cpu, -1);
    assert_non_null(strstr(g->slots.note, arena_printf(&g->arena, "starting %ld", (long)ranks_n)));
    assert_ok(slots_open(&g->slots, &g->arena, "cpu:4000", ranks_n, executor_table, &e));
    assert_int_equal(g->slots.n, ranks_n);
}

TEST(the_selected_device_has_the_slots_of_all)
{
    struct device d;
    assert_ok(device_select(&d, "cpu:1", &e));
    assert_string_equal(d.name, "cpu");
    assert_int_equal(d.slots, 1);
    assert_fails(ERR_USAGE, "--devices", device_select(&d, "gpu", &e));
    assert_fails(ERR_UNAVAILABLE, "--devices", device_select(&d, "cuda:63", &e));
}

TEST_WITH(struct toy_grid *g, a_name_that_is_not_a_device_is_refused)
{
    static const char *const wrong[] = {"gpu", "cpu:0",   "cpu:-1", "cpu:many",
                                        "",    "cpu,cpu", "cpu,",   "cpu:5000"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_fails(ERR_USAGE, "--devices",
                     slots_open(&g->slots, &g->arena, wrong[i], 1, executor_table, &e));
    assert_fails(ERR_UNAVAILABLE, "--devices",
                 slots_open(&g->slots, &g->arena, "cuda:63", 1, executor_table, &e));
}

/* The first slot of a worker with so many processes of this size; -1: there are not enough. */
static int32_t find_slot(const struct slots *sl, int32_t ranks_n, int64_t bytes)
{
    int32_t slot[SLOTS_MAX];
    const struct slots_need need = {.executor = -1, .ranks_n = ranks_n, .bytes = bytes};
    int32_t n = slots_find(sl, &need, slot);
    assert_true(n == 0 || n == ranks_n);
    return n > 0 ? slot[0] : -1;
}

/* Takes the slot of a run, which must be this one. */
static void take_slot(struct slots *sl, int64_t bytes, int32_t expected)
{
    int32_t slot = find_slot(sl, 1, bytes);
    assert_int_equal(slot, expected);
    slots_take(sl, &slot, 1, bytes, false);
}

static void leave(struct slots *sl, int32_t slot)
{
    slots_leave(sl, &slot, 1);
}

TEST_WITH(struct toy_grid *g, memory_limits_which_runs_share_a_device)
{
    struct slots *sl = open_slots(g, "cpu:1");
    sl->n = 2; /* on a machine of one core, too */
    sl->slot[1] = sl->slot[0];
    sl->device[0].free_bytes = 1000;
    take_slot(sl, 600, 0);
    assert_int_equal(find_slot(sl, 1, 600), -1);
    assert_int_equal(find_slot(sl, 1, 400), 1);
    leave(sl, 0);
    assert_int_equal(find_slot(sl, 1, 5000), 0); /* alone: the planned bytes may be too careful */
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

TEST_WITH(struct toy_grid *g, a_run_goes_to_a_gpu_that_can_hold_it)
{
    struct slots *sl = open_slots(g, "cpu");
    put_gpus(sl);
    take_slot(sl, 1500, 1);
    take_slot(sl, 1500, 2);
    assert_int_equal(find_slot(sl, 1, 1500), -1); /* the first is idle but too small */
    take_slot(sl, 1000, 0);
}

/* A training on all of them: of one model, and each process in the memory of its own. */
TEST_WITH(struct toy_grid *g, several_ranks_need_room_on_each_gpu)
{
    struct slots *sl = open_slots(g, "cpu");
    put_gpus(sl);
    assert_int_equal(find_slot(sl, 2, 10), -1); /* of unknown models */
    for (int32_t i = 0; i < 3; i++) snprintf(sl->device[i].model, 16, "H100");
    assert_int_equal(find_slot(sl, 3, 1000), 0);
    assert_int_equal(find_slot(sl, 2, 1500), 1);
    assert_int_equal(find_slot(sl, 2, 5000), 1); /* the largest may try */
    take_slot(sl, 500, 0);
    assert_int_equal(find_slot(sl, 3, 1000), -1);
    take_slot(sl, 2500, 1);
    assert_int_equal(find_slot(sl, 2, 500), -1);
    assert_int_equal(slots_retire_device(sl, 2, ""), 2);
}

TEST_WITH(struct toy_grid *g, several_ranks_share_the_memory_of_a_processor)
{
    struct slots *sl = open_slots(g, "cpu:1");
    sl->n = 4;
    for (int32_t i = 1; i < 4; i++) sl->slot[i] = sl->slot[0];
    sl->device[0].free_bytes = 1000;
    take_slot(sl, 100, 0);
    assert_int_equal(find_slot(sl, 2, 450), 1);
    assert_int_equal(find_slot(sl, 2, 451), -1);
    assert_int_equal(find_slot(sl, 3, 300), 1);
    assert_int_equal(find_slot(sl, 4, 1), -1);
}

TEST_WITH(struct toy_grid *g, a_lost_gpu_gets_nothing_more)
{
    struct slots *sl = open_slots(g, "cpu");
    put_gpus(sl);
    take_slot(sl, 2500, 1);
    assert_int_equal(slots_retire_device(sl, 1, "it fell off the bus"), 2);
    leave(sl, 1);
    assert_string_equal(sl->device[1].unusable, "it fell off the bus");
    assert_int_equal(slots_free_n(sl), 2);
    assert_ptr_equal(slots_largest(sl), &sl->device[2]);
    take_slot(sl, 2500, 2); /* the largest that is left may try */
    assert_int_equal(slots_retire_device(sl, 2, ""), 1);
    assert_int_equal(slots_retire_device(sl, 0, ""), 0);
    assert_int_equal(find_slot(sl, 1, 1), -1);
}

TEST_WITH(struct toy_grid *g, a_gpu_on_which_worker_after_worker_dies_is_disabled)
{
    struct slots *sl = open_slots(g, "cpu");
    put_gpus(sl);
    for (int32_t tries = 0; tries < 5; tries++) /* one run: the run is to blame */
        assert_false(slots_note_failure(sl, 1, 7, true));
    assert_false(slots_note_failure(sl, 1, 8, false)); /* this one got somewhere */
    assert_false(slots_note_failure(sl, 1, 7, true));
    assert_false(slots_note_failure(sl, 1, 7, true));
    assert_false(slots_note_failure(sl, 0, 8, true)); /* another device's */
    assert_true(slots_note_failure(sl, 1, 8, true));
    (void)slots_retire_device(sl, 1, "");
    (void)slots_retire_device(sl, 2, "");
    for (int32_t run = 9; run < 15; run++) /* the last that is left */
        assert_false(slots_note_failure(sl, 0, run, true));
}
