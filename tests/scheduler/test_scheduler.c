/* test_scheduler.c - what becomes of a run: every way a worker can end, with every executor;
 * retries, groups, picks, and workers that an earlier scheduler left. */
#include "harness/test.h"

#include <string.h>

#include "base/file.h"
#include "scheduler/scripted_executor.h"
#include "scheduler/toy_grid.h"

/* --- outcomes --- */

/* A training with three evaluations, which share a worker. Success needs a last record, a result
 * and exit 0; a group that failed is retried one by one. An evaluation
 * whose result was recorded before its worker was killed is done. */
static const struct {
    const char *train, *evaluation; /* the scripts of the training and of the first evaluation */
    int32_t tries, rc;
    const char *word; /* of the message */
    int32_t done, failed, diverged;
    int32_t attempts_n, found_n;
    const char *condition; /* found_n attempts fulfil it */
} rows[] = {
    {"done", "done", 3, 0, "", 4, 0, 0, 4, 4, "state='done' AND exit_code=0"},
    {"failed failed done", "done", 3, 0, "", 4, 0, 0, 6, 2,
     "state='failed' AND message LIKE '%12 bytes of last%' AND exit_code=74"},
    {"failed lost failed", "done", 3, ERR_INTERNAL, "12 bytes", 0, 1, 0, 3, 1, "state='lost'"},
    {"lost done", "done", 3, 0, "", 4, 0, 0, 5, 1, "state='lost' AND signal=9"},
    {"torn done", "done", 3, 0, "", 4, 0, 0, 5, 1, "state='lost'"},
    {"diverged", "done", 3, 0, "", 0, 0, 1, 1, 1, "state='diverged'"},
    {"done", "failed done", 3, 0, "", 4, 0, 0, 7, 3, "state='failed'"},
    {"done", "part done", 3, 0, "", 4, 0, 0, 6, 1, "state='done' AND signal=9"},
    {"done", "failed", 2, ERR_INTERNAL, "12 bytes", 3, 1, 0, 7, 4, "state='failed'"},
    {"empty", "done", 1, ERR_INTERNAL, "without the result", 0, 1, 0, 1, 1, "state='failed'"},
    {"mute", "done", 1, ERR_INTERNAL, "without a last record", 0, 1, 0, 1, 1, "state='failed'"},
    {"bad_file", "done", 3, ERR_DATA, "another hash", 0, 1, 0, 3, 3, "exit_code=65"},
    {"done", "no_file", 2, ERR_NOINPUT, "no such file", 3, 1, 0, 7, 4, "exit_code=66"},
    {"lie", "done", 1, ERR_INTERNAL, "exit 3", 0, 1, 0, 1, 1, "state='failed'"},
    {"stray", "done", 1, ERR_INTERNAL, "not its own", 0, 1, 0, 1, 1, "state='failed'"},
    {"malformed", "done", 1, ERR_INTERNAL, "done", 0, 1, 0, 1, 1, "state='failed'"},
};

static int setup_scripted(void **state)
{
    toy_grid_setup(state);
    struct toy_grid *g = *state;
    g->options.executors = scripted_table;
    g->options.devices = "scripted:1";
    g->options.poll_s = 0.01;
    return 0;
}

static void try_row(size_t i, int (*setup)(void **state))
{
    struct toy_grid *g;

    setup((void **)&g);
    g->options.tries = rows[i].tries;
    g->options.keep_going = true;
    int32_t train = toy_grid_family(g, 64);
    toy_grid_script(g, train, rows[i].train, train + 1, rows[i].evaluation, -1);
    int rc = toy_grid_run(g);
    long attempts_n = toy_grid_count(g, "SELECT count(*) FROM attempts");
    long found_n = toy_grid_count(
        g, arena_printf(&g->arena, "SELECT count(*) FROM attempts WHERE %s", rows[i].condition));
    if (rc != rows[i].rc || !strstr(g->e.text, rows[i].word) || g->result.done != rows[i].done ||
        g->result.failed != rows[i].failed || g->result.diverged != rows[i].diverged ||
        attempts_n != rows[i].attempts_n || found_n != rows[i].found_n)
        fail_msg("'%s', '%s': %s; %d done, %d failed, %d diverged, %ld attempts, %ld with %s",
                 rows[i].train, rows[i].evaluation, g->e.text, g->result.done, g->result.failed,
                 g->result.diverged, attempts_n, found_n, rows[i].condition);
    assert_count(g, rows[i].done,
                 "SELECT (SELECT count(*) FROM trainings)+(SELECT count(*) FROM evaluations)");
    toy_grid_teardown((void **)&g);
}

