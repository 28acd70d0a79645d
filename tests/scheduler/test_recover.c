/* test_recover.c - the scheduler is killed, the machine restarts, numbers are reused: the same call
 * again completes the rest, and nothing is shown twice. */
#include "harness/test.h"

#include <math.h>
#include <string.h>
#include <sys/wait.h>

#include "base/file.h"
#include "base/subprocess.h"
#include "scheduler/attempt.h"
#include "scheduler/outcome.h"
#include "scheduler/process.h"
#include "scheduler/progress.h"
#include "scheduler/toy_grid.h"

static const char twice[] = "SELECT count(*) FROM (SELECT run_id FROM evaluations GROUP BY run_id "
                            "HAVING count(*)>1)";

/* An attempt that a scheduler left running. boot_id NULL: since this start of the machine. */
static int64_t leave_running(struct toy_grid *g, int32_t run, const char *boot_id, int64_t pid,
                             int64_t pid_start)
{
    struct machine m;

    machine_read(&m);
    return toy_grid_leave(g, run,
                          (struct store_attempt){.device = "cpu",
                                                 .host = m.host,
                                                 .boot_id = boot_id ? boot_id : m.boot_id,
                                                 .pid = pid,
                                                 .pid_start = pid_start});
}

static char *dir_of(struct toy_grid *g, int32_t run)
{
    return arena_printf(&g->arena, "%s/runs/%s/1", g->root, g->run[run].run_id);
}

static const char *meet_of(struct toy_grid *g, int32_t run)
{
    return run_folder_path(&g->arena, dir_of(g, run), RUN_MEET);
}

/* What its worker has recorded. */
static void write_outcome(struct toy_grid *g, int32_t run, const char *outcome)
{
    struct event_writer *w;

    assert_ok(outcome_begin(&w, dir_of(g, run), &e));
    assert_ok(outcome_end(w, outcome_find(outcome), dir_of(g, run), &e));
}

/* A call that wants no run: how many attempts it recovered. */
static int recover(struct toy_grid *g)
{
    assert_ok(scheduler_run(g->store, &g->project, g->run, 0, &g->options, &g->result, &e));
    return g->result.recovered;
}

TEST_EACH(toy_grid_setup, toy_grid_teardown)

TEST_WITH(struct toy_grid *g, the_workers_of_a_killed_scheduler_end_and_nothing_is_lost)
{
    int32_t train = toy_grid_family(g, 128);
    int32_t waits = toy_grid_family(g, 64);
    pid_t pid = toy_grid_begin(
        g, waits, "wait"); /* the first family is done or under way, the second waits */
    toy_grid_kill(pid);
    toy_grid_open_store(g); /* the lock went with its holder */
    struct store_running *row;
    int32_t n;
    assert_ok(store_running(g->store, &g->arena, &row, &n, &e));
    for (int32_t i = 0; i < n; i++) toy_grid_await_end((pid_t)row[i].pid);
    assert_count(g, 1, "SELECT count(*) FROM trainings");
    toy_grid_script(g, -1);
    assert_int_equal(toy_grid_run(g), 0);
    assert_int_equal(g->result.done + g->result.already_done, 8);
    assert_true(g->result.already_done >= 1);
    assert_count(g, 0, twice);
    assert_attempts(g, 0, "state='running'");
    assert_int_equal(toy_grid_attempts(g, train), 1);
}

TEST_WITH(struct toy_grid *g, a_second_scheduler_is_refused_until_later)
{
    int32_t waits = toy_grid_train(g, 64);
    struct store *second;
    pid_t pid = toy_grid_begin(g, waits, "wait");
    const char *path = project_path(&g->project, &g->arena, "results.db");
    assert_int_equal(store_open(&second, path, STORE_WRITE, &g->e), ERR_TRYLATER);
    assert_non_null(strstr(g->e.text, arena_printf(&g->arena, "%ld", (long)pid)));
    toy_grid_kill(pid);
}

