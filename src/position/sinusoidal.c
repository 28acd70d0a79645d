/* sinusoidal.c - fixed sines and cosines added to the scaled embedding (oracle SPEC.md section 4).
 *
 * The tokens of a row use table rows 2, 3, ... from the left; padding uses row 1, which is zero.
 * Computed in float in the same steps as the authors' code, so that angles of far positions round
 * alike. */
#include <math.h>
#include <string.h>

#include "position/position.h"

enum { FIRST_ROW = 2 };

static int sinusoidal_check(const struct position_shape *s, struct err *e)
{
    if (s->dim >= 4) return 0;
    return ERR(e, ERR_DATA, "model.dim = %d: sinusoidal positions need at least 4", s->dim);
}

static void sinusoidal_embedding(const struct position_shape *s, int32_t p, float *row)
{
    int32_t half = s->dim / 2;
    float fall = (float)-(log(10000.0) / (double)(half - 1));

    memset(row, 0, (size_t)s->dim * sizeof *row);
    if (p == FIRST_ROW - 1) return;
    for (int32_t j = 0; j < half; j++) {
        float frequency = (float)exp((double)((float)j * fall));
        float angle = (float)p * frequency;
        row[j] = (float)sin((double)angle);
        row[half + j] = (float)cos((double)angle);
    }
}

const struct position_functions position_sinusoidal = {
    .first_row = FIRST_ROW,
    .check = sinusoidal_check,
    .embedding = sinusoidal_embedding,
};
