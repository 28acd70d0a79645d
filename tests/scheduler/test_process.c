/* test_process.c - what surrounds a worker: environment, log, group; Ctrl-C once, twice, and by
 * whom; the caller gets its signals back unchanged. */
#include "harness/test.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "scheduler/executor.h"
#include "scheduler/process.h"
#include "scheduler/toy_grid.h"

static int setup(void **state)
{
    signal(SIGHUP, SIG_DFL); /* ignored if this program was started by nohup */
    return toy_grid_setup(state);
}

TEST_EACH(setup, toy_grid_teardown)

TEST_WITH(struct toy_grid *g, a_worker_sees_a_scrubbed_environment)
{
    int32_t train = toy_grid_train(g, 64);
    toy_grid_script(g, train, "environment", -1);
    setenv("ALIBI_TEST_SECRET", "1", 1);
    setenv("OMP_NUM_THREADS", "7", 1);
    setenv("ALIBI_CUBLAS", "/opt/cublas", 1);
    setenv("ALIBI_NCCL", "/opt/libnccl.so.2", 1);
    int leaked = dup(2); /* without close-on-exec: must not be open in the worker all the same */
    assert_int_equal(toy_grid_run(g), 0);
    close(leaked);
    unsetenv("ALIBI_TEST_SECRET");
    unsetenv("OMP_NUM_THREADS");
    unsetenv("ALIBI_CUBLAS");
    unsetenv("ALIBI_NCCL");
    const char *log = toy_grid_read_of(g, train, "log");
    assert_null(strstr(log, "ALIBI_TEST_SECRET"));
    assert_non_null(strstr(log, "OMP_NUM_THREADS=1\n"));
    assert_non_null(strstr(log, "LANG=C.UTF-8\n"));
    assert_non_null(strstr(log, "ALIBI_CUBLAS=/opt/cublas\n")); /* where `doctor` found it */
    assert_non_null(strstr(log, "ALIBI_NCCL=/opt/libnccl.so.2\n"));
    assert_non_null(strstr(log, "CUDA_VISIBLE_DEVICES=\n"));
    assert_non_null(strstr(log, "PATH="));
    assert_non_null(strstr(log, "group=own\n"));
    assert_non_null(strstr(log, "stdin=/dev/null\n"));
    assert_non_null(strstr(log, "descriptors=3\n"));
    char *root = realpath(g->root, NULL);
    assert_non_null(strstr(log, arena_printf(&g->arena, "cwd=%s\n", root)));
    free(root);
}

TEST_WITH(struct toy_grid *g, a_log_without_end_is_cut_with_a_notice)
{
    int32_t train = toy_grid_train(g, 64);
    toy_grid_script(g, train, "print", -1);
    assert_int_equal(toy_grid_run(g), 0);
    const char *log = toy_grid_read_of(g, train, "log");
    size_t n = strlen(log);
    assert_in_range(n, WORKER_LOG_MAX_BYTES, WORKER_LOG_MAX_BYTES + 200);
    assert_non_null(strstr(log + WORKER_LOG_MAX_BYTES, "more bytes were not kept"));
}

TEST_WITH(struct toy_grid *g, what_a_worker_started_ends_with_it)
{
    int32_t train = toy_grid_train(g, 64);
    int64_t pid;
    toy_grid_script(g, train, "orphan", -1);
    assert_int_equal(toy_grid_run(g), 0);
    char *text = toy_grid_read(g, "orphan");
    text[strcspn(text, "\n")] = '\0';
    assert_true(str_to_int(&pid, text));
    toy_grid_await_end((pid_t)pid);
}

TEST_WITH(struct toy_grid *g, a_second_request_kills_workers_that_ignore_the_first)
{
    pid_t pid = toy_grid_begin(g, toy_grid_family(g, 64), "ignore done");
    kill(pid, SIGINT);
    toy_grid_await_bell(g->bell, 1);
    toy_grid_pass(g, 1); /* two that come together count once */
    kill(pid, SIGINT);
    toy_grid_join(g, pid, ERR_INTERRUPTED);
    assert_attempts(g, 1, "state='cancelled' AND signal=9");
    assert_int_equal(toy_grid_run(g), 0);
}

