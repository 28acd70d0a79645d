/* position_rotary.c - queries and keys turned by an angle that grows with their position (oracle
 * SPEC.md section 16). Angles are computed in double; the tables round cosine and sine once. */
#include <math.h>
#include <stdlib.h>

#include "model/model_internal.h"

static int open_tables(struct model *m, struct err *e)
{
    int rc = 0;
    int64_t half = m->width / 2, n = m->options.length_max * half;
    float *cosine = NULL;
    if (m->width < 2 || m->width % 2 != 0)
        return ERR(e, ERR_DATA, "head width %d: rotary positions need an even one", m->width);
    cosine = malloc((size_t)(2 * n) * sizeof *cosine);
    if (cosine == NULL)
        return ERR(e, ERR_NOMEM, "no memory for rotary angles of %d positions",
                   m->options.length_max);
    float *sine = cosine + n;
    m->rotary = (struct attention_rotary){.cosine = model_buffer(m, SHAPE_COSINE, 0),
                                          .sine = model_buffer(m, SHAPE_SINE, 0),
                                          .layout = m->spec.model.rotary_layout == SPEC_HALF_SPLIT};
    for (int64_t i = 0; i < n; i++) {
        double theta = pow(m->spec.model.rotary_base, -2.0 * (double)(i % half) / m->width);
        double angle = (double)(i / half) * theta;
        cosine[i] = (float)cos(angle);
        sine[i] = (float)sin(angle);
    }
    size_t bytes = (size_t)n * sizeof *cosine;
    TRY_OUT(rc, m->b->ops->upload(m->b, m->rotary.cosine.data, cosine, bytes, e));
    TRY_OUT(rc, m->b->ops->upload(m->b, m->rotary.sine.data, sine, bytes, e));
out:
    free(cosine);
    return rc;
}

const struct position_method position_rotary = {.open = open_tables};
