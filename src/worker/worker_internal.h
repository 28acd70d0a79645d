/* worker_internal.h - shared by the kinds of runs: the attempt's folder, its records, requests to
 * stop.
 *
 * There is no signal handler: SIGTERM and SIGINT are blocked during the attempt, and
 * worker_stop_requested checks for pending ones. */
#ifndef WORKER_WORKER_INTERNAL_H
#define WORKER_WORKER_INTERNAL_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "backend/backend.h"
#include "base/arena.h"
#include "data/corpus.h"
#include "record/run_folder.h"
#include "spec/spec.h"
#include "worker/checkpoints.h"
#include "worker/worker.h"

struct worker {
    const struct project *project;
    const struct worker_options *options;
    struct arena arena;
    char *dir;      /* absolute */
    int32_t number; /* number number of the attempt; 0: dir is not runs/<run id>/<attempt> and has
                       no siblings */
    struct spec *spec;
    char (*run_id)[SPEC_ID_BYTES]; /* of each spec */
    int32_t specs_n;
    struct backend *backend;
    struct event_writer *events;
    int64_t started_us, progress_us; /* start of the attempt; time of the last progress record */
    bool stopped;
    sigset_t mask_before;
};

/* worker_open - opens the attempt's folder and reads its specs; SIGTERM and SIGINT are blocked from
 * now on. Call worker_close also after an error. Errors: ERR_NOINPUT; ERR_CREATE the attempt has
 * been executed already; ERR_DATA. */
int worker_open(struct worker *a, const struct project *p, const struct worker_options *o,
                struct err *e);
void worker_close(struct worker *a);

/* train_run - runs the attempt's only spec, of kind SPEC_TRAIN, from its first update or from a
 * checkpoint of an older attempt. Records updates, validations, checkpoints and EVENT_TRAINED. The
 * caller passes `kept` to checkpoints_finish after recording the outcome. Errors: ERR_NUMBER a loss
 * or gradient is not finite; ERR_INTERRUPTED after writing a checkpoint; ERR_DATA the corpus does
 * not match. */
int train_run(struct worker *a, struct checkpoints *kept, struct err *e);

/* evaluate_run - runs all specs of the attempt, of kind SPEC_EVAL, and records EVENT_EVALUATED as
 * soon as each is done. Errors: ERR_NOINPUT the training is not done; ERR_DATA the checkpoint or
 * the corpus does not match; ERR_INTERRUPTED. */
int evaluate_run(struct worker *a, struct err *e);

/* bench_run - runs the attempt's only spec, of kind SPEC_BENCH; records EVENT_BENCHED. */
int bench_run(struct worker *a, struct err *e);

/* worker_progress - records EVENT_PROGRESS, at most once per second. An unknown loss or rate is
 * NaN. */
int worker_progress(struct worker *a, int64_t done, int64_t total, double loss_nats, double wps,
                    struct err *e);

/* worker_stop_requested - whether SIGTERM or SIGINT has arrived. */
bool worker_stop_requested(struct worker *a);

/* worker_choices - the algorithms that the backend selected by timing, as text in an arena; NULL:
 * none. worker_restore_choices - makes the backend use these algorithms, or warns if it does not
 * have them. NULL and "": none. */
const char *worker_choices(const struct worker *a, struct arena *arena);
void worker_restore_choices(struct worker *a, const char *choices);

/* worker_peak_bytes - peak memory since worker_peak_reset, or since the start if the system cannot
 * reset its count. */
int worker_peak_bytes(struct worker *a, int64_t *out, struct err *e);
void worker_peak_reset(const struct worker *a);

/* corpus_open_for - opens data/CORPUS of the spec. Errors: as corpus_open; ERR_DATA its vocabulary,
 * token counts or fingerprint (if the spec has one) differ from the spec's. */
int corpus_open_for(struct corpus *c, const struct project *p, const struct spec *s, struct err *e);

#endif
