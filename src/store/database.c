/* database.c - results.db as an SQLite connection: statements and nested transactions, migrations,
 * and opening it: the one writer under its lock, readers that write nothing.
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
#include "store/database.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/str.h"
#include "record/fields.h"
#include "record/run_folder.h"

enum { OPEN_BUSY_MS = 60000, OPEN_TRIES = 100, DATABASE_SQL_BYTES = 1 << 20 };

/* --- statements and transactions ------------------------------------------------------------ */

/* The error of an SQLite primary code. */
static const struct {
    int sqlite_code;
    enum err_code code;
    const char *remedy; /* NULL: database_rebuild */
} error_table[] = {
    {SQLITE_BUSY, ERR_TRYLATER, "; another program holds it: close it and repeat the command"},
    {SQLITE_LOCKED, ERR_TRYLATER, "; repeat the command"},
    {SQLITE_FULL, ERR_IO, "; free space on that disk and repeat the command"},
    {SQLITE_IOERR, ERR_IO, ""},
    {SQLITE_CORRUPT, ERR_DATA, NULL},
    {SQLITE_NOTADB, ERR_DATA, NULL},
    {SQLITE_CANTOPEN, ERR_IO, ""},
    {SQLITE_READONLY, ERR_IO, ""},
    {SQLITE_PERM, ERR_IO, ""},
    {SQLITE_NOMEM, ERR_NOMEM, ""},
    {SQLITE_TOOBIG, ERR_DATA, "; the limit of a value or a row is " DATABASE_VALUE_TEXT},
};

const char *database_rebuild(const struct store *s)
{
    return database_remedy(
        s,
        "; move results.db* away, then rebuild it with `alibi merge runs/` or take it from a "
        "backup",
        "; take an undamaged copy from where it is published");
}

static int replaced_error(const struct store *s, struct err *e)
{
    return ERR(e, ERR_IO,
               "%s: was deleted or replaced while in use; nothing more is written; put the file or "
               "a copy of it there, run `alibi merge runs/` for the results that it lacks, and "
               "repeat the command",
               s->path);
}

int database_error(struct store *s, int sqlite_code, struct err *e)
{
    const char *text =
        s->connection_own ? sqlite3_errmsg(s->connection_own) : sqlite3_errstr(sqlite_code);

    if (sqlite_code == SQLITE_READONLY_DBMOVED) return replaced_error(s, e);
    if ((sqlite_code & 0xff) == SQLITE_AUTH && !s->fence)
        return ERR(e, ERR_DATA,
                   "%s: %s; a view or trigger that alibi did not make is where a table should be",
                   s->path, text);
    for (size_t i = 0; i < sizeof error_table / sizeof *error_table; i++)
        if (error_table[i].sqlite_code == (sqlite_code & 0xff))
            return ERR(e, error_table[i].code, "%s: %s%s", s->path, text,
                       error_table[i].remedy ? error_table[i].remedy : database_rebuild(s));
    return ERR(e, ERR_INTERNAL, "%s: %s", s->path, text);
}

static void forget_statements(struct store *s)
{
    for (int i = 0; i < s->statements_n; i++) sqlite3_finalize(s->statement[i].statement_own);
    s->statements_n = 0;
}

static int statement_get(struct store *s, sqlite3_stmt **out, const char *sql, struct err *e)
{
    for (int i = 0; i < s->statements_n; i++) {
        if (s->statement[i].sql != sql) continue;
        *out = s->statement[i].statement_own;
        sqlite3_reset(*out);
        return 0;
    }
    if (s->statements_n == DATABASE_STATEMENTS)
        return ERR(e, ERR_INTERNAL, "%s: more than %d kinds of statement", s->path,
                   DATABASE_STATEMENTS);
    int rc = sqlite3_prepare_v3(s->connection_own, sql, -1, SQLITE_PREPARE_PERSISTENT, out, NULL);
    if (rc != SQLITE_OK) return database_error(s, rc, e);
    s->statement[s->statements_n++] = (struct database_statement){sql, *out};
    return 0;
}

