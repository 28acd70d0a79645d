/* alibi.c - ALiBi: a penalty that is proportional to the distance, with a fixed slope for each head
 * (the paper, section 3). */
#include <math.h>

#include "position/position.h"

/* Slope h of a number of heads that is a power of two: 2^(-8(h+1)/heads). */
static float power_slope(int32_t h, int32_t heads)
{
    return (float)exp2(-8.0 * (double)(h + 1) / (double)heads);
}

/* Of other numbers of heads, the slopes of the next lower power, then every other slope of twice
 * that power. */
static float slope(int32_t h, int32_t heads)
{
    int32_t power = 1;

    while (power * 2 <= heads) power *= 2;
    return h < power ? power_slope(h, power) : power_slope(2 * (h - power), 2 * power);
}

static void fill(const struct position_shape *s, const float *const *params,
                 struct position_bias *out)
{
    (void)params;
    for (int32_t h = 0; h < s->heads; h++) out->tail[h] = -slope(h, s->heads);
}

const struct position_functions position_alibi = {
    .order_sensitive = true,
    .fill = fill,
};
