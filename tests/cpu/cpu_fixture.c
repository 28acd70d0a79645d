/* cpu_fixture.c - see cpu_fixture.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/philox.h"
#include "cpu/cpu.h"
#include "cpu/cpu_fixture.h"

struct backend *cpu_variant_best(int32_t threads)
{
    struct backend *b = NULL;
    struct err e = {0};
    int rc = backend_cpu_library()->open(&b, 0, threads, DTYPE_F32, &e);
    if (rc < 0) print_error("%s\n", e.text);
    assert_int_equal(rc, 0);
    return b;
}

struct backend *cpu_variant_open(int variant)
{
    static const char *const names[] = {"base", "v3", "v4"};
    const struct simd_kernels *kernels = cpu_simd_named(names[variant % 3]);
    if (!kernels) return NULL;
    struct backend *b = cpu_variant_best(1 + variant / 3);
    cpu_of(b)->simd = kernels;
    return b;
}

void cpu_random(float *out, int64_t n, float scale, uint64_t seed)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = (2.0f * philox_uniform(philox_word(seed, (uint64_t)i, 0, 0)) - 1.0f) * scale;
}

float *cpu_zeros(int64_t n)
{
    float *out = aligned_alloc(64, (size_t)(n / 16 + 2) * 64);
    assert_non_null(out);
    memset(out, 0, (size_t)(n / 16 + 2) * 64);
    return out;
}

float *cpu_random_make(int64_t n, float scale, uint64_t seed)
{
    float *out = cpu_zeros(n);
    cpu_random(out, n, scale, seed);
    return out;
}

void cpu_check(const char *what, const float *got, const double *expected, int64_t n, double terms,
               double ulps)
{
    double size = terms, worst = 0.0;
    int64_t at = 0;
    for (int64_t i = 0; i < n; i++) {
        double difference = fabs((double)got[i] - expected[i]);
        if (fabs(expected[i]) > size) size = fabs(expected[i]);
        if (!(difference <= worst)) {
            worst = difference;
            at = i;
        }
    }
    if (worst <= ulps * 0x1p-24 * size) return;
    print_error("%s[%lld]: %.9g, expected %.9g: off by %.3g, allowed %.3g\n", what, (long long)at,
                (double)got[at], expected[at], worst, ulps * 0x1p-24 * size);
    fail();
}

void cpu_check_bits(const char *what, const void *got, const void *expected, size_t bytes)
{
    const unsigned char *a = got, *b = expected;
    for (size_t i = 0; i < bytes; i++)
        if (a[i] != b[i]) {
            print_error("%s: the bytes differ from %zu on\n", what, i);
            fail();
        }
}
