/* store.h - results.db: schema, migrations, the scheduler's writes, the users' read-only queries.
 *
 * 1. One writer: store_open(…, STORE_WRITE) needs the lock results.db.lock (ERR_TRYLATER names the
 *    holder). A copy that is moved over results.db at any time stays whole (side_files.h).
 * 2. WAL, synchronous FULL, STRICT tables, foreign keys, application_id, user_version with
 *    migrations in one transaction and a backup beside the file; a newer user_version is refused.
 *    WAL on a network file system is refused.
 * 3. The views evaluations, artefact_evaluations, trainings, benchmarks, curves, paper_values,
 *    comparison, attempts and claims are the contract with users: names and columns stay. Beside
 *    them: progress (running attempts), run_list (every run and its state), artefact_points,
 *    wanted_evaluations and wanted_benchmarks (what a grid asks for, with its result or without).
 *    A file of an earlier program has the current views, too: a writer recreates them, a reader
 *    creates temporary ones.
 * 4. NaN is never stored: a number that is not finite is NULL and nonfinite > 0, or the attempt
 *    is diverged. */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "spec/spec.h"

struct store;
enum store_mode { STORE_READ, STORE_WRITE, STORE_GIVEN };

/* store_open - opens results.db. WRITE creates or migrates it and holds the lock until store_close.
 * READ never changes it and needs no lock; it works beside a writer and in a read-only folder.
 * GIVEN is READ of a file that the user names and that no project here may own: its errors name no
 * command that would change it.
 * Errors: ERR_NOINPUT READ of an absent or empty file (names the command to run); ERR_TRYLATER
 * another writer; ERR_UNAVAILABLE a newer schema, one for READ that a writer must migrate first, an
 * unfinished transaction that a writer must undo first (READ), a network file system; ERR_DATA
 * another program's file, one that is not regular, a journal that names another file, tables that
 * alibi did not make, an unknown trigger (WRITE), or damage. If another program locks the file,
 * every function below returns ERR_TRYLATER after 60 s. */
int store_open(struct store **out, const char *path, enum store_mode mode, struct err *e);
void store_close(struct store *s); /* takes NULL */

/* store_copy - a copy in memory of what s reads, which can also be written: a report registers
 * there what no `alibi run` asked for, beside a scheduler and in a read-only folder. The file keeps
 * what it has. */
int store_copy(struct store **out, struct store *s, struct err *e);

/* store_empty - a store in memory without results, for questions about the views themselves. */
int store_empty(struct store **out, struct err *e);

/* store_is_of_project - whether the file is the results.db of a project, beside which is a lock. */
bool store_is_of_project(const char *path);

/* store_publish - writes the current results of s to a file of its own, for others to read: runs,
 * settings, results with their losses by position, group and block, validations, every 32nd part
 * of a training's losses, attempts, points, verdicts, the paper's numbers. The file names neither
 * host nor folder of this machine, and equal contents are equal bytes. artefacts: only what these
 * need, ended by a name NULL; or NULL. Errors: ERR_USAGE path is the results.db of a project;
 * ERR_DATA s is damaged; ERR_CREATE, ERR_IO. */
struct store_artefact {
    const char *name, *scale;
};
int store_publish(struct store *s, const char *path, const struct store_artefact *artefacts,
                  struct err *e);

/* --- transactions, runs, points ------------------------------------------------------------- */
/* Transactions nest: rolling back an inner one leaves the outer one whole. In a READ store a
 * transaction is one consistent view of the file. Closing the store rolls back. */
int store_begin(struct store *s, struct err *e);
int store_commit(struct store *s, struct err *e);
void store_rollback(struct store *s);
/* store_finish - commits, or rolls back if rc is negative; returns the first error. */
int store_finish(struct store *s, int rc, struct err *e);

/* store_add_run - adds a run unless it is known: spec text, canonical text, config id, scale. A
 * request for the unmodified run clears its `modified`. Errors: ERR_INTERNAL an evaluation without
 * its training. */
struct store_run {
    const struct spec *spec;
    const char *run_id, *config_id, *train_run_id; /* train_run_id: of an evaluation, else NULL;
                                                      add the training first */
    int64_t parameters_n;                          /* 0: unknown */
    double flops; /* of the whole run, for store_flops_rate; 0: unknown */
};
int store_add_run(struct store *s, const struct store_run *r, struct err *e);

/* store_set_points - replaces all points of (artefact, scale). Other seeds of theirs that have a
 * result stay. Runs that no artefact needs any more keep their points, and thereby the paper's
 * lengths, under "ARTEFACT (earlier)".
 * store_hide_seeds - of every artefact, keeps the points of seeds above a number under "ARTEFACT
 * (hidden)", which no table shows; for a copy. */
struct store_point {
    int32_t point;
    const char *run_id;
    int32_t L_train_nominal, L_valid_nominal, stride_nominal; /* 0: none */
};
int store_set_points(struct store *s, const char *artefact, const char *scale,
                     const struct store_point *points, int32_t n, struct err *e);
int store_hide_seeds(struct store *s, int32_t seeds, struct err *e);

