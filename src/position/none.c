/* none.c - no position method (NoPE; Haviv et al. 2022, Kazemnejad et al. 2023): adds nothing. Only
 * the causal mask distinguishes positions, and a single layer cannot use it. */
#include "position/position.h"

const struct position_functions position_none = {0};
