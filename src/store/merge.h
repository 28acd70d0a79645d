/* merge.h - the parts of a merge, for src/store only. */
#ifndef STORE_MERGE_H
#define STORE_MERGE_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/project.h"
#include "store/ingest.h"
#include "store/store.h"

struct merge {
    struct store *store;
    const struct project *project;
    struct merge_result *result;
    struct arena arena;
    bool unreadable; /* the error is one of the folder to copy */
};

/* merge_hash_records - the hash of the records in a folder; false: there are none.
 * merge_find_records - whether the folder of an attempt here has these records of the run: 1 or 0.
 */
bool merge_hash_records(char out[HASH_HEX_BYTES], struct merge *m, const char *dir);
int merge_find_records(struct merge *m, const char *run_id, const char *records, struct err *e);

/* --- merge_rows.c ----------------------------------------------------------------------------- */

/* merge_attach - makes another file the schema `other` of the store. merge_rows - copies its rows,
 * of a project in `folder`, in one transaction. merge_table - those of one table that a condition
 * `from` names; a row whose key is here stays as it is. */
int merge_attach(struct merge *m, const struct store *other, struct err *e);
int merge_rows(struct merge *m, const char *folder, struct err *e);
int merge_table(struct store *s, const char *name, const char *from, const char *folder,
                struct err *e);
/* merge_dir - the folder that a row of the other file names. */
const char *merge_dir(struct merge *m, const char *folder, const char *dir);

#endif
