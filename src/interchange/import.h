/* import.h - a fairseq checkpoint becomes the result of a training that was not run here.
 *
 *   1. import_open reads the description and no numbers: the tensors' names, shapes and places, the
 *      options and statistics that fairseq kept.
 *   2. import_check compares it with a specification: every parameter is there with its shape, tied
 *      tensors are listed a second time, nothing else is but one-element bookkeeping, and every
 *      recorded option agrees.
 *   3. import_write makes an attempt's folder as a worker would leave it: spec, weights (fp32; fp16
 *      and bf16 are widened), and the records of a training that is done. */
#ifndef INTERCHANGE_IMPORT_H
#define INTERCHANGE_IMPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "spec/spec.h"

struct import;

/* import_open - Errors: ERR_NOINPUT; ERR_DATA with what is wrong. */
int import_open(struct import **out, const char *path, struct err *e);
void import_close(struct import *im); /* takes NULL */

struct import_facts {
    int32_t L;                               /* tokens a row in training; 0: not recorded */
    int64_t updates;                         /* 0: not recorded */
    double train_loss_nats, valid_loss_nats; /* of the last epoch; NaN: not recorded */
    bool heads_recorded;                     /* the one setting that no tensor's shape shows */
    bool was_fp16;                           /* some tensors are fp16 or bf16 */
    const char *position; /* the method whose learned tensors it holds; NULL: none, or several */
};
const struct import_facts *import_facts(const struct import *im);

/* import_check - step 2. Errors: ERR_DATA names the tensor or the option. */
int import_check(const struct import *im, const struct spec *s, struct err *e);

/* import_write - step 3. dir: an attempt's folder that exists and is empty, absolute. loss_nats:
 * what the records give as the training's last loss. Errors: ERR_DATA damaged numbers, a tensor
 * that differs from the one it is tied to, a weight that is not finite; ERR_CREATE, ERR_IO,
 * ERR_NOMEM. */
int import_write(const struct import *im, const struct spec *s, const char *dir, double loss_nats,
                 struct err *e);

#endif
