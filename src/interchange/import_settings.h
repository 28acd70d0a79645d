/* import_settings.h - what a fairseq checkpoint says about its training, and whether it is the
 * training that a specification describes.
 *
 * fairseq keeps its options in `args` (a Namespace) or in `cfg` (groups `model`, `task`, …). An
 * option that is recorded must agree with the specification; one that is not cannot be checked. */
#ifndef INTERCHANGE_IMPORT_SETTINGS_H
#define INTERCHANGE_IMPORT_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "interchange/pickle.h"
#include "spec/spec.h"

struct import_facts {
    int32_t L;                               /* tokens a row in training; 0: not recorded */
    int64_t updates;                         /* 0: not recorded */
    double train_loss_nats, valid_loss_nats; /* of the last epoch; NaN: not recorded */
    bool heads_recorded;                     /* the one setting that no tensor's shape shows */
};

/* import_facts_read - from the whole checkpoint. */
void import_facts_read(struct import_facts *out, const struct pickle_value *checkpoint);

/* import_settings_check - ERR_DATA names the option, its value and the specification's. */
int import_settings_check(const struct pickle_value *checkpoint, const struct spec *s,
                          const char *path, struct err *e);

#endif
