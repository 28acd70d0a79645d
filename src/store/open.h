/* open.h - the connection of a store, for src/store only. */
#ifndef STORE_OPEN_H
#define STORE_OPEN_H

#include "base/arena.h"
#include "base/err.h"
#include "store/store.h"

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

#endif
