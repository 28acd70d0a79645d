/* alibi.c - ALiBi: a penalty proportional to the distance, with a fixed slope for each head (the
 * paper, section 3).
 *
 * The slopes are the paper's, a given list, or drawn once from the run's seed (exponential,
 * sorted; the paper states neither the mean nor the order). Position scaling `slopes` multiplies
 * them by L_train / row length in evaluations on longer rows (Al-Khateeb et al. 2023).
 *
 * Falcon's code adds slope * key instead of -slope * distance, which the softmax does not
 * distinguish, and rounds slope, number of the key and product to bf16, which it does. It divides
 * the sum of score and bias by sqrt(D). An evaluation may do the same, without that division, in
 * bf16 or fp16, or round slope, distance and product. The sum of score and bias stays in fp32. */
#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/philox.h"
#include "position/position.h"

static const char *const source_names[] = {"geometric", "exponential", NULL};
static const char *const rounding_names[] = {"none", "keys", NULL};

static const struct position_option options[] = {
    POSITION_NUMBER(POSITION_REALS, "model.alibi_slopes", alibi_slopes, 0, 1e6, "none",
                    "slope of each head of alibi; none: see model.alibi_slopes_source",
                    "ALiBi paper, section 3"),
    POSITION_NAMES(
        "model.alibi_slopes_source", alibi_slopes_source, source_names, "geometric",
        "slopes of alibi: the paper's geometric ones, or exponential ones drawn from train.seed",
        "ALiBi paper, section 3: geometric; footnote 11: random ones"),
    POSITION_NUMBER(POSITION_REAL, "model.alibi_slopes_mean", alibi_slopes_mean, 1e-6, 1e6, "1",
                    "mean of the distribution of drawn slopes of alibi",
                    "not stated in the ALiBi paper"),
    POSITION_NUMBER(POSITION_REAL, "model.alibi_bias_max", alibi_bias_max, 1e-3, 1e3, "8",
                    "exponent m of geometric slopes: the last head's slope is 2^-m",
                    "ALiBi paper, section 3: 8; MPT: alibi_bias_max"),
    POSITION_NAMES("model.alibi_rounding", alibi_rounding, rounding_names, "none",
                   "keys: the bias of key j is bf16(bf16(slope) bf16(j)) / sqrt(head width)",
                   "Falcon: keys"),
    {.name = NULL},
};

/* Returns the slope of head h if the number of heads is a power of two: 2^(-most (h+1)/heads). */
static float power_slope(int32_t h, int32_t heads, double most)
{
    return (float)exp2(-most * (double)(h + 1) / (double)heads);
}

/* Other numbers of heads get the slopes of the next lower power of two, then every other slope of
 * the next higher one. */
static float geometric_slope(int32_t h, int32_t heads, double most)
{
    int32_t power = 1;

    while (power * 2 <= heads) power *= 2;
    return h < power ? power_slope(h, power, most) : power_slope(2 * (h - power), 2 * power, most);
}

float position_alibi_slope(int32_t h, int32_t heads)
{
    return geometric_slope(h, heads, 8.0);
}

static int falling(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x < y) - (x > y);
}

static void draw_slopes(const struct position_shape *s, float *out)
{
    static const char stream[] = "alibi slopes";
    uint32_t number = hash_crc32c(0, stream, sizeof stream - 1);

    for (int32_t h = 0; h < s->heads; h++) {
        uint32_t word = philox_word((uint64_t)s->seed, (uint64_t)h, 0xFFFFFFFFu, number);
        out[h] = (float)(-log(((double)word + 0.5) * 0x1p-32) * s->options->alibi_slopes_mean);
    }
    qsort(out, (size_t)s->heads, sizeof *out, falling);
}

/* Writes the slopes before a scaling. */
static void fill_slopes(const struct position_shape *s, float *out)
{
    const struct position_options *o = s->options;

    if (o->alibi_slopes.n == 0 && o->alibi_slopes_source == POSITION_EXPONENTIAL) {
        draw_slopes(s, out);
        return;
    }
    for (int32_t h = 0; h < s->heads; h++)
        out[h] = o->alibi_slopes.n > 0 ? (float)o->alibi_slopes.value[h]
                                       : geometric_slope(h, s->heads, o->alibi_bias_max);
}

struct format {
    int32_t digits, least; /* binary digits; exponent of the smallest positive number */
    double most;           /* the largest number */
};
static const struct format formats[] = {[POSITION_FP32] = {24, -149, FLT_MAX},
                                        [POSITION_BF16] = {8, -133, 0x1.FEp127},
                                        [POSITION_FP16] = {11, -24, 65504.0}};

