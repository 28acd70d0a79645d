/* run_folder.h - attempts on disk. The only code that knows runs/<run id>/<attempt>/; spec_run_id
 * (spec/spec.h) computes the run id.
 *
 *   spec     what to do: one spec, or several evaluations that share a worker
 *   fresh    (empty) the attempt does not continue from older ones
 *   events   the records, see event.h and fields.h
 *   log      what the worker printed
 *   …        checkpoints, and what an executor keeps beside them
 *
 * 1. A folder is named by a path relative to its project, as results.db has it, or by any path that
 *    opens it. It is claimed before anything is written to it and belongs to one attempt for ever.
 * 2. Only the attempt's worker writes events. A folder without events never started.
 * 3. Numbers start at 1. An attempt of several evaluations is in the folder of the first one. */
#ifndef RECORD_RUN_FOLDER_H
#define RECORD_RUN_FOLDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "record/event.h"
#include "record/fields.h"
#include "spec/spec.h"

#define RUN_FOLDERS "runs"    /* in a project's folder: the folder of all run folders */
#define RUN_SCRATCH ".verify" /* in it: what `alibi verify` and `alibi export --losses` repeat */

enum run_file { RUN_SPEC, RUN_FRESH, RUN_EVENTS, RUN_LOG, RUN_MEET };

/* --- names ---------------------------------------------------------------------------------- */

/* run_folder_claim - makes root/runs/<run id>/<attempt> with the first free number from `from` on;
 * the folders survive a power failure. *dir, in the arena, is relative to root. Errors: ERR_CREATE,
 * ERR_IO. */
int run_folder_claim(char **dir, int32_t *attempt, struct arena *a, const char *root,
                     const char *run_id, int32_t from, struct err *e);

/* run_folder_name - runs/<run id>/<attempt>. */
char *run_folder_name(struct arena *a, const char *run_id, int32_t attempt);

/* run_folder_parse - the run id and number that a path ends with, as runs/<run id>/<attempt>, a
 * path below other folders, or <run id>/<attempt>; false: it does not. Both may be NULL. */
bool run_folder_parse(const char *path, char run_id[SPEC_ID_BYTES], int32_t *attempt);

/* run_folder_parse_own - run_folder_parse for an attempt of this project alone: dir is what
 * run_folder_name gives. A results.db from elsewhere may name any folder, also an attempt of
 * another project. */
bool run_folder_parse_own(const char *dir, char run_id[SPEC_ID_BYTES], int32_t *attempt);

/* run_folder_path - the path of a file in the folder, in the arena. */
char *run_folder_path(struct arena *a, const char *dir, enum run_file file);

/* run_folder_sibling - the path of another attempt of the run of `dir`. */
char *run_folder_sibling(struct arena *a, const char *dir, int32_t attempt);

/* --- specs ---------------------------------------------------------------------------------- */

/* run_folder_write_specs - writes the specs into a folder that has none. run_folder_sync - makes
 * them, and an earlier run_folder_set_fresh, survive a power failure. Errors: ERR_CREATE, ERR_IO.
 */
int run_folder_write_specs(const char *dir, const struct spec *const *spec, int32_t n,
                           struct err *e);
int run_folder_sync(const char *dir, struct err *e);
/* run_folder_read_specs - at least one, in the arena. Errors: ERR_NOINPUT, ERR_DATA, ERR_IO. */
int run_folder_read_specs(struct spec **out, int32_t *n, struct arena *a, const char *dir,
                          struct err *e);

/* run_folder_set_fresh - the attempt does not continue from older ones. run_folder_first - the
 * oldest attempt that `attempt` may continue from: the newest one up to it that is fresh, or 1. */
int run_folder_set_fresh(const char *dir, struct err *e);
int32_t run_folder_first(const char *dir, int32_t attempt);

/* --- records -------------------------------------------------------------------------------- */

/* run_folder_append - opens the events of an attempt for its worker, for record_write. Errors:
 * ERR_CREATE the attempt has been executed already. */
int run_folder_append(struct event_writer **out, const char *dir, struct err *e);

/* run_folder_poll - opens the events for reading while they grow; they need not exist yet. */
int run_folder_poll(struct event_reader **out, const char *dir, struct err *e);

/* run_folder_each - calls fn for the whole records of the attempt in their order until it returns
 * something else than 0, which is then returned: 1 to end early, or an error. A folder without
 * events has no records. */
typedef int (*run_record_fn)(void *context, const struct event *ev, struct err *e);
int run_folder_each(const char *dir, run_record_fn fn, void *context, struct err *e);

/* run_folder_find, run_folder_record - 1 and the first record of a type, or the record with a
 * sequence number, its texts in the arena; 0: there is none. */
int run_folder_find(struct record *out, struct arena *a, const char *dir, enum event_type type,
                    struct err *e);
int run_folder_record(struct record *out, struct arena *a, const char *dir, uint64_t sequence,
                      struct err *e);

/* The outcome of one run in the records of an attempt. */
struct run_outcome {
    struct record ended;  /* the last ENDED; type 0: none, the attempt was cut off */
    struct record result; /* the last result of the run, or its EVENT_SOURCE; type 0: none */
    bool done; /* it ended as done with a result of the run, or is a source of its weights */
};
/* run_folder_outcome - texts in the arena. A result that lacks a field counts as none. */
int run_folder_outcome(struct run_outcome *out, struct arena *a, const char *dir,
                       const char *run_id, struct err *e);

/* --- all of them ---------------------------------------------------------------------------- */

/* run_folder_attempts - the numbers of a run's attempts, rising, in the arena. run_dir: the folder
 * of the run. Errors: ERR_NOINPUT it does not exist. */
int run_folder_attempts(int32_t **out, int32_t *n, struct arena *a, const char *run_dir,
                        struct err *e);

struct run_folder {
    char run_id[SPEC_ID_BYTES];
    int32_t attempt; /* 0: the folder of the run cannot be read */
    const char *path;
    const char *why; /* what is wrong: a link, a file, not readable; NULL: nothing */
};
/* run_folder_list - the attempts that started, by run id and number, in the arena. runs: a folder
 * of run folders. Links are not followed. Errors: ERR_NOINPUT no such folder. */
int run_folder_list(struct run_folder **out, int32_t *n, struct arena *a, const char *runs,
                    struct err *e);

/* run_folder_remove - removes root/runs/<run id>/<attempt> with all files: *removed, and *bytes
 * grows by their sizes; with the last attempt the folder of the run. An absent one is fine. A link
 * in place of either folder is kept, and what it leads to, with a warning. Errors: ERR_IO. */
int run_folder_remove(const char *root, const char *run_id, int32_t attempt, bool *removed,
                      double *bytes, struct err *e);

#endif
