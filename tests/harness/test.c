/* test.c - the list of registered cases and the main function of every test program. */
#include "harness/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CASES_MAX = 256 };

static struct CMUnitTest cases[CASES_MAX];
static size_t cases_n;
static test_state_fn each_setup, each_teardown, group_setup, group_teardown;

void test_register(const char *name, CMUnitTestFunction run, void *row)
{
    if (cases_n == CASES_MAX) {
        fprintf(stderr, "more than %d cases in one program\n", CASES_MAX);
        abort();
    }
    cases[cases_n++] = (struct CMUnitTest){.name = name,
                                           .test_func = run,
                                           .setup_func = each_setup,
                                           .teardown_func = each_teardown,
                                           .initial_state = row};
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

const char *test_device;
enum dtype test_dtype = DTYPE_F32;
static const char *unless_named;
static bool on_devices;

void test_on_devices(const char *device)
{
    on_devices = true;
    unless_named = device;
}

static int run_on_devices(int argc, char **argv)
{
    int failed = 0, first = 1;

    if (argc > 1 && strcmp(argv[1], "--bf16") == 0) {
        test_dtype = DTYPE_BF16;
        first = 2;
    }
    test_device = unless_named;
    if (argc > first ? argv[first][0] == '-' : !unless_named || test_dtype == DTYPE_BF16) {
        fprintf(stderr, "usage: %s [--bf16] DEVICE...\n", argv[0]);
        return 64;
    }
    for (int i = first; i < argc || i == first; i++) {
        if (i < argc) test_device = argv[i];
        failed += _cmocka_run_group_tests(test_device, cases, cases_n, group_setup, group_teardown);
    }
    return failed > 0;
}

/* Weak: a program whose cases depend on its arguments has a main of its own. */
__attribute__((weak)) int main(int argc, char **argv)
{
    if (on_devices) return run_on_devices(argc, argv);
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return _cmocka_run_group_tests(argv[0], cases, cases_n, group_setup, group_teardown);
}
