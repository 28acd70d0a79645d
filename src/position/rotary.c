/* rotary.c - queries and keys rotated by an angle that grows with their position (oracle SPEC.md
 * section 16; Su et al. 2021), and four scalings to rows s times longer than those it was trained
 * on:
 *
 * - pi: angles divided by s (Chen et al. 2023)
 * - ntk: base times s^(D/(D-2)): the last pair divided by s, the first not at all
 * - dynamic_ntk: the same with s of the row at hand; a row that is not longer stays as it is
 * - yarn: pairs that turn often keep their angle, slow ones are divided by s, between two numbers
 *   of turns by a ramp in the pair's index; cosines and sines grow by 0.1 ln(s) + 1 (Peng et al.
 *   2024, as in their code) */
#include <math.h>

#include "position/position.h"

static const double PI = 3.14159265358979323846;

static const char *const layout_names[] = {"adjacent_pairs", "half_split", NULL};
static const char *const scaling_names[] = {"none", "pi", "ntk", "dynamic_ntk", "yarn", NULL};

static const struct position_option options[] = {
    POSITION_NUMBER(POSITION_REAL, "model.rotary_base", rotary_base, 1, 1e9, "10000",
                    "base of the rotation angles", "RoFormer: 10000"),
    POSITION_NUMBER(POSITION_REALS, "model.rotary_base_layers", rotary_base_layers, 1, 1e9, "none",
                    "base of each layer, instead of model.rotary_base", "Gemma 3: 10000, 1e6"),
    POSITION_NAMES("model.rotary_layout", rotary_layout, layout_names, "adjacent_pairs",
                   "which features form a pair", "RoFormer: adjacent pairs"),
    POSITION_NAMES("model.rope_scaling", scaling, scaling_names, "none",
                   "scaling of the angles in training; at evaluation: eval.position_scaling",
                   "PI, YaRN"),
    POSITION_NUMBER(POSITION_REAL, "model.rope_scaling_factor", scaling_factor, 1, 1e6, "1",
                    "scaling factor", "PI: L' / L"),
    POSITION_NUMBER(POSITION_INT, "model.rope_original_length", original_length, 0, 1000000, "0",
                    "tokens per row before scaling; 0: train.L", "YaRN"),
    POSITION_NUMBER(POSITION_REAL, "model.yarn_beta_fast", yarn_beta_fast, 1e-3, 1e6, "32",
                    "turns within the original length above which a pair keeps its angle",
                    "YaRN: 32"),
    POSITION_NUMBER(
        POSITION_REAL, "model.yarn_beta_slow", yarn_beta_slow, 1e-3, 1e6, "1",
        "turns within the original length below which a pair's angle is divided by the full factor",
        "YaRN: 1"),
    POSITION_NUMBER(POSITION_REAL, "model.yarn_attention_factor", yarn_attention_factor, 0, 1e3,
                    "0", "factor of cosines and sines; 0: 0.1 ln(s) + 1", "YaRN, eqs. 21 and 22"),
    {.name = NULL},
};

static int check(const struct position_shape *s, struct err *e)
{
    const struct position_options *o = s->options;
    int32_t width = s->dim / s->heads;

    if (width % 2 != 0)
        return ERR(e, ERR_DATA,
                   "model.dim / model.heads: rotary positions need an even width, not %d", width);
    if (width < 4 && (o->scaling == POSITION_NTK || o->scaling == POSITION_DYNAMIC_NTK))
        return ERR(e, ERR_DATA, "scaling %s needs heads of at least 4 features, not %d",
                   position_scaling_names[o->scaling], width);
    if (o->scaling == POSITION_YARN && (double)position_original_length(s) < 2.0 * PI)
        return ERR(e, ERR_DATA,
                   "scaling yarn needs an original length of at least 7 tokens, not %d",
                   position_original_length(s));
    return 0;
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
    double L = position_original_length(s), width = s->dim / s->heads;
    return width * log(L / (2.0 * PI * turns)) / (2.0 * log(s->options->rotary_base));
}

static void divide_slow_pairs(const struct position_shape *s, double factor, double *theta)
{
    int32_t width = s->dim / s->heads;
    double low = fmax(floor(pair_of_turns(s, s->options->yarn_beta_fast)), 0.0);
    double high = fmin(ceil(pair_of_turns(s, s->options->yarn_beta_slow)), width - 1);

    if (low == high) high += 0.001;
    for (int32_t p = 0; p < width / 2; p++) {
        double share = fmin(fmax((p - low) / (high - low), 0.0), 1.0);
        theta[p] = (1.0 - share) * theta[p] + share * theta[p] / factor;
    }
}

static double frequencies(const struct position_shape *s, double *theta)
{
    const struct position_options *o = s->options;
    int32_t width = s->dim / s->heads;
    double base = o->rotary_base, factor = stretch(s);

    if (o->scaling == POSITION_NTK || o->scaling == POSITION_DYNAMIC_NTK)
        base *= pow(factor, (double)width / (width - 2));
    for (int32_t p = 0; p < width / 2; p++) {
        theta[p] = pow(base, -2.0 * (double)p / width);
        if (o->scaling == POSITION_PI) theta[p] /= factor;
    }
    if (o->scaling != POSITION_YARN) return 1.0;
    divide_slow_pairs(s, factor, theta);
    return o->yarn_attention_factor > 0 ? o->yarn_attention_factor : 0.1 * log(factor) + 1.0;
}

static bool follows_length(const struct position_shape *s)
{
    const struct position_options *o = s->options;
    return o->scaling == POSITION_DYNAMIC_NTK ||
           (o->scaling != POSITION_UNSCALED && o->scaling_factor == 0);
}

const struct position_functions position_rotary = {
    .scalings =
        1u << POSITION_PI | 1u << POSITION_NTK | 1u << POSITION_DYNAMIC_NTK | 1u << POSITION_YARN,
    .options = options,
    .check = check,
    .frequencies = frequencies,
    .follows_length = follows_length,
};
