/* test_ops.c - the table of all ops, run on each backend named on the command line (cpu and
 * check:cpu where none is). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "ops/op_bench.h"

enum { ROWS_MAX = 64, NAME_BYTES = 128 };

static const struct op_row *const tables[] = {op_rows_linear, op_rows_norm, op_rows_attention,
                                              op_rows_update, op_rows_table};

/* A row on a backend. */
struct place {
    const struct op_row *row;
    const char *backend;
    char name[NAME_BYTES];
};

static void run_row(void **state)
{
    const struct place *p = *state;
    struct err e = {0};
    struct backend *b = NULL;
    struct op_bench k;
    op_ok(backend_open(&b, p->backend, 1, DTYPE_F32, &e), &e);
    op_bench_init(&k, b, 20220425);
    p->row->run(&k);
    op_bench_fini(&k);
    backend_close(b);
}

static int run_backend(const char *backend)
{
    static struct place places[ROWS_MAX];
    struct CMUnitTest tests[ROWS_MAX] = {0};
    int n = 0;
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (const struct op_row *row = tables[t]; row->name != NULL && n < ROWS_MAX; row++, n++) {
            places[n] = (struct place){.row = row, .backend = backend};
            snprintf(places[n].name, NAME_BYTES, "%s: %s", backend, row->name);
            tests[n] = (struct CMUnitTest){
                .name = places[n].name, .test_func = run_row, .initial_state = &places[n]};
        }
    return _cmocka_run_group_tests(backend, tests, (size_t)n, NULL, NULL);
}

int main(int argc, char **argv)
{
    static const char *const usual[] = {"cpu", "check:cpu"};
    int failed = 0;
    for (int i = 1; i < argc; i++) failed += run_backend(argv[i]);
    for (int i = 0; argc < 2 && i < 2; i++) failed += run_backend(usual[i]);
    return failed == 0 ? 0 : 1;
}
