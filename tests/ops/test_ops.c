/* test_ops.c - the table of all ops.
 *
 *   test_ops [[--bf16] DEVICE...]
 *   test_ops --about DEVICE         prints what the device is, and its library of products
 *
 * By default on check:cpu and, with more rows, on every instruction set of this processor with one
 * and two threads. */
#include "harness/test.h"

#include <stdio.h>
#include <string.h>

#include "cpu/cpu.h"
#include "cpu/cpu_fixture.h"

enum { ROWS_MAX = 64, NAME_BYTES = 128 };

static const struct op_row *const tables[] = {op_rows, op_rows_attention, op_rows_table,
                                              op_rows_cpu};
enum { TABLES_N = sizeof tables / sizeof *tables };

/* A row on a backend. */
struct place {
    const struct op_row *row;
    const char *backend; /* NULL: a variant of the CPU's */
    int variant;
    char name[NAME_BYTES];
};

static void run_row(void **state)
{
    const struct place *p = *state;
    struct backend *b = NULL;
    struct op_bench k;
    if (p->backend == NULL)
        b = cpu_variant_open(p->variant);
    else
        assert_ok(backend_open(&b, p->backend, 1, test_dtype, &e));
    op_bench_init(&k, b, 20220425);
    op_row_run(p->row, &k);
    op_bench_fini(&k);
    backend_close(b);
}

static int run_backend(const char *name, const char *backend, int variant)
{
    static struct place places[ROWS_MAX];
    struct CMUnitTest tests[ROWS_MAX] = {0};
    int n = 0;
    for (int t = 0; t < TABLES_N - (backend != NULL); t++) {
        /* tests/cpu/test_attention.c runs attention on two threads. */
        if (variant >= CPU_SETS && tables[t] == op_rows_attention) continue;
        for (const struct op_row *row = tables[t]; row->name != NULL && n < ROWS_MAX; row++, n++) {
            places[n] = (struct place){.row = row, .backend = backend, .variant = variant};
            snprintf(places[n].name, NAME_BYTES, "%s: %s", name, row->name);
            tests[n] = (struct CMUnitTest){
                .name = places[n].name, .test_func = run_row, .initial_state = &places[n]};
        }
    }
    return _cmocka_run_group_tests(name, tests, (size_t)n, NULL, NULL);
}

static int run_variants(void)
{
    int failed = 0;
    for (int variant = 0; variant < CPU_VARIANTS; variant++) {
        char name[NAME_BYTES];
        struct backend *b = cpu_variant_open(variant);
        if (b == NULL) continue;
        snprintf(name, sizeof name, "cpu %s, %d threads", cpu_of(b)->simd->name, b->threads);
        backend_close(b);
        failed += run_backend(name, NULL, variant);
    }
    return failed;
}

static int print_about(const char *device)
{
    struct backend *b = NULL;
    struct err error = {0};
    int rc = backend_open(&b, device, 1, DTYPE_F32, &error);
    if (rc == 0)
        printf("%s\n%s\n", b->device, b->blas);
    else
        fprintf(stderr, "test_ops: %s\n", error.text);
    backend_close(b);
    return err_exit_code(rc);
}

int main(int argc, char **argv)
{
    int failed = 0, first = 1;
    if (argc == 3 && strcmp(argv[1], "--about") == 0) return print_about(argv[2]);
    if (argc > 1 && strcmp(argv[1], "--bf16") == 0) {
        test_dtype = DTYPE_BF16;
        first = 2;
    }
    if (argc == 1) failed = run_variants() + run_backend("check:cpu", "check:cpu", 0);
    for (int i = first; i < argc; i++) failed += run_backend(argv[i], argv[i], 0);
    return failed == 0 ? 0 : 1;
}
