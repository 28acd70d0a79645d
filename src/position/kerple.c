/* kerple.c - KERPLE (Chi et al. 2022): learned p and a for each head, one set for all layers.
 *
 * - kerple_log: -p * ln(1 + a * distance), p and a at least 0.01
 * - kerple_power: -a * distance^p, a at least 0.01, p from 0.01 to 2
 *
 * Values are projected into these ranges. Gradients are not clipped there, so that a value can
 * leave the end of its range again. */
#include <math.h>

#include "position/position.h"

enum { BIAS_P, BIAS_A };

static const double least = 0.01, most_power = 2.0;

static int32_t kerple_tensors(const struct position_shape *s, struct position_tensor *out)
{
    out[BIAS_P] = (struct position_tensor){.name = "decoder.kerple.bias_p",
                                           .rows = 1,
                                           .cols = s->heads,
                                           .dims = 1,
                                           .use = POSITION_BIAS,
                                           .start = POSITION_UNIFORM,
                                           .mean = 1.0,
                                           .spread = 1.0};
    out[BIAS_A] = out[BIAS_P];
    out[BIAS_A].name = "decoder.kerple.bias_a";
    out[BIAS_A].mean = out[BIAS_A].spread = 0.5;
    return 2;
}

static void kerple_project(const struct position_shape *s, float *value, double high)
{
    for (int32_t h = 0; h < s->heads; h++)
        value[h] = (float)fmin(fmax((double)value[h], (double)(float)least), high);
}

static void log_project(const struct position_shape *s, float *const *params)
{
    kerple_project(s, params[BIAS_P], INFINITY);
    kerple_project(s, params[BIAS_A], INFINITY);
}

static void log_fill(const struct position_shape *s, const float *const *params,
                     struct position_bias *out)
{
    for (int64_t h = 0; h < s->heads; h++) {
        double p = (double)params[BIAS_P][h], a = (double)params[BIAS_A][h];
        for (int32_t d = 0; d < out->table_n; d++)
            out->table[h * out->table_n + d] = (float)(-p * log1p(a * d));
    }
}

static void log_pullback(const struct position_shape *s, const float *const *params,
                         const struct position_bias *grad, float *const *dparams)
{
    for (int64_t h = 0; h < s->heads; h++) {
        double p = (double)params[BIAS_P][h], a = (double)params[BIAS_A][h], dp = 0.0, da = 0.0;
        for (int32_t d = 0; d < grad->table_n; d++) {
            double g = (double)grad->table[h * grad->table_n + d];
            dp -= g * log1p(a * d);
            da -= g * p * d / (1.0 + a * d);
        }
        dparams[BIAS_P][h] += (float)dp;
        dparams[BIAS_A][h] += (float)da;
    }
}

static void power_project(const struct position_shape *s, float *const *params)
{
    kerple_project(s, params[BIAS_P], most_power);
    kerple_project(s, params[BIAS_A], INFINITY);
}

static void power_fill(const struct position_shape *s, const float *const *params,
                       struct position_bias *out)
{
    for (int64_t h = 0; h < s->heads; h++) {
        double p = (double)params[BIAS_P][h], a = (double)params[BIAS_A][h];
        for (int32_t d = 1; d < out->table_n; d++)
            out->table[h * out->table_n + d] = (float)(-a * pow(d, p));
    }
}

static void power_pullback(const struct position_shape *s, const float *const *params,
                           const struct position_bias *grad, float *const *dparams)
{
    for (int64_t h = 0; h < s->heads; h++) {
        double p = (double)params[BIAS_P][h], a = (double)params[BIAS_A][h], dp = 0.0, da = 0.0;
        for (int32_t d = 1; d < grad->table_n; d++) {
            double g = (double)grad->table[h * grad->table_n + d], power = pow(d, p);
            da -= g * power;
            dp -= g * a * power * log(d);
        }
        dparams[BIAS_P][h] += (float)dp;
        dparams[BIAS_A][h] += (float)da;
    }
}

const struct position_functions position_kerple_log = {
    .tensors = kerple_tensors,
    .project = log_project,
    .table_length = position_row_length,
    .fill = log_fill,
    .pullback = log_pullback,
};

const struct position_functions position_kerple_power = {
    .tensors = kerple_tensors,
    .project = power_project,
    .table_length = position_row_length,
    .fill = power_fill,
    .pullback = power_pullback,
};
