/* test_subprocess.c - output, errors, exit status, environment, time limit. */
#include "harness/test.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/subprocess.h"

TEST_EACH(test_place_make, test_place_remove)

TEST_WITH(struct test_place *p, output_errors_and_exit_status_are_returned)
{
    const char *const argv[] = {"sh", "-c", "echo out; echo first >&2; echo last >&2; exit 3",
                                NULL};
    const struct subprocess s = {.argv = argv};
    struct subprocess_end end;

    assert_ok(subprocess_run(&end, &p->arena, &s, &e));
    assert_string_equal(end.output, "out\n");
    assert_string_equal(end.errors, "first\nlast\n");
    assert_int_equal(end.exit_code, 3);
    assert_int_equal(end.signal, -1);
    assert_int_equal(subprocess_check(&end, &s, ERR_INTERNAL, &e), ERR_INTERNAL);
    assert_string_equal(e.text, "sh: exit 3: last");
}

TEST_WITH(struct test_place *p, a_signal_that_kills_it_is_named)
{
    const char *const argv[] = {"sh", "-c", "kill -KILL $$", NULL};
    const struct subprocess s = {.argv = argv};
    struct subprocess_end end;

    assert_ok(subprocess_run(&end, &p->arena, &s, &e));
    assert_int_equal(end.exit_code, -1);
    assert_int_equal(end.signal, SIGKILL);
    assert_fails(ERR_TRYLATER, "signal 9", subprocess_check(&end, &s, ERR_TRYLATER, &e));
}

TEST_WITH(struct test_place *p, folder_and_environment_are_those_asked_for)
{
    const char *const argv[] = {"sh", "-c", "pwd; echo \"$A-$HOME\"", NULL};
    const char *const environment[] = {"A=1", "PATH=/usr/bin:/bin", NULL};
    const struct subprocess s = {.argv = argv, .environment = environment, .folder = "/"};
    struct subprocess_end end;

    assert_ok(subprocess_run(&end, &p->arena, &s, &e));
    assert_string_equal(end.output, "/\n1-\n");
    assert_ok(subprocess_check(&end, &s, ERR_INTERNAL, &e));
}

TEST_WITH(struct test_place *p, a_program_that_does_not_end_is_killed_with_its_children)
{
    const char *const argv[] = {"sh", "-c", "sleep 1000 & echo $!; wait", NULL};
    const struct subprocess s = {.argv = argv, .timeout_s = 0.2};
    struct subprocess_end end;

    assert_ok(subprocess_run(&end, &p->arena, &s, &e));
    assert_true(end.timed_out);
    assert_fails(ERR_TRYLATER, "0.2 s", subprocess_check(&end, &s, ERR_TRYLATER, &e));
}

TEST_WITH(struct test_place *p, a_program_that_is_missing_is_an_error_with_its_name)
{
    const char *const argv[] = {"alibi-no-such-program", NULL};
    const struct subprocess s = {.argv = argv};
    struct subprocess_end end;

    assert_int_equal(subprocess_run(&end, &p->arena, &s, &e), ERR_UNAVAILABLE);
    assert_non_null(strstr(e.text, "alibi-no-such-program"));
    assert_non_null(strstr(e.text, "No such file"));
    assert_true(subprocess_find("sh"));
    assert_false(subprocess_find("alibi-no-such-program"));
}

TEST_WITH(struct test_place *p, no_descriptor_of_the_caller_is_open_in_it)
{
    const char *const argv[] = {"sh", "-c", "ls /proc/self/fd | wc -l", NULL};
    const struct subprocess s = {.argv = argv};
    struct subprocess_end end;
    int leaked = dup(2); /* without O_CLOEXEC */

    assert_ok(subprocess_run(&end, &p->arena, &s, &e));
    assert_int_equal(atol(end.output), 4); /* 0, 1, 2 and ls's own */
    close(leaked);
}
