/* none.c - no position method (NoPE; Haviv et al. 2022, Kazemnejad et al. 2023): nothing is added
 * anywhere. The causal mask is all that tells positions apart, and one layer alone cannot. */
#include "position/position.h"

const struct position_functions position_none = {.order_sensitive = false};
