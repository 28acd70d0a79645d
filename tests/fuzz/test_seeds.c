/* test_seeds.c - every seed of every fuzz target is read without a fault: well-formed files, and
 * those that once crashed a reader. */
#include "harness/test.h"

#include <stdio.h>

#include "base/arena.h"
#include "base/file.h"
#include "fuzz/targets.h"

enum { SEED_BYTES_MAX = 1 << 24 };

TEST(every_seed_of_every_target_is_read)
{
    int32_t seeds_n = 0;

    for (int32_t i = 0; i < fuzz_targets_n; i++) {
        struct arena a;
        struct dir d;
        char folder[128];
        snprintf(folder, sizeof folder, "tests/fuzz/seeds/%s", fuzz_targets[i].name);
        arena_init(&a);
        assert_ok(dir_open(&d, folder, &e));
        assert_true(d.n > 0);
        for (int32_t k = 0; k < d.n; k++) {
            char *bytes, *path = arena_printf(&a, "%s/%s", folder, d.name_own[k]);
            size_t n;
            assert_ok(file_read(&a, &bytes, &n, path, SEED_BYTES_MAX, &e));
            fuzz_target_read(&fuzz_targets[i], (const uint8_t *)bytes, n);
        }
        seeds_n += d.n;
        dir_close(&d);
        arena_fini(&a);
    }
    print_message("%d faults injected\n", seeds_n);
}
