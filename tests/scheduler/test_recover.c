/* test_recover.c - the scheduler is killed, the machine restarts, numbers are reused: the same call
 * again completes the rest, and nothing is shown twice. */
#include "harness/test.h"

#include <string.h>
#include <sys/socket.h>

#include "base/file.h"
#include "record/run_folder.h"
#include "scheduler/scheduler_internal.h"
#include "scheduler/toy_grid.h"

static const char twice[] = "SELECT count(*) FROM (SELECT run_id FROM evaluations GROUP BY run_id "
                            "HAVING count(*)>1)";

/* An attempt that a scheduler left running. boot_id NULL: since this start of the machine. */
static int64_t leave_running(struct toy_grid *g, int32_t job, const char *boot_id, int64_t pid,
                             int64_t pid_start)
{
    struct machine m;

    machine_read(&m);
    return toy_grid_leave(g, job,
                          (struct store_attempt){.device = "cpu",
                                                 .host = m.host,
                                                 .boot_id = boot_id ? boot_id : m.boot_id,
                                                 .pid = pid,
                                                 .pid_start = pid_start});
}

static char *dir_of(struct toy_grid *g, int32_t job)
{
    return arena_printf(&g->arena, "%s/runs/%s/1", g->root, g->job[job].run_id);
}

static void write_record(struct toy_grid *g, struct event_writer *w, struct record r)
{
    if (record_write(w, &r, &g->e) < 0) fail_msg("%s", g->e.text);
}

static struct event_writer *write_events(struct toy_grid *g, int32_t job)
{
    struct event_writer *w;

    assert_int_equal(run_folder_append(&w, dir_of(g, job), &g->e), 0);
    write_record(g, w,
                 (struct record){EVENT_STARTED, .started = {.device = "fake", .code_id = "c"}});
    return w;
}

static void write_result_and_end(struct toy_grid *g, struct event_writer *w, int32_t job,
                                 const char *state)
{
    if (strcmp(state, "failed") != 0)
        write_record(g, w,
                     (struct record){EVENT_TRAINED, .trained = {.run_id = g->job[job].run_id,
                                                                .updates = 8,
                                                                .tokens_per_update = 10,
                                                                .final_loss_nats = 3.5}});
    write_record(g, w, (struct record){EVENT_ENDED, .ended = {state, "io", "why", NULL}});
    event_writer_close(w);
}

/* A call that wants no run: how many attempts it recovered. */
static int recover(struct toy_grid *g)
{
    if (scheduler_run(g->store, &g->project, g->job, 0, &g->options, &g->result, &g->e) < 0)
        fail_msg("%s", g->e.text);
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
    assert_int_equal(store_running(g->store, &g->arena, &row, &n, &g->e), 0);
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

TEST_WITH(struct toy_grid *g, a_result_written_after_the_schedulers_end_counts)
{
    int32_t train = toy_grid_train(g, 64);
    toy_grid_open_store(g);
    leave_running(g, train, NULL, 0, 0);
    write_result_and_end(g, write_events(g, train), train, "done");
    assert_int_equal(recover(g), 1);
    assert_int_equal(toy_grid_last(g, train), STORE_DONE);
    assert_count(g, 1, "SELECT count(*) FROM trainings WHERE final_loss_nats=3.5");
    assert_int_equal(recover(g), 0);
}

TEST_WITH(struct toy_grid *g, the_last_record_of_a_worker_counts)
{
    static const struct {
        const char *reported;
        enum store_state state;
    } rows[] = {
        {"failed", STORE_FAILED}, {"diverged", STORE_DIVERGED}, {"cancelled", STORE_CANCELLED}};
    int32_t train[3];
    for (int32_t i = 0; i < 3; i++) train[i] = toy_grid_train(g, 64 + i);
    toy_grid_open_store(g);
    for (int32_t i = 0; i < 3; i++) {
        leave_running(g, train[i], NULL, 0, 0);
        write_result_and_end(g, write_events(g, train[i]), train[i], rows[i].reported);
    }
    assert_int_equal(recover(g), 3);
    for (int32_t i = 0; i < 3; i++) assert_int_equal(toy_grid_last(g, train[i]), rows[i].state);
}

TEST_WITH(struct toy_grid *g, a_result_without_a_last_record_is_lost)
{
    int32_t train = toy_grid_train(g, 64), none = toy_grid_train(g, 65);
    toy_grid_open_store(g);
    leave_running(g, train, NULL, 0, 0);
    leave_running(g, none, NULL, 0, 0);
    event_writer_close(write_events(g, train));
    assert_int_equal(recover(g), 2);
    assert_int_equal(toy_grid_last(g, train), STORE_LOST);
    assert_int_equal(toy_grid_last(g, none), STORE_LOST);
}

TEST_WITH(struct toy_grid *g, records_that_are_read_again_change_nothing)
{
    int32_t train = toy_grid_train(g, 64);
    toy_grid_open_store(g);
    int64_t attempt_id = leave_running(g, train, NULL, 0, 0);
    struct event_writer *w = write_events(g, train);
    for (int i = 1; i <= 5; i++)
        write_record(g, w, (struct record){EVENT_STEP, .step = {i, 4, 0.1, 1}});
    write_result_and_end(g, w, train, "done");
    for (int i = 0; i < 2; i++) {
        struct journal j;
        struct ingest_target run = {.attempt_id = attempt_id};
        bool batch = false;
        memcpy(run.run_id, g->job[train].run_id, sizeof run.run_id);
        assert_int_equal(journal_open(&j, dir_of(g, train), &run, 1, &g->e), 0);
        assert_int_equal(ingest_new_records(&j, g->store, &batch, &g->e), 0);
        assert_int_equal(store_commit(g->store, &g->e), 0);
        assert_int_equal(j.records_n, 8);
        assert_int_equal(j.reported, STORE_DONE);
        journal_close(&j);
    }
    assert_int_equal(recover(g), 1);
    assert_count(g, 5, "SELECT count(*) FROM curves");
    assert_count(g, 1, "SELECT count(*) FROM trainings");
}

/* A process that would stay for ever, answers each byte with a byte, and has the mark if there is
 * one. */
struct bystander {
    pid_t pid;
    int64_t pid_start;
    int line;
};

/* Whether it is alive: a process that was killed before the question does not answer. */
static bool answers(const struct bystander *b)
{
    char byte = 0;
    return send(b->line, &byte, 1, MSG_NOSIGNAL) == 1 && read(b->line, &byte, 1) == 1;
}

static struct bystander start_bystander(const char *mark)
{
    int line[2];
    struct bystander b;

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, line), 0);
    b.pid = fork();
    if (b.pid == 0) {
        /* An environment is read from /proc as it was at exec. */
        char *const argv[] = {"cat", NULL};
        char *const env[] = {(char *)(uintptr_t)(mark ? mark : "PATH="), NULL};
        setpgid(0, 0);
        dup2(line[1], 0);
        dup2(line[1], 1);
        execve("/bin/cat", argv, env);
        _exit(127);
    }
    close(line[1]);
    b.line = line[0];
    assert_true(answers(&b));
    b.pid_start = machine_pid_start(b.pid);
    assert_true(b.pid_start > 0);
    return b;
}

