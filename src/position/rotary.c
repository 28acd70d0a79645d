/* rotary.c - queries and keys rotated by an angle that grows with their position (oracle SPEC.md
 * section 16; Su et al. 2021): all features of a head or a share of them. Six scalings to rows s
 * times longer than those it was trained on, in which D is the number of features that rotate:
 *
 * - pi: angles divided by s (Chen et al. 2023)
 * - ntk: base times s^(D/(D-2)): the last pair divided by s, the first not at all
 * - dynamic_ntk: the same with s of the row at hand; a row that is not longer stays as it is
 * - yarn: pairs that turn often keep their angle, slow ones are divided by s, between two numbers
 *   of turns by a ramp in the pair's index; cosines and sines grow by 0.1 ln(s) + 1 (Peng et al.
 *   2024, as in their code)
 * - llama3: the same with a ramp in the number of turns itself; cosines and sines do not grow (as
 * in Hugging Face's code)
 * - longrope: each pair divided by a given factor, one list for rows up to the original length L
 * and one for longer rows; with both, cosines and sines grow by sqrt(1 + ln(s) / ln(L)) (Ding et
 * al. 2024, as in Hugging Face's code) */
#include <math.h>

#include "position/position.h"

static const double PI = 3.14159265358979323846;

static const char *const layout_names[] = {"adjacent_pairs", "half_split", NULL};
static const char *const scaling_names[] = {"none", "pi",     "ntk",      "dynamic_ntk",
                                            "yarn", "llama3", "longrope", NULL};
static const char *const truncate_names[] = {"true", "false", NULL};
static const char *const share_names[] = {"partial", "proportional", NULL};

#define BASE_AND_LAYOUT                                                                            \
    POSITION_NUMBER(POSITION_REAL, "model.rotary_base", rotary_base, 1, 1e9, "10000",              \
                    "base of the rotation angles", "RoFormer: 10000"),                             \
        POSITION_NAMES("model.rotary_layout", rotary_layout, layout_names, "adjacent_pairs",       \
                       "which features form a pair", "RoFormer: adjacent pairs")
static const struct position_option options[] = {
    BASE_AND_LAYOUT,
    POSITION_NUMBER(POSITION_REALS, "model.rotary_base_layers", rotary_base_layers, 1, 1e9, "none",
                    "base of each layer, instead of model.rotary_base", "Gemma 3: 10000, 1e6"),
    POSITION_NUMBER(POSITION_REAL, "model.rotary_share", rotary_share, 1e-3, 1, "1",
                    "share of a head that rotates", "GPT-J, GPT-NeoX: 0.25; Gemma 4: 0.25"),
    POSITION_NAMES(
        "model.rotary_share_form", rotary_share_form, share_names, "partial",
        "partial: the first features, as a narrower head; proportional: the fastest pairs "
        "of the whole head",
        "GPT-NeoX: partial; Gemma 4: proportional"),
    POSITION_NAMES("model.rope_scaling", scaling, scaling_names, "none",
                   "scaling of the angles in training; at evaluation: eval.position_scaling",
                   "PI, YaRN"),
    POSITION_NUMBER(POSITION_REAL, "model.rope_scaling_factor", scaling_factor, 1, 1e6, "1",
                    "scaling factor", "PI: L' / L"),
    POSITION_NUMBER(POSITION_INT, "model.rope_original_length", original_length, 0, 100000000, "0",
                    "tokens per row before scaling; 0: train.L", "YaRN"),
    POSITION_NUMBER(POSITION_REAL, "model.yarn_beta_fast", yarn_beta_fast, 1e-3, 1e6, "32",
                    "turns within the original length above which a pair keeps its angle",
                    "YaRN: 32"),
    POSITION_NUMBER(
        POSITION_REAL, "model.yarn_beta_slow", yarn_beta_slow, 1e-3, 1e6, "1",
        "turns within the original length below which a pair's angle is divided by the full factor",
        "YaRN: 1"),
    POSITION_NAMES("model.yarn_truncate", yarn_truncate, truncate_names, "true",
                   "round the ends of the ramp between fast and slow pairs to whole pairs",
                   "YaRN: true"),
    POSITION_NUMBER(POSITION_REAL, "model.yarn_attention_factor", yarn_attention_factor, 0, 1e3,
                    "0", "factor of cosines and sines; 0: 0.1 ln(s) + 1", "YaRN, eqs. 21 and 22"),
    POSITION_NUMBER(POSITION_REAL, "model.llama3_low_freq_factor", llama3_low, 1e-3, 1e6, "1",
                    "turns within the original length below which a pair's angle is divided by the "
                    "full factor",
                    "Llama 3.1: 1"),
    POSITION_NUMBER(POSITION_REAL, "model.llama3_high_freq_factor", llama3_high, 1e-3, 1e6, "4",
                    "turns within the original length above which a pair keeps its angle",
                    "Llama 3.1: 4"),
    POSITION_NUMBER(POSITION_REALS, "model.longrope_short_factors", longrope_short, 1e-6, 1e6,
                    "none", "divisors of the angles in rows up to the original length, a pair each",
                    "LongRoPE: searched"),
    POSITION_NUMBER(POSITION_REALS, "model.longrope_long_factors", longrope_long, 1e-6, 1e6, "none",
                    "divisors of the angles in longer rows, a pair each", "LongRoPE: searched"),
    POSITION_NUMBER(POSITION_REAL, "model.longrope_attention_factor", longrope_attention_factor, 0,
                    1e3, "0", "factor of cosines and sines; 0: sqrt(1 + ln(s) / ln(L))",
                    "LongRoPE, section 3"),
    {.name = NULL},
};

