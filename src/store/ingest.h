/* ingest.h - copies the records of attempts into rows: while a worker writes them, and from run
 * folders and databases made elsewhere.
 *
 * Every table has a key that a record repeats when it is read again, so that ingesting twice
 * changes nothing: the next scheduler may read a journal from the start. */
#ifndef STORE_INGEST_H
#define STORE_INGEST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/project.h"
#include "record/event.h"
#include "record/run_folder.h"
#include "spec/spec.h"
#include "store/store.h"

/* --- one record ----------------------------------------------------------------------------- */

/* store_ingest - one record of the attempt. STARTED fills device, blas, threads, code id; PROGRESS,
 * STEP (about 1000 a run), VALIDATION, CHECKPOINT are kept by attempt; TRAINED, EVALUATED, BENCHED
 * are held as pending results if the record's run_id is the attempt's, else ignored. A result of an
 * attempt that has ended is stored but never current. Of ENDED only the algorithm choices are
 * stored: the scheduler decides the outcome. Errors: ERR_DATA a field is missing or has a wrong
 * type. */
int store_ingest(struct store *s, int64_t attempt_id, const struct event *ev, struct err *e);

/* ingest_uid - the uid of what a folder holds: that of its run and of the hash of its records. */
void ingest_uid(char out[HASH_HEX_BYTES], const char *run_id, const char *records);

/* store_ingest_source - adds the source that folder number `attempt` registers. dir: relative to
 * the project; path: the same, absolute. Errors: ERR_DATA it registers none. */
int store_ingest_source(struct store *s, const char *dir, const char *path, int32_t attempt,
                        struct err *e);

/* --- the records of one worker -------------------------------------------------------------- */

/* One attempt that shares the worker. */
struct ingest_target {
    char run_id[SPEC_ID_BYTES];
    int64_t attempt_id;
    bool has_result;
    bool is_evaluated; /* the result is that of an evaluation */
};

/* A worker writes one event file. Its records belong to every attempt that shares the worker, but a
 * result belongs to the run it names. */
struct journal {
    struct event_reader *reader_own;
    struct ingest_target *run; /* borrowed */
    int32_t runs_n;
    int64_t records_n;         /* ingested so far */
    enum store_state reported; /* by the record ENDED; STORE_NONE: none yet */
    int code;                  /* of ENDED: an enum err_code; 0: none */
    enum err_cause cause;      /* of ENDED, as in struct err */
    int32_t rank;              /* of ENDED: to blame; -1: not known */
    bool has_checkpoint;       /* the worker wrote one */
    bool broken;               /* a record is wrong; see message */
    double share, wps;         /* of the newest PROGRESS: done / total, and words per second */
    double share_before;       /* of it, what earlier attempts did: a training has resumed */
    int64_t first_update;      /* of the first STEP; 0: none yet */
    char blas[96];             /* of STARTED on a CPU; may be empty */
    char message[512];         /* of ENDED, or of what is broken; may be empty */
};

/* journal_open - dir: the attempt's folder. Its events need not exist yet. */
int journal_open(struct journal *j, const char *dir, struct ingest_target *run, int32_t runs_n,
                 struct err *e);
void journal_close(struct journal *j); /* takes a zeroed struct */

/* ingest_new_records - ingests new records, at most 10,000. *batch: whether a transaction
 * of the store is open. The first record opens it and the caller commits it, so that several
 * journals share one. Errors: of the store or of reading. A wrong record is not an error: it sets
 * broken. */
int ingest_new_records(struct journal *j, struct store *s, bool *batch, struct err *e);

/* journal_state - the outcome of one run of a worker whose attempt ended in this state. An
 * evaluation is done once its result is recorded, whatever becomes of its worker and of the
 * evaluations that share it. */
enum store_state journal_state(const struct journal *j, const struct ingest_target *run,
                               enum store_state attempt);

/* journal_has_results - whether every run of the worker has its result. */
bool journal_has_results(const struct journal *j);

/* ingest_abandoned - ingests the remaining records of a worker that ended without a scheduler, and
 * ends its attempts (the running rows [0, n), which share the folder `dir`) as its last record
 * states: done only with a result, lost without a last record or if a rank was (journal_state).
 * ended_at: as clock_utc writes it; NULL: now. All in one transaction. */
int ingest_abandoned(struct store *s, const char *dir, const struct store_running *row, int32_t n,
                     const char *ended_at, struct err *e);

/* --- run folders and databases from elsewhere ----------------------------------------------- */

struct merge_skipped {
    int32_t n;
    char why[512]; /* the first */
};
struct merge_result {
    char runs[FILE_PATH_BYTES];   /* the ingested folder of run folders; "": it was a results.db */
    int32_t folders_n;            /* in it, with records */
    int32_t attempts_n;           /* rows added from them; evaluations of one worker are several */
    int32_t known_n;              /* attempts already in results.db */
    struct merge_skipped skipped; /* folders that cannot be ingested */
    int32_t results_n;            /* runs newly done, from a results.db */
    int32_t copied_n;             /* folders of current results, copied to runs/ */
    double bytes;
    struct merge_skipped unreadable; /* such folders that cannot be read */
};

/* store_merge - ingests results made elsewhere, or a lost results.db, once:
 *   1. path is a results.db beside its run folders, or their project: runs, ended attempts,
 * results, curves, and the points of artefacts without points here. The file is checked and not
 *      changed. Run ids stay, attempts get new numbers, current results stay current.
 *   2. path is a folder of run folders, or one with runs/: every unknown attempt. Folders do not
 *      record which artefact needs a run or whether --set changed its spec; therefore every run
 *      counts as modified until `alibi run ARTEFACT` requests it unmodified.
 *   3. Folders of current results that are in another project are linked or copied into runs/ of
 *      this one (hard links on the same file system).
 * Errors: ERR_NOINPUT path is neither folder, or the run folder of a current result is not there;
 * as store_open; ERR_DATA path is another kind of file, or the other results.db is damaged or has a
 * row that breaks a rule; ERR_USAGE inside a transaction or with the file itself; ERR_CREATE,
 * ERR_IO. */
int store_merge(struct store *s, struct merge_result *out, const struct project *p,
                const char *path, struct err *e);
/* store_merge_check - the errors of store_merge that path itself causes, before the first merge of
 * a project creates its results.db. */
int store_merge_check(const char *path, struct err *e);

#endif
