/* open.c - opening results.db: the one writer under its lock, and readers that write nothing.
 *
 * How a reader opens the file:
 *   normal      the side files -wal and -shm are there or can be made: it sees every commit at once
 *   immutable   the folder is read-only and there is no -wal: nobody writes; the file is read as it
 *               stands, and opened anew whenever it has changed (database_refresh)
 *   refused     rows are in a -wal that cannot be read from here
 *
 * A new results.db is made under another name and renamed, so that it never lacks its schema. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "store/database.h"
#include "store/fence.h"
#include "store/migrate.h"
#include "store/network.h"

enum { OPEN_BUSY_MS = 60000 };

/* results.db may be a symbolic link to a local disk whose file is still to be made: out becomes
 * what it points to, or path. */
static void follow(char out[DATABASE_PATH_BYTES], const char *path)
{
    char target[PATH_MAX];
    const char *slash = strrchr(path, '/');
    ssize_t n = readlink(path, target, sizeof target - 1);

    target[n > 0 ? n : 0] = '\0';
    if (n <= 0 || strlen(path) + strlen(target) + 64 > DATABASE_PATH_BYTES)
        snprintf(out, DATABASE_PATH_BYTES, "%s", path);
    else
        snprintf(out, DATABASE_PATH_BYTES, "%.*s%s",
                 slash && target[0] != '/' ? (int)(slash - path + 1) : 0, path, target);
}

/* The path with links resolved; the file itself may be missing. */
static int resolve(struct store *s, char folder[DATABASE_PATH_BYTES], const char *path,
                   struct err *e)
{
    char part[DATABASE_PATH_BYTES], pointed[DATABASE_PATH_BYTES], found[PATH_MAX];

    if (strlen(path) + 64 > sizeof part)
        return ERR(e, ERR_USAGE, "%.80s…: the path is too long", path);
    follow(pointed, path);
    path = pointed;
    if (realpath(path, found)) {
        snprintf(s->path, sizeof s->path, "%s", found);
    } else {
        const char *slash = strrchr(path, '/');
        const char *name = slash ? slash + 1 : path;
        snprintf(part, sizeof part, "%.*s", slash ? (int)(slash - path + 1) : 1,
                 slash ? path : ".");
        if (!realpath(part, found))
            return ERR(e, s->mode == STORE_READ ? ERR_NOINPUT : ERR_CREATE, "%s: %s", part,
                       strerror(errno));
        int n =
            snprintf(s->path, sizeof s->path, "%s/%s", strcmp(found, "/") == 0 ? "" : found, name);
        if (n < 0 || (size_t)n + 64 > sizeof s->path)
            return ERR(e, ERR_USAGE, "%.80s…: the path is too long", path);
    }
    const char *slash = strrchr(s->path, '/');
    snprintf(folder, DATABASE_PATH_BYTES, "%.*s", (int)(slash - s->path), s->path);
    if (!*folder) snprintf(folder, DATABASE_PATH_BYTES, "/");
    return 0;
}

/* Bytes of the write-ahead log beside the file; 0 when there is none. */
static int64_t wal_bytes(const struct store *s)
{
    char path[DATABASE_PATH_BYTES + 8];
    struct stat st;

    snprintf(path, sizeof path, "%s-wal", s->path);
    return stat(path, &st) == 0 ? (int64_t)st.st_size : 0;
}

/* SQLite would wait for the writer of a FIFO, and would read a device. It opens no side file that
 * is a link. */
static int check_regular(const struct store *s, struct err *e)
{
    static const char *const suffixes[] = {"", "-journal", "-wal", "-shm"};
    char path[DATABASE_PATH_BYTES + 16];
    struct stat st;

    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        snprintf(path, sizeof path, "%s%s", s->path, suffixes[i]);
        int found = i ? lstat(path, &st) : stat(path, &st);
        if (found == 0 && !S_ISREG(st.st_mode))
            return ERR(e, ERR_DATA, "%s: is not a regular file; move it away", path);
    }
    return 0;
}

static void close_connection(struct store *s)
{
    database_forget_statements(s);
    sqlite3_close(s->connection_own);
    s->connection_own = NULL;
    functions_free(s->functions_own);
    s->functions_own = NULL;
}

static int connect_to(struct store *s, const char *name, int flags, struct err *e)
{
    close_connection(s);
    int rc = sqlite3_open_v2(name, &s->connection_own,
                             flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, NULL);
    if (rc != SQLITE_OK) return database_error(s, rc, e);
    sqlite3_busy_timeout(s->connection_own, OPEN_BUSY_MS);
    return fence_connection(s, e);
}

static int connect_immutable(struct store *s, struct err *e)
{
    char uri[3 * DATABASE_PATH_BYTES];

    TRY(database_uri(uri, sizeof uri, s->path, "immutable=1", e));
    s->immutable = true;
    return connect_to(s, uri, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, e);
}

