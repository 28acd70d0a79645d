/* import_internal.h - what import.c and import_write.c share. */
#ifndef INTERCHANGE_IMPORT_INTERNAL_H
#define INTERCHANGE_IMPORT_INTERNAL_H

#include "interchange/import.h"
#include "interchange/import_tensor.h"
#include "shape/shape.h"

struct import {
    struct arena arena;
    struct import_archive archive;
    struct pickle_value *checkpoint; /* the whole description */
    struct import_tensor *tensor;
    int32_t tensors_n;
    struct import_facts facts;
};

/* A tensor listed a second time under another name. */
struct tied_alias {
    const struct import_tensor *listed, *parameter;
};

/* How a model's parameters are found in the file. */
struct import_fit {
    struct shape_params params;
    const struct import_tensor **of; /* of each parameter */
    struct tied_alias *twin;
    int32_t twins_n;
};

/* import_fit - in the arena a. Errors: as import_check. */
int import_fit(struct import_fit *out, struct arena *a, const struct import *im,
               const struct spec *s, struct err *e);

#endif
