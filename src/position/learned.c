/* learned.c - a learned row for each position of the training length, added to the scaled embedding
 * of its token (GPT-3: Brown et al. 2020). Rows are not scaled and begin at 0. The method is not
 * defined beyond the training length. */
#include <math.h>

#include "position/position.h"

static const struct position_option options[] = {
    POSITION_NUMBER(POSITION_REAL, "model.learned_init_std", learned_init_std, 0, 100, "0",
                    "standard deviation of the rows' initial values; 0: model.dim^-0.5",
                    "fairseq: D^-0.5; GPT-2: 0.02"),
    {.name = NULL},
};

static int32_t learned_tensors(const struct position_shape *s, struct position_tensor *out)
{
    double std = s->options->learned_init_std;

    out[0] = (struct position_tensor){.name = "decoder.embed_positions.weight",
                                      .rows = s->trained_length,
                                      .cols = s->dim,
                                      .dims = 2,
                                      .use = POSITION_EMBEDDING,
                                      .start = POSITION_NORMAL,
                                      .spread = std > 0 ? std : 1.0 / sqrt((double)s->dim)};
    return 1;
}

const struct position_functions position_learned = {
    .options = options,
    .tensors = learned_tensors,
};
