/* state.h - the state of an attempt, and what all kinds of runs share: records, requests to stop,
 * the backend's choices, the corpus.
 *
 * There is no signal handler: SIGTERM and SIGINT are blocked during the attempt, and
 * worker_stop_requested checks for pending ones. */
#ifndef WORKER_STATE_H
#define WORKER_STATE_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/project.h"
#include "group/group.h"
#include "record/run_folder.h"
#include "spec/spec.h"
#include "worker/worker.h"

struct backend;
struct corpus;

struct worker {
    const struct project *project;
    const struct worker_options *options;
    struct arena arena;
    char *dir;      /* absolute */
    int32_t number; /* of the attempt; 0: dir is not runs/<run id>/<attempt> and has
                       no siblings */
    struct spec *spec;
    char (*run_id)[SPEC_ID_BYTES]; /* of each spec */
    int32_t specs_n;
    struct backend *backend;
    struct group *group;         /* NULL: alone */
    bool has_met;                /* the other ranks, or has tried to */
    struct event_writer *events; /* of a rank above 0: drops its records */
    int64_t in_use_bytes;        /* of a GPU, when it was opened: its driver counts all programs */
    int64_t started_us, progress_us; /* start of the attempt; time of the last progress record */
    struct record_progress progress; /* the last that worker_progress was given */
    int64_t looked_us;               /* time of the last look within a pass */
    bool has_choices;                /* the backend has restored recorded algorithms */
    bool stopped;
    sigset_t mask_before;
};

/* worker_progress - records EVENT_PROGRESS, at most once per second. An unknown loss or rate is
 * NaN. */
int worker_progress(struct worker *a, int64_t done, int64_t total, double loss_nats, double wps,
                    struct err *e);

/* worker_peak_bytes - the peak memory of the run: on a GPU beyond what was in use when it was
 * opened, on a CPU of the process; the largest of the ranks, all of which call it. */
int worker_peak_bytes(const struct worker *a, int64_t *out, struct err *e);

/* worker_writes - whether this process writes and deletes the files of the run: rank 0. */
static inline bool worker_writes(const struct worker *a)
{
    return group_rank(a->group) == 0;
}

/* worker_stop_requested - true if SIGTERM or SIGINT has arrived, at rank 0 also if it has at any
 * rank. With ranks, rank 0 shares what follows from it. */
bool worker_stop_requested(struct worker *a);
/* worker_check_stop - of an evaluation or a benchmark: ERR_INTERRUPTED if a stop was requested. */
int worker_check_stop(struct worker *a, struct err *e);

/* worker_choices - the algorithms that the backend selected by timing, as text in an arena; NULL:
 * none. worker_share_choices - gives the text of rank 0 to all ranks. worker_restore_choices -
 * makes the backend use these algorithms, or warns if it does not have them. NULL and "": none. */
const char *worker_choices(const struct worker *a, struct arena *arena);
int worker_share_choices(struct worker *a, const char **choices, struct err *e);
void worker_restore_choices(struct worker *a, const char *choices);

/* corpus_open_for - opens data/CORPUS of the spec. Errors: as corpus_open; ERR_DATA its vocabulary,
 * token counts or fingerprint (if the spec has one) differ from the spec's. */
int corpus_open_for(struct corpus *c, const struct project *p, const struct spec *s, struct err *e);

#endif
