/* test_slurm.c - what is asked of Slurm, and that no job is lost or done twice whatever it or a
 * node does. */
#include "harness/test.h"

#include <stddef.h>
#include <stdint.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scheduler/process.h"
#include "scheduler/toy_slurm.h"

static const char states[] = "SELECT count(*) FROM attempts WHERE state=:id";

/* --- what is asked of Slurm --- */

TEST_EACH(toy_slurm_setup, toy_slurm_teardown)

TEST_WITH(struct toy_grid *g, a_grid_runs_as_jobs)
{
    toy_grid_family(g, 64);
    toy_grid_family(g, 128);
    assert_int_equal(toy_grid_run(g), 0);
    assert_int_equal(g->result.done, 8);
    assert_int_equal(toy_grid_count(g, "SELECT count(*) FROM evaluations", NULL), 6);
    assert_int_equal(toy_grid_count(g,
                                    "SELECT count(*) FROM attempts WHERE state='done' AND "
                                    "exit_code=0 AND host='h' AND device='fake'",
                                    NULL),
                     8);
    toy_slurm_await(g, "1", "COMPLETED");
    /* Nothing is left to do, and no job is submitted for it. */
    assert_int_equal(toy_grid_run(g), 0);
    assert_int_equal(g->result.already_done, 8);
    const char *last = arena_printf(&g->arena, "slurm/%ld/state",
                                    1 + toy_grid_count(g,
                                                       "SELECT count(DISTINCT log_path) FROM "
                                                       "attempts",
                                                       NULL));
    assert_string_equal(toy_grid_read(g, last), "");
}

TEST_WITH(struct toy_grid *g, sbatch_is_told_what_a_job_needs)
{
    int32_t train = toy_grid_train(g, 64);
    struct machine m;
    machine_read(&m);
    toy_grid_bench(g, 64);
    g->options.words[1] = " partition=gpu  --gres=gpu:1 exclusive-note=a;b";
    assert_int_equal(toy_grid_run(g), 0);
    const char *run = g->job[train].run_id;
    const char *expected = arena_printf(
        &g->arena,
        "--parsable\n--job-name=alibi-%s-1@%s\n--chdir=%s\n--output=runs/%s/1/slurm.log\n"
        "--no-requeue\n--signal=B:TERM@120\n--partition=gpu\n--gres=gpu:1\n--exclusive-note=a;b\n"
        "%s/runs/%s/1/job.sh\n",
        run, m.host, g->root, run, g->root, run);
    assert_string_equal(toy_grid_read(g, "slurm/1/argv"), expected);
    assert_non_null(strstr(toy_grid_read(g, "slurm/2/argv"), "--exclusive\n"));
}

TEST_WITH(void *fixture_of_case, words_that_would_break_it_are_refused)
{
    void **state = &fixture_of_case;
    static const char *const wrong[] = {"array=1-3", "arr=1-3",    "wait",
                                        "output=x",  "job-name=x", "P=gpu",
                                        "=gpu",      "time=1\x7f", "a partition;x=1"};
    struct toy_grid *g = *state;
    toy_grid_train(g, 64);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        g->options.words[1] = wrong[i];
        assert_int_equal(toy_grid_run(g), ERR_USAGE);
        assert_non_null(strstr(g->e.text, "--slurm"));
    }
    g->options.words[1] = "partition=gpu";
    g->options.devices = "cpu:1";
    assert_int_equal(toy_grid_run(g), ERR_USAGE);
    assert_non_null(strstr(g->e.text, "--devices slurm"));
    assert_int_equal(toy_grid_count(g, "SELECT count(*) FROM attempts", NULL), 0);
}

