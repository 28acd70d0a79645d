/* side_files.h - the files beside results.db: -wal, -shm, -journal, .open, .lock.
 *
 * SQLite replays the -wal that it finds under the name of a database, and a rollback journal too,
 * whichever file they belong to. Therefore a file that is moved over results.db, such as a backup,
 * would be damaged by the log of the file that it replaces. This prevents it:
 *
 * 1. Before a writer changes anything, results.db.open states the inodes of the file and of its
 *    log. It is deleted with the log, and left with it by a writer that is killed.
 * 2. A log is foreign if it is the one that results.db.open names and results.db is another file.
 * 3. A writer moves a foreign log away before SQLite reads it, and its own as soon as it notices
 *    that the file was replaced. A reader opens the file without it. */
#ifndef STORE_SIDE_FILES_H
#define STORE_SIDE_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "store/database.h"

/* side_path - the path of a file beside the database. side_inode - of any path; 0: no file. */
const char *side_path(struct store *s, const char *suffix);
uint64_t side_inode(const char *path);

/* side_files_check - rejects what SQLite would obey to somebody's harm. Errors: ERR_DATA. */
int side_files_check(struct store *s, struct err *e);

/* side_files_recorded - reads results.db.open; 0: it states nothing. side_files_record - states the
 * files that this writer has open. */
struct database_files side_files_recorded(struct store *s);
int side_files_record(struct store *s, struct err *e);

/* side_files_are_foreign - whether the log of these files is beside another file. Without a -wal it
 * is the journal of the transaction that turns to WAL mode. */
bool side_files_are_foreign(struct store *s, const struct database_files *of);
/* side_files_set_aside - gives the log of an earlier file another name, with a warning. */
int side_files_set_aside(struct store *s, struct err *e);
/* side_files_are_replaced - whether the path no longer names the opened file. Before the log that
 * it leaves there is moved away, it is written into the opened file, which may only have been
 * moved. */
bool side_files_are_replaced(struct store *s);

/* side_wal_bytes - bytes of the write-ahead log beside the file; 0: none. side_journal_is_open -
 * whether a journal holds a transaction that was not finished. */
int64_t side_wal_bytes(struct store *s);
bool side_journal_is_open(struct store *s);

/* side_files_remove_temporary - deletes temporary files of writers that were killed; the lock says
 * that no other one writes. */
void side_files_remove_temporary(struct store *s);

#endif
