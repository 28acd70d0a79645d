/* export.h - a trained model for users of PyTorch: model.safetensors (fp32, the names of oracle
 * SPEC.md section 14, tied tensors once) and config.json, which says how to read it. */
#ifndef INTERCHANGE_EXPORT_H
#define INTERCHANGE_EXPORT_H

#include <jansson.h>

#include "base/err.h"
#include "base/hash.h"

struct export_options {
    const char *checkpoint; /* absolute path of weights that a training left */
    const char *sha256;     /* what they must hash to */
    const char *run_id;     /* of the training: the weights must hold its specification */
    const char *dir;        /* made if it is not there */
    json_t *results;        /* a loan: becomes "results" of config.json; may be NULL */
};

/* export_write - both files, each complete or absent; present ones are replaced. Errors: ERR_DATA
 * the checkpoint is damaged or another's; ERR_NOINPUT, ERR_CREATE, ERR_IO. */
int export_write(const struct export_options *o, struct err *e);

#endif