TEST_WITH(struct toy_grid *g, the_last_record_of_a_worker_counts)
{
    static const struct {
        const char *outcome; /* NULL: the worker wrote nothing */
        enum store_state state;
    } rows[] = {{"done", STORE_DONE},
                {"failed", STORE_FAILED},
                {"diverged", STORE_DIVERGED},
                {"cancelled", STORE_CANCELLED},
                {"told_gone", STORE_LOST},
                {"torn", STORE_LOST},
                {NULL, STORE_LOST}};
    enum { ROWS_N = sizeof rows / sizeof *rows };

    for (int32_t i = 0; i < ROWS_N; i++) toy_grid_train(g, 64 + i);
    for (int32_t i = 0; i < ROWS_N; i++) {
        leave_running(g, i, NULL, 0, 0);
        if (rows[i].outcome) write_outcome(g, i, rows[i].outcome);
        assert_ok(file_write_atomic(meet_of(g, i), "unix:1 key\n", 11, &e));
    }
    assert_int_equal(recover(g), ROWS_N);
    for (int32_t i = 0; i < ROWS_N; i++) {
        assert_int_equal(toy_grid_last(g, i), rows[i].state);
        assert_false(file_exists(meet_of(g, i))); /* the key of a meeting that was cut off */
    }
    assert_count(g, 1, "SELECT count(*) FROM trainings WHERE final_loss_nats BETWEEN 1 AND 2");
    assert_attempts(g, 1, "state='lost' AND message LIKE 'rank 1 on h, cuda:0: connection lost%'");
    assert_int_equal(recover(g), 0);
}

TEST_WITH(struct toy_grid *g, records_that_are_read_again_change_nothing)
{
    int32_t train = toy_grid_train(g, 64);
    struct ingest_target run = {.attempt_id = leave_running(g, train, NULL, 0, 0)};
    struct event_writer *w;
    memcpy(run.run_id, g->run[train].run_id, sizeof run.run_id);
    assert_ok(outcome_begin(&w, dir_of(g, train), &e));
    for (int i = 1; i <= 5; i++) {
        const struct record step = {EVENT_STEP, .step = {i, 4, 0.1, 1}};
        assert_ok(record_write(w, &step, &e));
    }
    assert_ok(outcome_end(w, outcome_find("done"), dir_of(g, train), &e));
    for (int i = 0; i < 2; i++) {
        struct journal j;
        bool batch = false;
        assert_ok(journal_open(&j, dir_of(g, train), &run, 1, &e));
        assert_ok(ingest_new_records(&j, g->store, &batch, &e));
        assert_ok(store_commit(g->store, &e));
        assert_int_equal(j.records_n, 8);
        assert_int_equal(j.reported, STORE_DONE);
        journal_close(&j);
    }
    assert_int_equal(recover(g), 1);
    assert_count(g, 5, "SELECT count(*) FROM curves");
    assert_count(g, 1, "SELECT count(*) FROM trainings");
}

TEST_WITH(struct toy_grid *g, the_time_left_counts_only_what_an_attempt_did_after_it_resumed)
{
    int32_t train = toy_grid_train(g, 64);
    struct ingest_target run = {.attempt_id = leave_running(g, train, NULL, 0, 0)};
    const struct record progress = {EVENT_PROGRESS, .progress = {60, 100, 4, 1000}};
    struct attempt at = {.n = 1};
    struct run work = {.flops = 1000};
    struct event_writer *w;
    bool batch = false;
    memcpy(run.run_id, g->run[train].run_id, sizeof run.run_id);
    assert_ok(outcome_begin(&w, dir_of(g, train), &e));
    for (int i = 51; i <= 60; i++) {
        const struct record step = {EVENT_STEP, .step = {i, 4, 0.1, 1}};
        assert_ok(record_write(w, &step, &e));
    }
    assert_ok(record_write(w, &progress, &e));
    assert_ok(outcome_end(w, outcome_find("cancelled"), dir_of(g, train), &e));
    assert_ok(journal_open(&at.journal, dir_of(g, train), &run, 1, &e));
    assert_ok(ingest_new_records(&at.journal, g->store, &batch, &e));
    assert_ok(store_commit(g->store, &e));
    assert_true(at.journal.share == 0.6);
    /* 10 of 100 updates are of this attempt; at its end 50. */
    assert_true(fabs(progress_own_flops(&at, &work, at.journal.share) - 100) < 1e-9);
    assert_true(fabs(progress_own_flops(&at, &work, 1) - 500) < 1e-9);
    /* The cost of a training that continues a parent is without the parent's updates. */
    memcpy(work.spec.train.from, run.run_id, sizeof work.spec.train.from);
    assert_true(fabs(progress_own_flops(&at, &work, at.journal.share) - 600) < 1e-9);
    journal_close(&at.journal);
}