static int bind_value(sqlite3_stmt *statement, int at, const struct record_value *v)
{
    if (!v->known || (v->kind == RECORD_REAL && !isfinite(v->real)))
        return sqlite3_bind_null(statement, at);
    if (v->kind == RECORD_REAL) return sqlite3_bind_double(statement, at, v->real);
    if (v->kind != RECORD_TEXT) return sqlite3_bind_int64(statement, at, v->integer);
    return sqlite3_bind_text(statement, at, v->text, -1, SQLITE_TRANSIENT);
}

int database_select(struct store *s, sqlite3_stmt **out, const char *sql,
                    const struct record_value *values, int n, struct err *e)
{
    TRY(statement_get(s, out, sql, e));
    for (int i = 0; i < n && i < sqlite3_bind_parameter_count(*out); i++) {
        int rc = bind_value(*out, i + 1, &values[i]);
        if (rc != SQLITE_OK) return database_error(s, rc, e);
    }
    return 0;
}

static void reset_statement(sqlite3_stmt *statement)
{
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
}

static void read_columns(struct store *s, sqlite3_stmt *row, const struct database_column *column,
                         int n)
{
    for (int i = 0; i < n; i++) {
        void *to = column[i].to;
        const char *text = (const char *)sqlite3_column_text(row, i);
        switch (column[i].type) {
        case 'b':
            *(bool *)to = sqlite3_column_int(row, i);
            break;
        case 'w':
            *(int32_t *)to = sqlite3_column_int(row, i);
            break;
        case 'i':
            *(int64_t *)to = sqlite3_column_int64(row, i);
            break;
        case 'r':
            *(double *)to = sqlite3_column_double(row, i);
            break;
        case 't':
            snprintf(to, column[i].bytes, "%s", text ? text : "");
            break;
        default:
            *(const char **)to = text ? arena_strdup(&s->arena, text) : "";
        }
    }
}

int database_script(struct store *s, const char *sql, struct err *e)
{
    int rc = sqlite3_exec(s->connection_own, sql, NULL, NULL, NULL);
    return rc == SQLITE_OK ? 0 : database_error(s, rc, e);
}

int database_next(struct store *s, sqlite3_stmt *statement, const struct database_column *column,
                  int n, struct err *e)
{
    int rc = sqlite3_step(statement);

    if (rc == SQLITE_ROW) {
        read_columns(s, statement, column, n);
        return 1;
    }
    int code = rc == SQLITE_DONE ? 0 : database_error(s, rc, e);
    reset_statement(statement);
    return code;
}

int database_get(struct store *s, const char *sql, const struct record_value *values, int values_n,
                 const struct database_column *column, int columns_n, struct err *e)
{
    sqlite3_stmt *statement;

    for (int i = 0; i < columns_n; i++) memset(column[i].to, 0, column[i].bytes);
    TRY(database_select(s, &statement, sql, values, values_n, e));
    int rc = database_next(s, statement, column, columns_n, e);
    if (rc > 0) reset_statement(statement);
    return rc;
}

int database_run(struct store *s, const char *sql, const struct record_value *values, int n,
                 struct err *e)
{
    int rc = database_get(s, sql, values, n, NULL, 0, e);
    return rc < 0 ? rc : 0;
}

/* The path of a file beside the database. */
static const char *beside(struct store *s, const char *suffix)
{
    return arena_printf(&s->arena, "%s%s", s->path, suffix);
}

/* --- which file a log belongs to -------------------------------------------------------------- */

/* SQLite replays the -wal that it finds under the name of a database, and a rollback journal too,
 * whichever file they belong to. Therefore a file that is moved over results.db, such as a backup,
 * would be damaged by the log of the file that it replaces. This prevents it:
 *
 * 1. Before a writer changes anything, results.db.open states the inodes of the file and of its
 *    log. It is deleted with the log, and left with it by a writer that is killed.
 * 2. A log is foreign if it is the one that results.db.open names and results.db is another file.
 * 3. A writer moves a foreign log away before SQLite reads it, and its own as soon as it notices
 *    that the file was replaced. A reader opens the file without it. */
static const char open_format[] = "file %" SCNu64 "\nlog %" SCNu64 "\n";

static uint64_t inode(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 ? (uint64_t)st.st_ino : 0;
}

/* Reads results.db.open; 0: it states nothing. */
static struct database_files files_stated(struct store *s)
{
    struct database_files stated = {0, 0};
    char text[128];

