/* test_signals.c - Ctrl-C once, twice, and by whom; the signals of the caller come back unharmed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scheduler/signals.h"
#include "scheduler/toy_grid.h"

static int setup(void **state)
{
    struct toy_grid *g = calloc(1, sizeof *g);
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

static int status_of(pid_t pid)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void one_wish_lets_workers_finish_their_update(void **state, int signal_number)
{
    struct toy_grid *g = *state;
    int32_t train = toy_grid_family(g, 64);
    int bell = toy_grid_hang_bell(g);
    toy_grid_script(g, train, "wait 1", -1);
    pid_t pid = toy_grid_fork(g);
    toy_grid_await_bell(bell, 1);
    kill(pid, signal_number);
    assert_int_equal(status_of(pid), -ERR_INTERRUPTED);
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

static void ctrl_c_lets_workers_finish_their_update_and_the_next_call_goes_on(void **state)
{
    one_wish_lets_workers_finish_their_update(state, SIGINT);
}

static void a_terminate_signal_does_the_same(void **state)
{
    one_wish_lets_workers_finish_their_update(state, SIGTERM);
}

static void a_terminal_that_closes_does_the_same(void **state)
{
    one_wish_lets_workers_finish_their_update(state, SIGHUP);
}

static void a_second_wish_ends_workers_that_do_not_listen(void **state)
{
    struct toy_grid *g = *state;
    int32_t train = toy_grid_family(g, 64);
    int bell = toy_grid_hang_bell(g);
    toy_grid_script(g, train, "ignore 1", -1);
    pid_t pid = toy_grid_fork(g);
    toy_grid_await_bell(bell, 1);
    /* Two that come together count once, so the wish is repeated until it is heeded. */
    do {
        kill(pid, SIGINT);
    } while (!toy_grid_await_end(pid, 250));
    assert_int_equal(status_of(pid), -ERR_INTERRUPTED);
    toy_grid_open_store(g);
    assert_int_equal(toy_grid_count(g,
                                    "SELECT count(*) FROM attempts WHERE state='cancelled' AND "
                                    "signal=9",
                                    NULL),
                     1);
    assert_int_equal(toy_grid_run(g), 0);
    close(bell);
}

static void a_worker_stopped_by_somebody_else_is_lost_and_tried_again(void **state)
{
    struct toy_grid *g = *state;
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
        status_of(pid);
        if (f) fclose(f);
        skip(); /* this kernel does not list children */
    }
    fclose(f);
    kill((pid_t)worker, SIGTERM);
    assert_int_equal(status_of(pid), 0);
    toy_grid_open_store(g);
    assert_int_equal(toy_grid_count(g, states, "lost"), 1);
    assert_int_equal(toy_grid_count(g, states, "done"), 1);
    close(bell);
}

static void a_stop_that_comes_twice_at_once_counts_once(void **state)
{
    struct signals sg;
    struct err e;
    bool child = false;
    (void)state;
    assert_int_equal(signals_open(&sg, &e), 0);
    raise(SIGINT);
    raise(SIGTERM);
    signals_read(&sg, &child);
    assert_int_equal(sg.stops_n, 1);
    assert_false(child);
    signals_close(&sg);
}

static void the_caller_gets_its_signals_back(void **state)
{
    struct signals sg;
    struct err e;
    struct sigaction before = {.sa_handler = SIG_IGN}, after;
    sigset_t mask;
    (void)state;
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

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(ctrl_c_lets_workers_finish_their_update_and_the_next_call_goes_on),
        CASE(a_terminate_signal_does_the_same),
        CASE(a_terminal_that_closes_does_the_same),
        CASE(a_second_wish_ends_workers_that_do_not_listen),
        CASE(a_worker_stopped_by_somebody_else_is_lost_and_tried_again),
        cmocka_unit_test(a_stop_that_comes_twice_at_once_counts_once),
        cmocka_unit_test(the_caller_gets_its_signals_back),
    };
    return cmocka_run_group_tests_name("signals", tests, NULL, NULL);
}
