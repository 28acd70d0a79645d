/* position_sinusoidal.c - fixed sines and cosines added to the scaled embedding (oracle SPEC.md
 * section 4). Non-pad tokens of a row use rows 2, 3, …; the pad id's row 1 is zero.
 *
 * The table is computed in float, step by step as the authors' is, so that far positions have the
 * same rounding of the angle. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/model_internal.h"

void position_sinusoidal_row(float *row, int32_t dim, int32_t p)
{
    int32_t half = dim / 2;
    float fall = (float)-(log(10000.0) / (double)(half - 1));
    memset(row, 0, (size_t)dim * sizeof *row);
    if (p == MODEL_PAD) return;
    for (int32_t j = 0; j < half; j++) {
        float frequency = (float)exp((double)((float)j * fall));
        float angle = (float)p * frequency;
        row[j] = (float)sin((double)angle);
        row[half + j] = (float)cos((double)angle);
    }
}

static int open_table(struct model *m, struct err *e)
{
    int rc = 0;
    m->place.table = model_buffer(m, SHAPE_SINUSOIDS, 0);
    const struct tensor *t = &m->place.table;
    float *rows = malloc((size_t)(t->rows * t->cols) * sizeof *rows);
    if (m->spec.model.dim < 4 || rows == NULL) {
        rc = rows == NULL
                 ? ERR(e, ERR_NOMEM, "no memory for sinusoids of %d positions", (int)t->rows)
                 : ERR(e, ERR_DATA, "model.dim = %d: sinusoidal positions need at least 4",
                       m->spec.model.dim);
        goto out;
    }
    for (int32_t p = 0; p < (int32_t)t->rows; p++)
        position_sinusoidal_row(rows + (int64_t)p * t->cols, (int32_t)t->cols, p);
    TRY_OUT(rc,
            m->b->ops->upload(m->b, t->data, rows, (size_t)(t->rows * t->cols) * sizeof *rows, e));
out:
    free(rows);
    return rc;
}

static int embed(struct model *m, struct tensor *x, struct err *e)
{
    return ops_add_rows(m->b, x, x, &m->place.table, model_list_dev(m, &m->lists.position), e);
}

const struct position_method position_sinusoidal = {.open = open_table, .embed = embed};
