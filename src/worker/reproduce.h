/* reproduce.h - reproduces an attempt and compares it with its records bit for bit.
 *
 * 1. A training is repeated from its first update for a few updates. The records of updates,
 *    validations and checkpoints that both attempts have are compared, in the fields that
 *    record_fields marks as verified. If a training was interrupted, all its attempts up to the
 *    given one are compared. (It cannot start in the middle, because the optimiser state is deleted
 *    when a training is done.)
 * 2. An evaluation is repeated completely.
 * 3. A device that selects algorithms by timing uses the recorded ones.
 * 4. Bits are only guaranteed for the same device, BLAS, threads and program. If one of them
 *    differs, different records are reported but are not an error. */
#ifndef WORKER_REPRODUCE_H
#define WORKER_REPRODUCE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/project.h"

struct verify_run_options {
    const char *dir;    /* absolute folder of the verified attempt */
    const char *run_id; /* run to verify: evaluations may share a folder */
    int64_t updates;    /* updates of a training to repeat; at most all it has */
};

struct verify_report {
    bool ran;           /* false: cannot be reproduced here, for the reason in why */
    int64_t updates;    /* repeated updates; 0 for an evaluation */
    int64_t compared_n; /* compared records */
    int64_t hashes_n;   /* of these, hashes of checkpoints */
    int64_t differ_n;
    bool same_maker; /* same program, device and libraries as recorded */
    char why[300];   /* reason why it did not run, or the first difference */
    char maker[300]; /* differences of program, device or libraries; "": none */
};

/* verify_run - reproduces an attempt in a temporary folder under runs/, which is deleted. Errors:
 * ERR_INTERRUPTED; ERR_DATA the spec or corpus does not match; those of the run. */
int verify_run(struct verify_report *out, const struct project *p,
               const struct verify_run_options *o, struct err *e);

#endif
