/* test_queue.c - order, groups and consequences, without a process. */
#include "harness/test.h"

#include <string.h>

#include "scheduler/attempt.h"
#include "scheduler/call.h"
#include "scheduler/progress.h"
#include "scheduler/queue.h"
#include "scheduler/slots.h"
#include "scheduler/toy_grid.h"
#include "shape/shape.h"
#include "store/ingest.h"

static void open_queue(struct toy_grid *g)
{
    toy_grid_open_store(g);
    assert_int_equal(queue_init(&g->queue, &g->arena, g->store, g->run, g->n, &g->options, &g->e),
                     0);
}

/* The next worker's runs while so many slots are free, on a device of 2000 bytes. */
static int32_t next_runs(struct toy_grid *g, bool idle, int32_t slots_free)
{
    g->slots = (struct slots){.running_n = {!idle}, .n = slots_free, .ranks_n = 1};
    g->slots.device[0].free_bytes = 2000;
    g->slots.slot = arena_array(&g->arena, (size_t)slots_free, sizeof *g->slots.slot);
    int32_t n = queue_next(&g->queue, idle, &g->slots);
    queue_start(&g->queue, g->queue.pick, n);
    return n;
}

TEST_EACH(toy_grid_setup, toy_grid_teardown)

TEST_WITH(struct toy_grid *g, the_longest_training_comes_first)
{
    for (int32_t i = 0; i < 3; i++) toy_grid_train(g, 64 + i);
    g->run[1].flops = 5e9;
    g->run[2].flops = 2e9;
    open_queue(g);
    static const int32_t expected[] = {1, 2, 0};
    for (int32_t i = 0; i < 3; i++) {
        assert_int_equal(next_runs(g, true, 1), 1);
        assert_int_equal(g->queue.pick[0], expected[i]);
    }
    assert_int_equal(next_runs(g, true, 1), 0);
}

TEST_WITH(struct toy_grid *g, what_is_not_defined_does_not_run)
{
    int32_t train = toy_grid_train(g, 64);
    g->run[train].spec.model.position = SPEC_LEARNED;
    int32_t within = toy_grid_evaluate(g, train, 64);
    int32_t beyond = toy_grid_evaluate(g, train, 65);
    open_queue(g);
    assert_int_equal(g->queue.entry[within].state, RUN_WAITING);
    assert_int_equal(g->queue.entry[beyond].state, RUN_SKIPPED);
}

TEST_WITH(struct toy_grid *g, evaluations_come_as_soon_as_their_training_is_done)
{
    int32_t first = toy_grid_family(g, 64);
    int32_t second = toy_grid_family(g, 128);
    open_queue(g);
    assert_int_equal(next_runs(g, true, 1), 1);
    assert_int_equal(g->queue.pick[0], first);
    assert_int_equal(queue_end(&g->queue, first, STORE_DONE, false), RUN_DONE);
    assert_int_equal(next_runs(g, true, 1), 3);
    assert_int_equal(g->queue.pick[0], first + 1);
    assert_int_equal(next_runs(g, true, 1), 1);
    assert_int_equal(g->queue.pick[0], second);
    assert_int_equal(next_runs(g, true, 1), 0); /* its evaluations wait */
}

TEST_WITH(struct toy_grid *g, evaluations_are_spread_when_slots_would_stay_empty)
{
    int32_t train = toy_grid_family(g, 64);
    open_queue(g);
    next_runs(g, true, 2);
    queue_end(&g->queue, train, STORE_DONE, false);
    assert_int_equal(next_runs(g, true, 2), 2);
    assert_int_equal(next_runs(g, false, 1), 1);
}

TEST_WITH(struct toy_grid *g, sliding_windows_of_stride_1_stay_together)
{
    int32_t train = toy_grid_family(g, 64);
    for (int32_t i = 1; i <= 3; i++) {
        struct run *run = &g->run[train + i];
        run->spec.eval.window = SPEC_SLIDING;
        run->spec.eval.stride = 1;
        spec_run_id(&run->spec, run->run_id);
    }
    open_queue(g);
    next_runs(g, true, 4);
    queue_end(&g->queue, train, STORE_DONE, false);
    assert_int_equal(next_runs(g, true, 4), 3); /* one pass serves all three */
}

TEST_WITH(struct toy_grid *g, evaluations_of_one_datastore_stay_together)
{
    int32_t train = toy_grid_family(g, 64);
    for (int32_t i = 1; i <= 3; i++) {
        struct spec *s = &g->run[train + i].spec;
        s->eval.knn = (struct spec_knn){.neighbours = 4, .temperature = i, .keys = i == 3 ? 9 : 0};
        s->eval.split = i == 2 ? SPEC_TEST : SPEC_VALID;
        spec_run_id(s, g->run[train + i].run_id);
    }
    open_queue(g);
    next_runs(g, true, 4);
    queue_end(&g->queue, train, STORE_DONE, false);
    assert_int_equal(next_runs(g, true, 4), 2);  /* also of another split */
    assert_int_equal(next_runs(g, false, 3), 1); /* another number of keys */
}

