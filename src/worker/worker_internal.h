/* attempt.h - what the kinds of work share: the attempt's folder, its records, the wish to stop.
 *
 * A stop (SIGTERM, SIGINT) is never handled in a signal handler: both signals are blocked while the
 * attempt lives, and worker_stop_requested looks whether one is waiting. */
#ifndef WORKER_WORKER_INTERNAL_H
#define WORKER_WORKER_INTERNAL_H

#include <jansson.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "backend/backend.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/project.h"
#include "record/event.h"
#include "spec/spec.h"
#include "worker/worker.h"

struct worker {
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

/* worker_open - folder, specs, records; blocks the signals. worker_close also restores them.
 * worker_close is called in every case. */
int worker_open(struct worker *a, const struct project *p, const struct worker_options *o,
                struct err *e);
void worker_close(struct worker *a);

/* worker_start - opens the backend in the precision of the first spec and records EVENT_STARTED.
 * ERR_UNAVAILABLE: the device lacks that precision. */
int worker_start(struct worker *a, struct err *e);

/* worker_choices - the algorithms that the backend chose by measuring, as text in an arena; ""
 * where it chooses none. */
const char *worker_choices(struct worker *a, struct arena *arena);

/* worker_restore_choices - the backend takes these from now on, where it has them; otherwise a
 * warning says so. NULL and "" are none. */
void worker_restore_choices(struct worker *a, const char *choices);

/* worker_end - records EVENT_ENDED for an outcome of 0 or a negative err_code, durably. */
int worker_end(struct worker *a, int outcome, const struct err *why, struct err *e);

/* worker_stop_requested - whether somebody asked to stop. */
bool worker_stop_requested(struct worker *a);

/* worker_progress - records EVENT_PROGRESS at most once a second, the first one at once. A loss or
 * a rate that is not known is NaN. */
int worker_progress(struct worker *a, int64_t done, int64_t total, double loss_nats, double wps,
                    struct err *e);

/* json_finite - a JSON number, or null for what is not finite. */
json_t *json_finite(double value);

/* worker_peak_bytes - highest memory since worker_peak_reset, or since the start where the system
 * cannot reset its own count. */
int worker_peak_bytes(struct worker *a, int64_t *out, struct err *e);
void worker_peak_reset(const struct worker *a);

#endif
