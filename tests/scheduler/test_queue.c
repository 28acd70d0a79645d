/* test_queue.c - order, groups and consequences, without a process. */
#include "harness/test.h"

#include "scheduler/scheduler_internal.h"
#include "scheduler/toy_grid.h"
#include "store/ingest.h"

struct bench_of_queue {
    struct toy_grid grid;
    struct queue queue;
    int32_t pick[TOY_JOBS_MAX];
};

static int setup(void **state)
{
    struct bench_of_queue *b = calloc(1, sizeof *b);
    toy_grid_open(&b->grid);
    *state = b;
    return 0;
}

static int teardown(void **state)
{
    struct bench_of_queue *b = *state;
    toy_grid_close(&b->grid);
    free(b);
    return 0;
}

static void open_queue(struct bench_of_queue *b)
{
    struct toy_grid *g = &b->grid;
    toy_grid_open_store(g);
    assert_int_equal(queue_init(&b->queue, &g->arena, g->store, g->job, g->n, &g->options, &g->e),
                     0);
}

/* The next worker's tasks while so many slots are free, on a device of 2000 bytes. */
static int32_t next(struct bench_of_queue *b, bool idle, int32_t slots_free)
{
    struct slots *slots = arena_array(&b->grid.arena, 1, sizeof *slots);
    slots->device[0].free_bytes = 2000;
    slots->running_n[0] = !idle;
    slots->n = slots_free;
    slots->slot = arena_array(&b->grid.arena, (size_t)slots_free, sizeof *slots->slot);
    int32_t n = queue_next(&b->queue, b->pick, idle, slots);
    queue_start(&b->queue, b->pick, n);
    return n;
}

TEST_EACH(setup, teardown)

TEST_WITH(struct bench_of_queue *b, the_longest_training_comes_first)
{
    for (int32_t i = 0; i < 3; i++) toy_grid_train(&b->grid, 64 + i);
    b->grid.job[1].flops = 5e9;
    b->grid.job[2].flops = 2e9;
    open_queue(b);
    static const int32_t expected[] = {1, 2, 0};
    for (int32_t i = 0; i < 3; i++) {
        assert_int_equal(next(b, true, 1), 1);
        assert_int_equal(b->pick[0], expected[i]);
    }
    assert_int_equal(next(b, true, 1), 0);
}

TEST_WITH(struct bench_of_queue *b, what_is_not_defined_does_not_run)
{
    int32_t train = toy_grid_train(&b->grid, 64);
    b->grid.job[train].spec.model.position = SPEC_LEARNED;
    int32_t within = toy_grid_evaluate(&b->grid, train, 64);
    int32_t beyond = toy_grid_evaluate(&b->grid, train, 65);
    open_queue(b);
    assert_int_equal(b->queue.task[within].state, RUN_WAITING);
    assert_int_equal(b->queue.task[beyond].state, RUN_SKIPPED);
}

TEST_WITH(struct bench_of_queue *b, evaluations_come_as_soon_as_their_training_is_done)
{
    int32_t first = toy_grid_family(&b->grid, 64);
    int32_t second = toy_grid_family(&b->grid, 128);
    open_queue(b);
    assert_int_equal(next(b, true, 1), 1);
    assert_int_equal(b->pick[0], first);
    assert_int_equal(queue_end(&b->queue, first, STORE_DONE, false), RUN_DONE);
    assert_int_equal(next(b, true, 1), 3);
    assert_int_equal(b->pick[0], first + 1);
    assert_int_equal(next(b, true, 1), 1);
    assert_int_equal(b->pick[0], second);
    assert_int_equal(next(b, true, 1), 0); /* its evaluations wait */
}

TEST_WITH(struct bench_of_queue *b, evaluations_are_spread_when_slots_would_stay_empty)
{
    int32_t train = toy_grid_family(&b->grid, 64);
    open_queue(b);
    next(b, true, 2);
    queue_end(&b->queue, train, STORE_DONE, false);
    assert_int_equal(next(b, true, 2), 2);
    assert_int_equal(next(b, false, 1), 1);
}

TEST_WITH(struct bench_of_queue *b, sliding_windows_of_stride_1_stay_together)
{
    int32_t train = toy_grid_family(&b->grid, 64);
    for (int32_t i = 1; i <= 3; i++) {
        struct run *job = &b->grid.job[train + i];
        job->spec.eval.window = SPEC_SLIDING;
        job->spec.eval.stride = 1;
        spec_run_id(&job->spec, job->run_id);
    }
    open_queue(b);
    next(b, true, 4);
    queue_end(&b->queue, train, STORE_DONE, false);
    assert_int_equal(next(b, true, 4), 3); /* one pass serves all three */
}

TEST_WITH(struct bench_of_queue *b, speed_is_measured_last_and_alone)
{
    int32_t bench = toy_grid_bench(&b->grid, 64), train = toy_grid_train(&b->grid, 64);
    open_queue(b);
    assert_int_equal(next(b, true, 2), 1);
    assert_int_equal(b->pick[0], train);
    assert_int_equal(next(b, false, 1), 0);
    queue_end(&b->queue, train, STORE_DONE, false);
    assert_int_equal(next(b, true, 2), 1);
    assert_int_equal(b->pick[0], bench);
}

