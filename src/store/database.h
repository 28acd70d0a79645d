/* database.h - the inside of a store, for src/store only: the connection, statements, values,
 * transactions.
 *
 * 1. SQL is constant text; values from outside are bound, never pasted.
 * 2. Statements are cached by the address of their text, which must live as long as the store.
 * 3. Transactions nest: the outermost is BEGIN IMMEDIATE, inner ones are savepoints.
 * 4. Rows of database_next are read to the end: a statement that stays open holds its transaction.
 */
#ifndef STORE_DATABASE_H
#define STORE_DATABASE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/err.h"
#include "record/fields.h"
#include "spec/spec.h"
#include "store/store.h"

enum {
    DATABASE_STATEMENTS = 64,
    DATABASE_EVENT_TYPES = EVENT_SOURCE + 1,
    DATABASE_VALUE_BYTES = 1 << 20 /* maximum of a value and of a row */
};

#define DATABASE_VALUE_TEXT "1 MiB" /* the same in messages */

struct database_statement {
    const char *sql;
    sqlite3_stmt *statement_own;
};

struct fence;

/* Inodes of the opened file and of its -wal; 0: none. */
struct database_files {
    uint64_t file, log;
};

struct store {
    sqlite3 *connection_own;
    enum store_mode mode;        /* READ or WRITE */
    bool is_given;               /* the file, or that of a copy, was opened as STORE_GIVEN */
    const char *path, *folder;   /* links resolved; the folder that holds the file */
    int lock_fd;                 /* -1: none */
    int depth;                   /* of nested transactions */
    bool immutable;              /* opened without side files: nobody writes now */
    const struct fence *fence;   /* of the query in progress; NULL: none */
    struct stat opened;          /* the file when it was opened */
    struct database_files files; /* of a writer */
    struct database_statement statement[DATABASE_STATEMENTS];
    int statements_n;
    struct arena arena;                           /* until store_close */
    const char *ingest_sql[DATABASE_EVENT_TYPES]; /* made from record_fields; NULL: not yet */
};

/* database_remedy - the remedy for a project's own results.db, or for a file that the user named.
 * database_rebuild - that for damage. */
static inline const char *database_remedy(const struct store *s, const char *own, const char *given)
{
    return s->is_given ? given : own;
}
const char *database_rebuild(const struct store *s);

/* Bound values. A number that is not finite and a text that is NULL become NULL. */
#define DATABASE_INT(v)                                                                            \
    ((struct record_value){.kind = RECORD_INT, .known = true, .integer = (int64_t)(v)})
#define DATABASE_REAL(v) ((struct record_value){.kind = RECORD_REAL, .known = true, .real = (v)})
#define DATABASE_TEXT(v) ((struct record_value){.kind = RECORD_TEXT, .known = true, .text = (v)})
#define DATABASE_NULL ((struct record_value){.known = false})
/* the number, or NULL for 0 */
#define DATABASE_POSITIVE(v)                                                                       \
    ((struct record_value){.kind = RECORD_INT, .known = (v) != 0, .integer = (int64_t)(v)})
#define DATABASE_VALUES(...)                                                                       \
    (const struct record_value[]){__VA_ARGS__},                                                    \
        (int)(sizeof((const struct record_value[]){__VA_ARGS__}) / sizeof(struct record_value))

/* Now, as clock_utc writes it. */
#define DATABASE_NOW "strftime('%Y-%m-%dT%H:%M:%SZ','now')"

/* database_run - runs a statement without rows. Values are bound from ?1 on, as many as the
 * statement has parameters. */
#define DATABASE_RUN(s, e, sql, ...) database_run((s), (sql), DATABASE_VALUES(__VA_ARGS__), (e))
int database_run(struct store *s, const char *sql, const struct record_value *values, int n,
                 struct err *e);
/* The destination of a row's column: a bool, int32_t, int64_t or double, 0 for NULL; an array of
 * char, truncated, or a const char *, in the store's arena, both "" for NULL. */
struct database_column {
    char type;
    void *to;
    size_t bytes;
};
#define DATABASE_TO(x)                                                                             \
    ((struct database_column){_Generic((x),                                                        \
                                  bool: 'b',                                                       \
                                  int32_t: 'w',                                                    \
                                  int64_t: 'i',                                                    \
                                  double: 'r',                                                     \
                                  char *: 't',                                                     \
                                  const char *: 's'),                                              \
                              &(x), sizeof(x)})
#define DATABASE_COLUMNS(...)                                                                      \
    (const struct database_column[]){__VA_ARGS__},                                                 \
        (int)(sizeof((const struct database_column[]){__VA_ARGS__}) /                              \
              sizeof(struct database_column))

/* database_get - the first row of a statement: 1; without a row 0, and the columns are 0 or NULL.
 * database_select, database_next - each row: 1, then 0. */
int database_get(struct store *s, const char *sql, const struct record_value *values, int values_n,
                 const struct database_column *column, int columns_n, struct err *e);
int database_select(struct store *s, sqlite3_stmt **out, const char *sql,
                    const struct record_value *values, int n, struct err *e);
