/* test.c - the list of registered cases and the main function of every test program. */
#include "harness/test.h"

#include <stdio.h>
#include <stdlib.h>

enum { CASES_MAX = 256 };

static struct CMUnitTest cases[CASES_MAX];
static size_t cases_n;
static test_state_fn each_setup, each_teardown, group_setup, group_teardown;

void test_register(const char *name, CMUnitTestFunction run)
{
    if (cases_n == CASES_MAX) {
        fprintf(stderr, "more than %d cases in one program\n", CASES_MAX);
        abort();
    }
    cases[cases_n++] = (struct CMUnitTest){
        .name = name, .test_func = run, .setup_func = each_setup, .teardown_func = each_teardown};
}

void test_each(test_state_fn setup, test_state_fn teardown)
{
    each_setup = setup;
    each_teardown = teardown;
}

void test_group(test_state_fn setup, test_state_fn teardown)
{
    group_setup = setup;
    group_teardown = teardown;
}

/* Weak: a program whose cases depend on its arguments has a main of its own. */
__attribute__((weak)) int main(int argc, char **argv)
{
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return _cmocka_run_group_tests(argv[0], cases, cases_n, group_setup, group_teardown);
}
