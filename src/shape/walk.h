/* walk.h - the walk over a model's parameters: shape.c lists them, cost.c counts them. Internal to
 * src/shape. */
#ifndef SHAPE_WALK_H
#define SHAPE_WALK_H

#include "shape/shape.h"

/* tensor NULL: count only. Otherwise an array of the size that a counting walk found. */
struct shape_walk {
    struct shape_tensor *tensor;
    int32_t tensors_n;
    int64_t elements_n;   /* so far, gaps included */
    int64_t parameters_n; /* so far */
};
void shape_walk(struct shape_walk *w, const struct spec *s);

#endif