/* Rounds to the nearest number of the format, ties to even; above the largest to infinity. */
static double round_to(enum position_format format, double x)
{
    const struct format *f = &formats[format];
    int exponent;

    frexp(x, &exponent);
    double unit = ldexp(1.0, exponent - f->digits > f->least ? exponent - f->digits : f->least);
    double rounded = nearbyint(x / unit) * unit;
    return fabs(rounded) > f->most ? copysign((double)INFINITY, x) : rounded;
}

/* Returns slope times distance or key; before it is rounded the product is exact in double. */
static double rounded_product(enum position_format format, double slope, int32_t n)
{
    return round_to(format, round_to(format, slope) * round_to(format, n));
}

static bool is_by_key(const struct position_options *o)
{
    return o->alibi_rounding == POSITION_ROUNDED_KEYS || o->alibi_bias == POSITION_OF_KEY;
}

/* Infinite biases of several keys have no softmax. */
static int check_range(const struct position_shape *s, struct err *e)
{
    enum position_format format = s->options->alibi_format;
    float slope[POSITION_HEADS_MAX], most = 0;

    assert(s->heads <= POSITION_HEADS_MAX);
    fill_slopes(s, slope);
    for (int32_t h = 0; h < s->heads; h++) most = slope[h] > most ? slope[h] : most;
    if (isfinite(rounded_product(format, (double)most, s->length))) return 0;
    return ERR(e, ERR_DATA,
               "eval.alibi_precision: %s ends at %g, but with slope %g rows of eval.L = %d tokens "
               "have biases of %g; set another precision or a shorter eval.L",
               position_format_names[format], formats[format].most, (double)most, s->length,
               (double)most * s->length);
}

static int alibi_check(const struct position_shape *s, struct err *e)
{
    const struct position_options *o = s->options;
    int32_t n = o->alibi_slopes.n;
    bool is_changed = o->alibi_bias != POSITION_OF_DISTANCE || o->alibi_format != POSITION_FP32;

    if (o->alibi_rounding == POSITION_ROUNDED_KEYS && is_changed)
        return ERR(e, ERR_DATA,
                   "eval.alibi_bias and eval.alibi_precision would replace model.alibi_rounding = "
                   "keys of the checkpoint; leave them out");
    if (o->scaling == POSITION_SLOPES && (o->alibi_rounding == POSITION_ROUNDED_KEYS || is_changed))
        return ERR(e, ERR_DATA,
                   "eval.position_scaling: slopes does not apply: the bias is rounded or per key; "
                   "set it to none");
    if (n != 0 && n != s->heads)
        return ERR(e, ERR_DATA, "model.alibi_slopes: %d slopes for model.heads = %d", n, s->heads);
    return is_changed ? check_range(s, e) : 0;
}

static void alibi_fill(const struct position_shape *s, const float *const *params,
                       struct position_bias *out)
{
    enum position_format format = s->options->alibi_format;
    int32_t K = out->table_n;
    double scale = 1.0;

    (void)params;
    fill_slopes(s, out->tail);
    if (s->options->scaling == POSITION_SLOPES)
        scale = fmin(1.0, (double)position_original_length(s) / (double)s->length);
    for (int32_t h = 0; h < s->heads; h++) {
        double slope = (double)out->tail[h];
        for (int32_t d = 0; d < K; d++)
            out->table[(int64_t)h * K + d] = (float)-rounded_product(format, slope, d);
        out->tail[h] = (float)(K > 0 ? -rounded_product(format, slope, K) : -scale * slope);
    }
}

/* A rounded distance has a number of its own. */
static int32_t alibi_table(const struct position_shape *s, int32_t L)
{
    return s->options->alibi_format == POSITION_FP32 || is_by_key(s->options) ? 0 : L;
}

/* The slopes are in out[0 ... H - 1] until their rows, last to first, overwrite them. */
static bool key_bias(const struct position_shape *s, int32_t L, float *out)
{
    const struct position_options *o = s->options;
    bool falcon = o->alibi_rounding == POSITION_ROUNDED_KEYS;
    enum position_format format = falcon ? POSITION_BF16 : o->alibi_format;
    double divisor = falcon ? sqrt((double)s->width) : 1.0;

    if (!is_by_key(o)) return false;
    if (L > 0) fill_slopes(s, out);
    for (int32_t h = s->heads - 1; h >= 0 && L > 0; h--) {
        double slope = (double)out[h];
        for (int32_t j = 0; j < L; j++)
            out[(int64_t)h * L + j] = (float)(rounded_product(format, slope, j) / divisor);
    }
    return true;
}

static bool follows_length(const struct position_shape *s)
{
    return s->options->scaling == POSITION_SLOPES;
}

const struct position_functions position_alibi = {
    .scalings = 1u << POSITION_SLOPES,
    .has_slopes = true,
    .options = options,
    .check = alibi_check,
    .table_length = alibi_table,
    .fill = alibi_fill,
    .key_bias = key_bias,
    .follows_length = follows_length,
};