/* store_set_paper - replaces the paper's numbers of an artefact by the rows of a paper.tsv: tabs, a
 * header line with the columns of the view paper_values but artefact, in any order, and perhaps
 * `position`; an empty cell is NULL. Where position is empty it is taken from method or series if
 * that is Sinusoidal, Rotary, T5 Bias or ALiBi, optionally followed by " L=512". Does nothing if
 * the file's hash equals the stored one. Errors: ERR_DATA file:line:column. */
int store_set_paper(struct store *s, const char *artefact, const char *tsv_path, struct err *e);

/* store_set_claims - replaces the verdicts of (artefact, scale): the rows of the view claims. */
struct store_claim {
    const char *claim, *statement;
    const char *verdict; /* supported, contradicted, mixed, not run or not judged */
    /* texts and numbers, or NULL; cases: a JSON array */
    const char *evidence, *threshold, *effect, *error, *low, *high, *seeds, *split, *runs, *codes,
        *cases;
};
int store_set_claims(struct store *s, const char *artefact, const char *scale,
                     const struct store_claim *claims, int32_t n, struct err *e);

/* --- attempts: running -> done | failed | diverged | lost | cancelled; an ended row is never
 * rewritten. A run has one running attempt at a time. --------------------------------------- */
enum store_state {
    STORE_NONE,
    STORE_RUNNING,
    STORE_DONE,
    STORE_FAILED,
    STORE_DIVERGED,
    STORE_LOST,
    STORE_CANCELLED
};
const char *store_state_name(enum store_state state);
/* store_state_find - the state of this name; STORE_NONE: there is none. */
enum store_state store_state_find(const char *name);

struct store_attempt {
    const char *run_id;
    int32_t attempt; /* from 1 */
    const char *device, *host, *boot_id;
    int64_t pid, pid_start; /* of the worker; start time from /proc, against pid reuse. Device
                               `slurm`: the job's number; its host comes with STARTED */
    const char *dir; /* relative to the project: runs/<run_id>/<attempt>; shared by evaluations of
                        one worker */
    const char *uid; /* 32 hex digits, of an attempt found in a folder; NULL: generated */
    const char *started_at; /* as clock_utc writes it; NULL: now */
};
/* store_start_attempt - adds a running row; *attempt_id is its key. */
int store_start_attempt(struct store *s, const struct store_attempt *a, int64_t *attempt_id,
                        struct err *e);
/* store_end_attempt - ends the row and, for STORE_DONE, makes its pending result the current one of
 * the run, in one transaction. If a training is redone with other checkpoints, the results of its
 * evaluations are no longer current. Errors: ERR_INTERNAL DONE without a pending result, or an
 * attempt that has already ended. */
struct store_end {
    enum store_state state;
    int32_t exit_code, signal; /* -1: none */
    const char *message;       /* one sentence or NULL */
    const char *ended_at;      /* as clock_utc writes it; NULL: now */
};
int store_end_attempt(struct store *s, int64_t attempt_id, const struct store_end *end,
                      struct err *e);

/* State of a run: its current result, and its newest attempt. */
struct store_run_state {
    bool done;             /* has a current result or source */
    enum store_state last; /* of the newest attempt; STORE_NONE: never tried */
    int32_t attempts_n;    /* highest attempt number so far */
    int32_t failures_n;    /* failed or lost since the last done or cancelled */
    char last_message[256];
    char code_id[65]; /* of the current result */
    bool is_source;   /* its weights were made elsewhere */
};
int store_run_state(struct store *s, const char *run_id, struct store_run_state *out,
                    struct err *e);
/* store_find_run - finds the only run whose id begins with prefix (4 to 16 hex digits). Errors:
 * ERR_USAGE other characters, or several runs match; ERR_NOINPUT no match. */
int store_find_run(struct store *s, char run_id[SPEC_ID_BYTES], const char *prefix, struct err *e);
/* store_clear_results - the current result or source of a run is no longer current (--redo); rows
 * stay. */
int store_clear_results(struct store *s, const char *run_id, struct err *e);

/* store_add_source - the weights of a training were made elsewhere (EVENT_SOURCE, sources.c). They
 * replace the training's current result or source; evaluations of other weights are no longer
 * current. The run must be known. */
struct store_source {
    const struct record_source *record;
    int32_t attempt;           /* of the folder */
    const char *dir;           /* relative to the project: runs/<run_id>/<attempt> */
    const char *uid;           /* 32 hex digits; NULL: generated */
    const char *registered_at; /* as clock_utc writes it; NULL: now */
};
int store_add_source(struct store *s, const struct store_source *x, struct err *e);

/* store_running - lists the attempts marked running, which a new scheduler must recover; those that
 * share a folder are neighbours. */
struct store_running {
    int64_t attempt_id;
    char run_id[SPEC_ID_BYTES];
    int32_t attempt;
    char dir[512], host[65], boot_id[40];
    int64_t pid, pid_start;
    char slot[32]; /* device of store_start_attempt */
};
int store_running(struct store *s, struct arena *a, struct store_running **out, int32_t *n,
                  struct err *e);

/* store_checkpoint - path (relative to the project; absolute for a merged training and for a folder
 * of weights) and sha256 of the checkpoint an evaluation of this training uses. ERR_NOINPUT when
 * the training is not done. */
