/* test_cpu.c - opening backends by name, and what the CPU backend says and keeps. */
#include "harness/test.h"

#include <stddef.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/cpu.h"
#include "cpu/cpu_fixture.h"
#include "ops/ops.h"

TEST(the_cpu_names_its_threads_its_kernels_and_its_library)
{
    struct backend *b = NULL;
    assert_int_equal(backend_open(&b, "cpu", 0, DTYPE_F32, &e), 0);
    assert_int_equal(b->threads, 1);
    assert_string_equal(b->name, "cpu");
    assert_non_null(strstr(b->device, "1 thread, "));
    assert_non_null(strstr(b->device, cpu_of(b)->simd->name));
    assert_true(strlen(b->blas) > 0);
    backend_close(b);
    assert_int_equal(backend_open(&b, "cpu", 2, DTYPE_F32, &e), 0);
    assert_non_null(strstr(b->device, "2 threads"));
    backend_close(b);
    backend_close(NULL);
}

TEST(what_cannot_be_opened_says_why)
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
        e = (struct err){0};
        int rc = backend_open(&b, cases[i].name, cases[i].threads, cases[i].precision, &e);
        assert_int_equal(rc, cases[i].code);
        assert_null(b);
        assert_non_null(strstr(e.text, cases[i].word));
    }
}

/* Here without a driver, elsewhere perhaps with one: only the sentence of a refusal is checked. */
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
    assert_int_equal(b->ops->peak_bytes(b, &before, &e), 0);
    assert_int_equal(b->ops->alloc(b, &p, BYTES, &e), 0);
    assert_int_equal(b->ops->alloc(b, &small, 0, &e), 0);
    assert_int_equal((uintptr_t)p % 64, 0);
    assert_int_equal((uintptr_t)small % 64, 0);
    for (size_t i = 0; i < BYTES; i += 4096) assert_int_equal(((char *)p)[i], 0);
    assert_int_equal(b->ops->peak_bytes(b, &after, &e), 0);
    assert_true(after >= before && after >= BYTES);
    b->ops->release(b, p);
    b->ops->release(b, small);
    p = &e;
    assert_int_equal(b->ops->alloc(b, &p, SIZE_MAX - 5, &e), ERR_NOMEM);
    assert_null(p);
    backend_close(b);
}

TEST(bytes_travel_up_across_and_down)
{
    struct backend *b = cpu_variant_best(1);
    float in[3] = {1.0f, 2.0f, 3.0f}, out[3] = {0};
    void *first = NULL, *second = NULL;
    assert_int_equal(b->ops->alloc(b, &first, sizeof in, &e), 0);
    assert_int_equal(b->ops->alloc(b, &second, sizeof in, &e), 0);
    assert_int_equal(b->ops->upload(b, first, in, sizeof in, &e), 0);
    assert_int_equal(b->ops->copy(b, second, first, sizeof in, &e), 0);
    assert_int_equal(b->ops->zero(b, first, sizeof in, &e), 0);
    assert_int_equal(b->ops->sync(b, &e), 0);
    assert_int_equal(b->ops->download(b, out, second, sizeof in, &e), 0);
    cpu_check_bits("second", out, in, sizeof in);
    assert_int_equal(b->ops->download(b, out, first, sizeof in, &e), 0);
    assert_true(out[0] == 0.0f && out[1] == 0.0f && out[2] == 0.0f);
    b->ops->release(b, first);
    b->ops->release(b, second);
    backend_close(b);
}

static void count_items(const struct cpu_share *s, void *arguments)
{
    int *seen = arguments;
    assert_true(s->begin < s->end);
    for (int64_t i = s->begin; i < s->end; i++) seen[i]++;
}

TEST(every_item_is_given_to_exactly_one_thread)
{
    static const int64_t sizes[] = {0, 1, 7, 8, 9, 63, 64, 65, 200};
    for (int32_t threads = 1; threads <= 5; threads++) {
        struct backend *b = cpu_variant_best(threads);
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            int seen[201] = {0};
            cpu_parallel(cpu_of(b), sizes[k], 8, count_items, seen);
            for (int64_t i = 0; i < 201; i++) assert_int_equal(seen[i], i < sizes[k]);
        }
        backend_close(b);
    }
}

TEST(subnormal_results_are_zero_in_every_thread)
{
    for (int32_t threads = 1; threads <= 2; threads++) {
        enum { ROWS = 64, COLS = 16 };
        struct backend *b = cpu_variant_best(threads);
        e = (struct err){0};
        float *x = cpu_zeros(ROWS * COLS), *y = cpu_zeros(ROWS * COLS);
        for (int i = 0; i < ROWS * COLS; i++) x[i] = 1e-30f;
        int32_t index[ROWS];
        for (int i = 0; i < ROWS; i++) index[i] = i;
        struct tensor tx = tensor_make(x, ROWS, COLS, DTYPE_F32);
        struct tensor ty = tensor_make(y, ROWS, COLS, DTYPE_F32);
        assert_int_equal(ops_gather_rows(b, &ty, &tx, index, 1e-10f, &e), 0);
#if defined(__SSE2__)
        for (int i = 0; i < ROWS * COLS; i++) assert_true(y[i] == 0.0f);
#endif
        free(x);
        free(y);
        backend_close(b);
    }
}

TEST(the_best_kernels_are_the_widest_that_run)
{
    const struct simd_kernels *best = cpu_simd_best();
    assert_non_null(cpu_simd_named("base"));
    assert_null(cpu_simd_named("v5"));
    if (cpu_simd_named("v4"))
        assert_ptr_equal(best, cpu_simd_named("v4"));
    else if (cpu_simd_named("v3"))
        assert_ptr_equal(best, cpu_simd_named("v3"));
    else
        assert_ptr_equal(best, cpu_simd_named("base"));
}
