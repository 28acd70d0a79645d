/* rotary.c - queries and keys rotated by an angle that grows with their position (oracle SPEC.md
 * section 16; Su et al. 2021). */
#include <math.h>

#include "position/position.h"

static const char *const layout_names[] = {"adjacent_pairs", "half_split", NULL};

static const struct position_option options[] = {
    {.name = "model.rotary_base",
     .type = POSITION_REAL,
     .offset = offsetof(struct position_options, rotary_base),
     .low = 1,
     .high = 1e9,
     .neutral = "10000",
     .help = "base of the rotation angles",
     .source = "RoFormer: 10000"},
    {.name = "model.rotary_layout",
     .type = POSITION_CHOICE,
     .offset = offsetof(struct position_options, rotary_layout),
     .names = layout_names,
     .neutral = "adjacent_pairs",
     .help = "which features form a pair",
     .source = "RoFormer: adjacent pairs"},
    {.name = NULL},
};

static double frequencies(const struct position_shape *s, double *theta)
{
    int32_t width = s->dim / s->heads;

    for (int32_t p = 0; p < width / 2; p++)
        theta[p] = pow(s->options->rotary_base, -2.0 * (double)p / width);
    return 1.0;
}

const struct position_functions position_rotary = {
    .order_sensitive = true,
    .options = options,
    .frequencies = frequencies,
};
