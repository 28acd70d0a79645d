/* model_init.c - initialises the weights (oracle SPEC.md section 9).
 *
 * A tensor's stream is the CRC-32C of its name, so that models that differ in one tensor share the
 * others. Element i of a uniform tensor is one Philox word; normals are drawn in pairs (Box and
 * Muller). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/philox.h"
#include "model/model_position.h"
#include "model/model_struct.h"

/* The step word of all draws in this file. No update has this number, so dropout never uses it. */
static const uint32_t INIT_STEP = 0xFFFFFFFFu;

static const double PI = 3.14159265358979323846;

/* Maps a word to a uniform number in the open interval (0, 1). */
static double open_uniform(uint32_t word)
{
    return ((double)word + 0.5) * 0x1p-32;
}

static double draw_uniform(uint64_t seed, uint32_t stream, int64_t i)
{
    return 2.0 * open_uniform(philox_word(seed, (uint64_t)i, INIT_STEP, stream)) - 1.0;
}

static double draw_normal(uint64_t seed, uint32_t stream, int64_t i)
{
    uint64_t pair = (uint64_t)i / 2 * 2;
    double radius = sqrt(-2.0 * log(open_uniform(philox_word(seed, pair, INIT_STEP, stream))));
    double angle = 2.0 * PI * open_uniform(philox_word(seed, pair + 1, INIT_STEP, stream));
    return radius * (i % 2 == 0 ? cos(angle) : sin(angle));
}

static void fill_tensor(float *out, const struct shape_tensor *t, uint64_t seed)
{
    uint32_t stream = hash_crc32c(0, t->name, strlen(t->name));
    int64_t n = (int64_t)t->rows * t->cols;
    for (int64_t i = 0; i < n; i++) {
        double value = t->init_mean;
        if (t->init == SHAPE_ONES) value = 1.0;
        if (t->init == SHAPE_UNIFORM) value += t->init_value * draw_uniform(seed, stream, i);
        if (t->init == SHAPE_NORMAL) value += t->init_value * draw_normal(seed, stream, i);
        out[i] = (float)value;
    }
    if (t->init_zero_row >= 0 && t->init_zero_row < t->rows)
        memset(out + (int64_t)t->init_zero_row * t->cols, 0, (size_t)t->cols * sizeof *out);
}

int model_init(struct model *m, uint64_t seed, struct err *e)
{
    int rc = 0;
    int64_t most = 1;
    for (int32_t i = 0; i < m->params.tensors_n; i++) {
        int64_t n = (int64_t)m->params.tensor[i].rows * m->params.tensor[i].cols;
        most = n > most ? n : most;
    }
    float *values = malloc((size_t)most * sizeof *values);
    if (values == NULL) return ERR(e, ERR_NOMEM, "out of memory for initial values");
    for (int32_t i = 0; i < m->params.tensors_n; i++) {
        if (m->params.tensor[i].init == SHAPE_OWN)
            model_position_start(m, i, values);
        else
            fill_tensor(values, &m->params.tensor[i], seed);
        TRY_OUT(rc, model_write(m, MODEL_VALUES, i, values, e));
    }
out:
    free(values);
    return rc;
}