/* Whether the folder holds the run folders that a lost results.db is made from again. */
static bool has_runs(const char *folder)
{
    char path[DATABASE_PATH_BYTES + 8];

    snprintf(path, sizeof path, "%s/runs", folder);
    return access(path, F_OK) == 0;
}

static int connect_reader(struct store *s, const char *folder, struct err *e)
{
    int64_t version = 0;
    const char *network = network_name(folder);

    s->immutable = false;
    TRY(check_regular(s, e));
    if (stat(s->path, &s->opened) < 0)
        return ERR(e, ERR_NOINPUT, "%s: is not there; `alibi run table5` makes it%s", s->path,
                   has_runs(folder) ? ", and `alibi merge runs/` from what lies under runs/" : "");
    if (network && wal_bytes(s) > 0)
        return ERR(e, ERR_UNAVAILABLE,
                   "%s: is in use and lies on a network file system, %s, where it cannot be read "
                   "safely; read it on the machine that writes it",
                   s->path, network);
    if (network) return connect_immutable(s, e);
    TRY(connect_to(s, s->path, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, e));
    struct err first = {0};
    if (database_number(s, &version, "PRAGMA user_version", &first) == 0) return 0;
    if (first.code != ERR_IO) {
        if (e) *e = first;
        return first.code;
    }
    if (wal_bytes(s) > 0)
        return ERR(e, ERR_IO,
                   "%s: rows are in its -wal file, which cannot be read in this read-only folder; "
                   "copy results.db* to a folder you can write to, and read them there",
                   s->path);
    return connect_immutable(s, e);
}

static int open_reader(struct store *s, const char *folder, struct err *e)
{
    int64_t version;
    int32_t missing_n;

    TRY(connect_reader(s, folder, e));
    TRY(migrate_version(s, &version, schema_steps_n, e));
    if (version == 0)
        return ERR(e, ERR_NOINPUT, "%s: holds no results yet; `alibi run table5` makes some",
                   s->path);
    if (version < schema_steps_n)
        return ERR(e, ERR_UNAVAILABLE,
                   "%s: its schema has version %lld, this program reads version %d; a "
                   "command that writes, such as `alibi gc`, brings it up to date and keeps a "
                   "copy",
                   s->path, (long long)version, schema_steps_n);
    TRY(migrate_columns(s, &missing_n, e));
    if (missing_n > 0)
        return ERR(e, ERR_UNAVAILABLE,
                   "%s: its tables lack %d of the columns that this program reads; a command that "
                   "writes, such as `alibi gc`, adds them and keeps a copy",
                   s->path, missing_n);
    return migrate_views(s, schema_views, e);
}

int database_refresh(struct store *s, struct err *e)
{
    char folder[DATABASE_PATH_BYTES];
    struct stat now;

    if (!s->immutable || s->depth > 0 || s->fence) return 0;
    bool same = stat(s->path, &now) == 0 && now.st_ino == s->opened.st_ino &&
                now.st_size == s->opened.st_size &&
                now.st_mtim.tv_sec == s->opened.st_mtim.tv_sec &&
                now.st_mtim.tv_nsec == s->opened.st_mtim.tv_nsec;
    if (same && wal_bytes(s) == 0) return 0;
    const char *slash = strrchr(s->path, '/');
    snprintf(folder, sizeof folder, "%.*s", (int)(slash - s->path) + 1, s->path);
    return open_reader(s, folder, e);
}

static int take_lock(struct store *s, struct err *e)
{
    char path[DATABASE_PATH_BYTES + 8], holder[192], host[65] = "", since[CLOCK_TEXT_BYTES];

    snprintf(path, sizeof path, "%s.lock", s->path);
    gethostname(host, sizeof host - 1);
    clock_utc(since);
    snprintf(holder, sizeof holder, "pid %ld on %s since %s", (long)getpid(), host, since);
    return file_lock(&s->lock_fd, path, holder, e);
}

static int use_wal(struct store *s, struct err *e)
{
    sqlite3_stmt *statement = NULL;
    char mode[16] = "";

    int rc = sqlite3_prepare_v2(s->connection_own, "PRAGMA journal_mode=WAL", -1, &statement, NULL);
    if (rc == SQLITE_OK) rc = sqlite3_step(statement);
    if (rc == SQLITE_ROW) database_text(mode, sizeof mode, statement, 0);
    int code = rc == SQLITE_ROW ? 0 : database_error(s, rc, e);
    sqlite3_finalize(statement);
    if (code == 0 && strcmp(mode, "wal") != 0)
        return ERR(e, ERR_UNAVAILABLE,
                   "%s: this file system gives no shared memory for WAL (journal mode %s); put "
                   "results.db on a local disk",
                   s->path, mode);
    return code;
}

static int sync_folder(const char *folder, struct err *e)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0) return ERR(e, ERR_IO, "%s: %s", folder, strerror(errno));
    int rc = 0;
    if (fsync(fd) < 0 && errno != EINVAL)
        rc = ERR(e, ERR_IO, "%s: fsync: %s", folder, strerror(errno));
    close(fd);
    return rc;
}

