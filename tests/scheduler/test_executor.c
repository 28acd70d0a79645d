/* test_executor.c - the scheduler with an executor that it has never heard of: no process, no
 * cluster, only a script of outcomes. */
#include "harness/test.h"

#include <string.h>

#include "base/file.h"
#include "record/run_folder.h"
#include "scheduler/scripted_executor.h"
#include "scheduler/toy_grid.h"

static const char states[] = "SELECT count(*) FROM attempts WHERE state=:id";

static int setup(void **state)
{
    toy_grid_setup(state);
    struct toy_grid *g = *state;
    g->options.executors = scripted_table;
    g->options.devices = "scripted:1";
    g->options.poll_s = 0.01;
    return 0;
}

TEST_EACH(setup, toy_grid_teardown)

TEST(every_outcome_of_an_attempt_has_its_consequence)
{
    static const struct {
        const char *script;
        int rc;
        int32_t done, failed, diverged, attempts;
        const char *state; /* of one attempt at least */
    } rows[] = {
        {"", 0, 4, 0, 0, 4, "done"},
        {"failed", 0, 4, 0, 0, 5, "failed"},
        {"lost left", 0, 4, 0, 0, 6, "lost"},
        {"diverged", 0, 0, 0, 1, 1, "diverged"},
        {"failed lost failed", ERR_INTERNAL, 0, 1, 0, 3, "lost"},
        {"done failed", 0, 4, 0, 0, 7, "failed"}, /* three evaluations share a worker, then not */
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct toy_grid *g;
        setup((void **)&g);
        toy_grid_family(g, 64);
        g->options.words[0] = rows[i].script;
        if (toy_grid_run(g) != rows[i].rc) fail_msg("'%s': %s", rows[i].script, g->e.text);
        long attempts = toy_grid_count(g, "SELECT count(*) FROM attempts", NULL);
        if (g->result.done != rows[i].done || g->result.failed != rows[i].failed ||
            g->result.diverged != rows[i].diverged || attempts != rows[i].attempts ||
            toy_grid_count(g, states, rows[i].state) == 0)
            fail_msg("'%s': %d done, %d failed, %d diverged, %ld attempts", rows[i].script,
                     g->result.done, g->result.failed, g->result.diverged, attempts);
        toy_grid_teardown((void **)&g);
    }
}

TEST_WITH(struct toy_grid *g, an_attempt_is_recorded_with_what_its_executor_knows)
{
    toy_grid_train(g, 64);
    g->options.words[0] = "left";
    assert_int_equal(toy_grid_run(g), 0);
    assert_attempts(g, 1, "slot='scripted' AND host='h' AND message='job 1 ended as TIMEOUT'");
}

TEST_WITH(struct toy_grid *g, a_first_job_that_is_rejected_ends_the_call)
{
    int32_t train = toy_grid_train(g, 64);
    g->options.words[0] = "reject";
    toy_grid_fail(g, ERR_TRYLATER, "rejected as scripted");
    assert_count(g, 0, "SELECT count(*) FROM attempts");
    /* What was rejected cannot start later. */
    const char *dir =
        project_path(&g->project, &g->arena, run_folder_name(&g->arena, g->job[train].run_id, 1));
    assert_false(file_exists(run_folder_path(&g->arena, dir, RUN_SPEC)));
}

TEST_WITH(struct toy_grid *g, a_later_job_that_is_rejected_is_submitted_again)
{
    for (int32_t i = 0; i < 3; i++) toy_grid_train(g, 64 + i);
    g->options.words[0] = "done reject reject done reject";
    toy_grid_complete(g, 3);
    assert_count(g, 3, "SELECT count(*) FROM attempts");
}

/* An attempt that an earlier scheduler left running. */
static void leave_running(struct toy_grid *g, int32_t job)
{
    toy_grid_leave(g, job, (struct store_attempt){.device = "scripted", .pid = 7});
}

TEST_WITH(struct toy_grid *g, a_worker_that_still_runs_is_recovered)
{
    leave_running(g, toy_grid_train(g, 64));
    g->options.words[0] = "alive";
    assert_int_equal(toy_grid_run(g), 0);
    assert_int_equal(g->result.recovered, 0);
    assert_int_equal(g->result.done, 1);
    assert_count(g, 1, "SELECT count(*) FROM attempts");
}

TEST_WITH(struct toy_grid *g, a_worker_that_is_gone_is_lost_and_its_run_retried)
{
    leave_running(g, toy_grid_train(g, 64));
    g->options.words[0] = "lost";
    assert_int_equal(toy_grid_run(g), 0);
    assert_int_equal(g->result.recovered, 1);
    assert_attempts(g, 1, "state='lost'");
    assert_attempts(g, 1, "state='done'");
}

TEST_WITH(struct toy_grid *g, a_worker_of_runs_that_are_not_wanted_keeps_running)
{
    leave_running(g, toy_grid_train(g, 64));
    g->options.words[0] = "alive";
    assert_int_equal(
        scheduler_run(g->store, &g->project, g->job, 0, &g->options, &g->result, &g->e), 0);
    assert_attempts(g, 1, "state='running'");
}

TEST_WITH(struct toy_grid *g, an_option_needs_its_executor)
{
    toy_grid_train(g, 64);
    g->options.executors = NULL;
    g->options.devices = "cpu:1";
    g->options.words[1] = "partition=gpu";
    toy_grid_fail(g, ERR_USAGE, "--devices slurm");
}