    file_read_tail(text, sizeof text, beside(s, ".open"));
    if (sscanf(text, open_format, &stated.file, &stated.log) == 2) return stated;
    return (struct database_files){0, 0};
}

/* Whether the log of these files is beside another file. Without a -wal it is the journal of the
 * transaction that turns to WAL mode. */
static bool is_foreign(struct store *s, const struct database_files *of)
{
    if (of->file == 0 || of->file == inode(s->path)) return false;
    return of->log ? of->log == inode(beside(s, "-wal")) : file_exists(beside(s, "-journal"));
}

/* The -wal is last: until it has another name, it shows that the log is foreign. */
static int set_log_aside(struct store *s, struct err *e)
{
    enum { JOURNAL, SHARED_MEMORY, WAL };
    static const char *const suffixes[] = {
        [JOURNAL] = "-journal", [SHARED_MEMORY] = "-shm", [WAL] = "-wal"};

    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        const char *path = beside(s, suffixes[i]);
        const char *kept = arena_printf(&s->arena, "%s.deleted%s", s->path, suffixes[i]);
        if (rename(path, kept) < 0) {
            if (errno == ENOENT) continue;
            return ERR(e, ERR_IO, "%s: belongs to an earlier file and cannot be moved to %s: %s",
                       path, kept, strerror(errno));
        }
        if (i != SHARED_MEMORY)
            log_warn("%s: was deleted or replaced; the log of the earlier file is now %s; "
                     "`alibi merge runs/` adds the results that this file lacks",
                     s->path, kept);
    }
    return 0;
}

/* States the files that this writer has open. */
static int state_files(struct store *s, struct err *e)
{
    char text[128];
    uint64_t log = inode(beside(s, "-wal"));
    const struct database_files stated = files_stated(s);

    s->files.log = log;
    if (stated.file == s->files.file && stated.log == log) return 0;
    snprintf(text, sizeof text, "file %" PRIu64 "\nlog %" PRIu64 "\n", s->files.file, log);
    return file_write_atomic(beside(s, ".open"), text, strlen(text), e);
}

/* Whether the path no longer names the opened file. Before the log that it leaves there is moved
 * away, it is written into the opened file, which may only have been moved. */
