/* targets.h - the parsers of bytes from outside, each as a function of bytes: for libFuzzer
 * (fuzz.c) and for the suite, which reads every seed (test_seeds.c). */
#ifndef TESTS_FUZZ_TARGETS_H
#define TESTS_FUZZ_TARGETS_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

struct fuzz_target {
    const char *name; /* of its folder of seeds, too */
    void (*read)(const uint8_t *bytes, size_t n, struct arena *a, struct err *e);
};
extern const struct fuzz_target fuzz_targets[];
extern const int32_t fuzz_targets_n;

void fuzz_resume(const uint8_t *bytes, size_t n, struct arena *a, struct err *e); /* resume.c */

/* fuzz_database - the target `database` in one of its ways: all views, a migration, a merge, which
 * keeps what it ingests until the process ends, or a command. */
extern const int32_t fuzz_database_ways;
void fuzz_database(const uint8_t *bytes, size_t n, int32_t way, struct arena *a, struct err *e);

/* fuzz_target_read - with an arena and a struct err of its own. */
void fuzz_target_read(const struct fuzz_target *target, const uint8_t *bytes, size_t n);
/* fuzz_target_find - NULL if there is none of this name. */
const struct fuzz_target *fuzz_target_find(const char *name);

#endif
