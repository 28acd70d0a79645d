/* test_scheduler.c - what becomes of a run: every way a worker can end, retries, groups, picks. */
#include "harness/test.h"

#include <string.h>

#include "base/file.h"
#include "scheduler/toy_grid.h"

TEST_EACH(toy_grid_setup, toy_grid_teardown)

TEST_WITH(struct toy_grid *g, a_grid_runs_to_its_end_and_then_nothing_is_left)
{
    g->options.devices = "cpu:2";
    toy_grid_family(g, 64);
    toy_grid_family(g, 128);
    assert_int_equal(toy_grid_run(g), 0);
    assert_int_equal(g->result.wanted, 8);
    assert_int_equal(g->result.done, 8);
    assert_count(g, 6, "SELECT count(*) FROM evaluations");
    assert_count(g, 2, "SELECT count(*) FROM trainings");
    toy_grid_complete(g, 0);
    assert_int_equal(g->result.already_done, 8);
    assert_count(g, 8, "SELECT count(*) FROM attempts");
}

TEST_WITH(struct toy_grid *g, evaluations_of_one_training_share_a_worker)
{
    int32_t train = toy_grid_family(g, 64);
    assert_int_equal(toy_grid_run(g), 0);
    assert_count(g, 2, "SELECT count(DISTINCT log_path) FROM attempts");
    const char *first = arena_printf(&g->arena, "runs/%s/1/", g->job[train + 1].run_id);
    const char *spec = toy_grid_read(g, arena_printf(&g->arena, "%sspec", first));
    const char *second = strstr(spec, "\n---\n");
    assert_non_null(second);
    assert_non_null(strstr(second + 1, "\n---\n"));
    assert_non_null(strstr(spec, "eval.L=64\n"));
    assert_non_null(strstr(spec, "eval.L=192\n"));
}

TEST_WITH(struct toy_grid *g, evaluations_of_another_split_get_their_own_worker)
{
    int32_t train = toy_grid_family(g, 64);
    int32_t other = toy_grid_evaluate(g, train, 64);
    g->job[other].spec.eval.split = SPEC_TEST;
    spec_run_id(&g->job[other].spec, g->job[other].run_id);
    assert_int_equal(toy_grid_run(g), 0);
    assert_count(g, 3, "SELECT count(DISTINCT log_path) FROM attempts");
}

TEST_WITH(struct toy_grid *g, a_run_that_fails_twice_succeeds_at_the_third_try)
{
    int32_t train = toy_grid_family(g, 64);
    toy_grid_script(g, train, "fail 2", -1);
    toy_grid_complete(g, 4);
    assert_int_equal(toy_grid_attempts(g, train), 3);
    assert_attempts(g, 2, "state='failed' AND message LIKE '%12 bytes of last%' AND exit_code=74");
}

TEST_WITH(struct toy_grid *g, a_run_whose_tries_are_used_up_has_failed)
{
    int32_t bad = toy_grid_family(g, 128), good = toy_grid_family(g, 64);
    toy_grid_script(g, bad, "crash", -1);
    g->options.tries = 2;
    toy_grid_fail(g, ERR_INTERNAL, "no such table");
    assert_non_null(
        strstr(g->e.text, arena_printf(&g->arena, "runs/%s/2/log", g->job[bad].run_id)));
    assert_int_equal(g->result.failed, 1);
    assert_int_equal(g->result.done, 0);
    assert_int_equal(g->result.not_started, 7);
    assert_int_equal(toy_grid_last(g, good), STORE_NONE);
}

TEST_WITH(struct toy_grid *g, with_keep_going_the_others_are_still_done)
{
    int32_t bad = toy_grid_family(g, 128);
    toy_grid_family(g, 64);
    toy_grid_script(g, bad, "fail", -1);
    g->options.keep_going = true;
    assert_int_equal(toy_grid_run(g), ERR_INTERNAL);
    assert_int_equal(g->result.failed, 1);
    assert_int_equal(g->result.done, 4);
    assert_int_equal(g->result.not_started, 3);
    /* The same command tries the failed one again, and what waited for it. */
    toy_grid_script(g, -1);
    toy_grid_complete(g, 4);
}

