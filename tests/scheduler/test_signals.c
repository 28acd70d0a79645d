/* test_signals.c - Ctrl-C once, twice, and by whom; the signals of the caller come back unharmed.
 */
#include "harness/test.h"

#include <stddef.h>
#include <stdint.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scheduler/process.h"
#include "scheduler/toy_grid.h"

static int setup(void **state)
{
    struct toy_grid *g = calloc(1, sizeof *g);
    signal(SIGHUP, SIG_DFL); /* ignored if this program was started by nohup */
    toy_grid_open(g);
    *state = g;
    return 0;
}

static int teardown(void **state)
{
    toy_grid_close(*state);
    free(*state);
    return 0;
}

static const char states[] = "SELECT count(*) FROM attempts WHERE state=:id";

static void one_wish_lets_workers_finish_their_update(void **state, int signal_number)
{
    struct toy_grid *g = *state;
    int32_t train = toy_grid_family(g, 64);
    int bell = toy_grid_hang_bell(g);
    toy_grid_script(g, train, "wait 1", -1);
    pid_t pid = toy_grid_fork(g);
    toy_grid_await_bell(bell, 1);
    kill(pid, signal_number);
    assert_int_equal(toy_grid_status(pid), -ERR_INTERRUPTED);
    toy_grid_open_store(g);
    assert_int_equal(toy_grid_count(g, states, "cancelled"), 1);
    assert_int_equal(toy_grid_count(g,
                                    "SELECT count(*) FROM attempts WHERE exit_code=130 AND "
                                    "message='stopped after update 5'",
                                    NULL),
                     1);
    assert_int_equal(toy_grid_run(g), 0);
    assert_int_equal(g->result.done, 4);
    close(bell);
}

TEST_EACH(setup, teardown)

TEST_WITH(void *fixture_of_case, ctrl_c_lets_workers_finish_their_update_and_the_next_call_goes_on)
{
    void **state = &fixture_of_case;
    one_wish_lets_workers_finish_their_update(state, SIGINT);
}

TEST_WITH(void *fixture_of_case, a_terminate_signal_does_the_same)
{
    void **state = &fixture_of_case;
    one_wish_lets_workers_finish_their_update(state, SIGTERM);
}

TEST_WITH(void *fixture_of_case, a_terminal_that_closes_does_the_same)
{
    void **state = &fixture_of_case;
    one_wish_lets_workers_finish_their_update(state, SIGHUP);
}

TEST_WITH(struct toy_grid *g, a_second_wish_ends_workers_that_do_not_listen)
{
    int32_t train = toy_grid_family(g, 64);
    int bell = toy_grid_hang_bell(g);
    toy_grid_script(g, train, "ignore 1", -1);
    pid_t pid = toy_grid_fork(g);
    toy_grid_await_bell(bell, 1);
    kill(pid, SIGINT);
    toy_grid_await_bell(bell, 1);
    toy_grid_pass(g, 1); /* two that come together count once */
    kill(pid, SIGINT);
    assert_int_equal(toy_grid_status(pid), -ERR_INTERRUPTED);
    toy_grid_open_store(g);
    assert_int_equal(toy_grid_count(g,
                                    "SELECT count(*) FROM attempts WHERE state='cancelled' AND "
                                    "signal=9",
                                    NULL),
                     1);
    assert_int_equal(toy_grid_run(g), 0);
    close(bell);
}

TEST_WITH(struct toy_grid *g, a_worker_stopped_by_somebody_else_is_lost_and_tried_again)
{
    int32_t train = toy_grid_train(g, 64);
    int bell = toy_grid_hang_bell(g);
    toy_grid_script(g, train, "wait 1", -1);
    pid_t pid = toy_grid_fork(g);
    toy_grid_await_bell(bell, 1);
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
    assert_int_equal(toy_grid_status(pid), 0);
    toy_grid_open_store(g);
    assert_int_equal(toy_grid_count(g, states, "lost"), 1);
    assert_int_equal(toy_grid_count(g, states, "done"), 1);
    close(bell);
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
    raise(SIGTERM); /* pending when it closes: it was the scheduler's, it must not strike later */
    signals_close(&sg);
    sigaction(SIGCHLD, NULL, &after);
    assert_true(after.sa_handler == SIG_IGN);
    sigprocmask(SIG_SETMASK, NULL, &mask);
    assert_false(sigismember(&mask, SIGTERM));
    signal(SIGCHLD, SIG_DFL);
}