TEST_EACH(NULL, NULL)

TEST(every_outcome_of_a_worker_has_its_consequence)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) try_row(i, toy_grid_setup);
}

TEST(every_outcome_of_an_attempt_has_its_consequence_with_any_executor)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) try_row(i, setup_scripted);
}

TEST(a_run_whose_blas_fails_is_retried_without_it_and_one_without_memory_with_it)
{
    static const struct {
        const char *script;
        int32_t avoided; /* the second attempt avoids the library */
    } tries[] = {
        {"blas_dies done", 1}, {"blas_fails done", 1}, {"aborts done", 0}, {"no_memory done", 0}};

    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        struct toy_grid *g;
        toy_grid_setup((void **)&g);
        int32_t train = toy_grid_train(g, 64);
        toy_grid_script(g, train, tries[i].script, -1);
        if (toy_grid_run(g) != 0) fail_msg("%s: %s", tries[i].script, g->e.text);
        assert_int_equal(toy_grid_attempts(g, train), 2);
        assert_attempts(g, tries[i].avoided, "state='done' AND blas = 'own products'");
        toy_grid_teardown((void **)&g);
    }
}

TEST_EACH(toy_grid_setup, toy_grid_teardown)

TEST_WITH(struct toy_grid *g, a_run_whose_tries_are_used_up_has_failed)
{
    int32_t bad = toy_grid_family(g, 128), good = toy_grid_family(g, 64);
    toy_grid_script(g, bad, "crash", -1);
    g->options.tries = 2;
    toy_grid_fail(g, ERR_INTERNAL, "no such table");
    assert_non_null(
        strstr(g->e.text, arena_printf(&g->arena, "runs/%s/2/log", g->run[bad].run_id)));
    assert_int_equal(g->result.failed, 1);
    assert_int_equal(g->result.done, 0);
    assert_int_equal(g->result.not_started, 7);
    assert_int_equal(toy_grid_last(g, good), STORE_NONE);
}

TEST_WITH(struct toy_grid *g, with_keep_going_the_others_are_still_done)
{
    int32_t bad = toy_grid_family(g, 128);
    toy_grid_family(g, 64);
    toy_grid_script(g, bad, "failed", -1);
    g->options.keep_going = true;
    assert_int_equal(toy_grid_run(g), ERR_INTERNAL);
    assert_int_equal(g->result.failed, 1);
    assert_int_equal(g->result.done, 4);
    assert_int_equal(g->result.not_started, 3);
    /* The same command tries the failed one again, and what waited for it. */
    toy_grid_script(g, -1);
    toy_grid_complete(g, 4);
}

