/* op_reference.c - the loops of op_reference_loops.h, once for each type. */
#include "ops/op_reference.h"

#include <math.h>
#include <stdlib.h>

#define REAL double
#define NAME(name) name##_double
#include "ops/op_reference_loops.h"
#undef REAL
#undef NAME

#define REAL float
#define NAME(name) name##_float
#include "ops/op_reference_loops.h"
