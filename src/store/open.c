/* open.c - opens results.db: the one writer under its lock, readers that write nothing.
 *
 * How a reader opens the file:
 * 1. Normally, if the side files -wal and -shm exist or can be created: every commit is visible at
 *    once.
 * 2. Immutable, if the folder is read-only without a -wal, so that nobody writes, or if the -wal
 *    belongs to another file. The file is reopened when it has changed (database_refresh).
 * 3. Not at all, if rows are in a -wal that cannot be read from here, or if a -journal holds a
 *    transaction that was not finished: only a writer undoes it.
 *
 * SQLite obeys the files beside the database, so they are checked before it opens them.
 *
 * A new results.db is made in memory and written as a whole, so that it always has its schema. */
#include "store/open.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "record/run_folder.h"
#include "store/database.h"
#include "store/migrate.h"
#include "store/network.h"
#include "store/schema.h"
#include "store/side_files.h"
#include "store/statements.h"

enum { OPEN_BUSY_MS = 60000, OPEN_TRIES = 100, DATABASE_SQL_BYTES = 1 << 20 };

char *database_uri(struct arena *a, const char *path, const char *query)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._-~";
    struct strbuf uri;

    strbuf_init(&uri, a);
    strbuf_add(&uri, "file:");
    for (const char *p = path; *p; p++)
        strbuf_addf(&uri, strchr(plain, *p) ? "%c" : "%%%02X", (unsigned char)*p);
    strbuf_addf(&uri, "?%s", query);
    return uri.text;
}

/* Resolves links in the path and its folder. The file itself may be missing, also as the target of
 * a link to a local disk. */
static int resolve_path(struct store *s, const char *path, struct err *e)
{
    char target[FILE_PATH_BYTES], found[PATH_MAX];

    if (file_follow(target, path, e) < 0)
        return ERR(e, ERR_USAGE, "%.80s…: the path is too long", path);
    char *slash = strrchr(target, '/'), *name = slash ? slash + 1 : target;
    const char *part = slash ? arena_strndup(&s->arena, target, (size_t)(name - target)) : ".";
    if (!realpath(part, found))
        return ERR(e, s->mode == STORE_READ ? ERR_NOINPUT : ERR_CREATE, "%s: %s", part,
                   strerror(errno));
    s->folder = arena_strdup(&s->arena, found);
    s->path = arena_printf(&s->arena, "%s/%s", strcmp(found, "/") == 0 ? "" : found, name);
    return 0;
}

static void close_connection(struct store *s)
{
    database_forget_statements(s);
    sqlite3_close(s->connection_own);
    s->connection_own = NULL;
}

/* inner: the view or trigger that contains the action. */
static int authorize_own(void *context, int action, const char *first, const char *second,
                         const char *database, const char *inner)
{
    (void)context, (void)second, (void)database;
    if (!inner || strcmp(inner, schema_trigger_name) == 0 ||
        strcmp(inner, schema_query_name) == 0 || action == SQLITE_SELECT)
        return SQLITE_OK;
    /* A reader's temporary view of a table's name (open_reader). */
    return action == SQLITE_READ && first && strcmp(first, inner) == 0 ? SQLITE_OK : SQLITE_DENY;
}

void database_authorize(struct store *s)
{
    sqlite3_set_authorizer(s->connection_own, authorize_own, NULL);
}