static void end_bystander(const struct bystander *b)
{
    toy_grid_kill(b->pid);
    close(b->line);
}

TEST_WITH(struct toy_grid *g, a_live_worker_of_a_dead_scheduler_is_killed_first)
{
    int32_t train = toy_grid_train(g, 64);
    struct bystander b = start_bystander(NULL);
    toy_grid_open_store(g);
    leave_running(g, train, NULL, b.pid, b.pid_start);
    assert_int_equal(recover(g), 1);
    assert_false(answers(&b));
    end_bystander(&b);
}

TEST_WITH(struct toy_grid *g, what_a_worker_started_is_found_by_its_mark)
{
    int32_t train = toy_grid_train(g, 64);
    struct bystander b = start_bystander(
        arena_printf(&g->arena, "%s=%s/runs/%s/1", MACHINE_MARK, g->root, g->job[train].run_id));
    toy_grid_open_store(g);
    leave_running(g, train, NULL, 0, 0);
    assert_int_equal(recover(g), 1);
    assert_false(answers(&b));
    end_bystander(&b);
}

/* The number was given to another process since, or the machine was restarted since. */
TEST_WITH(struct toy_grid *g, a_process_that_only_has_the_same_number_is_spared)
{
    int32_t reused = toy_grid_train(g, 64), restarted = toy_grid_train(g, 65);
    struct bystander b = start_bystander(NULL);
    toy_grid_open_store(g);
    leave_running(g, reused, NULL, b.pid, b.pid_start - 1);
    leave_running(g, restarted, "00000000-0000-0000-0000-000000000000", b.pid, b.pid_start);
    assert_int_equal(recover(g), 2);
    assert_true(answers(&b));
    end_bystander(&b);
}

/* One attempt whose records are not a file is a failed attempt, and the others are settled. */
TEST_WITH(struct toy_grid *g, one_attempt_whose_records_are_not_a_file_stops_no_other)
{
    int32_t bad = toy_grid_train(g, 64), good = toy_grid_train(g, 65);
    toy_grid_open_store(g);
    leave_running(g, bad, NULL, 0, 0);
    leave_running(g, good, NULL, 0, 0);
    write_result_and_end(g, write_events(g, good), good, "done");
    assert_int_equal(file_make_dirs(arena_printf(&g->arena, "%s/events", dir_of(g, bad)), &g->e),
                     0);
    assert_int_equal(recover(g), 2);
    assert_attempts(g, 1, "state='done'");
    assert_attempts(g, 0, "state='running'");
}
