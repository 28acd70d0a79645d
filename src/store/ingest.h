/* ingest.h - the records of attempts become rows: while a worker writes them, and from run folders
 * and databases made elsewhere.
 *
 * Every table has a key that a record repeats when it is read again: ingesting twice changes
 * nothing. So a journal may be read again from the start by the next scheduler. */
#ifndef STORE_INGEST_H
#define STORE_INGEST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/project.h"
#include "record/event.h"
#include "record/run_folder.h"
#include "spec/spec.h"
#include "store/store.h"

/* --- one record ----------------------------------------------------------------------------- */

/* store_ingest - one record of the attempt. STARTED fills device, blas, threads, code id; PROGRESS,
 * STEP (about 1000 a run), VALIDATION, CHECKPOINT are kept by attempt; TRAINED, EVALUATED, BENCHED
 * are held as pending results if the record's run_id is the attempt's, else ignored. A result of an
 * attempt that has ended is kept and never shown. Of ENDED only the algorithms chosen are kept: the
 * outcome is the scheduler's to judge. Errors: ERR_DATA a record that lacks a field or has one of a
 * wrong type. */
int store_ingest(struct store *s, int64_t attempt_id, const struct event *ev, struct err *e);

/* --- the records of one worker -------------------------------------------------------------- */

/* One attempt that shares the worker. */
struct ingest_target {
    char run_id[SPEC_ID_BYTES];
    int64_t attempt_id;
    bool has_result;
};

/* A worker writes one event file. Its records belong to every attempt that shares the worker, but a
 * result belongs to the run it names. */
struct journal {
    struct event_reader *reader_own;
    struct ingest_target *run; /* the caller's */
    int32_t runs_n;
    int64_t records_n;     /* ingested so far */
    enum store_state said; /* by the record ENDED; STORE_NONE: none yet */
    bool unavailable;      /* ENDED's code: the device cannot be used */
    bool has_checkpoint;   /* the worker wrote one */
    bool broken;           /* a record is wrong; message says which */
    double share, wps;     /* of the newest PROGRESS: done / total, and words per second */
    char blas[96];         /* of STARTED on a CPU: the library that multiplies; may be empty */
    char message[512];     /* of ENDED, or of what is broken; may be empty */
};

/* journal_open - dir: the attempt's folder. Its events need not exist yet. */
int journal_open(struct journal *j, const char *dir, struct ingest_target *run, int32_t runs_n,
                 struct err *e);
void journal_close(struct journal *j); /* takes a zeroed struct */

/* journal_ingest - ingests the records that are new, 10,000 at most. *batch: whether a transaction
 * of the store is open. The first record opens it and the caller commits it, so that several
 * journals share one. Errors: of the store or of reading. A wrong record is not an error: it sets
 * broken. */
int journal_ingest(struct journal *j, struct store *s, bool *batch, struct err *e);

/* journal_has_results - every run of the worker has its result. */
bool journal_has_results(const struct journal *j);

/* ingest_abandoned - ingests the rest of a worker that nobody watched to its end, and ends its
 * attempts, the running rows [0, n) that share the folder `dir`, as its last record says: as done
 * only with the result, as lost without a last record. ended_at: as clock_utc writes it; NULL: now.
 * Opens a transaction if none is open. */
int ingest_abandoned(struct store *s, const char *dir, const struct store_running *row, int32_t n,
                     const char *ended_at, struct err *e);

/* --- run folders and databases from elsewhere ----------------------------------------------- */

/* What run folders hold becomes rows again: runs, attempts, results, curves. What they do not hold
 * does not: which artefact asks for a run, and whether a spec was changed by --set. Every run
 * therefore counts as modified until `alibi run ARTEFACT` asks for it as it is. */
struct ingest_summary {
    int32_t folders_n;  /* with records */
    int32_t attempts_n; /* rows added; evaluations of one worker are several */
    int32_t known_n;    /* attempts that results.db had already */
    int32_t skipped_n;  /* folders that cannot be ingested */
    char why[512];      /* the first of them */
};

/* ingest_run_folders - ingests every attempt of the folders under `runs` (absolute; the project's
 * own or another's) that the store does not know: trainings by run and number, evaluations as they
 * ended. The last one that is done is the current result. Errors: ERR_NOINPUT no such folder; those
 * of the store. */
int ingest_run_folders(struct store *s, const struct project *p, const char *runs,
                       struct ingest_summary *out, struct err *e);

/* store_merge - ingests runs, ended attempts, results, curves, and the points of artefacts that
 * have none here, from another results.db (or the folder that holds one), which is checked and only
 * read. Run ids stay; attempts get new numbers; a result that is current here stays so. *added (may
 * be NULL): runs that are done now and were not. Errors: as store_open; ERR_DATA the other file is
 * damaged; ERR_USAGE inside a transaction or with the file itself. */
int store_merge(struct store *s, const char *other_path, int32_t *added, struct err *e);

/* ingest_copy_folders - gives every current result whose folder is in another project a folder
 * under runs/ of this one: linked if both are on one file system, else copied. Folders that are not
 * where their rows name them are also looked for in `other`, a project's folder or NULL. What is
 * not found, or cannot be read, stays where it is. Errors: ERR_CREATE, ERR_IO. */
struct ingest_copies {
    int32_t folders_n; /* copied */
    double bytes;
    int32_t remote_n;  /* folders of current results that are still elsewhere */
    int32_t skipped_n; /* of these: found, but not readable */
    char why[512];     /* the first of them */
};
int ingest_copy_folders(struct store *s, const struct project *p, const char *other,
                        struct ingest_copies *out, struct err *e);

#endif