static void remove_beside(const struct store *s, const char *suffix)
{
    char path[DATABASE_PATH_BYTES + 16];
    snprintf(path, sizeof path, "%s%s", s->path, suffix);
    unlink(path);
}

/* Makes the file with its schema, under the lock. The log of a file that was deleted would be
 * replayed into the new one, so it goes first. */
static int create_file(const struct store *s, const char *folder, struct err *e)
{
    static const char *const stale[] = {".new", ".new-journal", "-journal", "-wal", "-shm"};
    struct store made = {.mode = STORE_WRITE, .lock_fd = -1};
    int rc = 0;

    for (size_t i = 0; i < sizeof stale / sizeof *stale; i++) remove_beside(s, stale[i]);
    if ((size_t)snprintf(made.path, sizeof made.path, "%s.new", s->path) >= sizeof made.path)
        return ERR(e, ERR_USAGE, "%.80s…: the path is too long", s->path);
    TRY_OUT(rc, connect_to(&made, made.path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, e));
    if (stat(made.path, &made.opened) < 0) {
        rc = ERR(e, ERR_CREATE, "%s: %s", made.path, strerror(errno));
        goto out;
    }
    TRY_OUT(rc, migrate_run(&made, schema_steps, schema_steps_n, schema_views, e));
    close_connection(&made);
    if (rename(made.path, s->path) < 0) {
        rc = ERR(e, ERR_CREATE, "%s: cannot be created: %s", s->path, strerror(errno));
        goto out;
    }
    rc = sync_folder(folder, e);
out:
    close_connection(&made);
    if (rc < 0) unlink(made.path);
    return rc;
}

/* A trigger of another's making would run in every write. */
static int check_triggers(struct store *s, struct err *e)
{
    sqlite3_stmt *row = NULL;
    char name[64] = "";
    int rc = sqlite3_prepare_v2(s->connection_own,
                                "SELECT name FROM sqlite_schema WHERE type='trigger' AND sql<>?1",
                                -1, &row, NULL);

    if (rc == SQLITE_OK) rc = sqlite3_bind_text(row, 1, schema_trigger, -1, SQLITE_STATIC);
    if (rc == SQLITE_OK) rc = sqlite3_step(row);
    if (rc == SQLITE_ROW) database_text(name, sizeof name, row, 0);
    int code = rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : database_error(s, rc, e);
    sqlite3_finalize(row);
    if (code == 0 && rc == SQLITE_ROW)
        return ERR(e, ERR_DATA,
                   "%s: holds the trigger '%s', which alibi did not make; drop it with the sqlite3 "
                   "shell, or move the file away",
                   s->path, name);
    return code;
}

static int open_writer(struct store *s, const char *folder, struct err *e)
{
    int64_t version;
    const char *network = network_name(folder);

    if (network)
        return ERR(e, ERR_UNAVAILABLE,
                   "%s: lies on a network file system, %s, where SQLite's WAL is not safe; make it "
                   "a symbolic link to a local disk, as with ln -s /var/tmp/results.db, or take a "
                   "local folder with --project",
                   s->path, network);
    TRY(take_lock(s, e));
    TRY(check_regular(s, e));
    if (stat(s->path, &s->opened) < 0 || s->opened.st_size == 0) TRY(create_file(s, folder, e));
    TRY(connect_to(s, s->path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_URI, e));
    TRY(migrate_version(s, &version, schema_steps_n, e)); /* before anything is changed */
    TRY(use_wal(s, e));
    TRY(database_script(s, "PRAGMA synchronous=FULL;PRAGMA foreign_keys=ON;PRAGMA temp_store=2",
                        e));
    if (stat(s->path, &s->opened) < 0) return ERR(e, ERR_IO, "%s: %s", s->path, strerror(errno));
    TRY(migrate_run(s, schema_steps, schema_steps_n, schema_views, e));
    TRY(check_triggers(s, e));
    return migrate_views(s, schema_views, e);
}

int store_open(struct store **out, const char *path, enum store_mode mode, struct err *e)
{
    char folder[DATABASE_PATH_BYTES];
    int rc = 0;
    struct store *s = calloc(1, sizeof *s);

    *out = NULL;
    if (!s) return ERR(e, ERR_NOMEM, "%s: no memory to open it", path);
    s->mode = mode;
    s->lock_fd = -1;
    arena_init(&s->arena);
    TRY_OUT(rc, resolve(s, folder, path, e));
    TRY_OUT(rc, mode == STORE_WRITE ? open_writer(s, folder, e) : open_reader(s, folder, e));
    *out = s;
    s = NULL;
out:
    store_close(s);
    return rc;
}

void store_close(struct store *s)
{
    if (!s) return;
    while (s->depth > 0) store_rollback(s);
    close_connection(s);
    file_unlock(s->lock_fd);
    arena_fini(&s->arena);
    free(s);
}
