/* datastore.h - the keys of a training's text, in memory.
 *
 * Values are the first targets of the training text, keys their activations (model_keys). Every
 * worker whose evaluations search them computes them first. */
#ifndef WORKER_DATASTORE_H
#define WORKER_DATASTORE_H

#include <stdint.h>

#include "base/err.h"
#include "base/hash.h"
#include "spec/spec.h"

struct corpus;
struct model;
struct shape_capacity;
struct source;
struct worker;

struct datastore_options {
    struct worker *worker;
    const struct source *source;
    const struct corpus *corpus;
    struct spec_knn knn; /* of spec_datastore */
    int64_t more;        /* targets that the worker scores afterwards, for progress */
};
struct datastore {
    float *keys_own;     /* (n, model.dim) */
    int32_t *values_own; /* (n) */
    int64_t n;
    char sha256[HASH_HEX_BYTES]; /* of the values, then the keys */
};
/* datastore_build - Errors: ERR_INTERRUPTED; ERR_NUMBER a key is not finite; ERR_NOMEM names the
 * setting. */
int datastore_build(struct datastore *d, const struct datastore_options *o, struct err *e);
void datastore_close(struct datastore *d);
/* datastore_model - opens the model that computes keys: with the checkpoint's values, or with its
 * initial ones. */
int datastore_model(struct model **out, const struct datastore_options *o, const struct spec *s,
                    const struct shape_capacity *capacity, struct err *e);

#endif
