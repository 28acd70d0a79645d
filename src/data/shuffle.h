/* shuffle.h - random permutations that are pure functions of their arguments. */
#ifndef DATA_SHUFFLE_H
#define DATA_SHUFFLE_H

#include <stdint.h>

/* shuffle_make - a permutation of 0 .. n-1, every one equally likely over the draws of key.
 *
 * Fisher and Yates from the last place down; the draw for place i is word i of Philox under (key,
 * step 0, stream), and a draw that would favour some places (Lemire 2019) is taken again at the
 * next step. */
void shuffle_make(int32_t *out, int32_t n, uint64_t key, uint32_t stream);

#endif