TEST_WITH(struct toy_grid *g, a_diverged_training_is_final_and_not_an_error)
{
    int32_t train = toy_grid_family(g, 64);
    toy_grid_family(g, 128);
    toy_grid_script(g, train, "diverged", -1);
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

TEST_WITH(struct toy_grid *g, a_silent_worker_is_killed_and_lost)
{
    int32_t train = toy_grid_train(g, 64);
    toy_grid_script(g, train, "hang done", -1);
    pid_t pid = toy_grid_fork(g);
    toy_grid_await_count(g, "SELECT count(*) FROM progress WHERE done=4", 1); /* its last record */
    toy_grid_pass(g, TOY_STALL_S + 1);
    toy_grid_join(g, pid, 0);
    assert_attempts(g, 1, "state='lost' AND message LIKE 'no record for%'");
}

TEST_WITH(struct toy_grid *g, a_worker_that_cannot_be_started_says_so)
{
    toy_grid_train(g, 64);
    g->options.worker = "/nowhere/alibi";
    toy_grid_fail(g, ERR_UNAVAILABLE, "/nowhere/alibi: cannot be started");
    assert_count(g, 0, "SELECT count(*) FROM attempts");
}

/* --- groups, picks, refusals --- */

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
    const char *first = arena_printf(&g->arena, "runs/%s/1/", g->run[train + 1].run_id);
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
    g->run[other].spec.eval.split = SPEC_TEST;
    spec_run_id(&g->run[other].spec, g->run[other].run_id);
    assert_int_equal(toy_grid_run(g), 0);
    assert_count(g, 3, "SELECT count(DISTINCT log_path) FROM attempts");
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
    const char *run_id = g->run[train].run_id;
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
                              g->run[train].run_id));
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
    g->run[large].device_bytes = INT64_MAX / 2;
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
    g->run[half].spec.train.precision = SPEC_BF16;
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
    const char *old = arena_printf(&g->arena, "%s/runs/%s/1", g->root, g->run[train].run_id);
    assert_int_equal(file_make_dirs(old, &g->e), 0);
    assert_int_equal(toy_grid_run(g), 0);
    assert_false(file_exists(arena_printf(&g->arena, "%s/spec", old)));
    assert_count(g, 2, "SELECT attempt FROM attempts");
}

TEST_WITH(struct toy_grid *g, two_hundred_runs_on_two_slots_are_all_done)
{
    for (int32_t i = 0; i < 200; i++) toy_grid_train(g, 8 + i);
    g->options.devices = "cpu:2";
    toy_grid_complete(g, 200);
}

/* --- rejections, and workers that an earlier scheduler left --- */

TEST_EACH(setup_scripted, toy_grid_teardown)

TEST_WITH(struct toy_grid *g, an_attempt_is_recorded_with_what_its_executor_knows)
{
    toy_grid_script(g, toy_grid_train(g, 64), "left done", -1);
    toy_grid_complete(g, 1);
    assert_attempts(g, 1, "slot='scripted' AND host='h' AND message='job 1 ended as TIMEOUT'");
}

TEST_WITH(struct toy_grid *g, a_first_job_that_is_rejected_ends_the_call)
{
    int32_t train = toy_grid_train(g, 64);
    toy_grid_script(g, train, "reject", -1);
    toy_grid_fail(g, ERR_TRYLATER, "rejected as scripted");
    assert_count(g, 0, "SELECT count(*) FROM attempts");
    /* What was rejected cannot start later. */
    assert_string_equal(toy_grid_read_of(g, train, "spec"), "");
}

TEST_WITH(struct toy_grid *g, a_later_job_that_is_rejected_is_submitted_again)
{
    for (int32_t i = 0; i < 3; i++) toy_grid_train(g, 64 + i);
    toy_grid_script(g, 1, "reject reject done", 2, "reject done", -1);
    toy_grid_complete(g, 3);
    assert_count(g, 3, "SELECT count(*) FROM attempts");
}

/* A training that an earlier scheduler left running, and what its executor finds. */
static void leave_running(struct toy_grid *g, const char *found)
{
    int32_t train = toy_grid_train(g, 64);
    toy_grid_script(g, train, found, -1);
    toy_grid_leave(g, train, (struct store_attempt){.device = "scripted", .pid = 7});
}

TEST_WITH(struct toy_grid *g, a_worker_that_still_runs_is_recovered)
{
    leave_running(g, "alive");
    toy_grid_complete(g, 1);
    assert_int_equal(g->result.recovered, 0);
    assert_count(g, 1, "SELECT count(*) FROM attempts");
}

TEST_WITH(struct toy_grid *g, a_worker_that_is_gone_is_lost_and_its_run_retried)
{
    leave_running(g, "done");
    toy_grid_complete(g, 1);
    assert_int_equal(g->result.recovered, 1);
    assert_attempts(g, 1, "state='lost'");
    assert_attempts(g, 1, "state='done'");
}

TEST_WITH(struct toy_grid *g, a_worker_of_runs_that_are_not_wanted_keeps_running)
{
    leave_running(g, "alive");
    g->n = 0;
    toy_grid_complete(g, 0);
    assert_attempts(g, 1, "state='running'");
}
