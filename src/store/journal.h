/* journal.h - the records of one worker on their way into the database.
 *
 * A worker writes one event file; its records belong to every attempt that shares the worker, but
 * a result belongs to the run it names. The sequence number makes taking a record twice harmless,
 * so a journal may be read again from the start by the next scheduler. */
#ifndef SCHEDULER_JOURNAL_H
#define SCHEDULER_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "record/event.h"
#include "spec/spec.h"
#include "store/store.h"

/* One attempt that shares the worker. */
struct ingest_target {
    char run_id[SPEC_ID_BYTES];
    int64_t attempt_id;
    bool has_result;
};

struct journal {
    struct event_reader *reader_own;
    struct ingest_target *run; /* the caller's */
    int32_t runs_n;
    int64_t records_n;     /* taken so far */
    enum store_state said; /* by the record ENDED; STORE_NONE: none yet */
    bool unavailable;      /* ENDED's code: what the worker was to use is not there */
    bool has_checkpoint;   /* the worker kept one */
    bool broken;           /* a record the store would not take; message says which */
    double share, wps;     /* of the newest PROGRESS: done / total, and words a second */
    char message[512];     /* of ENDED, or of what is broken; may be empty */
};

/* journal_open - path of the event file, which need not be there yet. */
int journal_open(struct journal *j, const char *path, struct ingest_target *run, int32_t runs_n,
                 struct err *e);
void journal_close(struct journal *j);

/* ingest_new_records - takes the records that are new, 10,000 at most. *batch: whether a
 * transaction of the store is open; it is opened with the first record and left to the caller to
 * commit, so that several journals share one. Errors: of the store or of reading; a record that
 * makes no sense is none, it sets broken. */
int ingest_new_records(struct journal *j, struct store *s, bool *batch, struct err *e);

/* journal_has_results - every run of the worker has its result. */
bool journal_has_results(const struct journal *j);

#endif
