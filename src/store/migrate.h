/* migrate.h - brings a results.db to the newest schema, for src/store and its tests.
 *
 * 1. All steps are one transaction: the file has the old schema or the new one, never half.
 * 2. Before a file that holds data is changed, a copy is written beside it:
 *    results.db.backup-v<version>, complete or absent.
 * 3. A step is for what changes the meaning of rows. A column of record_fields that a table lacks
 *    is added without one.
 * 4. A file that is newer than the program, or another program's, is refused untouched. */
#ifndef STORE_MIGRATE_H
#define STORE_MIGRATE_H

#include <stdint.h>

#include "base/err.h"
#include "store/database.h"
#include "store/schema.h"

/* migrate_version - user_version of a file that is empty or ours.
 * Errors: ERR_DATA another program's database; ERR_UNAVAILABLE newer than `newest`. */
int migrate_version(struct store *s, int64_t *out, int newest, struct err *e);

/* migrate_columns - how many columns of record_fields the tables lack. migrate_run adds them. */
int migrate_columns(struct store *s, int32_t *n, struct err *e);

/* migrate_run - from the file's version through steps[version] … to steps[steps_n - 1], then the
 * columns of record_fields and the views (ended by NULL). The caller holds the lock. */
int migrate_run(struct store *s, const struct schema_step *steps, int steps_n,
                const char *const *views, struct err *e);

/* migrate_views - makes those views anew whose text in the file is not today's: for a writer in the
 * file, in one transaction; for a reader, which changes nothing, as temporary views of the
 * connection. Views that are not among these stay. */
int migrate_views(struct store *s, const char *const *views, struct err *e);

#endif
