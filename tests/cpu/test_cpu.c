/* test_cpu.c - opening backends by name; description, memory and threads of the CPU backend. */
#include "harness/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/cpu.h"
#include "cpu/cpu_fixture.h"
#include "ops/op_attention.h"
#include "ops/ops.h"

TEST(the_cpu_names_its_threads_its_kernels_and_its_library)
{
    struct backend *b = NULL;
    assert_ok(backend_open(&b, "cpu", 0, DTYPE_F32, &e));
    assert_int_equal(b->threads, 1);
    assert_string_equal(b->name, "cpu");
    assert_non_null(strstr(b->device, "1 thread, "));
    assert_non_null(strstr(b->device, cpu_of(b)->simd->name));
    assert_true(strlen(b->blas) > 0);
    backend_close(b);
    assert_ok(backend_open(&b, "cpu", 2, DTYPE_F32, &e));
    assert_non_null(strstr(b->device, "2 threads"));
    backend_close(b);
    backend_close(NULL);
}

TEST(a_file_that_cannot_be_opened_is_reported_with_the_reason)
{
    static const struct {
        const char *name, *word;
        int32_t threads;
        enum dtype precision;
        int code;
    } cases[] = {
        {"gpu", "cuda:0", 1, DTYPE_F32, ERR_USAGE},
        {"", "cpu", 1, DTYPE_F32, ERR_USAGE},
        {"cuda:x", "cuda:x", 1, DTYPE_F32, ERR_USAGE},
        {"cuda:-1", "cuda:-1", 1, DTYPE_F32, ERR_USAGE},
        {"check:gpu", "gpu", 1, DTYPE_F32, ERR_USAGE},
        {"cpu", "fp32", 1, DTYPE_BF16, ERR_UNAVAILABLE},
        {"cpu", "-1 threads", -1, DTYPE_F32, ERR_USAGE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct backend *b = NULL;
        assert_fails(cases[i].code, cases[i].word,
                     backend_open(&b, cases[i].name, cases[i].threads, cases[i].precision, &e));
        assert_null(b);
    }
}

/* A machine may have a driver: only the message of a failure is checked. */
TEST(a_missing_cuda_backend_says_what_is_missing)
{
    struct backend *b = NULL;
    int rc = backend_open(&b, "cuda:0", 1, DTYPE_F32, &e);
    if (rc == 0) {
        backend_close(b);
        skip();
    }
    assert_int_equal(rc, ERR_UNAVAILABLE);
    assert_true(strstr(e.text, "libcuda.so.1") || strstr(e.text, "libalibi_cuda.so") ||
                strstr(e.text, "cuda:0"));
}

TEST(memory_is_aligned_zeroed_and_counted)
{
    enum { BYTES = 48 << 20 };
    struct backend *b = cpu_variant_best(1);
    int64_t before = 0, after = 0;
    void *p = NULL, *small = NULL;
    assert_ok(b->ops->peak_bytes(b, &before, &e));
    assert_ok(b->ops->alloc(b, &p, BYTES, &e));
    assert_ok(b->ops->alloc(b, &small, 0, &e));
    assert_int_equal((uintptr_t)p % 64, 0);
    assert_int_equal((uintptr_t)small % 64, 0);
    for (size_t i = 0; i < BYTES; i += 4096) assert_int_equal(((char *)p)[i], 0);
    assert_ok(b->ops->peak_bytes(b, &after, &e));
    assert_true(after >= before && after >= BYTES);
    b->ops->release(b, p);
    b->ops->release(b, small);
    p = &e;
    assert_int_equal(b->ops->alloc(b, &p, SIZE_MAX - 5, &e), ERR_NOMEM);
    assert_null(p);
    backend_close(b);
}

TEST(bytes_are_uploaded_copied_and_downloaded)
{
    struct backend *b = cpu_variant_best(1);
    float in[3] = {1.0f, 2.0f, 3.0f}, out[3] = {0};
    void *first = NULL, *second = NULL;
    assert_ok(b->ops->alloc(b, &first, sizeof in, &e));
    assert_ok(b->ops->alloc(b, &second, sizeof in, &e));
    assert_ok(b->ops->upload(b, first, in, sizeof in, &e));
    assert_ok(b->ops->copy(b, second, first, sizeof in, &e));
    assert_ok(b->ops->zero(b, first, sizeof in, &e));
    assert_ok(b->ops->sync(b, &e));
    assert_ok(b->ops->download(b, out, second, sizeof in, &e));
    assert_memory_equal(out, in, sizeof in);
    assert_ok(b->ops->download(b, out, first, sizeof in, &e));
    assert_true(out[0] == 0.0f && out[1] == 0.0f && out[2] == 0.0f);
    b->ops->release(b, first);
    b->ops->release(b, second);
    backend_close(b);
}

static void count_items(const void *args, struct simd_range items)
{
    int *const *seen = args;
    assert_true(items.begin < items.end);
    for (int64_t i = items.begin; i < items.end; i++) (*seen)[i]++;
}

TEST(every_item_is_given_to_exactly_one_thread)
{
    static const int64_t sizes[] = {0, 1, 7, 8, 9, 63, 64, 65, 200};
    for (int32_t threads = 1; threads <= 5; threads++) {
        struct backend *b = cpu_variant_best(threads);
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            int seen[201] = {0}, *first = seen;
            cpu_parallel(b, sizes[k], 8, count_items, &first);
            for (int64_t i = 0; i < 201; i++) assert_int_equal(seen[i], i < sizes[k]);
        }
        backend_close(b);
    }
}

