/* cpu_fixture.h - what the tests of the CPU backend share: a backend for every instruction set of
 * this processor with one and two threads, random operands from a seed, and comparison with
 * double-precision results. */
#ifndef TESTS_CPU_CPU_FIXTURE_H
#define TESTS_CPU_CPU_FIXTURE_H

#include <stdint.h>

#include "backend/backend.h"

enum { CPU_VARIANTS = 6 };

/* cpu_variant_open - variant 0 ... CPU_VARIANTS - 1; NULL where this processor lacks the set. */
struct backend *cpu_variant_open(int variant);
/* cpu_variant_best - the set the program itself would choose. */
struct backend *cpu_variant_best(int32_t threads);

/* cpu_random - n floats in [-1, 1) times scale, the same for the same seed. */
void cpu_random(float *out, int64_t n, float scale, uint64_t seed);
/* cpu_random_make - the same in fresh memory of n + 16 floats, which the caller frees. */
float *cpu_random_make(int64_t n, float scale, uint64_t seed);
float *cpu_zeros(int64_t n);

/* cpu_check - fails unless every |got - expected| <= ulps * 2^-24 * size, where size is the larger
 * of terms (the magnitude of what was summed, which may cancel) and the largest |expected|; prints
 * what and where. */
void cpu_check(const char *what, const float *got, const double *expected, int64_t n, double terms,
               double ulps);
/* cpu_check_bits - fails unless the bytes are equal. */
void cpu_check_bits(const char *what, const void *got, const void *expected, size_t bytes);

#endif
