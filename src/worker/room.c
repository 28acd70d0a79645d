/* room.c - see room.h. */
#include "worker/room.h"

struct model_options model_options_for(const struct shape_capacity *room)
{
    return (struct model_options){.train = room->train,
                                  .rows_max = room->rows_max,
                                  .length_max = room->length_max,
                                  .scored_max = room->scored_max};
}