TEST_WITH(struct bench_of_queue *b, a_job_without_room_lets_a_smaller_one_pass)
{
    int32_t large = toy_grid_train(&b->grid, 64), small = toy_grid_train(&b->grid, 65);
    b->grid.job[large].device_bytes = 3000;
    open_queue(b);
    assert_int_equal(next(b, false, 1), 1);
    assert_int_equal(b->pick[0], small);
}

TEST_WITH(struct bench_of_queue *b, tries_are_counted_and_dependent_evaluations_are_blocked)
{
    int32_t train = toy_grid_family(&b->grid, 64);
    b->grid.options.tries = 2;
    open_queue(b);
    next(b, true, 1);
    assert_int_equal(queue_end(&b->queue, train, STORE_LOST, false), RUN_WAITING);
    next(b, true, 1);
    assert_int_equal(queue_end(&b->queue, train, STORE_FAILED, false), RUN_FAILED);
    for (int32_t i = 1; i <= 3; i++) assert_int_equal(b->queue.task[train + i].state, RUN_BLOCKED);
    assert_int_equal(next(b, true, 1), 0);
}

TEST_WITH(struct bench_of_queue *b, an_evaluation_before_its_training_is_an_internal_error)
{
    struct toy_grid *g = &b->grid;
    toy_grid_family(g, 64);
    toy_grid_open_store(g);
    g->job[1].train = 2;
    assert_int_equal(queue_init(&b->queue, &g->arena, g->store, g->job, g->n, &g->options, &g->e),
                     ERR_INTERNAL);
}

TEST_EACH(NULL, NULL)

TEST(the_time_left_follows_from_the_speed_reached)
{
    struct progress_state st = {.slots_n = 2, .flops_left = 600, .flops_longest_left = 100};
    assert_true(progress_eta(&st) < 0); /* nothing measured yet */
    st.flops_done = 100;
    st.worker_s = 10; /* 10 FLOP a second and worker */
    assert_true(progress_eta(&st) == 30);
    st.flops_longest_left = 500; /* one run alone takes longer */
    assert_true(progress_eta(&st) == 50);
}

TEST_EACH(setup, teardown)

TEST_WITH(struct bench_of_queue *b, jobs_have_names_for_people)
{
    char name[PROGRESS_NAME_BYTES];
    int32_t train = toy_grid_family(&b->grid, 64);
    progress_name(name, &b->grid.job[train].spec);
    assert_string_equal(name, "train alibi L=64 seed 1");
    progress_name(name, &b->grid.job[train + 2].spec);
    assert_string_equal(name, "evaluate alibi L=64 at 128");
}

/* A training that is done by an older program, here or elsewhere. */
static void finish(struct toy_grid *g, int32_t job, const char *slot)
{
    const struct store_attempt row = {
        .run_id = g->job[job].run_id, .attempt = 1, .device = slot, .dir = "runs/x/1"};
    const struct store_end done = {.state = STORE_DONE, .exit_code = -1, .signal = -1};
    struct event started = {.sequence = 1, .type = EVENT_STARTED},
                 trained = {.sequence = 2, .type = EVENT_TRAINED};
    int64_t attempt_id;

    started.json = json_pack("{s:s,s:s}", "device", slot, "code_id", "older");
    trained.json = json_pack("{s:s,s:i,s:i,s:f}", "run_id", row.run_id, "updates", 8,
                             "tokens_per_update", 10, "final_loss_nats", 3.5);
    if (store_start_attempt(g->store, &row, &attempt_id, &g->e) < 0 ||
        store_ingest(g->store, attempt_id, &started, &g->e) < 0 ||
        store_ingest(g->store, attempt_id, &trained, &g->e) < 0 ||
        store_end_attempt(g->store, attempt_id, &done, &g->e) < 0)
        fail_msg("%s", g->e.text);
    json_decref(started.json);
    json_decref(trained.json);
}

TEST_WITH(struct bench_of_queue *b, stale_trains_again_what_was_trained_but_not_what_was_imported)
{
    int32_t trained = toy_grid_train(&b->grid, 64), imported = toy_grid_train(&b->grid, 128);

    toy_grid_open_store(&b->grid);
    finish(&b->grid, trained, "cpu");
    finish(&b->grid, imported, "imported");
    b->grid.options.pick = PICK_STALE;
    assert_int_equal(queue_init(&b->queue, &b->grid.arena, b->grid.store, b->grid.job, b->grid.n,
                                &b->grid.options, &b->grid.e),
                     0);
    assert_int_equal(b->queue.task[trained].state, RUN_WAITING);
    assert_int_equal(b->queue.task[imported].state, RUN_SKIPPED);
    assert_true(b->queue.task[imported].was_done);
}