TEST_WITH(struct toy_grid *g, speed_is_measured_last_and_alone)
{
    int32_t bench = toy_grid_bench(g, 64), train = toy_grid_train(g, 64);
    open_queue(g);
    assert_int_equal(next_runs(g, true, 2), 1);
    assert_int_equal(g->queue.pick[0], train);
    assert_int_equal(next_runs(g, false, 1), 0);
    queue_end(&g->queue, train, STORE_DONE, false);
    assert_int_equal(next_runs(g, true, 2), 1);
    assert_int_equal(g->queue.pick[0], bench);
}

TEST_WITH(struct toy_grid *g, a_job_without_room_lets_a_smaller_one_pass)
{
    int32_t large = toy_grid_train(g, 64), small = toy_grid_train(g, 65);
    g->run[large].device_bytes = 3000;
    open_queue(g);
    assert_int_equal(next_runs(g, false, 1), 1);
    assert_int_equal(g->queue.pick[0], small);
}

/* --- trainings by several ranks --- */

/* Slots of one device of 2000 bytes, with room for every process. */
static void open_slots(struct toy_grid *g, int32_t slots_n, int32_t ranks_n)
{
    open_queue(g);
    g->slots = (struct slots){.n = slots_n, .ranks_n = ranks_n};
    g->slots.device[0].free_bytes = 1000000;
    g->slots.slot = arena_array(&g->arena, (size_t)slots_n, sizeof *g->slots.slot);
}

/* Starts the next worker; returns its first run, -1: none. slot: where its slots are written. */
static int32_t start_worker(struct toy_grid *g, int32_t *slot)
{
    int32_t n = queue_next(&g->queue, false, &g->slots);
    if (n == 0) return -1;
    int32_t run = g->queue.pick[0];
    const struct slots_need need = queue_need(&g->queue, &g->slots, &run, 1);
    int32_t slots_n = slots_find(&g->slots, &need, slot);
    assert_int_equal(slots_n, slots_ranks(&g->slots, &g->run[run].spec));
    slots_take(&g->slots, slot, slots_n, need.bytes, g->run[run].spec.kind == SPEC_EVAL);
    queue_start(&g->queue, g->queue.pick, n);
    return run;
}

static void end_run(struct toy_grid *g, int32_t run, const int32_t *slot)
{
    slots_leave(&g->slots, slot, slots_ranks(&g->slots, &g->run[run].spec));
    queue_end(&g->queue, run, STORE_DONE, false);
}

/* A training with three evaluations that do not share a worker. */
static int32_t add_apart(struct toy_grid *g, int32_t L)
{
    int32_t train = toy_grid_family(g, L);
    for (int32_t i = 1; i <= 3; i++) {
        g->run[train + i].spec.eval.checkpoint = i == 1 ? SPEC_BEST : SPEC_LAST;
        g->run[train + i].spec.eval.precision = i == 2 ? SPEC_BF16 : SPEC_FP32;
    }
    return train;
}

TEST_WITH(struct toy_grid *g, a_training_takes_as_many_slots_as_ranks_and_gives_them_back)
{
    int32_t slot[4], second = toy_grid_train(g, 65), first = toy_grid_train(g, 64);
    g->run[first].flops = 5e9;
    open_slots(g, 5, 4);
    assert_int_equal(start_worker(g, slot), first);
    assert_int_equal(slots_free_n(&g->slots), 1);
    assert_int_equal(start_worker(g, (int32_t[4]){0}), -1);
    end_run(g, first, slot);
    assert_int_equal(slots_free_n(&g->slots), 5);
    assert_int_equal(start_worker(g, slot), second);
}

TEST_WITH(struct toy_grid *g, with_fewer_ranks_than_planned_each_needs_more_memory)
{
    int32_t train = toy_grid_train(g, 64);
    g->options.ranks_n = 4;
    g->run[train].device_bytes = shape_rank_bytes(&g->run[train].spec, 4, NULL);
    open_slots(g, 4, 4);
    assert_int_equal(queue_need(&g->queue, &g->slots, &train, 1).bytes, g->run[train].device_bytes);
    g->slots.ranks_n = 2;
    int64_t bytes = queue_need(&g->queue, &g->slots, &train, 1).bytes;
    assert_int_equal(bytes, shape_rank_bytes(&g->run[train].spec, 2, NULL));
    assert_true(bytes > g->run[train].device_bytes);
}

