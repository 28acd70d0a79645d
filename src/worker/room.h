/* room.h - what a model is opened for, from the room that a plan counted (shape/memory.h): planned
 * and allocated bytes follow from one rule. */
#ifndef WORKER_ROOM_H
#define WORKER_ROOM_H

#include "model/model.h"
#include "shape/memory.h"

/* model_options_for - the options that open a model of just this room. */
struct model_options model_options_for(const struct shape_capacity *room);

#endif
