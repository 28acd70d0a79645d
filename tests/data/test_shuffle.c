/* test_shuffle.c - permutations: whole, even, reproducible. */
#include "harness/test.h"

#include <stdlib.h>
#include <string.h>

#include "data/shuffle.h"

TEST(every_number_comes_once_and_keys_and_streams_differ)
{
    enum { N = 5000 };
    int32_t *a = calloc(N, sizeof *a), *b = calloc(N, sizeof *b);
    char *seen = calloc(N, 1);
    shuffle_make(a, N, 7, 1);
    for (int i = 0; i < N; i++) seen[a[i]]++;
    for (int i = 0; i < N; i++) assert_int_equal(seen[i], 1);
    shuffle_make(b, N, 7, 1);
    assert_memory_equal(a, b, N * sizeof *a);
    shuffle_make(b, N, 8, 1);
    assert_memory_not_equal(a, b, N * sizeof *a);
    shuffle_make(b, N, 7, 2);
    assert_memory_not_equal(a, b, N * sizeof *a);
    shuffle_make(b, 0, 7, 1);
    shuffle_make(b, 1, 7, 1);
    assert_int_equal(b[0], 0);
    free(a);
    free(b);
    free(seen);
}

TEST(all_permutations_of_four_are_equally_frequent)
{
    enum { KEYS = 24000 };
    int32_t counts[256] = {0}, p[4];
    int different = 0;
    double chi2 = 0;
    for (uint64_t key = 0; key < KEYS; key++) {
        shuffle_make(p, 4, key, 3);
        counts[p[0] << 6 | p[1] << 4 | p[2] << 2 | p[3]]++;
    }
    for (int i = 0; i < 256; i++) {
        if (counts[i] == 0) continue;
        different++;
        chi2 += (counts[i] - 1000.0) * (counts[i] - 1000.0) / 1000.0;
    }
    assert_int_equal(different, 24);
    assert_true(chi2 < 49.7); /* 23 degrees of freedom: exceeded once in a thousand */
}
