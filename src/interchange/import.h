/* import.h - turns a fairseq checkpoint into the result of a training.
 *
 *   1. import_open reads the description, but no weights: names, shapes and places of tensors, and
 *      the options and statistics that fairseq stored.
 *   2. import_check compares it with a spec: every parameter exists with its shape; the other
 *      tensors are tied ones or one-element bookkeeping; every recorded option agrees.
 *   3. import_write writes an attempt's folder like a worker: spec, weights (fp32; fp16 and bf16
 *      are converted), and the records of a finished training. */
#ifndef INTERCHANGE_IMPORT_H
#define INTERCHANGE_IMPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "spec/spec.h"

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

/* import_write - step 3, for the spec that import_check last accepted. dir: absolute path of an
 * existing, empty attempt folder. loss_nats: the last training loss, for the records. Errors:
 * ERR_DATA damaged weights, tied tensors that differ, a weight that is not finite; ERR_CREATE,
 * ERR_IO, ERR_NOMEM. */
int import_write(struct import *im, const char *dir, double loss_nats, struct err *e);

#endif