TEST_WITH(void *fixture_of_case, a_worker_gets_the_gpu_that_its_job_was_given)
{
    void **state = &fixture_of_case;
    static const struct {
        const char *given, *seen;
    } rows[] = {{"", "CUDA_VISIBLE_DEVICES=\n"},
                {"NoDevFiles", "CUDA_VISIBLE_DEVICES=\n"},
                {"3,5", "CUDA_VISIBLE_DEVICES=3\n"},
                {"GPU-ab12", "CUDA_VISIBLE_DEVICES=GPU-ab12\n"}};
    struct toy_grid *g = *state;
    for (int32_t i = 0; i < 4; i++) {
        int32_t train = toy_grid_train(g, 64 + i);
        if (g->store) store_close(g->store);
        g->store = NULL;
        toy_grid_script(g, train, "environment", -1);
        setenv("CUDA_VISIBLE_DEVICES", rows[i].given, 1);
        assert_int_equal(toy_grid_run(g), 0);
        unsetenv("CUDA_VISIBLE_DEVICES");
        const char *log =
            toy_grid_read(g, arena_printf(&g->arena, "runs/%s/1/log", g->job[train].run_id));
        assert_non_null(strstr(log, rows[i].seen));
        assert_null(strstr(log, "FAKE_SLURM=")); /* scrubbed on the node, too */
    }
}

TEST_WITH(struct toy_grid *g, a_job_that_slurm_refuses_is_offered_again_while_others_run)
{
    for (int32_t i = 0; i < 3; i++) toy_grid_train(g, 64 + i);
    toy_slurm_put(g, "limit", "1\n");
    assert_int_equal(toy_grid_run(g), 0);
    assert_int_equal(g->result.done, 3);
    assert_int_equal(toy_grid_count(g, "SELECT count(*) FROM attempts", NULL), 3);
}

TEST_WITH(struct toy_grid *g, a_first_job_that_slurm_refuses_ends_the_call_with_its_reason)
{
    toy_grid_train(g, 64);
    g->options.words[1] = "partition=nowhere";
    assert_int_equal(toy_grid_run(g), ERR_TRYLATER);
    assert_non_null(strstr(g->e.text, "invalid partition specified: nowhere"));
    assert_int_equal(toy_grid_count(g, "SELECT count(*) FROM attempts", NULL), 0);
}

/* --- what goes wrong --- */

TEST_WITH(struct toy_grid *g, a_worker_that_dies_is_lost_and_tried_again)
{
    int32_t train = toy_grid_train(g, 64);
    toy_grid_script(g, train, "die 1", -1);
    assert_int_equal(toy_grid_run(g), 0);
    assert_int_equal(
        toy_grid_count(g, "SELECT count(*) FROM attempts WHERE state='lost' AND signal=9", NULL),
        1);
    assert_int_equal(toy_grid_count(g, states, "done"), 1);
}

TEST_WITH(struct toy_grid *g, a_node_that_fails_costs_the_attempt_and_nothing_else)
{
    int32_t train = toy_grid_train(g, 64);
    int bell = toy_grid_hang_bell(g);
    toy_grid_script(g, train, "wait 1", -1);
    pid_t pid = toy_grid_fork(g);
    toy_grid_await_bell(bell, 1);
    kill(toy_slurm_pid(g, "1/pid"), SIGKILL);
    kill(toy_slurm_pid(g, "1/first"), SIGKILL);
    assert_int_equal(toy_grid_status(pid), 0);
    toy_grid_open_store(g);
    assert_int_equal(toy_grid_count(g,
                                    "SELECT count(*) FROM attempts WHERE state='lost' AND "
                                    "message='job 1 ended as NODE_FAIL'",
                                    NULL),
                     1);
    assert_int_equal(toy_grid_count(g, states, "done"), 1);
    close(bell);
}

TEST_WITH(struct toy_grid *g, a_job_that_slurm_forgot_is_lost)
{
    int32_t train = toy_grid_train(g, 64);
    int bell = toy_grid_hang_bell(g), asked = toy_slurm_fifo(toy_slurm_path(g, "bell"));
    toy_grid_script(g, train, "wait 1", -1);
    pid_t pid = toy_grid_fork(g);
    toy_grid_await_bell(bell, 1);
    /* An answer that is being made while the job ends could still tell how it ended. */
    toy_slurm_put(g, "silent", "");
    toy_slurm_await_questions(asked, 1);
    toy_slurm_put(g, "1/forgotten", "");
    kill(toy_slurm_pid(g, "1/first"), SIGKILL);
    unlink(toy_slurm_path(g, "silent"));
    assert_int_equal(toy_grid_status(pid), 0);
    toy_grid_open_store(g);
    assert_int_equal(toy_grid_count(g,
                                    "SELECT count(*) FROM attempts WHERE state='lost' AND "
                                    "message='job 1 is not known to Slurm any more'",
                                    NULL),
                     1);
    close(bell);
    close(asked);
}

