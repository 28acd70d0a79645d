/* shuffle.c - Fisher-Yates over Philox. */
#include "data/shuffle.h"

#include "base/philox.h"

/* Unbiased in [0, bound): the product's upper half is the draw; its lower half tells the few words
 * that would make some results likelier. */
static uint32_t shuffle_below(uint32_t bound, uint64_t key, uint64_t element, uint32_t stream)
{
    uint32_t unfair = (0u - bound) % bound;

    for (uint32_t step = 0;; step++) {
        uint64_t product = (uint64_t)philox_word(key, element, step, stream) * bound;
        if ((uint32_t)product >= unfair) return (uint32_t)(product >> 32);
    }
}

void shuffle_make(int32_t *out, int32_t n, uint64_t key, uint32_t stream)
{
    for (int32_t i = 0; i < n; i++) out[i] = i;
    for (int32_t i = n - 1; i > 0; i--) {
        uint32_t j = shuffle_below((uint32_t)i + 1, key, (uint64_t)i, stream);
        int32_t kept = out[i];
        out[i] = out[j];
        out[j] = kept;
    }
}
