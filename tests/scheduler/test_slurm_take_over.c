/* test_slurm_take_over.c - jobs of Slurm and their scheduler: Ctrl-C, a scheduler that is killed,
 * the next one. */
#include "harness/test.h"

#include <stddef.h>
#include <stdint.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scheduler/process.h"
#include "scheduler/toy_slurm.h"

static const char states[] = "SELECT count(*) FROM attempts WHERE state=:id";
static const char running[] = "SELECT count(*) FROM attempts WHERE state='running'";

/* --- the user's wishes --- */

TEST_EACH(toy_slurm_setup, toy_slurm_teardown)

TEST_WITH(struct toy_grid *g, ctrl_c_stops_jobs_that_run_and_jobs_that_wait)
{
    int32_t train[2] = {toy_grid_train(g, 64), toy_grid_train(g, 128)};
    int bell = toy_grid_hang_bell(g);
    toy_grid_script(g, train[0], "wait 1", -1);
    g->options.devices = "slurm:1";
    pid_t pid = toy_grid_fork(g);
    toy_grid_await_bell(bell, 1);
    toy_grid_await_count(g, running, 1); /* the job may begin before its row is there */
    kill(pid, SIGKILL); /* a second job, which waits, is submitted by the next call */
    waitpid(pid, NULL, 0);
    toy_slurm_put(g, "hold", "");
    int asked = toy_slurm_fifo(toy_slurm_path(g, "bell"));
    g->options.devices = "slurm:2";
    pid = toy_grid_fork(g);
    toy_slurm_await_questions(asked, 3);
    kill(pid, SIGINT);
    assert_int_equal(toy_grid_status(pid), -ERR_INTERRUPTED);
    assert_string_equal(toy_slurm_get(g, "2/state"), "CANCELLED");
    unlink(toy_slurm_path(g, "hold"));
    toy_grid_open_store(g);
    assert_int_equal(toy_grid_count(g, states, "cancelled"), 2);
    assert_int_equal(toy_grid_count(g,
                                    "SELECT count(*) FROM attempts WHERE exit_code=130 AND "
                                    "message='stopped after update 5'",
                                    NULL),
                     1);
    assert_int_equal(toy_grid_run(g), 0);
    assert_int_equal(g->result.done, 2);
    close(bell);
    close(asked);
}

TEST_WITH(struct toy_grid *g, a_second_wish_cancels_jobs_that_do_not_listen)
{
    int32_t train = toy_grid_train(g, 64);
    int bell = toy_grid_hang_bell(g);
    toy_grid_script(g, train, "ignore 1", -1);
    pid_t pid = toy_grid_fork(g);
    toy_grid_await_bell(bell, 1);
    kill(pid, SIGINT);
    toy_grid_await_bell(bell, 1);
    toy_grid_pass(g, 1); /* two that come together count once */
    kill(pid, SIGINT);
    assert_int_equal(toy_grid_status(pid), -ERR_INTERRUPTED);
    assert_string_equal(toy_slurm_get(g, "1/state"), "CANCELLED");
    toy_grid_open_store(g);
    assert_int_equal(toy_grid_count(g, states, "cancelled"), 1);
    assert_int_equal(toy_grid_run(g), 0);
    assert_int_equal(toy_grid_count(g, states, "done"), 1);
    close(bell);
}

/* --- the scheduler dies --- */

/* A scheduler with one training at the gate, killed. */
static void leave_at_the_gate(struct toy_grid *g, int32_t train)
{
    int bell = toy_grid_hang_bell(g);
    toy_grid_script(g, train, "gate", -1);
    pid_t pid = toy_grid_fork(g);
    toy_grid_await_bell(bell, 1);
    toy_grid_await_count(g, running, 1);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    close(bell);
}

TEST_WITH(struct toy_grid *g, a_job_outlives_its_scheduler_and_the_next_one_takes_it_over)
{
    int32_t train = toy_grid_family(g, 64);
    int gate = toy_slurm_gate(g);
    leave_at_the_gate(g, train);
    int asked = toy_slurm_fifo(toy_slurm_path(g, "bell"));
    pid_t pid = toy_grid_fork(g);
    toy_slurm_await_questions(asked, 2);
    assert_string_equal(toy_slurm_get(g, "1/state"), "RUNNING");
    assert_int_equal(write(gate, "g", 1), 1);
    assert_int_equal(toy_grid_status(pid), 0);
    toy_grid_open_store(g);
    assert_int_equal(
        toy_grid_count(g, "SELECT count(*) FROM attempts WHERE run_id=:id", g->job[train].run_id),
        1);
    assert_int_equal(
        toy_grid_count(g, "SELECT exit_code FROM attempts WHERE run_id=:id", g->job[train].run_id),
        0);
    assert_int_equal(toy_grid_count(g, states, "done"), 4);
    close(gate);
    close(asked);
}

