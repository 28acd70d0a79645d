/* bam.c - BAM (Bianchessi et al. 2025): a learned power of the distance for each head, one set for
 * all layers.
 *
 *     -e^u * (|distance + m| + 1e-5)^p,  m = 2 sinh(c)
 *
 * p is the shape, u the scale; the location c is 0 unless it is learned. It starts as ALiBi: p = 1,
 * e^u the paper's slopes, c = 0. Nothing is clamped: with p < 0 the nearest keys are penalised
 * most. */
#include <math.h>

#include "position/position.h"

enum { SHAPE, SCALE, LOCATION };

static const double least_distance = 1e-5;

static const char *const location_names[] = {"none", "learned", NULL};

static const struct position_option options[] = {
    POSITION_NAMES("model.bam_location", bam_location, location_names, "none",
                   "location of the distance in bam: 0, or learned for each head",
                   "BAM, its code: not trained"),
    {.name = NULL},
};

static int32_t bam_tensors(const struct position_shape *s, struct position_tensor *out)
{
    out[SHAPE] = (struct position_tensor){.name = "decoder.bam.shape",
                                          .rows = 1,
                                          .cols = s->heads,
                                          .dims = 1,
                                          .use = POSITION_BIAS,
                                          .start = POSITION_UNIFORM,
                                          .mean = 1.0};
    out[SCALE] = out[LOCATION] = out[SHAPE];
    out[SCALE].name = "decoder.bam.scale";
    out[SCALE].start = POSITION_OWN;
    out[LOCATION].name = "decoder.bam.location";
    out[LOCATION].start = POSITION_ZEROS;
    return s->options->bam_location == POSITION_LEARNED_LOCATION ? 3 : 2;
}

static void bam_start(const struct position_shape *s, int32_t tensor, float *out)
{
    (void)tensor; /* of the scale */
    for (int32_t h = 0; h < s->heads; h++)
        out[h] = (float)log((double)position_alibi_slope(h, s->heads));
}

/* The parameters of a head. */
struct head {
    double power, scale, location, stretch; /* p, e^u, m and dm/dc = 2 cosh(c) */
};

static struct head head_of(const struct position_shape *s, const float *const *params, int64_t h)
{
    double c =
        s->options->bam_location == POSITION_LEARNED_LOCATION ? (double)params[LOCATION][h] : 0.0;
    return (struct head){.power = (double)params[SHAPE][h],
                         .scale = exp((double)params[SCALE][h]),
                         .location = 2.0 * sinh(c),
                         .stretch = 2.0 * cosh(c)};
}

static void bam_fill(const struct position_shape *s, const float *const *params,
                     struct position_bias *out)
{
    for (int64_t h = 0; h < s->heads; h++) {
        struct head p = head_of(s, params, h);
        for (int32_t d = 0; d < out->table_n; d++)
            out->table[h * out->table_n + d] =
                (float)(-p.scale * pow(fabs(d + p.location) + least_distance, p.power));
    }
}

static void bam_pullback(const struct position_shape *s, const float *const *params,
                         const struct position_bias *grad, float *const *dparams)
{
    for (int64_t h = 0; h < s->heads; h++) {
        struct head p = head_of(s, params, h);
        double dpower = 0.0, dscale = 0.0, dlocation = 0.0;
        for (int32_t d = 0; d < grad->table_n; d++) {
            double x = d + p.location, y = fabs(x) + least_distance;
            double term = (double)grad->table[h * grad->table_n + d] * -p.scale * pow(y, p.power);
            dscale += term;
            dpower += term * log(y);
            dlocation += term * (p.power / y) * ((x > 0.0) - (x < 0.0)) * p.stretch;
        }
        dparams[SHAPE][h] += (float)dpower;
        dparams[SCALE][h] += (float)dscale;
        if (s->options->bam_location == POSITION_LEARNED_LOCATION)
            dparams[LOCATION][h] += (float)dlocation;
    }
}

const struct position_functions position_bam = {
    .options = options,
    .tensors = bam_tensors,
    .start = bam_start,
    .table_length = position_row_length,
    .fill = bam_fill,
    .pullback = bam_pullback,
};
