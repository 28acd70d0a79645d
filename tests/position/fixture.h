/* fixture.h - a position method with its arrays, for tests. */
#ifndef TESTS_POSITION_FIXTURE_H
#define TESTS_POSITION_FIXTURE_H

#include "position/position.h"
#include "spec/spec.h"

/* A method at some shape. Everything is in the arena. */
struct position_fixture {
    const struct position_functions *functions;
    struct spec spec;
    struct position_shape shape;
    struct arena arena;
    int32_t tensors_n;
    struct position_tensor tensor[POSITION_TENSORS_MAX];
    float *values[POSITION_TENSORS_MAX]; /* zeros */
    struct position_bias bias;           /* rows of at most L tokens */
};

void position_fixture_open(struct position_fixture *f, const struct spec *s, int32_t L);
void position_fixture_close(struct position_fixture *f);
/* position_fixture_fill - computes the bias from the values. */
void position_fixture_fill(struct position_fixture *f);
/* position_fixture_bias - of head h at a distance. */
float position_fixture_bias(const struct position_fixture *f, int32_t h, int32_t distance);
/* position_fixture_elements - of tensor i. */
int64_t position_fixture_elements(const struct position_fixture *f, int32_t i);
/* position_fixture_zeros - a bias of the same size. */
struct position_bias position_fixture_zeros(struct position_fixture *f);

#endif
