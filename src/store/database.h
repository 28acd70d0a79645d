/* database.h - the inside of a store, for src/store only. */
#ifndef STORE_DATABASE_H
#define STORE_DATABASE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/err.h"
#include "record/fields.h"
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
 * database_rebuild - that for damage (statements.c). */
static inline const char *database_remedy(const struct store *s, const char *own, const char *given)
{
    return s->is_given ? given : own;
}
const char *database_rebuild(const struct store *s);

/* --- results that are current (attempts.c) ---------------------------------------------------- */

/* results_unlink_evaluations - evaluations of a training (NULL: of every one) whose checkpoint is
 * neither of those of its current result or source are no longer current. */
int results_unlink_evaluations(struct store *s, const char *train_run_id, struct err *e);

/* sources_replace - a training replaces the source of its weights (sources.c). */
int sources_replace(struct store *s, const char *run_id, struct err *e);

#endif