static bool is_replaced(struct store *s)
{
    if (s->files.file == 0 || inode(s->path) == s->files.file) return false;
    if (s->connection_own)
        sqlite3_wal_checkpoint_v2(s->connection_own, "main", SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    if (is_foreign(s, &s->files)) set_log_aside(s, NULL);
    return true;
}

static int check_same_file(struct store *s, struct err *e)
{
    if (s->mode == STORE_READ) return database_refresh(s, e);
    return is_replaced(s) ? replaced_error(s, e) : 0;
}

static int savepoint(struct store *s, const char *verb, struct err *e)
{
    char sql[64];
    snprintf(sql, sizeof sql, "%s level%d", verb, s->depth);
    return database_script(s, sql, e);
}

int store_begin(struct store *s, struct err *e)
{
    if (s->depth == 0) {
        TRY(check_same_file(s, e));
        TRY(database_script(s, s->mode == STORE_WRITE ? "BEGIN IMMEDIATE" : "BEGIN", e));
    } else {
        if (sqlite3_get_autocommit(s->connection_own))
            return ERR(e, ERR_IO, "%s: the transaction was undone by an earlier error", s->path);
        TRY(savepoint(s, "SAVEPOINT", e));
    }
    s->depth++;
    return 0;
}

int store_commit(struct store *s, struct err *e)
{
    if (s->depth == 0) return ERR(e, ERR_INTERNAL, "%s: commit without a begin", s->path);
    if (sqlite3_get_autocommit(s->connection_own))
        return ERR(e, ERR_IO, "%s: the transaction was undone by an earlier error", s->path);
    s->depth--;
    int rc = s->depth == 0 ? database_script(s, "COMMIT", e) : savepoint(s, "RELEASE", e);
    if (rc < 0) s->depth++;
    return rc;
}

void store_rollback(struct store *s)
{
    if (!s || s->depth == 0) return;
    s->depth--;
    if (sqlite3_get_autocommit(s->connection_own)) return;
    if (s->depth == 0) {
        database_script(s, "ROLLBACK", NULL);
    } else if (savepoint(s, "ROLLBACK TO", NULL) == 0) {
        savepoint(s, "RELEASE", NULL);
    }
}

int store_finish(struct store *s, int rc, struct err *e)
{
    if (rc >= 0) rc = store_commit(s, e);
    if (rc < 0) store_rollback(s);
    return rc;
}

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

/* --- migrations ----------------------------------------------------------------------------- */

/* user_version of a file that is empty or a results.db. Errors: ERR_DATA another program's
 * database; ERR_UNAVAILABLE newer than `newest`. */
static int migrate_version(struct store *s, int64_t *out, int newest, struct err *e)
{
    int64_t id = 0, objects = 0;

    TRY(DATABASE_NUMBER(s, *out, e, "PRAGMA user_version"));
    TRY(DATABASE_NUMBER(s, id, e, "PRAGMA application_id"));
    TRY(DATABASE_NUMBER(s, objects, e, "SELECT count(*) FROM sqlite_schema"));
    if (id != SCHEMA_APPLICATION_ID && (id != 0 || objects > 0 || *out != 0))
        return ERR(e, ERR_DATA, "%s: is a database of another program (application_id %lld)%s",
                   s->path, (long long)id,
                   database_remedy(s, "; name another --project folder or move the file away",
                                   "; name a results.db"));
    if (*out < 0 || (*out == 0 && objects > 0))
        return ERR(e, ERR_DATA,
                   "%s: has tables, but its schema has version %lld, and the first is 1%s", s->path,
                   (long long)*out,
                   database_remedy(
                       s, "; restore a copy, or move it away and run `alibi merge runs/`", ""));
    if (*out > newest)
        return ERR(e, ERR_UNAVAILABLE,
                   "%s: its schema has version %lld and this program knows version %d; use the "
                   "newer program that wrote it",
                   s->path, (long long)*out, newest);
    return 0;
}

/* Copies the file to a name with its version. */
static int back_up(struct store *s, int64_t version, struct err *e)
{
    if (!*sqlite3_db_filename(s->connection_own, "main")) return 0; /* in memory */
    const char *path = arena_printf(&s->arena, "%s.backup-v%lld", s->path, (long long)version);
    const char *temporary = arena_printf(&s->arena, "%s.tmp-%ld", path, (long)getpid());

    unlink(temporary);
    int rc = DATABASE_RUN(s, e, "VACUUM INTO ?1", DATABASE_TEXT(temporary));
    if (rc == 0) rc = file_sync(temporary, e);
    if (rc == 0 && rename(temporary, path) < 0)
        rc = ERR(e, ERR_CREATE, "%s: cannot be created: %s", path, strerror(errno));
    if (rc < 0) {
        unlink(temporary);
        err_ctx(e, "backup before the migration");
        return rc;
    }
    log_info("%s: schema version %lld; a copy is in %s", s->path, (long long)version, path);
    return 0;
}

/* Runs the statements that a query gives as one text, which may be empty. */
static int run_answer(struct store *s, const char *sql, struct err *e)
{
    const char *script;

    TRY(database_get(s, sql, NULL, 0, DATABASE_COLUMNS(DATABASE_TO(script)), e));
    return database_script(s, script, e);
}

/* A query for the columns of record_fields and of the key table that tables of the file lack; a
 * table that the file lacks comes with a step. It concatenates for each such table the `expression`
 * of its name `tab`, of the statements `additions` that add the columns, and of their list `nulls`,
 * as ",NULL AS column"; "" if no table lacks any. */
static const char *query_lacking(struct store *s, const char *expression)
{
    static const char *const types[] = {[RECORD_INT] = "INTEGER",
                                        [RECORD_REAL] = "REAL",
                                        [RECORD_TEXT] = "TEXT",
                                        [RECORD_BOOL] = "INTEGER"};
    static const char *const key_types[] = {
        [SPEC_T_INT32] = "INTEGER", [SPEC_T_INT64] = "INTEGER", [SPEC_T_DOUBLE] = "REAL",
        [SPEC_T_BOOL] = "INTEGER",  [SPEC_T_ENUM] = "TEXT",     [SPEC_T_TEXT] = "TEXT",
        [SPEC_T_INTS] = "TEXT",     [SPEC_T_REALS] = "TEXT"};
    size_t keys_n;
    const struct spec_key *keys = spec_keys(&keys_n);
    struct strbuf sql;
    const char *comma = "";

    strbuf_init(&sql, &s->arena);
    strbuf_addf(&sql,
                "SELECT group_concat(%s,'') FROM(SELECT tab,"
                " group_concat('ALTER TABLE '||tab||' ADD COLUMN '||col||' '||type||';','')"
                "  AS additions, group_concat(',NULL AS '||col,'') AS nulls"
                " FROM(SELECT DISTINCT column1 AS tab, column2 AS col, column3 AS type FROM(VALUES",
                expression);
    for (int32_t i = 0; i < record_fields_n; i++) {
        const struct record_field *f = &record_fields[i];
        if (!f->column) continue;
        strbuf_addf(&sql, "%s('%s','%s','%s')", comma, f->table, f->column, types[f->kind]);
        comma = ",";
    }
    for (size_t i = 0; i < keys_n; i++)
        if (keys[i].column)
            strbuf_addf(&sql, ",('runs','%s','%s')", keys[i].column, key_types[keys[i].type]);
    strbuf_add(&sql, ")) WHERE col NOT IN(SELECT name FROM pragma_table_info(tab,'main'))"
                     " AND tab IN(SELECT name FROM main.sqlite_schema WHERE type='table')"
                     " GROUP BY tab)");
    return sql.text;
}

static int add_columns(struct store *s, struct err *e)
{
    return run_answer(s, query_lacking(s, "additions"), e);
}

/* Creates the views whose text in the file is not today's, or all: in the file, or, by a reader, as
 * temporary views of its connection. Views of other names stay. */
static int make_views(struct store *s, const char *const *views, bool all, struct err *e)
{
    static const char prefix[] = "CREATE VIEW ";
    bool writes = s->mode == STORE_WRITE;

    for (; *views; views++) {
        const char *name = *views + sizeof prefix - 1;
        int same = DATABASE_EXISTS(
            s, e, "SELECT 1 FROM main.sqlite_schema WHERE type='view' AND sql=?1 AND NOT ?2",
            DATABASE_TEXT(*views), DATABASE_INT(all));
        if (same < 0) return same;
        if (same) continue;
        TRY(database_script(s,
                            arena_printf(&s->arena, "DROP VIEW IF EXISTS %s.%.*s;CREATE %s VIEW %s",
                                         writes ? "main" : "temp", (int)strcspn(name, " "), name,
                                         writes ? "" : "TEMP", name),
                            e));
    }
    return 0;
}

/* The steps from a version on, the columns that tables lack, and the views. */
static int apply_steps(struct store *s, const struct schema_step *steps, int steps_n, int64_t from,
                       const char *const *views, struct err *e)
{
    char sql[96];
    int64_t broken = 0;
    int newest = steps[steps_n - 1].version;

    if (from < newest) /* a view would follow a renamed table */
        TRY(run_answer(s,
                       "SELECT group_concat(printf('DROP VIEW \"%w\";',name),'')"
                       " FROM sqlite_schema WHERE type='view'",
                       e));
    if (from > 0) TRY(add_columns(s, e));
    for (int i = 0; i < steps_n; i++) {
        if (steps[i].version <= from) continue;
        TRY(database_script(s, steps[i].sql, e));
        TRY(add_columns(s, e));
        if (steps[i].rows) TRY(database_script(s, steps[i].rows, e));
        if (steps[i].moved) TRY(database_script(s, steps[i].moved, e));
    }
    TRY(make_views(s, views, false, e));
    TRY(DATABASE_NUMBER(s, broken, e, "SELECT count(*) FROM pragma_foreign_key_check"));
    if (broken > 0)
        return ERR(e, ERR_DATA, "%s: %lld rows point to rows that do not exist", s->path,
                   (long long)broken);
    snprintf(sql, sizeof sql, "PRAGMA application_id=%d;PRAGMA user_version=%d",
             SCHEMA_APPLICATION_ID, newest);
    return database_script(s, sql, e);
}

int migrate_run(struct store *s, const struct schema_step *steps, int steps_n,
                const char *const *views, struct err *e)
{
    int newest = steps[steps_n - 1].version;
    int64_t version = 0;
    const char *lacking;
    int rc = 0;

    TRY(migrate_version(s, &version, newest, e));
    TRY(database_get(s, query_lacking(s, "tab"), NULL, 0, DATABASE_COLUMNS(DATABASE_TO(lacking)),
                     e));
    bool renews = version < newest || *lacking;
    if (renews && version > 0) TRY(back_up(s, version, e));
    /* A step may rebuild a referenced table; foreign_key_check follows. */
    if (renews) {
        forget_statements(s);
        TRY(database_script(s, "PRAGMA foreign_keys=OFF", e));
    }
    TRY_OUT(rc, store_begin(s, e));
    TRY_OUT(rc, renews ? apply_steps(s, steps, steps_n, version, views, e)
                       : make_views(s, views, false, e));
    TRY_OUT(rc, store_commit(s, e));
out:
    if (rc < 0) {
        store_rollback(s);
        if (renews) err_ctx(e, "migration from version %lld to %d", (long long)version, newest);
    }
    if (renews) database_script(s, "PRAGMA foreign_keys=ON", NULL);
    return rc;
}

/* --- opening -------------------------------------------------------------------------------- */

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

/* Bytes of the write-ahead log beside the file; 0: none. */
static int64_t wal_bytes(struct store *s)
{
    struct stat st;

    return stat(beside(s, "-wal"), &st) == 0 ? (int64_t)st.st_size : 0;
}

/* Begins every rollback journal, and ends one that names another file. */
static const unsigned char journal_magic[] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};

