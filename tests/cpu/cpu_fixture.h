/* cpu_fixture.h - shared by the tests of the CPU backend: a backend for every instruction set of
 * this processor with one and two threads, and the rows of the op table for it. */
#ifndef TESTS_CPU_CPU_FIXTURE_H
#define TESTS_CPU_CPU_FIXTURE_H

#include <stdint.h>

#include "backend/backend.h"
#include "ops/op_case.h"

enum { CPU_SETS = 3, CPU_VARIANTS = 2 * CPU_SETS };

/* cpu_variant_open - variant 0 ... CPU_VARIANTS - 1, first those of one thread; NULL where this
 * processor lacks the set. */
struct backend *cpu_variant_open(int variant);
/* cpu_variant_best - the instruction set that the program selects. */
struct backend *cpu_variant_best(int32_t threads);

extern const struct op_row op_rows_cpu[];

#endif
