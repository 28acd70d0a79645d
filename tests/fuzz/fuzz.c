/* fuzz.c - libFuzzer's entry points. ALIBI_FUZZ_TARGET names the target; without it, or with an
 * unknown name, the program lists them. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <sanitizer/lsan_interface.h>

#include "base/hash.h"
#include "fuzz/targets.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static const struct fuzz_target *target;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    const char *name = getenv("ALIBI_FUZZ_TARGET");
    char hash[HASH_HEX_BYTES];
    (void)argc, (void)argv;
    /* OpenSSL's state of this thread, to which only a thread-local block points (tests/leaks.txt).
     */
    __lsan_disable();
    hash_sha256_hex(hash, "", 0);
    __lsan_enable();
    if (name && (target = fuzz_target_find(name))) return 0;
    for (int32_t i = 0; i < fuzz_targets_n; i++) puts(fuzz_targets[i].name);
    exit(name ? 64 : 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    fuzz_target_read(target, bytes, n);
    return 0;
}