/* Features that rotate: of a partial rotation a share of the head's, else all. */
static int32_t rotated_width(const struct position_shape *s)
{
    const struct position_options *o = s->options;
    return o->rotary_share_form == POSITION_PARTIAL ? (int32_t)floor(o->rotary_share * s->width)
                                                    : s->width;
}

/* Pairs that rotate. */
static int32_t rotated_pairs(const struct position_shape *s)
{
    const struct position_options *o = s->options;
    if (o->rotary_share_form == POSITION_PARTIAL) return rotated_width(s) / 2;
    return (int32_t)floor(o->rotary_share * s->width / 2.0);
}

/* Adjacent pairs have a row of the tables also if they do not rotate. */
static int32_t rotary_pairs(const struct position_shape *s)
{
    return s->options->rotary_layout == POSITION_HALF_SPLIT ? rotated_width(s) / 2 : s->width / 2;
}

static int check_share(const struct position_shape *s, struct err *e)
{
    const struct position_options *o = s->options;
    int32_t width = s->width, rotated = rotated_width(s);

    if (width % 2 != 0)
        return ERR(e, ERR_DATA,
                   "model.dim / model.heads: rotary positions need an even width, not %d", width);
    if (rotated % 2 != 0 || rotated < 2)
        return ERR(e, ERR_DATA,
                   "model.rotary_share: %g of %d features is %d, expected an even number of at "
                   "least 2",
                   o->rotary_share, width, rotated);
    if (rotated_pairs(s) < 1)
        return ERR(e, ERR_DATA,
                   "model.rotary_share: %g of %d pairs rotates none; set model.position: none",
                   o->rotary_share, width / 2);
    return 0;
}

static int check_factors(const char *key, const struct position_list *list, int32_t pairs_n,
                         struct err *e)
{
    if (list->n == pairs_n) return 0;
    return ERR(e, ERR_DATA, "%s: %d factors, expected %d, one for each pair that rotates", key,
               list->n, pairs_n);
}

static int rotary_check(const struct position_shape *s, struct err *e)
{
    const struct position_options *o = s->options;
    int32_t length = position_original_length(s);

    TRY(check_share(s, e));
    if (rotated_width(s) < 4 && (o->scaling == POSITION_NTK || o->scaling == POSITION_DYNAMIC_NTK))
        return ERR(e, ERR_DATA, "scaling %s needs at least 4 rotated features of a head, not %d",
                   position_scaling_names[o->scaling], rotated_width(s));
    if (o->scaling == POSITION_YARN && length < 2.0 * PI)
        return ERR(e, ERR_DATA,
                   "scaling yarn needs an original length of at least 7 tokens, not %d", length);
    if (o->scaling == POSITION_LLAMA3 && o->llama3_high <= o->llama3_low)
        return ERR(e, ERR_DATA,
                   "model.llama3_high_freq_factor: %g must be above model.llama3_low_freq_factor = "
                   "%g",
                   o->llama3_high, o->llama3_low);
    if (o->scaling != POSITION_LONGROPE) return 0;
    if (length < 2)
        return ERR(e, ERR_DATA,
                   "scaling longrope needs an original length of at least 2 tokens, not %d",
                   length);
    TRY(check_factors("model.longrope_short_factors", &o->longrope_short, rotated_pairs(s), e));
    return check_factors("model.longrope_long_factors", &o->longrope_long, rotated_pairs(s), e);
}

/* Returns the factor s by which lengths are stretched. */
static double stretch(const struct position_shape *s)
{
    const struct position_options *o = s->options;
    double ratio = fmax(1.0, (double)s->length / (double)position_original_length(s));
    double given = o->scaling_factor;

    if (o->scaling == POSITION_DYNAMIC_NTK) {
        double a = given > 0 ? given : 1.0;
        return a * ratio - (a - 1.0);
    }
    return given > 0 ? given : ratio;
}

/* Returns the index, as a real number, of the pair that makes so many turns within the original
 * length. */
static double pair_of_turns(const struct position_shape *s, double turns)
{
    double L = position_original_length(s), width = rotated_width(s);
    return width * log(L / (2.0 * PI * turns)) / (2.0 * log(s->options->rotary_base));
}