/* Four slots, two ranks: while a training waits for slots, the evaluations of another one that
 * ends meanwhile do not take them. */
TEST_WITH(struct toy_grid *g, later_evaluations_do_not_starve_a_training)
{
    int32_t early = add_apart(g, 64), late = add_apart(g, 128), big = toy_grid_train(g, 256);
    int32_t slot[4][4], unused[4];
    open_slots(g, 4, 2);
    assert_int_equal(start_worker(g, slot[0]), early);
    assert_int_equal(start_worker(g, slot[1]), late);
    end_run(g, early, slot[0]);
    for (int32_t i = 0; i < 2; i++) assert_int_equal(start_worker(g, slot[2 + i]), early + 1 + i);
    end_run(g, early + 1, slot[2]);
    /* One slot is free and the training lacks one: what could start by now goes first. */
    assert_int_equal(start_worker(g, slot[0]), early + 3);
    end_run(g, late, slot[1]);
    /* Two slots are free; the training comes before the evaluations that became ready. */
    end_run(g, early + 2, slot[3]);
    assert_int_equal(g->queue.waits, big);
    assert_int_equal(start_worker(g, slot[1]), big);
    assert_int_equal(start_worker(g, slot[2]), late + 1);
    assert_int_equal(start_worker(g, unused), -1);
}

/* A slot that the training could not use anyway does not stay empty. */
TEST_WITH(struct toy_grid *g, an_evaluation_does_not_wait_for_a_training_that_waits_for_trainings)
{
    int32_t first = add_apart(g, 64), second = add_apart(g, 128);
    int32_t slot[4][4];
    toy_grid_train(g, 256);
    open_slots(g, 5, 2);
    assert_int_equal(start_worker(g, slot[0]), first);
    assert_int_equal(start_worker(g, slot[1]), second);
    g->slots.ranks_n = 4;
    assert_int_equal(start_worker(g, slot[2]), -1);
    g->slots.ranks_n = 2;
    end_run(g, first, slot[0]);
    g->slots.ranks_n = 4;
    assert_int_equal(start_worker(g, slot[2]), first + 1);
    assert_int_equal(start_worker(g, slot[3]), first + 2);
}

TEST_WITH(struct toy_grid *g, evaluations_use_all_slots_of_a_training_that_needs_all)
{
    int32_t slot[4], train = toy_grid_family(g, 64);
    toy_grid_train(g, 128);
    open_slots(g, 4, 4);
    assert_int_equal(start_worker(g, slot), train);
    end_run(g, train, slot);
    for (int32_t i = 1; i <= 3; i++) assert_int_equal(start_worker(g, slot), train + i);
}

TEST_WITH(struct toy_grid *g, tries_are_counted_and_dependent_evaluations_are_blocked)
{
    int32_t train = toy_grid_family(g, 64);
    g->options.tries = 2;
    open_queue(g);
    next_runs(g, true, 1);
    assert_int_equal(queue_end(&g->queue, train, STORE_LOST, false), RUN_WAITING);
    next_runs(g, true, 1);
    assert_int_equal(queue_end(&g->queue, train, STORE_FAILED, false), RUN_FAILED);
    for (int32_t i = 1; i <= 3; i++) assert_int_equal(g->queue.entry[train + i].state, RUN_BLOCKED);
    assert_int_equal(next_runs(g, true, 1), 0);
}

TEST_WITH(struct toy_grid *g, an_evaluation_before_its_training_is_an_internal_error)
{
    toy_grid_family(g, 64);
    toy_grid_open_store(g);
    g->run[1].train = 2;
    assert_int_equal(queue_init(&g->queue, &g->arena, g->store, g->run, g->n, &g->options, &g->e),
                     ERR_INTERNAL);
}

TEST_EACH(NULL, NULL)

TEST(the_time_left_follows_from_the_speed_reached)
{
    struct progress_work st = {.slots_n = 2, .flops_left = 600, .flops_longest_left = 100};
    assert_true(progress_eta(&st) < 0); /* nothing measured yet */
    st.flops_done = 100;
    st.worker_s = 10; /* 10 FLOP a second and worker */
    assert_true(progress_eta(&st) == 30);
    st.flops_longest_left = 500; /* one run alone takes longer */
    assert_true(progress_eta(&st) == 50);
}

TEST_EACH(toy_grid_setup, toy_grid_teardown)