TEST_WITH(struct toy_grid *g, a_killed_worker_is_lost_and_retried)
{
    int32_t train = toy_grid_train(g, 64);
    toy_grid_script(g, train, "die 1", -1);
    assert_int_equal(toy_grid_run(g), 0);
    assert_attempts(g, 1, "state='lost' AND signal=9");
    assert_int_equal(toy_grid_last(g, train), STORE_DONE);
}

TEST(a_run_whose_blas_fails_is_retried_with_another)
{
    static const char *const actions[] = {"blas_dies", "blas_fails"};

    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++) {
        struct toy_grid *g;
        toy_grid_setup((void **)&g);
        int32_t train = toy_grid_train(g, 64);
        toy_grid_script(g, train, actions[i], -1);
        if (toy_grid_run(g) != 0) fail_msg("%s: %s", actions[i], g->e.text);
        assert_int_equal(toy_grid_attempts(g, train), 2);
        assert_attempts(g, 1, "state='done' AND blas LIKE 'OpenBLAS%'");
        toy_grid_teardown((void **)&g);
    }
}

TEST_WITH(struct toy_grid *g, a_torn_record_costs_the_attempt_and_nothing_else)
{
    int32_t train = toy_grid_train(g, 64);
    toy_grid_script(g, train, "tear 1", -1);
    assert_int_equal(toy_grid_run(g), 0);
    assert_count(g, 1, "SELECT count(*) FROM trainings");
    assert_int_equal(toy_grid_attempts(g, train), 2);
}

TEST_WITH(struct toy_grid *g, a_diverged_training_is_final_and_not_an_error)
{
    int32_t train = toy_grid_family(g, 64);
    toy_grid_family(g, 128);
    toy_grid_script(g, train, "diverge", -1);
    for (int call = 0; call < 2; call++) {
        assert_int_equal(toy_grid_run(g), 0);
        assert_int_equal(g->result.diverged, 1);
        assert_int_equal(g->result.not_started, 3);
        assert_int_equal(toy_grid_attempts(g, train), 1);
    }
    assert_count(g, 3, "SELECT count(*) FROM evaluations");
    toy_grid_script(g, -1);
    g->options.pick = PICK_FAILED;
    toy_grid_complete(g, 4);
    assert_count(g, 6, "SELECT count(*) FROM evaluations");
}

/* Each of these ends is a failure, whatever the worker claims. */
TEST_WITH(struct toy_grid *g, success_needs_a_last_record_a_result_and_exit_0)
{
    static const char *const actions[][2] = {{"empty", "without the result"},
                                             {"mute", "without a last record"},
                                             {"lie", "exit 3"},
                                             {"stray", "not its own"},
                                             {"malformed", "done"}};
    int32_t train = toy_grid_train(g, 64);
    g->options.tries = 1;
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++) {
        toy_grid_script(g, train, actions[i][0], -1);
        assert_int_equal(toy_grid_run(g), ERR_INTERNAL);
        if (!strstr(g->e.text, actions[i][1])) fail_msg("%s: %s", actions[i][0], g->e.text);
        assert_int_equal(g->result.failed, 1);
        assert_int_equal(toy_grid_last(g, train), STORE_FAILED);
    }
    assert_count(g, 0, "SELECT count(*) FROM trainings");
}

TEST_WITH(struct toy_grid *g, a_silent_worker_is_killed_and_lost)
{
    int32_t train = toy_grid_train(g, 64);
    toy_grid_script(g, train, "hang 1", -1);
    pid_t pid = toy_grid_fork(g);
    toy_grid_await_count(g, "SELECT count(*) FROM progress WHERE done=4", 1); /* its last record */
    toy_grid_pass(g, TOY_STALL_S + 1);
    toy_grid_join(g, pid, 0);
    assert_attempts(g, 1, "state='lost' AND message LIKE 'no record for%'");
}

TEST_WITH(struct toy_grid *g, a_group_that_failed_is_retried_one_by_one)
{
    int32_t train = toy_grid_family(g, 64);
    toy_grid_script(g, train + 1, "fail", -1);
    g->options.tries = 2;
    g->options.keep_going = true;
    assert_int_equal(toy_grid_run(g), ERR_INTERNAL);
    assert_int_equal(g->result.failed, 1);
    assert_int_equal(g->result.done, 3);
}