TEST_WITH(struct toy_grid *g, a_slurm_that_is_silent_for_a_while_loses_no_job)
{
    int32_t train = toy_grid_train(g, 64);
    int bell = toy_grid_hang_bell(g), gate = toy_slurm_gate(g);
    int asked = toy_slurm_fifo(toy_slurm_path(g, "bell"));
    toy_grid_script(g, train, "gate", -1);
    pid_t pid = toy_grid_fork(g);
    toy_grid_await_bell(bell, 1);
    toy_slurm_put(g, "silent", "");
    toy_slurm_await_questions(asked, 5);
    unlink(toy_slurm_path(g, "silent"));
    toy_slurm_await_questions(asked, 5);
    assert_int_equal(write(gate, "g", 1), 1);
    assert_int_equal(toy_grid_status(pid), 0);
    toy_grid_open_store(g);
    assert_int_equal(toy_grid_count(g, "SELECT count(*) FROM attempts", NULL), 1);
    assert_int_equal(toy_grid_count(g, states, "done"), 1);
    close(bell);
    close(asked);
    close(gate);
}

/* What Slurm does before a time limit: no try is used up if the worker kept a checkpoint. */
TEST_WITH(void *fixture_of_case, a_job_at_its_time_limit_goes_on_in_another)
{
    void **state = &fixture_of_case;
    static const char *const actions[] = {"drain 1", "wait 1"};
    struct toy_grid *g = *state;
    int bell = toy_grid_hang_bell(g);
    g->options.tries = 1;
    for (int i = 0; i < 2; i++) {
        g->n = 0;
        int32_t train = toy_grid_train(g, 64 + i);
        toy_grid_script(g, train, actions[i], -1);
        pid_t pid = toy_grid_fork(g);
        toy_grid_await_bell(bell, 1);
        kill(toy_slurm_pid(g, i == 0 ? "1/first" : "3/first"), SIGTERM);
        assert_int_equal(toy_grid_status(pid), i == 0 ? 0 : -ERR_INTERNAL);
    }
    toy_grid_open_store(g);
    assert_int_equal(toy_grid_count(g, states, "lost"), 2);
    assert_int_equal(toy_grid_count(g, states, "done"), 1);
    close(bell);
}

TEST_WITH(struct toy_grid *g, a_job_that_waits_for_its_node_is_not_called_silent)
{
    int asked = toy_slurm_fifo(toy_slurm_path(g, "bell"));
    toy_grid_train(g, 64);
    toy_slurm_put(g, "hold", "");
    pid_t pid = toy_grid_fork(g);
    toy_grid_await_count(g, "SELECT count(*) FROM attempts", 1);
    toy_grid_pass(g, TOY_STALL_S + 1);
    toy_slurm_await_questions(asked, 2); /* between two it looks who is silent */
    unlink(toy_slurm_path(g, "hold"));
    assert_int_equal(toy_grid_status(pid), 0);
    toy_grid_open_store(g);
    assert_int_equal(toy_grid_count(g, "SELECT count(*) FROM attempts", NULL), 1);
    close(asked);
}

TEST_WITH(struct toy_grid *g, a_job_that_is_silent_is_cancelled_and_lost)
{
    int32_t train = toy_grid_train(g, 64);
    toy_grid_script(g, train, "hang 1", -1);
    pid_t pid = toy_grid_fork(g);
    toy_grid_await_count(g, "SELECT count(*) FROM progress WHERE done=4", 1); /* its last record */
    toy_grid_pass(g, TOY_STALL_S + 1);
    assert_int_equal(toy_grid_status(pid), 0);
    toy_grid_open_store(g);
    assert_int_equal(toy_grid_count(g,
                                    "SELECT count(*) FROM attempts WHERE state='lost' AND message "
                                    "LIKE 'no record for%'",
                                    NULL),
                     1);
    assert_int_equal(toy_grid_count(g, states, "done"), 1);
    assert_string_equal(toy_slurm_get(g, "1/state"), "CANCELLED");
}
