/* alibi_learned.c - ALiBi with learned slopes, one set for all layers: the bias is -m * distance
 * with m = e^u or m = ln(1 + e^u) of the learned u, which starts at the paper's slopes or a given
 * list. (The paper tried learned slopes, section 3 and footnote 11, but states neither the
 * parametrisation nor the start.) */
#include <math.h>

#include "position/position.h"

static const char *const parametrisation_names[] = {"exp", "softplus", NULL};

static const struct position_option options[] = {
    POSITION_NAMES(
        "model.alibi_parametrisation", alibi_parametrisation, parametrisation_names, "exp",
        "slope of alibi_learned as a function of its number u: e^u, or softplus ln(1 + e^u)",
        "ALiBi paper, section 3 and footnote 11: not stated"),
    POSITION_NUMBER(POSITION_REALS, "model.alibi_start_slopes", alibi_start_slopes, 1e-6, 1e6,
                    "none",
                    "slope of each head of alibi_learned before training; none: the paper's",
                    "ALiBi paper, section 3 and footnote 11: not stated"),
    {.name = NULL},
};

static bool is_exp(const struct position_shape *s)
{
    return s->options->alibi_parametrisation == POSITION_EXP;
}

static double slope_of(const struct position_shape *s, double u)
{
    if (is_exp(s)) return exp(u);
    return u > 0 ? u + log1p(exp(-u)) : log1p(exp(u));
}

static int alibi_learned_check(const struct position_shape *s, struct err *e)
{
    int32_t n = s->options->alibi_start_slopes.n;

    if (n == 0 || n == s->heads) return 0;
    return ERR(e, ERR_DATA, "model.alibi_start_slopes: %d slopes for model.heads = %d", n,
               s->heads);
}

static int32_t alibi_learned_tensors(const struct position_shape *s, struct position_tensor *out)
{
    out[0] = (struct position_tensor){.name = "decoder.alibi.slope_parameter",
                                      .rows = 1,
                                      .cols = s->heads,
                                      .dims = 1,
                                      .use = POSITION_BIAS,
                                      .start = POSITION_OWN};
    return 1;
}

static void alibi_learned_start(const struct position_shape *s, int32_t tensor, float *out)
{
    const struct position_list *given = &s->options->alibi_start_slopes;

    (void)tensor;
    for (int32_t h = 0; h < s->heads; h++) {
        double m = given->n > 0 ? given->value[h] : (double)position_alibi_slope(h, s->heads);
        out[h] = (float)(is_exp(s) ? log(m) : m > 30 ? m : log(expm1(m)));
    }
}

static void alibi_learned_fill(const struct position_shape *s, const float *const *params,
                               struct position_bias *out)
{
    for (int64_t h = 0; h < s->heads; h++) {
        double m = slope_of(s, (double)params[0][h]);
        for (int32_t d = 0; d < out->table_n; d++)
            out->table[h * out->table_n + d] = (float)(-m * d);
    }
}

static void alibi_learned_pullback(const struct position_shape *s, const float *const *params,
                                   const struct position_bias *grad, float *const *dparams)
{
    for (int64_t h = 0; h < s->heads; h++) {
        double u = (double)params[0][h], dm = 0.0;
        for (int32_t d = 0; d < grad->table_n; d++)
            dm -= (double)grad->table[h * grad->table_n + d] * d;
        dparams[0][h] += (float)(dm * (is_exp(s) ? exp(u) : 1.0 / (1.0 + exp(-u))));
    }
}

const struct position_functions position_alibi_learned = {
    .has_slopes = true,
    .options = options,
    .check = alibi_learned_check,
    .tensors = alibi_learned_tensors,
    .start = alibi_learned_start,
    .table_length = position_row_length,
    .fill = alibi_learned_fill,
    .pullback = alibi_learned_pullback,
};