TEST(subnormal_results_are_zero_in_every_thread)
{
    for (int32_t threads = 1; threads <= 2; threads++) {
        enum { ROWS = 64, COLS = 16 };
        struct op_bench k;
        op_bench_init(&k, cpu_variant_best(threads), 1);
        struct op_matrix x = op_random(&k, ROWS, COLS, 0);
        int32_t index[ROWS];
        for (int i = 0; i < ROWS * COLS; i++) x.host[i] = 1e-30f;
        for (int i = 0; i < ROWS; i++) index[i] = i;
        op_set(&k, &x);
        assert_ok(
            OPS(k.b, gather_rows, &e, .y = x.t, .x = x.t, .index_dev = index, .scale = 1e-10f));
#if defined(__SSE2__)
        const float *y = op_get(&k, &x.t);
        for (int i = 0; i < ROWS * COLS; i++) assert_true(y[i] == 0.0f);
#endif
        op_bench_close(&k);
    }
}

/* The sums of a long vector and attention with dropout: heads and blocks go to threads whole. */
static void make_sums(double *squares, float out[2][3 * 90 * 3 * 24], struct backend *b)
{
    enum { N = 200003 };
    struct op_bench k;
    op_bench_init(&k, b, 1);
    struct op_matrix x = op_random(&k, 1, N, 0);
    double expected = 0.0;
    for (int i = 0; i < N; i++) expected += (double)x.host[i] * (double)x.host[i];
    assert_ok(OPS(b, sum_squares, &e, .out_dev = squares, .x_dev = x.t.data, .n = N));
    assert_true(fabs(*squares / expected - 1.0) < 1e-12);
    struct attention_case c = op_attention_case(&k, (int32_t[]){3, 90, 3, 8}, FORM_SLOPE, 0.1f);
    op_attention_run(&k, &c);
    const struct tensor *made[] = {&c.out.t, &c.dqkv.t};
    for (int i = 0; i < 2; i++)
        memcpy(out[i], op_get(&k, made[i]),
               (size_t)(made[i]->rows * made[i]->cols) * sizeof(float));
    op_bench_close(&k);
}

TEST(one_thread_and_two_give_the_same_bits)
{
    static float out[2][2][3 * 90 * 3 * 24];
    double squares[2];
    for (int set = 0; set < CPU_SETS; set++)
        for (int threads = 0; threads < 2; threads++) {
            struct backend *b = cpu_variant_open(set + CPU_SETS * threads);
            if (!b) continue;
            make_sums(&squares[threads], out[threads], b);
            if (threads == 0) continue;
            assert_true(squares[0] == squares[1]);
            assert_memory_equal(out[0], out[1], sizeof out[0]);
        }
}

TEST(the_library_multiplies_rightly)
{
    struct op_bench k;
    struct backend *b = cpu_variant_best(1);
    int rc = cpu_use_library(b, &e);
    backend_close(b);
    if (rc < 0) {
        assert_non_null(strstr(e.text, "oneDNN"));
        skip();
    }
    for (const struct op_row *row = op_rows; row->name != NULL; row++) {
        if (strncmp(row->name, "linear", 6) != 0) continue;
        op_bench_init(&k, cpu_variant_best(1), 1);
        assert_ok(cpu_use_library(k.b, &e));
        op_row_run(row, &k);
        op_bench_close(&k);
    }
}