/* A process that would stay for long, with this variable in its environment. */
static pid_t start_bystander(const char *variable)
{
    const char *const argv[] = {"sleep", "600", NULL}, *const environment[] = {variable, NULL};
    const struct subprocess s = {
        .argv = argv, .environment = environment, .dies_with_parent = true};
    pid_t pid;

    assert_int_equal(subprocess_spawn(&pid, &s, 1, 2), 0);
    return pid;
}

/* The signal that ends it: the first one, which is SIGTERM if it was spared. */
static int end_bystander(pid_t pid)
{
    int status;

    kill(pid, SIGTERM);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WTERMSIG(status);
}

TEST_WITH(struct toy_grid *g, a_live_worker_of_a_dead_scheduler_is_killed_first)
{
    pid_t pid = start_bystander("PATH=");
    leave_running(g, toy_grid_train(g, 64), NULL, pid, machine_pid_start(pid));
    assert_int_equal(recover(g), 1);
    assert_int_equal(end_bystander(pid), SIGKILL);
}

TEST_WITH(struct toy_grid *g, what_a_worker_started_is_found_by_its_mark)
{
    int32_t train = toy_grid_train(g, 64);
    pid_t pid = start_bystander(arena_printf(&g->arena, MACHINE_MARK "=%s", dir_of(g, train)));
    leave_running(g, train, NULL, 0, 0);
    assert_int_equal(recover(g), 1);
    assert_int_equal(end_bystander(pid), SIGKILL);
}

/* A results.db from elsewhere may name the folder of an attempt of another project. */
TEST_WITH(struct toy_grid *g, the_worker_of_another_project_is_spared)
{
    char dir[] = "/other/project/runs/00000000000000aa/1";
    pid_t pid = start_bystander(arena_printf(&g->arena, MACHINE_MARK "=%s", dir));
    int64_t attempt_id;
    int32_t train = toy_grid_train(g, 64);
    toy_grid_open_store(g);
    const struct store_attempt row = {.run_id = g->run[train].run_id,
                                      .attempt = 1,
                                      .dir = dir,
                                      .device = "cpu",
                                      .host = "",
                                      .boot_id = ""};
    assert_ok(store_start_attempt(g->store, &row, &attempt_id, &e));
    assert_int_equal(recover(g), 1);
    assert_int_equal(end_bystander(pid), SIGTERM);
    assert_attempts(g, 1, "state='lost'");
}

/* The number was given to another process since, or the machine was restarted since. */
TEST_WITH(struct toy_grid *g, a_process_that_only_has_the_same_number_is_spared)
{
    int32_t reused = toy_grid_train(g, 64), restarted = toy_grid_train(g, 65);
    pid_t pid = start_bystander("PATH=");
    leave_running(g, reused, NULL, pid, machine_pid_start(pid) - 1);
    leave_running(g, restarted, "00000000-0000-0000-0000-000000000000", pid,
                  machine_pid_start(pid));
    assert_int_equal(recover(g), 2);
    assert_int_equal(end_bystander(pid), SIGTERM);
}

/* One attempt whose records are not a file is a failed attempt, and the others are settled. */
TEST_WITH(struct toy_grid *g, one_attempt_whose_records_are_not_a_file_stops_no_other)
{
    int32_t bad = toy_grid_train(g, 64), good = toy_grid_train(g, 65);
    leave_running(g, bad, NULL, 0, 0);
    leave_running(g, good, NULL, 0, 0);
    write_outcome(g, good, "done");
    assert_ok(file_make_dirs(arena_printf(&g->arena, "%s/events", dir_of(g, bad)), &e));
    assert_int_equal(recover(g), 2);
    assert_attempts(g, 1, "state='done'");
    assert_attempts(g, 0, "state='running'");
}