/* Disables features that no statement needs. */
static int restrict_connection(struct store *s, struct err *e)
{
    static const struct {
        int verb, value;
    } switches[] = {{SQLITE_DBCONFIG_DEFENSIVE, 1},
                    {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
                    {SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, 0},
                    {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
                    {SQLITE_DBCONFIG_DQS_DML, 0},
                    {SQLITE_DBCONFIG_DQS_DDL, 0}};

    for (size_t i = 0; i < sizeof switches / sizeof *switches; i++)
        sqlite3_db_config(s->connection_own, switches[i].verb, switches[i].value, NULL);
    sqlite3_limit(s->connection_own, SQLITE_LIMIT_LENGTH, DATABASE_VALUE_BYTES);
    sqlite3_limit(s->connection_own, SQLITE_LIMIT_SQL_LENGTH, DATABASE_SQL_BYTES);
    sqlite3_drop_modules(s->connection_own, NULL);
    database_authorize(s);
    return database_script(s, "PRAGMA cell_size_check=ON;PRAGMA temp_store=2", e);
}

static int connect_to(struct store *s, const char *name, int flags, struct err *e)
{
    close_connection(s);
    int rc = sqlite3_open_v2(name, &s->connection_own,
                             flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, NULL);
    if (rc != SQLITE_OK) return database_error(s, rc, e);
    sqlite3_busy_timeout(s->connection_own, OPEN_BUSY_MS);
    return restrict_connection(s, e);
}

/* SQLite ignores the journal of an immutable file, so the pages of a transaction that was not
 * finished would be read as results. */
static int connect_immutable(struct store *s, bool is_its_journal, struct err *e)
{
    if (is_its_journal && side_journal_is_open(s))
        return ERR(e, ERR_UNAVAILABLE,
                   "%s: its -journal holds a change that another program did not finish; %s",
                   s->path,
                   database_remedy(s,
                                   "a command that writes, such as `alibi gc`, undoes it; for a "
                                   "read-only folder, run it on a copy",
                                   "name a copy that was made after the change"));
    s->immutable = true;
    return connect_to(s, database_uri(&s->arena, s->path, "immutable=1"),
                      SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, e);
}

/* Whether the folder has run folders, from which `alibi merge` rebuilds a lost results.db. */
static bool has_runs(struct store *s)
{
    return access(arena_printf(&s->arena, "%s/" RUN_FOLDERS, s->folder), F_OK) == 0;
}

static int try_reader(struct store *s, struct err *e)
{
    int64_t version = 0;
    const char *network = network_name(s->folder);
    const struct database_files stated = side_files_recorded(s);

    s->immutable = false;
    TRY(side_files_check(s, e));
    if (stat(s->path, &s->opened) < 0)
        return ERR(e, ERR_NOINPUT, "%s not found%s", s->path,
                   database_remedy(s,
                                   has_runs(s) ? "; run `alibi merge runs/` first"
                                               : "; run `alibi run table5` first",
                                   ""));
    if (side_files_are_foreign(s, &stated)) return connect_immutable(s, false, e);
    if (network && side_wal_bytes(s) > 0)
        return ERR(e, ERR_UNAVAILABLE,
                   "%s is in use on %s, a network file system, where it cannot be read safely; "
                   "read it on the machine that writes it",
                   s->path, network);
    /* Without a log nobody writes the file, and SQLite would leave an empty one beside it. */
    if (network || (s->is_given && side_wal_bytes(s) == 0)) return connect_immutable(s, true, e);
    TRY(connect_to(s, s->path, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, e));
    struct err first = {0};
    if (DATABASE_NUMBER(s, version, &first, "PRAGMA user_version") >= 0) return 0;
    if (first.code != ERR_IO) {
        if (e) *e = first;
        return first.code;
    }
    if (side_wal_bytes(s) > 0)
        return ERR(e, ERR_IO,
                   "%s: rows are in its -wal file, which cannot be read in this read-only folder; "
                   "copy results.db* to a folder you can write to, and read them there",
                   s->path);
    return connect_immutable(s, true, e);
}

/* Repeats it if the files were others by the time that SQLite had opened them, one after the other:
 * they need not belong together, whatever SQLite says of them. */
static int connect_reader(struct store *s, struct err *e)
{
    int rc = 0;

    for (int i = 0; i < OPEN_TRIES; i++) {
        const uint64_t file = side_inode(s->path), log = side_inode(side_path(s, "-wal"));
        rc = try_reader(s, e);
        if (file == side_inode(s->path) && log == side_inode(side_path(s, "-wal"))) break;
    }
    return rc;
}

static int open_reader(struct store *s, struct err *e)
{
    static const char view[] =
        "'CREATE TEMP VIEW '||tab||' AS SELECT *'||nulls||' FROM main.'||tab||';'";
    int64_t version;
    const char *shadows;

    TRY(connect_reader(s, e));
    TRY(migrate_version(s, &version, schema_steps_n, e));
    if (version == 0)
        return ERR(e, ERR_NOINPUT, "%s: holds no results%s", s->path,
                   database_remedy(s, " yet; `alibi run table5` makes some", ""));
    TRY(schema_check(s, e));
    /* A temporary view with the name of a table that lacks columns adds them as NULL. Today's
     * views, recreated as temporary ones, read it instead of the table; views of the file would
     * not. */
    TRY(database_get(s, migrate_query_lacking(s, view), NULL, 0,
                     DATABASE_COLUMNS(DATABASE_TO(shadows)), e));
    TRY(database_script(s, shadows, e));
    for (int64_t i = version; i < schema_steps_n; i++) { /* step i leads to version i + 1 */
        if (!schema_steps[i].reader)
            return ERR(e, ERR_UNAVAILABLE,
                       "%s: its schema has version %lld, this program reads version %d; %s",
                       s->path, (long long)version, schema_steps_n,
                       database_remedy(s,
                                       "a command that writes, such as `alibi gc`, brings it up to "
                                       "date and keeps a copy",
                                       "copy it to an empty folder as results.db, where `alibi gc` "
                                       "brings it up to date"));
        TRY(database_script(s, schema_steps[i].reader, e));
        if (schema_steps[i].rows) TRY(database_script(s, schema_steps[i].rows, e));
    }
    return migrate_views(s, schema_views, *shadows || version < schema_steps_n, e);
}

int database_refresh(struct store *s, struct err *e)
{
    struct stat now;

    if (!s->immutable || s->depth > 0) return 0;
    bool same = stat(s->path, &now) == 0 && now.st_ino == s->opened.st_ino &&
                now.st_size == s->opened.st_size &&
                now.st_mtim.tv_sec == s->opened.st_mtim.tv_sec &&
                now.st_mtim.tv_nsec == s->opened.st_mtim.tv_nsec;
    return same && side_wal_bytes(s) == 0 ? 0 : open_reader(s, e);
}

static const char lock_suffix[] = ".lock";

bool store_is_of_project(const char *path)
{
    char lock[FILE_PATH_BYTES + sizeof lock_suffix];

    snprintf(lock, sizeof lock, "%s%s", path, lock_suffix);
    return file_exists(lock);
}

static int take_lock(struct store *s, struct err *e)
{
    char holder[192], host[65] = "", since[CLOCK_TEXT_BYTES];

    gethostname(host, sizeof host - 1);
    clock_utc(since);
    snprintf(holder, sizeof holder, "pid %ld on %s since %s", (long)getpid(), host, since);
    return file_lock(&s->lock_fd, side_path(s, lock_suffix), holder, e);
}

static int use_wal(struct store *s, struct err *e)
{
    char mode[16];
    int64_t version;

    TRY(database_get(s, "PRAGMA journal_mode=WAL", NULL, 0, DATABASE_COLUMNS(DATABASE_TO(mode)),
                     e));
    if (strcmp(mode, "wal") != 0)
        return ERR(e, ERR_UNAVAILABLE,
                   "%s: this file system gives no shared memory for WAL (journal mode %s); put "
                   "results.db on a local disk",
                   s->path, mode);
    TRY(DATABASE_NUMBER(s, version, e, "PRAGMA user_version")); /* the first read makes the -wal */
    return 0;
}

int database_write(struct store *s, const char *path, struct err *e)
{
    sqlite3_int64 bytes = 0;

    TRY(database_script(s, "VACUUM", e));
    unsigned char *image = sqlite3_serialize(s->connection_own, "main", &bytes, 0);
    int rc = image ? file_write_named(path, image, (size_t)bytes, e)
                   : ERR(e, ERR_NOMEM, "%s: no memory to write it", path);
    sqlite3_free(image);
    return rc;
}

/* Creates the file with its schema, under the lock. */
static int create_file(struct store *s, struct err *e)
{
    struct store *made = NULL;

    TRY(side_files_set_aside(s, e));
    TRY(database_memory(&made, s, false, e));
    int rc = database_write(made, s->path, e);
    store_close(made);
    return rc;
}

/* A foreign trigger would run with every write. */
static int check_triggers(struct store *s, struct err *e)
{
    char name[64];
    int rc = database_get(s, "SELECT name FROM sqlite_schema WHERE type='trigger' AND sql<>?1",
                          DATABASE_VALUES(DATABASE_TEXT(schema_trigger)),
                          DATABASE_COLUMNS(DATABASE_TO(name)), e);

    if (rc <= 0) return rc;
    return ERR(e, ERR_DATA,
               "%s: holds the trigger '%s', which alibi did not make; drop it with the sqlite3 "
               "shell, or move the file away",
               s->path, name);
}

/* Opens the file that the path names, without the log of another one. */
static int connect_writer(struct store *s, struct err *e)
{
    const struct database_files stated = side_files_recorded(s);
    int moved = 1;

    for (int i = 0; moved; i++) {
        if (i == OPEN_TRIES) return database_replaced_error(s, e);
        TRY(connect_to(s, s->path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_URI, e));
        if (stat(s->path, &s->opened) < 0)
            return ERR(e, ERR_IO, "%s: %s", s->path, strerror(errno));
        int rc = sqlite3_file_control(s->connection_own, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
        if (rc != SQLITE_OK) return database_error(s, rc, e);
    }
    s->files.file = (uint64_t)s->opened.st_ino;
    return side_files_are_foreign(s, &stated) ? side_files_set_aside(s, e) : 0;
}

static int open_writer(struct store *s, struct err *e)
{
    int64_t version;
    const char *network = network_name(s->folder);

    if (network)
        return ERR(e, ERR_UNAVAILABLE,
                   "%s is on %s, a network file system, where WAL mode is unsafe; replace it by a "
                   "symbolic link to a local disk, as with ln -s /var/tmp/results.db, or use a "
                   "local folder with --project",
                   s->path, network);
    TRY(take_lock(s, e));
    side_files_remove_temporary(s);
    TRY(side_files_check(s, e));
    if (stat(s->path, &s->opened) < 0 || s->opened.st_size == 0) TRY(create_file(s, e));
    TRY(connect_writer(s, e));
    TRY(migrate_version(s, &version, schema_steps_n, e)); /* before any change */
    TRY(schema_check(s, e));
    TRY(side_files_record(s, e)); /* before the journal of the change to WAL mode */
    TRY(use_wal(s, e));
    TRY(side_files_record(s, e));
    TRY(database_script(s, "PRAGMA synchronous=FULL;PRAGMA foreign_keys=ON", e));
    TRY(migrate_run(s, schema_steps, schema_steps_n, schema_views, e));
    return check_triggers(s, e);
}

int store_open(struct store **out, const char *path, enum store_mode mode, struct err *e)
{
    int rc = 0;
    struct store *s = calloc(1, sizeof *s);

    *out = NULL;
    if (!s) return ERR(e, ERR_NOMEM, "%s: no memory to open it", path);
    s->mode = mode == STORE_WRITE ? STORE_WRITE : STORE_READ;
    s->is_given = mode == STORE_GIVEN;
    s->lock_fd = -1;
    arena_init(&s->arena);
    TRY_OUT(rc, resolve_path(s, path, e));
    TRY_OUT(rc, mode == STORE_WRITE ? open_writer(s, e) : open_reader(s, e));
    *out = s;
    s = NULL;
out:
    store_close(s);
    return rc;
}

static int copy_pages(struct store *to, struct store *from, struct err *e)
{
    sqlite3_backup *pages =
        sqlite3_backup_init(to->connection_own, "main", from->connection_own, "main");

    if (!pages) return database_error(to, sqlite3_errcode(to->connection_own), e);
    sqlite3_backup_step(pages, -1);
    int rc = sqlite3_backup_finish(pages);
    return rc == SQLITE_OK ? 0 : database_error(to, rc, e);
}

int database_memory(struct store **out, struct store *s, bool is_copy, struct err *e)
{
    int rc = 0;
    struct store *made = calloc(1, sizeof *made);

    *out = NULL;
    if (!made) return ERR(e, ERR_NOMEM, "%s: no memory for its tables", s->path);
    made->mode = STORE_WRITE;
    made->is_given = s->is_given;
    made->lock_fd = -1;
    arena_init(&made->arena);
    made->path = arena_strdup(&made->arena, s->path);
    TRY_OUT(rc, connect_to(made, ":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_URI, e));
    if (is_copy) TRY_OUT(rc, copy_pages(made, s, e));
    TRY_OUT(rc, migrate_run(made, schema_steps, schema_steps_n, schema_views, e));
    *out = made;
    made = NULL;
out:
    store_close(made);
    return rc;
}

int store_copy(struct store **out, struct store *s, struct err *e)
{
    *out = NULL;
    TRY(database_refresh(s, e));
    return database_memory(out, s, true, e);
}

int store_empty(struct store **out, struct err *e)
{
    struct store none = {.path = "memory"};

    return database_memory(out, &none, false, e);
}

void store_close(struct store *s)
{
    if (!s) return;
    while (s->depth > 0) store_rollback(s);
    (void)side_files_are_replaced(s); /* since the last transaction began */
    close_connection(s);
    (void)side_files_are_replaced(s); /* since then: SQLite has left its log */
    if (s->files.log && s->files.log != side_inode(side_path(s, "-wal")))
        unlink(side_path(s, ".open"));
    file_unlock(s->lock_fd);
    arena_fini(&s->arena);
    free(s);
}
