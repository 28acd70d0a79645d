/* bias.c - distances that a position method tells apart: the buckets of the T5 bias. */
#include <math.h>

#include "shape/shape.h"

/* Borders between buckets fall on exact powers for some settings (16 buckets a factor of 16: 32, 64
 * …), where a logarithm may come out a few ulp low. No other distance below 2^31 is this close to a
 * border. */
static const double t5_border_slack = 1e-9;

int32_t shape_t5_bucket(int32_t distance, int32_t buckets, int32_t max_distance)
{
    int32_t exact = buckets / 2;

    if (distance < exact) return distance;
    if (max_distance <= exact) return buckets - 1;
    double share = log((double)distance / exact) / log((double)max_distance / exact);
    double bucket = exact + floor(share * (buckets - exact) + t5_border_slack);
    return bucket < buckets - 1 ? (int32_t)bucket : buckets - 1;
}

int32_t shape_bias_distances(const struct spec_model *m)
{
    int32_t distance = 0;

    if (m->position != SPEC_T5) return 0;
    while (shape_t5_bucket(distance, m->t5_buckets, m->t5_max_distance) < m->t5_buckets - 1)
        distance++;
    return distance;
}
