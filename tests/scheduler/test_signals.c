/* test_signals.c - Ctrl-C once, twice, and by whom; the caller gets its signals back unchanged. */
#include "harness/test.h"

#include <stdio.h>

#include "scheduler/toy_grid.h"

static int setup(void **state)
{
    signal(SIGHUP, SIG_DFL); /* ignored if this program was started by nohup */
    return toy_grid_setup(state);
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

TEST_EACH(setup, toy_grid_teardown)

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
