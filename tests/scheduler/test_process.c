/* test_process.c - what surrounds a worker: environment, log, group. */
#include "harness/test.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "scheduler/toy_grid.h"

TEST_EACH(toy_grid_setup, toy_grid_teardown)

TEST_WITH(struct toy_grid *g, a_worker_sees_a_scrubbed_environment)
{
    int32_t train = toy_grid_train(g, 64);
    toy_grid_script(g, train, "environment", -1);
    setenv("ALIBI_TEST_SECRET", "1", 1);
    setenv("OMP_NUM_THREADS", "7", 1);
    int leaked = dup(2); /* without close-on-exec: must not be open in the worker all the same */
    assert_int_equal(toy_grid_run(g), 0);
    close(leaked);
    unsetenv("ALIBI_TEST_SECRET");
    unsetenv("OMP_NUM_THREADS");
    const char *log = toy_grid_read_of(g, train, "log");
    assert_null(strstr(log, "ALIBI_TEST_SECRET"));
    assert_non_null(strstr(log, "OMP_NUM_THREADS=1\n"));
    assert_non_null(strstr(log, "LANG=C.UTF-8\n"));
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

TEST_EACH(NULL, NULL)

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
