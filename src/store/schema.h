/* schema.h - the SQL of results.db, for src/store only.
 *
 * 1. The tables of a released version never change: a new version is a new step in the table.
 * 2. Views hold no data: every migration drops them all and makes the newest ones. */
#ifndef STORE_SCHEMA_H
#define STORE_SCHEMA_H

enum { SCHEMA_APPLICATION_ID = 0x414c4942 }; /* "ALIB" */

/* One step: from version - 1 to version. reader: what makes a connection read an older file as if
 * it had the step; NULL: it cannot, and such a file is not read before a writer has migrated it. */
struct schema_step {
    int version;
    const char *sql, *reader;
};

extern const struct schema_step schema_steps[]; /* versions 1, 2, 3 … in order */
extern const int schema_steps_n;                /* also the newest version */
extern const char *const schema_views[];        /* ended by NULL */
extern const char schema_trigger_name[];        /* of the one trigger */
extern const char schema_trigger[];             /* its text in the newest version */

#endif
