/* import_internal.h - what import.c and import_write.c share. */
#ifndef WORKER_IMPORT_INTERNAL_H
#define WORKER_IMPORT_INTERNAL_H

#include "shape/shape.h"
#include "worker/import.h"
#include "worker/import_tensor.h"

struct import {
    struct arena arena;
    struct import_archive archive;
    struct pickle_value *checkpoint; /* the whole description */
    struct import_tensor *tensor;
    int32_t tensors_n;
    struct import_facts facts;
};

/* A tensor listed a second time under another name. */
struct import_twin {
    const struct import_tensor *listed, *parameter;
};

/* How a model's parameters are found in the file. */
struct import_fit {
    struct shape_params params;
    const struct import_tensor **of; /* of each parameter */
    struct import_twin *twin;
    int32_t twins_n;
};

/* import_fit - in the arena a. Errors: as import_check. */
int import_fit(struct import_fit *out, struct arena *a, const struct import *im,
               const struct spec *s, struct err *e);

#endif