TEST_WITH(struct toy_grid *g, a_worker_stopped_by_another_program_is_lost_and_retried)
{
    pid_t pid = toy_grid_begin(g, toy_grid_train(g, 64), "wait done");
    /* The scheduler's only child. */
    const char *path = arena_printf(&g->arena, "/proc/%ld/task/%ld/children", (long)pid, (long)pid);
    FILE *f = fopen(path, "r");
    long worker = 0;
    if (!f || fscanf(f, "%ld", &worker) != 1) {
        kill(pid, SIGTERM);
        toy_grid_status(pid);
        if (f) fclose(f);
        skip(); /* this kernel does not list children */
    }
    fclose(f);
    kill((pid_t)worker, SIGTERM);
    toy_grid_join(g, pid, 0);
    assert_attempts(g, 1, "state='lost'");
    assert_attempts(g, 1, "state='done'");
}

TEST_EACH(NULL, NULL)

TEST(one_request_lets_workers_finish_their_update_and_the_next_call_continues)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct toy_grid *g;
        setup((void **)&g);
        pid_t pid = toy_grid_begin(g, toy_grid_family(g, 64), "wait done");
        kill(pid, signals[i]);
        toy_grid_join(g, pid, ERR_INTERRUPTED);
        assert_attempts(g, 1, "state='cancelled'");
        assert_attempts(g, 1, "exit_code=130 AND message='stopped after update 5'");
        toy_grid_complete(g, 4);
        toy_grid_teardown((void **)&g);
    }
}

TEST(a_process_differs_from_another_of_its_number)
{
    struct machine m, other;
    int64_t start = machine_pid_start(getpid());
    machine_read(&m);
    assert_true(start > 0);
    assert_int_equal(machine_pid_start(-1), 0);
    assert_true(machine_is_alive(&m, m.host, m.boot_id, getpid(), start));
    assert_false(machine_is_alive(&m, m.host, m.boot_id, getpid(), start + 1));
    other = m;
    other.boot_id[0] = m.boot_id[0] == 'a' ? 'b' : 'a';
    assert_false(machine_is_alive(&m, m.host, other.boot_id, getpid(), start));
    /* A host may be renamed while it runs. */
    assert_true(machine_is_alive(&m, "another name", m.boot_id, getpid(), start));
}

TEST(a_stop_that_comes_twice_at_once_counts_once)
{
    struct signals sg;
    bool child = false;
    assert_int_equal(signals_open(&sg, &e), 0);
    raise(SIGINT);
    raise(SIGTERM);
    signals_read(&sg, 1000000, &child);
    assert_int_equal(sg.stops_n, 1);
    raise(SIGINT);
    signals_read(&sg, 1150000, &child);
    assert_int_equal(sg.stops_n, 1);
    raise(SIGINT);
    signals_read(&sg, 1400000, &child);
    assert_int_equal(sg.stops_n, 2);
    assert_false(child);
    signals_close(&sg);
}

TEST(the_caller_gets_its_signals_back)
{
    struct signals sg;
    struct sigaction before = {.sa_handler = SIG_IGN}, after;
    sigset_t mask;
    sigaction(SIGCHLD, &before, NULL);
    assert_int_equal(signals_open(&sg, &e), 0);
    sigaction(SIGCHLD, NULL, &after);
    assert_true(after.sa_handler == SIG_DFL);
    raise(SIGTERM); /* pending when it closes: it was sent to the scheduler */
    signals_close(&sg);
    sigaction(SIGCHLD, NULL, &after);
    assert_true(after.sa_handler == SIG_IGN);
    sigprocmask(SIG_SETMASK, NULL, &mask);
    assert_false(sigismember(&mask, SIGTERM));
    signal(SIGCHLD, SIG_DFL);
}