static bool journal_has_magic(struct store *s, bool at_end)
{
    unsigned char found[sizeof journal_magic];
    int fd = open(beside(s, "-journal"), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat st;

    if (fd < 0) return false;
    off_t at = at_end && fstat(fd, &st) == 0 ? st.st_size - (off_t)sizeof found : 0;
    bool has = at >= 0 && pread(fd, found, sizeof found, at) == (ssize_t)sizeof found &&
               memcmp(found, journal_magic, sizeof found) == 0;
    close(fd);
    return has;
}

/* Rejects what SQLite would obey to somebody's harm. It would block on a FIFO and read a device; it
 * does not open side files that are links. A journal may name a file by its path, the super-journal
 * of a transaction on several databases, which SQLite deletes after undoing the transaction. */
static int check_files(struct store *s, struct err *e)
{
    static const char *const suffixes[] = {"", "-journal", "-wal", "-shm", ".open"};
    struct stat st;

    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        const char *path = beside(s, suffixes[i]);
        int found = i ? lstat(path, &st) : stat(path, &st);
        if (found == 0 && !S_ISREG(st.st_mode))
            return ERR(e, ERR_DATA, "%s: is not a regular file%s", path,
                       database_remedy(s, "; move it away", "; name a results.db"));
    }
    if (journal_has_magic(s, true))
        return ERR(
            e, ERR_DATA,
            "%s-journal: names another file, which SQLite would delete; alibi writes no such "
            "journal: move it away",
            s->path);
    return 0;
}

