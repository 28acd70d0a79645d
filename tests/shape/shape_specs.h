/* shape_specs.h - the paper's two models, for tests of src/shape. */
#ifndef TESTS_SHAPE_SPECS_H
#define TESTS_SHAPE_SPECS_H

#include "shape/shape.h"

/* The 247M model on WikiText-103, trained on rows of L tokens. */
struct spec shape_specs_paper(enum spec_position position, int32_t L);
/* The 1.3B model: one tied table. */
struct spec shape_specs_large(int32_t L);

#endif
