/* t5.c - a learned bias for each head and bucket of distances, one table for all layers (oracle
 * SPEC.md sections 13 and 16; Raffel et al. 2020).
 *
 * Buckets 0 ... buckets / 2 - 1 hold one distance each. After them the borders grow
 * logarithmically, and the last bucket holds every distance from t5_max_distance on. The bias is
 * computed in float, with one product and one sum per distance, in rising distance. */
#include <math.h>

#include "position/position.h"

/* For some settings borders fall on exact powers (16 buckets, factor 16: 32, 64 ...), where the
 * computed logarithm may be a few ulp low. No other distance below 2^31 is this close to a border.
 */
static const double border_slack = 1e-9;

static const struct position_option options[] = {
    POSITION_NUMBER(POSITION_INT, "model.t5_buckets", t5_buckets, 4, 4096, "32",
                    "relative distance buckets", "T5: 32"),
    POSITION_NUMBER(POSITION_INT, "model.t5_max_distance", t5_max_distance, 4, 1000000, "128",
                    "first distance of the last bucket, in tokens", "T5: 128"),
    POSITION_NUMBER(POSITION_REAL, "model.t5_init_std", t5_init_std, 0, 100, "0",
                    "standard deviation of the table's initial values", "Hugging Face: D^-0.5"),
    POSITION_NUMBER(POSITION_REAL, "model.t5_multiplier", t5_multiplier, 1e-6, 1e6, "1",
                    "the bias is multiplier times table", "T5: 1"),
    {.name = NULL},
};

static int32_t bucket_of(const struct position_options *o, int32_t distance)
{
    int32_t buckets = o->t5_buckets, exact = buckets / 2;

    if (distance < exact) return distance;
    if (o->t5_max_distance <= exact) return buckets - 1;
    double share = log((double)distance / exact) / log((double)o->t5_max_distance / exact);
    double bucket = exact + floor(share * (buckets - exact) + border_slack);
    return bucket < buckets - 1 ? (int32_t)bucket : buckets - 1;
}

static int t5_check(const struct position_shape *s, struct err *e)
{
    const struct position_options *o = s->options;

    if (o->t5_max_distance > o->t5_buckets / 2) return 0;
    return ERR(e, ERR_DATA, "model.t5_max_distance: %d must be above model.t5_buckets / 2 = %d",
               o->t5_max_distance, o->t5_buckets / 2);
}

static int32_t t5_tensors(const struct position_shape *s, struct position_tensor *out)
{
    double std = s->options->t5_init_std;

    out[0] = (struct position_tensor){.name = "decoder.relative_attention_bias.weight",
                                      .rows = s->options->t5_buckets,
                                      .cols = s->heads,
                                      .dims = 2,
                                      .use = POSITION_BIAS,
                                      .start = std > 0.0 ? POSITION_NORMAL : POSITION_ZEROS,
                                      .spread = std};
    return 1;
}

/* Returns the first distance of the last bucket, for rows of any length. */
static int32_t table_length(const struct position_shape *s, int32_t L)
{
    int32_t distance = 0;

    (void)L;
    while (bucket_of(s->options, distance) < s->options->t5_buckets - 1) distance++;
    return distance;
}

static void t5_fill(const struct position_shape *s, const float *const *params,
                    struct position_bias *out)
{
    int64_t H = s->heads, last = s->options->t5_buckets - 1;
    float multiplier = (float)s->options->t5_multiplier;
    const float *weight = params[0];

    for (int32_t d = 0; d < out->table_n; d++) {
        int64_t bucket = bucket_of(s->options, d);
        for (int64_t h = 0; h < H; h++)
            out->table[h * out->table_n + d] = multiplier * weight[bucket * H + h];
    }
    for (int64_t h = 0; h < H; h++) out->tail[h] = multiplier * weight[last * H + h];
}

static void t5_pullback(const struct position_shape *s, const float *const *params,
                        const struct position_bias *grad, float *const *dparams)
{
    int64_t H = s->heads, last = s->options->t5_buckets - 1;
    float multiplier = (float)s->options->t5_multiplier, *to = dparams[0];

    (void)params;
    for (int32_t d = 0; d < grad->table_n; d++) {
        int64_t bucket = bucket_of(s->options, d);
        for (int64_t h = 0; h < H; h++)
            to[bucket * H + h] += multiplier * grad->table[h * grad->table_n + d];
    }
    for (int64_t h = 0; h < H; h++) to[last * H + h] += multiplier * grad->tail[h];
}

const struct position_functions position_t5 = {
    .options = options,
    .check = t5_check,
    .tensors = t5_tensors,
    .table_length = table_length,
    .fill = t5_fill,
    .pullback = t5_pullback,
};
