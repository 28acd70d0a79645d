/* position.c - the table of position methods: a method is one file and one row here. */
#include "model/model_internal.h"

static const struct position_method *const position_methods[] = {
    [SPEC_SINUSOIDAL] = &position_sinusoidal,
    [SPEC_ROTARY] = &position_rotary,
    [SPEC_T5] = &position_t5,
    [SPEC_ALIBI] = &position_alibi,
};

const struct position_method *position_method(enum spec_position p)
{
    return position_methods[p];
}