static void divide_slow_pairs(const struct position_shape *s, double factor, double *theta)
{
    int32_t width = rotated_width(s);
    double low = pair_of_turns(s, s->options->yarn_beta_fast);
    double high = pair_of_turns(s, s->options->yarn_beta_slow);

    if (s->options->yarn_truncate == POSITION_WHOLE_ENDS) {
        low = floor(low);
        high = ceil(high);
    }
    low = fmax(low, 0.0);
    high = fmin(high, width - 1);
    if (low == high) high += 0.001;
    for (int32_t p = 0; p < width / 2; p++) {
        double share = fmin(fmax((p - low) / (high - low), 0.0), 1.0);
        theta[p] = (1.0 - share) * theta[p] + share * theta[p] / factor;
    }
}

/* Divides pairs of few turns within the original length by the factor, and between two numbers of
 * turns by less. */
static void divide_long_waves(const struct position_shape *s, double factor, double *theta)
{
    const struct position_options *o = s->options;

    for (int32_t p = 0; p < rotated_width(s) / 2; p++) {
        double turns = position_original_length(s) * theta[p] / (2.0 * PI);
        double kept = (turns - o->llama3_low) / (o->llama3_high - o->llama3_low);
        kept = fmin(fmax(kept, 0.0), 1.0);
        theta[p] = (1.0 - kept) * theta[p] / factor + kept * theta[p];
    }
}

static void divide_by_list(const struct position_shape *s, double *theta)
{
    bool is_long = s->length > position_original_length(s);
    const struct position_list *list =
        is_long ? &s->options->longrope_long : &s->options->longrope_short;
    for (int32_t p = 0; p < list->n; p++) theta[p] /= list->value[p];
}

static double longrope_growth(const struct position_shape *s, double factor)
{
    double given = s->options->longrope_attention_factor;
    if (given > 0) return given;
    return factor > 1 ? sqrt(1.0 + log(factor) / log((double)position_original_length(s))) : 1.0;
}

static double rotary_frequencies(const struct position_shape *s, double *theta)
{
    const struct position_options *o = s->options;
    int32_t width = rotated_width(s), rotated = rotated_pairs(s);
    double base = o->rotary_base, factor = stretch(s), growth = 1.0;

    if (o->scaling == POSITION_NTK || o->scaling == POSITION_DYNAMIC_NTK)
        base *= pow(factor, (double)width / (width - 2));
    for (int32_t p = 0; p < width / 2; p++) {
        theta[p] = pow(base, -2.0 * (double)p / width);
        if (o->scaling == POSITION_PI) theta[p] /= factor;
    }
    if (o->scaling == POSITION_YARN) {
        divide_slow_pairs(s, factor, theta);
        growth = o->yarn_attention_factor > 0 ? o->yarn_attention_factor : 0.1 * log(factor) + 1.0;
    }
    if (o->scaling == POSITION_LLAMA3) divide_long_waves(s, factor, theta);
    if (o->scaling == POSITION_LONGROPE) {
        divide_by_list(s, theta);
        growth = longrope_growth(s, factor);
    }
    for (int32_t p = rotated; p < rotary_pairs(s); p++) theta[p] = 0.0;
    return growth;
}

static bool follows_length(const struct position_shape *s)
{
    const struct position_options *o = s->options;
    return o->scaling == POSITION_DYNAMIC_NTK || o->scaling == POSITION_LONGROPE ||
           (o->scaling != POSITION_UNSCALED && o->scaling_factor == 0);
}

const struct position_functions position_rotary = {
    .scalings = 1u << POSITION_PI | 1u << POSITION_NTK | 1u << POSITION_DYNAMIC_NTK |
                1u << POSITION_YARN | 1u << POSITION_LLAMA3 | 1u << POSITION_LONGROPE,
    .options = options,
    .check = rotary_check,
    .frequencies = rotary_frequencies,
    .pairs = rotary_pairs,
    .follows_length = follows_length,
};

/* ---- xPos ---- */

static const struct position_option xpos_options[] = {
    BASE_AND_LAYOUT,
    POSITION_NUMBER(POSITION_REAL, "model.xpos_scale_base", xpos_scale_base, 1, 1e6, "512",
                    "tokens after which pair p of a score has decayed by (2p + 0.4 w) / 1.4 w, for "
                    "heads of width w",
                    "xPos: 512"),
    {.name = NULL},
};

static int xpos_check(const struct position_shape *s, struct err *e)
{
    double most = 128.0 * s->options->xpos_scale_base;

    TRY(check_share(s, e));
    if (s->length <= most) return 0;
    return ERR(
        e, ERR_DATA,
        "model.xpos_scale_base: %g allows rows of at most %.0f tokens, not %d: fp32 does not "
        "hold the decay of longer ones",
        s->options->xpos_scale_base, most, s->length);
}

static double xpos_growth(const struct position_shape *s, int32_t p)
{
    double width = s->width;
    return log((2.0 * p + 0.4 * width) / (1.4 * width)) / s->options->xpos_scale_base;
}

const struct position_functions position_xpos = {
    .options = xpos_options,
    .check = xpos_check,
    .frequencies = rotary_frequencies,
    .growth = xpos_growth,
};
