/* export.h - exports a trained model for PyTorch: model.safetensors (fp32, the names of oracle
 * SPEC.md section 14, tied tensors once) and config.json, which describes the model. */
#ifndef INTERCHANGE_EXPORT_H
#define INTERCHANGE_EXPORT_H

#include <jansson.h>

#include "base/err.h"
#include "base/hash.h"

struct export_options {
    const char *checkpoint; /* absolute path of a training's weights */
    const char *sha256;     /* expected hash of the checkpoint */
    const char *run_id;     /* run id of the training, whose spec the checkpoint must contain */
    const char *dir;        /* output folder; created if needed */
    json_t *results;        /* borrowed; becomes "results" in config.json; may be NULL */
};

/* export_write - writes both files, each completely or not at all, replacing existing ones. Errors:
 * ERR_DATA the checkpoint is damaged or of another run; ERR_NOINPUT, ERR_CREATE, ERR_IO. */
int export_write(const struct export_options *o, struct err *e);

#endif