TEST_WITH(struct toy_grid *g, a_job_that_ended_without_its_scheduler_is_believed)
{
    int32_t train = toy_grid_train(g, 64);
    int gate = toy_slurm_gate(g);
    leave_at_the_gate(g, train);
    pid_t job = toy_slurm_pid(g, "1/pid");
    assert_int_equal(write(gate, "g", 1), 1);
    toy_grid_await_end(job);
    assert_int_equal(toy_grid_run(g), 0);
    assert_int_equal(g->result.already_done, 1);
    assert_int_equal(toy_grid_count(g, "SELECT count(*) FROM attempts", NULL), 1);
    close(gate);
}

TEST_WITH(struct toy_grid *g, a_job_of_other_runs_is_left_alone)
{
    int32_t other = toy_grid_train(g, 64);
    int gate = toy_slurm_gate(g);
    leave_at_the_gate(g, other);
    struct run left = g->job[other];
    g->n = 0;
    toy_grid_train(g, 128);
    assert_int_equal(toy_grid_run(g), 0);
    assert_int_equal(g->result.done, 1);
    assert_int_equal(toy_grid_count(g, states, "running"), 1);
    assert_string_equal(toy_slurm_get(g, "1/state"), "RUNNING");
    assert_int_equal(write(gate, "g", 1), 1);
    g->job[0] = left;
    g->n = 1;
    assert_int_equal(toy_grid_run(g), 0);
    assert_int_equal(toy_grid_count(g, states, "done"), 2);
    assert_int_equal(toy_grid_count(g, "SELECT count(*) FROM attempts", NULL), 2);
    close(gate);
}

TEST_WITH(struct toy_grid *g, the_limit_of_jobs_counts_those_that_are_taken_over)
{
    int32_t first = toy_grid_train(g, 64);
    int gate = toy_slurm_gate(g);
    toy_grid_train(g, 128);
    g->options.devices = "slurm:1";
    leave_at_the_gate(g, first);
    int asked = toy_slurm_fifo(toy_slurm_path(g, "bell"));
    pid_t pid = toy_grid_fork(g);
    toy_slurm_await_questions(asked, 4);
    assert_string_equal(toy_slurm_get(g, "2/state"), "");
    assert_int_equal(write(gate, "g", 1), 1);
    assert_int_equal(toy_grid_status(pid), 0);
    toy_slurm_await(g, "2", "COMPLETED");
    close(gate);
    close(asked);
}

TEST_WITH(struct toy_grid *g, a_scheduler_that_cannot_ask_about_a_job_says_try_later)
{
    int32_t train = toy_grid_train(g, 64);
    int gate = toy_slurm_gate(g);
    leave_at_the_gate(g, train);
    toy_slurm_put(g, "silent", "");
    assert_int_equal(toy_grid_run(g), ERR_TRYLATER);
    assert_non_null(strstr(g->e.text, "job 1"));
    assert_non_null(strstr(g->e.text, "Unable to contact"));
    assert_int_equal(toy_grid_count(g, states, "running"), 1);
    close(gate);
}

/* Submitted by a scheduler that died before it could say so. */
TEST_WITH(struct toy_grid *g, a_job_of_this_project_that_no_attempt_knows_is_cancelled)
{
    struct machine m;
    machine_read(&m);
    const char *ours = arena_printf(&g->arena, "alibi-0123456789abcdef-1@%s", m.host);
    const char *const name[] = {ours, ours, "other", "alibi-0123456789abcdef-1@elsewhere"};
    toy_grid_train(g, 64);
    for (int i = 0; i < 4; i++) {
        const char *job = arena_printf(&g->arena, "%d", 91 + i);
        mkdir(toy_slurm_path(g, job), 0700);
        toy_slurm_put(g, arena_printf(&g->arena, "%s/state", job), "PENDING\n");
        toy_slurm_put(g, arena_printf(&g->arena, "%s/name", job), name[i]);
        toy_slurm_put(g, arena_printf(&g->arena, "%s/dir", job), i == 1 ? "/elsewhere" : g->root);
    }
    assert_int_equal(toy_grid_run(g), 0);
    assert_string_equal(toy_slurm_get(g, "91/state"), "CANCELLED");
    assert_string_equal(toy_slurm_get(g, "92/state"), "PENDING");
    assert_string_equal(toy_slurm_get(g, "93/state"), "PENDING");
    assert_string_equal(toy_slurm_get(g, "94/state"), "PENDING");
}
