/* sandwich.c - the Sandwich bias (Chi et al. 2023, section 5 and appendix E): the inner product of
 * the sinusoids of two positions, which depends on their distance only,
 *
 *   (1 / r) * sum of cos(distance / 10000^(2i/n)) for i = 0 ... n/2 - 1,   r = 8 (h + 1) / heads.
 *
 * The softmax ignores a constant, so the value at distance 0 is subtracted in double before
 * rounding. */
#include <math.h>

#include "position/position.h"

static const struct position_option options[] = {
    POSITION_NUMBER(POSITION_INT, "model.sandwich_dim", sandwich_dim, 2, 65536, "128",
                    "width n of the sinusoids, independent of the width of the model",
                    "Sandwich, appendix E: 128"),
    {.name = NULL},
};

static int sandwich_check(const struct position_shape *s, struct err *e)
{
    if (s->options->sandwich_dim % 2 == 0) return 0;
    return ERR(e, ERR_DATA, "model.sandwich_dim: %d, expected an even number",
               s->options->sandwich_dim);
}

static void sandwich_fill(const struct position_shape *s, const float *const *params,
                          struct position_bias *out)
{
    int32_t n = s->options->sandwich_dim;

    (void)params;
    for (int32_t d = 0; d < out->table_n; d++) {
        double sum = 0.0;
        for (int32_t i = 0; i < n / 2; i++) sum += cos(d * pow(10000.0, -2.0 * i / n)) - 1.0;
        for (int64_t h = 0; h < s->heads; h++)
            out->table[h * out->table_n + d] = (float)(sum * s->heads / (8.0 * (double)(h + 1)));
    }
}

const struct position_functions position_sandwich = {
    .options = options,
    .check = sandwich_check,
    .table_length = position_row_length,
    .fill = sandwich_fill,
};