static void close_connection(struct store *s)
{
    forget_statements(s);
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
    if (is_its_journal && journal_has_magic(s, false))
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
    const struct database_files stated = files_stated(s);

    s->immutable = false;
    TRY(check_files(s, e));
    if (stat(s->path, &s->opened) < 0)
        return ERR(e, ERR_NOINPUT, "%s not found%s", s->path,
                   database_remedy(s,
                                   has_runs(s) ? "; run `alibi merge runs/` first"
                                               : "; run `alibi run table5` first",
                                   ""));
    if (is_foreign(s, &stated)) return connect_immutable(s, false, e);
    if (network && wal_bytes(s) > 0)
        return ERR(e, ERR_UNAVAILABLE,
                   "%s is in use on %s, a network file system, where it cannot be read safely; "
                   "read it on the machine that writes it",
                   s->path, network);
    /* Without a log nobody writes the file, and SQLite would leave an empty one beside it. */
    if (network || (s->is_given && wal_bytes(s) == 0)) return connect_immutable(s, true, e);
    TRY(connect_to(s, s->path, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, e));
    struct err first = {0};
    if (DATABASE_NUMBER(s, version, &first, "PRAGMA user_version") >= 0) return 0;
    if (first.code != ERR_IO) {
        if (e) *e = first;
        return first.code;
    }
    if (wal_bytes(s) > 0)
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
        const uint64_t file = inode(s->path), log = inode(beside(s, "-wal"));
        rc = try_reader(s, e);
        if (file == inode(s->path) && log == inode(beside(s, "-wal"))) break;
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
    TRY(database_get(s, query_lacking(s, view), NULL, 0, DATABASE_COLUMNS(DATABASE_TO(shadows)),
                     e));
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
    return make_views(s, schema_views, *shadows || version < schema_steps_n, e);
}