int store_checkpoint(struct store *s, const char *train_run_id, enum spec_checkpoint which,
                     char path[256], char sha256[65], struct err *e);

/* store_flops_rate - for estimates: the best FLOP/s of the newest done runs of this kind, of at
 * least flops_min and by one process, on a device whose slot ("cpu") or description matches
 * device_like (SQL LIKE; NULL: any); 0: unknown. The best, because other programs may have slowed
 * some of them. */
int store_flops_rate(struct store *s, enum spec_kind kind, const char *device_like,
                     double flops_min, double *flops_per_s, struct err *e);

/* --- deleting (delete.c) ------------------------------------------------------------------- */
/* store_choose_none, _artefact, _run - choose what store_doom and store_delete of this store take.
 * An artefact's name also chooses those below it, as a group does, and points that it no longer
 * needs. scale NULL: every scale. *found: results.db knows the artefact at that scale. */
int store_choose_none(struct store *s, struct err *e);
int store_choose_artefact(struct store *s, const char *artefact, const char *scale, bool *found,
                          struct err *e);
int store_choose_run(struct store *s, const char *run_id, struct err *e);

/* store_doom - finds the runs that go: of the chosen artefacts those that neither another artefact
 * nor any other run needs; the chosen runs with all that was computed from their weights. Errors:
 * ERR_TRYLATER one of them is marked running. */
struct store_doomed {
    int32_t trainings_n, evaluations_n, benchmarks_n;
    int32_t results_n;     /* current ones of these runs */
    int32_t kept_n;        /* runs of the chosen artefacts with a result that others need */
    const char *needed_by; /* the artefacts that need a run that goes; NULL: none */
    const char **folder;   /* relative to the project: attempts of these runs alone */
    int32_t folders_n;
};
int store_doom(struct store_doomed *out, struct arena *a, struct store *s, struct err *e);

/* store_doom_others - of a whole file all runs that these artefacts and their variants do not need
 * go, and the points of all others; for a copy. */
int store_doom_others(struct store *s, const struct store_artefact *artefacts, struct err *e);

/* store_delete - deletes, in one transaction, the attempts, results and sources of the runs that go
 * and the points and verdicts of the chosen artefacts. A run that another artefact needs stays as a
 * run without a result. */
int store_delete(struct store *s, struct err *e);

/* --- reading ------------------------------------------------------------------------------ */
/* store_query - one SELECT, fenced: no PRAGMA, no ATTACH, no virtual table, only functions of a
 * list (query.c), ended after limit_s (0: no limit), with values of 1 MiB, an answer of 64 MiB and
 * 4 million cells, and 256 MiB for SQLite at most. If it is then inside a slow function of SQLite,
 * an alarm ends the process with the exit status of ERR_UNAVAILABLE. The statement need not use
 * every parameter :name. The rows are in the arena. Errors: ERR_USAGE what is wrong with the SQL;
 * ERR_UNAVAILABLE the limit of time; ERR_DATA another limit, which the message names. */
struct cell_marks;
struct store_cell {
    const char *text;         /* NULL: SQL NULL; doubles in shortest round-trip form */
    struct cell_marks *marks; /* how a table shows it (report/rows.h); NULL: as it is */
    char type;                /* i integer, r real, t text, n null; set by a writer of JSON: */
                              /* j JSON, w words, an array of strings */
};
/* store_text - the text of a cell that the schema never lets be NULL; in a damaged file it is "".
 */
static inline const char *store_text(const struct store_cell *cell)
{
    return cell->text ? cell->text : "";
}
/* A table in memory, the only form of rows between SQL and the output. */
struct rows {
    struct arena *arena; /* holds everything below */
    const char **name;   /* columns_n; an answer without rows has no columns */
    int32_t columns_n, rows_n, room;
    struct store_cell **row; /* rows_n, each of columns_n cells */
};
/* A text, an integer (as text; bound as text if it is not one), or the rows of a table NAME(c0, c1,
 * …) that the statement can read. */
enum store_type { STORE_TEXT, STORE_INTEGER, STORE_ROWS };
struct store_param {
    const char *name;  /* without the colon */
    const void *value; /* a text, or struct rows; NULL: SQL NULL, or no table */
    enum store_type type;
};
int store_query(struct store *s, struct rows *out, struct arena *a, const char *sql,
                const struct store_param *params, int32_t params_n, double limit_s, struct err *e);

/* store_columns - the columns of the answer to such a statement, without running it. Errors:
 * ERR_USAGE as above. */
int store_columns(struct store *s, struct rows *out, struct arena *a, const char *sql,
                  const struct store_param *params, int32_t params_n, struct err *e);

/* store_views - a row for each column of each view of the contract, in the order of views.sql:
 * view, number (from 1), column, meaning, and what a row of the view is (columns.c). */
int store_views(struct store *s, struct rows *out, struct arena *a, struct err *e);

/* store_check - PRAGMA integrity_check and foreign_key_check of the tables of the schema; ERR_DATA
 * with the first finding. */
int store_check(struct store *s, struct err *e);

#endif
