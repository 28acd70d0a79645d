/* walk.h - the walk over a model's parameters that shape.c lists and cost.c counts. Inside
 * src/shape only. */
#ifndef SHAPE_WALK_H
#define SHAPE_WALK_H

#include "shape/shape.h"

/* tensor NULL: only count. Otherwise it has room for as many as a counting walk found. */
struct shape_walk {
    struct shape_tensor *tensor;
    int32_t tensors_n;
    int64_t elements_n;   /* so far, gaps included */
    int64_t parameters_n; /* so far */
};
void shape_walk(struct shape_walk *w, const struct spec *s);

#endif