static int status_to_report;
static int reports_status(char transpose_a, char transpose_b, int64_t m, int64_t n, int64_t k,
                          float alpha, const float *a, int64_t lda, const float *b, int64_t ldb,
                          float beta, float *c, int64_t ldc)
{
    (void)transpose_a, (void)transpose_b, (void)m, (void)n, (void)k, (void)alpha, (void)a;
    (void)lda, (void)b, (void)ldb, (void)beta, (void)c, (void)ldc;
    return status_to_report;
}

/* The scheduler blames the library for ERR_UNAVAILABLE only. */
TEST(a_library_without_memory_is_not_a_library_that_failed)
{
    struct op_bench k;
    op_bench_init(&k, cpu_variant_best(2), 1);
    cpu_of(k.b)->blas.sgemm = reports_status;
    cpu_of(k.b)->rule = (struct linear_rule){true, INT32_MAX};
    struct tensor x = op_random(&k, 32, 32, 0).t, y = op_random(&k, 32, 32, 0).t;
    for (status_to_report = 1; status_to_report <= 3; status_to_report++) {
        int code = status_to_report == 1 ? ERR_NOMEM : ERR_UNAVAILABLE;
        const char *word = status_to_report == 1 ? "out of memory" : "failed to multiply";
        assert_fails(code, word, OPS(k.b, linear_bwd_input, &e, .dx = y, .dy = x, .w = x));
        assert_fails(code, word, OPS(k.b, linear_bwd_weight, &e, .dw = y, .dy = x, .x = x));
    }
    op_bench_close(&k);
}

/* Returns the products that a set of kernels chooses; "" if this processor lacks them. */
static const char *products_of(const char *kernels, const char *avoided)
{
    static char text[96];
    struct backend *b = NULL;
    text[0] = '\0';
    if (!cpu_simd_named(kernels)) return text;
    setenv("ALIBI_KERNELS", kernels, 1);
    if (avoided) setenv("ALIBI_AVOID_BLAS", avoided, 1);
    assert_ok(backend_open(&b, "cpu", 1, DTYPE_F32, &e));
    snprintf(text, sizeof text, "%s", b->blas);
    backend_close(b);
    unsetenv("ALIBI_KERNELS");
    unsetenv("ALIBI_AVOID_BLAS");
    return text;
}

TEST(only_the_v4_kernels_use_a_library_and_only_one_that_is_not_avoided)
{
    static const char own[] = "own products";
    struct blas b;
    assert_string_equal(products_of("base", NULL), own);
    if (cpu_simd_named("v3")) assert_string_equal(products_of("v3", NULL), own);
    assert_fails(ERR_UNAVAILABLE, "base kernels", blas_open(&b, "base", &e));
    if (!cpu_simd_named("v4")) return;
    bool found = blas_open(&b, "v4", &e) == 0;
    assert_string_equal(products_of("v4", NULL), found ? b.text : own);
    assert_string_equal(products_of("v4", "onednn"), own);
    assert_string_equal(products_of("v4", b.text), own);
}

TEST(the_kernels_are_the_widest_that_run_or_those_that_are_named)
{
    static const char *const sets[] = {"base", "v3", "v4"};
    const struct simd_kernels *chosen = NULL, *widest = NULL;
    for (int i = 0; i < 3; i++) {
        const struct simd_kernels *named = cpu_simd_named(sets[i]);
        setenv("ALIBI_KERNELS", sets[i], 1);
        if (named)
            assert_ok(cpu_simd_choose(&chosen, &e));
        else
            assert_fails(ERR_USAGE, sets[i], cpu_simd_choose(&chosen, &e));
        assert_ptr_equal(chosen, named);
        if (named) widest = named;
    }
    setenv("ALIBI_KERNELS", "v5", 1);
    assert_fails(ERR_USAGE, "ALIBI_KERNELS=v5", cpu_simd_choose(&chosen, &e));
    unsetenv("ALIBI_KERNELS");
    assert_ok(cpu_simd_choose(&chosen, &e));
    assert_ptr_equal(chosen, widest);
}
