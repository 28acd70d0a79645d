/* position_alibi.c - ALiBi: a penalty on distance, its slope fixed for each head (the paper,
 * section 3). In the one bias form of attention: no near table, slope -m of each head. */
#include <math.h>
#include <stdlib.h>

#include "model/model_internal.h"

/* Slope h of a number of heads that is a power of two: 2^(-8(h+1)/heads). */
static float power_slope(int32_t h, int32_t heads)
{
    return (float)exp2(-8.0 * (double)(h + 1) / (double)heads);
}

void position_alibi_slopes(float *slopes, int32_t heads)
{
    int32_t power = 1;
    while (power * 2 <= heads) power *= 2;
    for (int32_t h = 0; h < power; h++) slopes[h] = power_slope(h, power);
    /* The rest: every other slope of twice as many heads. */
    for (int32_t h = power; h < heads; h++) slopes[h] = power_slope(2 * (h - power), 2 * power);
}

static int open_slopes(struct model *m, struct err *e)
{
    int rc = 0;
    int32_t heads = m->spec.model.heads;
    m->place.slope_dev = model_buffer(m, SHAPE_SLOPES, 0).data;
    float *slopes = malloc((size_t)heads * sizeof *slopes);
    if (slopes == NULL) return ERR(e, ERR_NOMEM, "no memory for the slopes of %d heads", heads);
    position_alibi_slopes(slopes, heads);
    for (int32_t h = 0; h < heads; h++) slopes[h] = -slopes[h];
    TRY_OUT(rc,
            m->b->ops->upload(m->b, m->place.slope_dev, slopes, (size_t)heads * sizeof *slopes, e));
    m->bias.slope_dev = m->place.slope_dev;
out:
    free(slopes);
    return rc;
}

const struct position_method position_alibi = {.open = open_slopes};
