/* schema.h - the tables and views of results.db (schema.c, views.sql), and their check.
 *
 * 1. The tables of a released version never change: a new version is a new step.
 * 2. All steps are one transaction: the file has the old schema or the new one, never half. Before
 *    a file that holds data is changed, a copy is written beside it, results.db.backup-v<version>,
 *    complete or absent.
 * 3. A step is for what changes the meaning of rows. A column of record_fields that a table lacks
 *    is added without one, and a view with another text is recreated.
 * 4. A file that is newer than the program, or another program's, is refused untouched. */
#ifndef STORE_SCHEMA_H
#define STORE_SCHEMA_H

#include <stdint.h>

#include "base/err.h"
#include "store/store.h"

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

#endif
