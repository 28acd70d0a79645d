/* reproduce.h - an attempt reproduced, and compared bit for bit with what its records say.
 *
 * 1. A training starts from its first update and continues for a few; every record of an update, a
 *    validation and a checkpoint that both have is compared, in the fields that record_fields marks
 *    as verified. Of a training that was interrupted all attempts up to the
 *    given one are compared. (The optimiser's state is deleted when a training is done, so it
 *    cannot start in the middle.)
 * 2. An evaluation is reproduced whole.
 * 3. A device that selects algorithms by timing is given the recorded ones.
 * 4. The same bits are promised for the same device, BLAS, threads and program. If one of them
 *    differs, a difference is reported but is not an error. */
#ifndef WORKER_REPRODUCE_H
#define WORKER_REPRODUCE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/project.h"

struct verify_run_options {
    const char *dir;    /* absolute: the folder of the attempt that is verified */
    const char *run_id; /* which run of it: evaluations may share a folder */
    int64_t updates;    /* of a training, from the first one on; more than it has: all */
};

struct verify_report {
    bool ran;           /* false: it cannot be reproduced here; why says it */
    int64_t updates;    /* reproduced; 0 of an evaluation */
    int64_t compared_n; /* records that were compared */
    int64_t hashes_n;   /* of them checkpoints, by their hash */
    int64_t differ_n;
    bool same_maker; /* the program, the device and its libraries are those of the record */
    char why[300];   /* why not, or the first difference */
    char maker[300]; /* what differs in them; "" if nothing does */
};

/* verify_run - in a temporary folder under runs/, which is removed. Errors: ERR_INTERRUPTED;
 * ERR_DATA a spec or corpus that is another one; those of the work. */
int verify_run(struct verify_report *out, const struct project *p,
               const struct verify_run_options *o, struct err *e);

#endif