int database_refresh(struct store *s, struct err *e)
{
    struct stat now;

    if (!s->immutable || s->depth > 0) return 0;
    bool same = stat(s->path, &now) == 0 && now.st_ino == s->opened.st_ino &&
                now.st_size == s->opened.st_size &&
                now.st_mtim.tv_sec == s->opened.st_mtim.tv_sec &&
                now.st_mtim.tv_nsec == s->opened.st_mtim.tv_nsec;
    return same && wal_bytes(s) == 0 ? 0 : open_reader(s, e);
}

static int take_lock(struct store *s, struct err *e)
{
    char holder[192], host[65] = "", since[CLOCK_TEXT_BYTES];

    gethostname(host, sizeof host - 1);
    clock_utc(since);
    snprintf(holder, sizeof holder, "pid %ld on %s since %s", (long)getpid(), host, since);
    return file_lock(&s->lock_fd, beside(s, ".lock"), holder, e);
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

    TRY(set_log_aside(s, e));
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

/* Deletes temporary files of writers that were killed; the lock says that no other one writes. */
static void remove_leftovers(struct store *s)
{
    const char *name = strrchr(s->path, '/') + 1;
    size_t name_n = strlen(name);
    struct dir d;
    struct err ignored; /* a folder that cannot be listed keeps its leftovers */

    if (dir_open(&d, s->folder, &ignored) < 0) return;
    for (int32_t i = 0; i < d.n; i++) {
        if (strncmp(d.name_own[i], name, name_n) != 0) continue;
        const char *number = strstr(d.name_own[i] + name_n, FILE_TEMPORARY);
        if (!number) continue;
        number += strlen(FILE_TEMPORARY);
        if (*number && number[strspn(number, "0123456789")] == '\0')
            unlinkat(d.fd, d.name_own[i], 0);
    }
    dir_close(&d);
}

/* Opens the file that the path names, without the log of another one. */
static int connect_writer(struct store *s, struct err *e)
{
    const struct database_files stated = files_stated(s);
    int moved = 1;

    for (int i = 0; moved; i++) {
        if (i == OPEN_TRIES) return replaced_error(s, e);
        TRY(connect_to(s, s->path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_URI, e));
        if (stat(s->path, &s->opened) < 0)
            return ERR(e, ERR_IO, "%s: %s", s->path, strerror(errno));
        int rc = sqlite3_file_control(s->connection_own, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
        if (rc != SQLITE_OK) return database_error(s, rc, e);
    }
    s->files.file = (uint64_t)s->opened.st_ino;
    return is_foreign(s, &stated) ? set_log_aside(s, e) : 0;
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
    remove_leftovers(s);
    TRY(check_files(s, e));
    if (stat(s->path, &s->opened) < 0 || s->opened.st_size == 0) TRY(create_file(s, e));
    TRY(connect_writer(s, e));
    TRY(migrate_version(s, &version, schema_steps_n, e)); /* before any change */
    TRY(schema_check(s, e));
    TRY(state_files(s, e)); /* before the journal of the change to WAL mode */
    TRY(use_wal(s, e));
    TRY(state_files(s, e));
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

void store_close(struct store *s)
{
    if (!s) return;
    while (s->depth > 0) store_rollback(s);
    (void)is_replaced(s); /* since the last transaction began */
    close_connection(s);
    (void)is_replaced(s); /* since then: SQLite has left its log */
    if (s->files.log && s->files.log != inode(beside(s, "-wal"))) unlink(beside(s, ".open"));
    file_unlock(s->lock_fd);
    arena_fini(&s->arena);
    free(s);
}
