/* interchange.h - checkpoints that a training recorded, exports for PyTorch, imports from fairseq.
 */
#ifndef INTERCHANGE_INTERCHANGE_H
#define INTERCHANGE_INTERCHANGE_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/hash.h"
#include "interchange/safetensors.h"
#include "shape/shape.h"
#include "spec/spec.h"

/* --- checkpoint.c --------------------------------------------------------------------------- */

/* checkpoint_open - maps a run's weights or optimiser state after comparing its SHA-256 with the
 * recorded one. Sets trained (may be NULL) to the file's spec. Errors: ERR_NOINPUT; ERR_DATA the
 * file is damaged or of another run. */
int checkpoint_open(struct safetensors **out, struct spec *trained, const char *path,
                    const char *sha256, const char *run_id, struct err *e);

/* checkpoint_entries - the tensors that the weights of a model have in a file: names and shapes.
 * checkpoint_check - ERR_DATA a tensor of n is missing, has another shape or is not fp32, or there
 * are others. */
void checkpoint_entries(struct safetensors_entry *out, const struct shape_params *p);
int checkpoint_check(const struct safetensors *s, const struct safetensors_entry *want, int32_t n,
                     struct err *e);

/* --- export.c ------------------------------------------------------------------------------- */

struct export_options {
    const char *checkpoint; /* absolute path of a training's weights */
    const char *sha256;     /* expected hash of the checkpoint */
    const char *run_id;     /* run id of the training, whose spec the checkpoint must contain */
    const char *dir;        /* output folder; created if needed */
    json_t *results;        /* borrowed; becomes "results" in config.json; may be NULL */
};

/* export_write - writes model.safetensors (fp32, the names of oracle SPEC.md section 14, tied
 * tensors once) and config.json, which describes the model, each completely or not at all,
 * replacing existing ones. Errors: ERR_DATA the checkpoint is damaged or of another run;
 * ERR_NOINPUT, ERR_CREATE, ERR_IO. */
int export_write(const struct export_options *o, struct err *e);

/* --- import.c: turns a fairseq checkpoint into one of this program ----------------------------
 *
 *   1. import_open reads the description, but no weights: names, shapes and offsets of tensors, and
 *      the options and statistics that fairseq stored.
 *   2. import_check compares it with a spec: every parameter exists with its shape; the other
 *      tensors are tied ones or one-element bookkeeping; every recorded option agrees.
 *   3. import_write writes its weights (fp32; fp16 and bf16 are converted) as a checkpoint of the
 *      run. */

struct import;

/* import_open - Errors: ERR_NOINPUT; ERR_DATA with the problem. */
int import_open(struct import **out, const char *path, struct err *e);
void import_close(struct import *im); /* takes NULL */

struct import_facts {
    int32_t L;                               /* tokens per training row; 0: not recorded */
    int64_t updates;                         /* 0: not recorded */
    double train_loss_nats, valid_loss_nats; /* of the last epoch; NaN: not recorded */
    bool heads_recorded;  /* the number of heads is recorded; no tensor's shape shows it */
    bool was_fp16;        /* some tensors are fp16 or bf16 */
    const char *position; /* of the learned tensors; NULL: none, or several */
};
const struct import_facts *import_facts(const struct import *im);

/* import_check - step 2. Errors: ERR_DATA names the tensor or the option. */
int import_check(struct import *im, const struct spec *s, struct err *e);

/* import_write - step 3, once, for the spec that import_check last accepted. dir: absolute path of
 * an existing folder. Texts of *out are constant or in memory of im. Errors: ERR_DATA damaged
 * weights, tied tensors that differ, a weight that is not finite; ERR_CREATE, ERR_IO, ERR_NOMEM. */
struct import_written {
    const char *file, *sha256; /* name in dir */
    int64_t updates, parameters_n;
};
int import_write(struct import *im, const char *dir, struct import_written *out, struct err *e);

#endif
