/* migrate.h - from the schema of a file to the newest one. */
#ifndef STORE_MIGRATE_H
#define STORE_MIGRATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "store/schema.h"
#include "store/store.h"

/* migrate_version - user_version of a file that is empty or a results.db. Errors: ERR_DATA another
 * program's database; ERR_UNAVAILABLE newer than `newest`. */
int migrate_version(struct store *s, int64_t *out, int newest, struct err *e);

/* migrate_run - from the file's version through steps[version] … to steps[steps_n - 1], then the
 * columns of record_fields and the views (ended by NULL). The caller holds the lock. */
int migrate_run(struct store *s, const struct schema_step *steps, int steps_n,
                const char *const *views, struct err *e);

/* migrate_query_lacking - a query for the columns of record_fields and of the key table that tables
 * of the file lack; a table that the file lacks comes with a step. It concatenates for each such
 * table the `expression` of its name `tab`, of the statements `additions` that add the columns, and
 * of their list `nulls`, as ",NULL AS column"; "" if no table lacks any. */
const char *migrate_query_lacking(struct store *s, const char *expression);

/* migrate_views - creates the views whose text in the file is not today's, or all: in the file, or,
 * by a reader, as temporary views of its connection. Views of other names stay. */
int migrate_views(struct store *s, const char *const *views, bool all, struct err *e);

#endif
