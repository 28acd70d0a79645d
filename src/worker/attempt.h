/* attempt.h - what the kinds of work share: the attempt's folder, its records, the wish to stop.
 *
 * A stop (SIGTERM, SIGINT) is never handled in a signal handler: both signals are blocked while the
 * attempt lives, and attempt_stop looks whether one is waiting. */
#ifndef WORKER_ATTEMPT_H
#define WORKER_ATTEMPT_H

#include <jansson.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "backend/backend.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/project.h"
#include "spec/event.h"
#include "spec/spec.h"
#include "worker/worker.h"

struct attempt {
    const struct project *project;
    const struct worker_options *options;
    struct arena arena;
    char *dir;      /* absolute */
    char *run_dir;  /* the folder of all attempts of the run */
    int32_t number; /* of this attempt; 0: the folder's name is no number, so there are no others */
    struct spec *spec;
    char (*run_id)[SPEC_ID_BYTES]; /* of each spec */
    int32_t specs_n;
    struct backend *backend;
    struct event_writer *events;
    int64_t started_us, progress_us; /* when the attempt began, when progress was last recorded */
    bool stopped;
    sigset_t mask_before;
};

/* attempt_open - folder, specs, records; blocks the signals. attempt_close also restores them.
 * attempt_close is called in every case. */
int attempt_open(struct attempt *a, const struct project *p, const struct worker_options *o,
                 struct err *e);
void attempt_close(struct attempt *a);

/* attempt_start - opens the backend in the precision of the first spec and records EVENT_STARTED.
 * ERR_UNAVAILABLE: the device lacks that precision. */
int attempt_start(struct attempt *a, struct err *e);

/* attempt_choices - the algorithms that the backend chose by measuring, as text in an arena; ""
 * where it chooses none. */
const char *attempt_choices(struct attempt *a, struct arena *arena);

/* attempt_adopt_choices - the backend takes these from now on, where it has them; otherwise a
 * warning says so. NULL and "" are none. */
void attempt_adopt_choices(struct attempt *a, const char *choices);

/* attempt_end - records EVENT_ENDED for an outcome of 0 or a negative err_code, durably. */
int attempt_end(struct attempt *a, int outcome, const struct err *why, struct err *e);

/* attempt_stop - whether somebody asked to stop. */
bool attempt_stop(struct attempt *a);

/* attempt_progress - records EVENT_PROGRESS at most once a second, the first one at once. A loss or
 * a rate that is not known is NaN. */
int attempt_progress(struct attempt *a, int64_t done, int64_t total, double loss_nats, double wps,
                     struct err *e);

/* attempt_real - a JSON number, or null for what is not finite. */
json_t *attempt_real(double value);

/* attempt_peak_bytes - highest memory since attempt_peak_reset, or since the start where the system
 * cannot reset its own count. */
int attempt_peak_bytes(struct attempt *a, int64_t *out, struct err *e);
void attempt_peak_reset(const struct attempt *a);

#endif
