/* tisa.c - TISA, translation-invariant self-attention (Wennberg and Henter 2021): a learned sum of
 * bumps for each head, one set for all layers,
 *
 *   sum over k of a_k * exp(-|b_k| * (distance - c_k)^2).
 *
 * In the authors' code distances are one smaller: load their weights with c + 1. */
#include <math.h>

#include "position/position.h"

enum { OFFSETS, AMPLITUDES, SHARPNESS };

static const struct position_option options[] = {
    POSITION_NUMBER(POSITION_INT, "model.tisa_kernels", tisa_kernels, 1, 4096, "5",
                    "bumps of each head's bias", "TISA: 5"),
    {.name = NULL},
};

static int32_t tisa_tensors(const struct position_shape *s, struct position_tensor *out)
{
    static const struct {
        const char *name;
        double mean, std;
    } rows[] = {[OFFSETS] = {"decoder.tisa.kernel_offsets", 0.0, 5.0},
                [AMPLITUDES] = {"decoder.tisa.kernel_amplitudes", 0.1, 0.01},
                [SHARPNESS] = {"decoder.tisa.kernel_sharpness", 0.1, 0.01}};

    for (int i = 0; i < 3; i++)
        out[i] = (struct position_tensor){.name = rows[i].name,
                                          .rows = s->options->tisa_kernels,
                                          .cols = s->heads,
                                          .dims = 2,
                                          .use = POSITION_BIAS,
                                          .start = POSITION_NORMAL,
                                          .mean = rows[i].mean,
                                          .spread = rows[i].std};
    return 3;
}

static void tisa_fill(const struct position_shape *s, const float *const *params,
                      struct position_bias *out)
{
    int64_t H = s->heads;

    for (int64_t h = 0; h < H; h++)
        for (int32_t d = 0; d < out->table_n; d++) {
            double sum = 0.0;
            for (int64_t at = h; at < H * s->options->tisa_kernels; at += H) {
                double from = d - (double)params[OFFSETS][at];
                sum += (double)params[AMPLITUDES][at] *
                       exp(-fabs((double)params[SHARPNESS][at]) * from * from);
            }
            out->table[h * out->table_n + d] = (float)sum;
        }
}

static void tisa_pullback(const struct position_shape *s, const float *const *params,
                          const struct position_bias *grad, float *const *dparams)
{
    int64_t H = s->heads;

    for (int64_t at = 0; at < H * s->options->tisa_kernels; at++) {
        const float *g = grad->table + at % H * grad->table_n;
        double a = (double)params[AMPLITUDES][at], b = (double)params[SHARPNESS][at];
        double da = 0.0, db = 0.0, dc = 0.0;
        for (int32_t d = 0; d < grad->table_n; d++) {
            double from = d - (double)params[OFFSETS][at];
            double bump = (double)g[d] * exp(-fabs(b) * from * from);
            da += bump;
            db -= bump * a * from * from;
            dc += bump * a * 2.0 * fabs(b) * from;
        }
        dparams[AMPLITUDES][at] += (float)da;
        dparams[SHARPNESS][at] += (float)(b > 0 ? db : b < 0 ? -db : 0.0);
        dparams[OFFSETS][at] += (float)dc;
    }
}

const struct position_functions position_tisa = {
    .options = options,
    .tensors = tisa_tensors,
    .table_length = position_row_length,
    .fill = tisa_fill,
    .pullback = tisa_pullback,
};