TEST_WITH(struct toy_grid *g, the_progress_line_has_no_rate_and_no_time_before_they_are_known)
{
    struct attempt at = {.slots_n = 1};
    struct attempt *running[] = {&at};
    struct scheduler sc = {.options = &g->options,
                           .running = running,
                           .running_n = 1,
                           .slots = {.n = 1},
                           .progress = {.headline = "toy"}};
    const struct {
        double wps, flops_done;
        const char *line;
    } rows[] = {{0, 0, "toy: 0/0 done, 1 running"},
                {1200, 0, "toy: 0/0 done, 1 running, 1,200 tokens/s"},
                {0, 10, "toy: 0/0 done, 1 running, about 0.0s left"}};

    at.start_us = scheduler_now_us(&sc);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct strbuf line;
        strbuf_init(&line, &g->arena);
        at.journal.wps = rows[i].wps;
        sc.flops_done = rows[i].flops_done;
        sc.worker_s = rows[i].flops_done;
        progress_format(&line, &sc);
        assert_string_equal(line.text, rows[i].line);
    }
}

TEST_WITH(struct toy_grid *g, jobs_have_names_for_people)
{
    char name[PROGRESS_NAME_BYTES];
    int32_t train = toy_grid_family(g, 64);
    progress_name(name, &g->run[train].spec);
    assert_string_equal(name, "train alibi L=64 seed 1");
    progress_name(name, &g->run[train + 2].spec);
    assert_string_equal(name, "evaluate alibi L=64 at 128");
}

/* A training that an older program did. */
static void insert_done(struct toy_grid *g, int32_t run)
{
    const struct store_attempt row = {
        .run_id = g->run[run].run_id, .attempt = 1, .device = "cpu", .dir = "runs/x/1"};
    const struct store_end done = {.state = STORE_DONE, .exit_code = -1, .signal = -1};
    struct event started = {.sequence = 1, .type = EVENT_STARTED},
                 trained = {.sequence = 2, .type = EVENT_TRAINED};
    int64_t attempt_id;

    started.json = json_pack("{s:s,s:s}", "device", "cpu", "code_id", "older");
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

TEST_WITH(struct toy_grid *g, stale_trains_again_what_was_trained_but_not_what_was_imported)
{
    int32_t trained = toy_grid_train(g, 64), imported = toy_grid_train(g, 128);
    const struct record_source record = {.run_id = g->run[imported].run_id,
                                         .kind = "checkpoint",
                                         .name = "a.pt",
                                         .path = "imported.safetensors",
                                         .sha256 = "abc",
                                         .code_id = "older"};
    const struct store_source source = {.record = &record, .attempt = 1, .dir = "runs/x/1"};

    toy_grid_open_store(g);
    insert_done(g, trained);
    assert_int_equal(store_add_source(g->store, &source, &g->e), 0);
    g->options.pick = PICK_STALE;
    assert_int_equal(queue_init(&g->queue, &g->arena, g->store, g->run, g->n, &g->options, &g->e),
                     0);
    assert_int_equal(g->queue.entry[trained].state, RUN_WAITING);
    assert_int_equal(g->queue.entry[imported].state, RUN_SKIPPED);
    assert_true(g->queue.entry[imported].was_done);
}

/* A training that continues another one, with its evaluation. */
static int32_t continue_training(struct toy_grid *g, int32_t parent, int32_t L)
{
    int32_t child = toy_grid_train(g, L);

    memcpy(g->run[child].spec.train.from, g->run[parent].run_id, SPEC_ID_BYTES);
    spec_run_id(&g->run[child].spec, g->run[child].run_id);
    g->run[child].train = parent;
    toy_grid_evaluate(g, child, L);
    return child;
}

TEST_WITH(struct toy_grid *g, a_training_waits_for_its_parent)
{
    int32_t parent = toy_grid_train(g, 64), child = continue_training(g, parent, 128);

    g->run[child].flops = 1e12;
    open_queue(g);
    assert_int_equal(next_runs(g, true, 2), 1);
    assert_int_equal(g->queue.pick[0], parent);
    assert_int_equal(next_runs(g, false, 1), 0);
    queue_end(&g->queue, parent, STORE_DONE, false);
    assert_int_equal(next_runs(g, true, 2), 1);
    assert_int_equal(g->queue.pick[0], child);
}

TEST_WITH(struct toy_grid *g, a_failed_parent_blocks_all_that_rests_on_it)
{
    int32_t parent = toy_grid_train(g, 64), child = continue_training(g, parent, 128);

    continue_training(g, child, 256);
    open_queue(g);
    next_runs(g, true, 1);
    queue_end(&g->queue, parent, STORE_DIVERGED, false);
    assert_int_equal(next_runs(g, true, 1), 0);
    for (int32_t i = child; i < g->n; i++) assert_int_equal(g->queue.entry[i].state, RUN_BLOCKED);
}