TEST_WITH(struct toy_grid *g, redo_runs_everything_from_the_start)
{
    int32_t train = toy_grid_family(g, 64);
    assert_int_equal(toy_grid_run(g), 0);
    g->options.pick = PICK_REDO;
    toy_grid_complete(g, 4);
    assert_count(g, 8, "SELECT count(*) FROM attempts");
    assert_count(g, 3, "SELECT count(*) FROM evaluations");
    const char *folder = project_path(&g->project, &g->arena, "runs");
    const char *run_id = g->job[train].run_id;
    assert_false(file_exists(arena_printf(&g->arena, "%s/%s/1/fresh", folder, run_id)));
    assert_true(file_exists(arena_printf(&g->arena, "%s/%s/2/fresh", folder, run_id)));
}

TEST_WITH(struct toy_grid *g, evaluations_are_redone_without_their_training)
{
    int32_t train = toy_grid_family(g, 64);
    assert_int_equal(toy_grid_run(g), 0);
    g->options.pick = PICK_REEVALUATE;
    toy_grid_complete(g, 3);
    assert_int_equal(g->result.already_done, 1);
    assert_count(g, 3, "SELECT count(*) FROM evaluations");
    assert_count(g, 1,
                 arena_printf(&g->arena, "SELECT count(*) FROM attempts WHERE run_id = '%s'",
                              g->job[train].run_id));
}

TEST_WITH(struct toy_grid *g, stale_picks_nothing_of_the_same_code)
{
    toy_grid_family(g, 64);
    assert_int_equal(toy_grid_run(g), 0);
    g->options.pick = PICK_STALE;
    toy_grid_complete(g, 0);
    assert_int_equal(g->result.already_done, 4);
}

TEST_WITH(struct toy_grid *g, a_job_that_no_device_can_hold_is_refused_before_anything_starts)
{
    int32_t small = toy_grid_family(g, 64), large = toy_grid_family(g, 128);
    g->job[large].device_bytes = INT64_MAX / 2;
    toy_grid_fail(g, ERR_NOMEM, "MB free");
    assert_int_equal(toy_grid_last(g, small), STORE_NONE);
    g->options.keep_going = true;
    assert_int_equal(toy_grid_run(g), ERR_NOMEM);
    assert_int_equal(g->result.done, 4);
    assert_int_equal(g->result.not_started, 4);
}

TEST_WITH(struct toy_grid *g,
          a_job_in_a_precision_that_a_device_lacks_is_refused_before_anything_starts)
{
    int32_t plain = toy_grid_family(g, 64), half = toy_grid_family(g, 128);
    g->job[half].spec.train.precision = SPEC_BF16;
    toy_grid_fail(g, ERR_UNAVAILABLE, "--set train.precision=fp32");
    assert_int_equal(toy_grid_last(g, plain), STORE_NONE);
    g->options.keep_going = true;
    assert_int_equal(toy_grid_run(g), ERR_UNAVAILABLE);
    assert_int_equal(g->result.done, 4);
    assert_int_equal(g->result.not_started, 4);
}

TEST_WITH(struct toy_grid *g, a_folder_of_an_attempt_that_nobody_recorded_is_left_alone)
{
    int32_t train = toy_grid_train(g, 64);
    const char *old = arena_printf(&g->arena, "%s/runs/%s/1", g->root, g->job[train].run_id);
    assert_int_equal(file_make_dirs(old, &g->e), 0);
    assert_int_equal(toy_grid_run(g), 0);
    assert_false(file_exists(arena_printf(&g->arena, "%s/spec", old)));
    assert_count(g, 2, "SELECT attempt FROM attempts");
}

TEST_WITH(struct toy_grid *g, a_worker_that_cannot_be_started_says_so)
{
    toy_grid_train(g, 64);
    g->options.worker = "/nowhere/alibi";
    toy_grid_fail(g, ERR_UNAVAILABLE, "/nowhere/alibi: cannot be started");
    assert_count(g, 0, "SELECT count(*) FROM attempts");
}

TEST_WITH(struct toy_grid *g, two_hundred_runs_on_two_slots_are_all_done)
{
    for (int32_t i = 0; i < 200; i++) toy_grid_train(g, 8 + i);
    g->options.devices = "cpu:2";
    toy_grid_complete(g, 200);
}