int database_next(struct store *s, sqlite3_stmt *statement, const struct database_column *column,
                  int n, struct err *e);
/* DATABASE_EXISTS - whether a statement has a row: 1 or 0. DATABASE_NUMBER - its first column. */
#define DATABASE_EXISTS(s, e, sql, ...)                                                            \
    database_get((s), (sql), DATABASE_VALUES(__VA_ARGS__), NULL, 0, (e))
#define DATABASE_NUMBER(s, x, e, sql)                                                              \
    database_get((s), (sql), NULL, 0, DATABASE_COLUMNS(DATABASE_TO(x)), (e))

/* database_script - several statements of constant text. */
int database_script(struct store *s, const char *sql, struct err *e);

/* database_error - the connection's error as an ERR_ code, with a message that names the file. */
int database_error(struct store *s, int sqlite_code, struct err *e);

/* database_authorize - statements of the program's own from here on: they may do everything, but no
 * view of the file takes part in them, and of its triggers only the one of the schema. */
void database_authorize(struct store *s);

/* database_refresh - before reading: an immutable reader opens again when the file has changed. */
int database_refresh(struct store *s, struct err *e);

/* database_memory - a store in memory, open for writing: a copy of what s reads, or empty.
 * database_write - writes such a store to a file, completely or not at all. */
int database_memory(struct store **out, struct store *s, bool is_copy, struct err *e);
int database_write(struct store *s, const char *path, struct err *e);

/* database_uri - path as an SQLite URI with a query such as "mode=ro". */
char *database_uri(struct arena *a, const char *path, const char *query);

/* --- results that are current (attempts.c) ---------------------------------------------------- */

/* results_unlink_evaluations - evaluations of a training (NULL: of every one) whose checkpoint is
 * neither of those of its current result or source are no longer current. */
int results_unlink_evaluations(struct store *s, const char *train_run_id, struct err *e);

/* sources_replace - a training replaces the source of its weights (sources.c). */
int sources_replace(struct store *s, const char *run_id, struct err *e);

/* --- schema (schema.c, views.sql) --------------------------------------------------------------
 */

/* 1. The tables of a released version never change: a new version is a new step.
 * 2. All steps are one transaction: the file has the old schema or the new one, never half. Before
 *    a file that holds data is changed, a copy is written beside it, results.db.backup-v<version>,
 *    complete or absent.
 * 3. A step is for what changes the meaning of rows. A column of record_fields that a table lacks
 *    is added without one, and a view with another text is recreated.
 * 4. A file that is newer than the program, or another program's, is refused untouched. */

enum { SCHEMA_APPLICATION_ID = 0x414c4942 }; /* "ALIB" */

/* One step: from version - 1 to version. reader: what makes a connection read an older file as if
 * it had the step; NULL: it cannot, and such a file is not read before a writer has migrated it.
 * rows: what fills the tables of either, which have the columns of record_fields by then; NULL:
 * nothing. moved: what deletes the rows that these replace, which a reader cannot; NULL: none. */
struct schema_step {
    int version;
    const char *sql, *reader, *rows, *moved;
};
extern const struct schema_step schema_steps[]; /* versions 1, 2, 3 … in order */
extern const int schema_steps_n;                /* also the newest version */
extern const char *const schema_views[];        /* ended by NULL */
/* Rows for texts of runs and results as older files (script) and records (attempt ?1) have them. */
extern const char schema_rows_of_texts[], schema_rows_of_attempt[];
/* Makes sources of what programs before version 6 stored as attempts that imported weights. */
extern const char schema_sources_of_attempts[];
extern const char schema_trigger_name[]; /* of the one trigger */
extern const char schema_query_name[];   /* of the queries inside its statements (WITH) */
extern const char schema_trigger[];      /* its text in the newest version */

/* schema_check - checks that the tables of the file are the program's own (schema_check.c). Before
 * it, no statement reads them. Errors: ERR_DATA they are not. */
int schema_check(struct store *s, struct err *e);

/* migrate_run - from the file's version through steps[version] … to steps[steps_n - 1], then the
 * columns of record_fields and the views (ended by NULL). The caller holds the lock. */
int migrate_run(struct store *s, const struct schema_step *steps, int steps_n,
                const char *const *views, struct err *e);

/* --- network file systems (network.c) -------------------------------------------------------- */

/* SQLite's WAL needs memory shared by all readers and writers, which no network file system gives.
 * network_name - the one that holds path, or NULL: a local one, or unknown. */
const char *network_name(const char *path);
/* network_magic_name - the name of the network file system with this statfs f_type, or NULL.
 * network_mount_name - the same from the type that mountinfo states, such as "fuse.sshfs". */
const char *network_magic_name(long f_type);
const char *network_mount_name(const char *mount_type);
/* network_mount_type - the file system type of the mount major:minor in mountinfo; out is "" when
 * it is not listed. */
void network_mount_type(char *out, size_t room, FILE *mountinfo, unsigned major_n,
                        unsigned minor_n);

#endif
