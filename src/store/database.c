/* database.c - statements, values, errors and nested transactions over one SQLite connection. */
#include "store/database.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* How SQLite's primary codes are told to users. */
static const struct {
    int sqlite_code;
    enum err_code code;
    const char *remedy;
} error_table[] = {
    {SQLITE_BUSY, ERR_TRYLATER, "; another program holds it: close it and repeat the command"},
    {SQLITE_LOCKED, ERR_TRYLATER, "; repeat the command"},
    {SQLITE_FULL, ERR_IO, "; free space on that disk and repeat the command"},
    {SQLITE_IOERR, ERR_IO, ""},
    {SQLITE_CORRUPT, ERR_DATA, DATABASE_REBUILD},
    {SQLITE_NOTADB, ERR_DATA, DATABASE_REBUILD},
    {SQLITE_CANTOPEN, ERR_IO, ""},
    {SQLITE_READONLY, ERR_IO, ""},
    {SQLITE_PERM, ERR_IO, ""},
    {SQLITE_NOMEM, ERR_NOMEM, ""},
    {SQLITE_TOOBIG, ERR_DATA, "; the limit of a value or a row is " DATABASE_VALUE_TEXT},
};

int database_error(struct store *s, int sqlite_code, struct err *e)
{
    const char *text =
        s->connection_own ? sqlite3_errmsg(s->connection_own) : sqlite3_errstr(sqlite_code);

    if ((sqlite_code & 0xff) == SQLITE_AUTH && !s->fence)
        return ERR(e, ERR_DATA,
                   "%s: %s; a view or trigger that alibi did not make is where a table should be",
                   s->path, text);
    for (size_t i = 0; i < sizeof error_table / sizeof *error_table; i++)
        if (error_table[i].sqlite_code == (sqlite_code & 0xff))
            return ERR(e, error_table[i].code, "%s: %s%s", s->path, text, error_table[i].remedy);
    return ERR(e, ERR_INTERNAL, "%s: %s", s->path, text);
}

void database_forget_statements(struct store *s)
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

static int bind_value(sqlite3_stmt *statement, int at, const struct database_value *v)
{
    if (v->type == 'i') return sqlite3_bind_int64(statement, at, v->integer);
    if (v->type == 'r' && isfinite(v->real)) return sqlite3_bind_double(statement, at, v->real);
    if (v->type == 't' && v->text)
        return sqlite3_bind_text(statement, at, v->text, -1, SQLITE_TRANSIENT);
    return sqlite3_bind_null(statement, at);
}

int database_select(struct store *s, sqlite3_stmt **out, const char *sql,
                    const struct database_value *values, int n, struct err *e)
{
    TRY(statement_get(s, out, sql, e));
    for (int i = 0; i < n; i++) {
        int rc = bind_value(*out, i + 1, &values[i]);
        if (rc != SQLITE_OK) return database_error(s, rc, e);
    }
    return 0;
}

int database_next(struct store *s, sqlite3_stmt *statement, struct err *e)
{
    int rc = sqlite3_step(statement);

    if (rc == SQLITE_ROW) return 1;
    int code = rc == SQLITE_DONE ? 0 : database_error(s, rc, e);
    database_reset(statement);
    return code;
}

void database_reset(sqlite3_stmt *statement)
{
    if (!statement) return;
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
}

int database_run(struct store *s, const char *sql, const struct database_value *values, int n,
                 struct err *e)
{
    sqlite3_stmt *statement;

    TRY(database_select(s, &statement, sql, values, n, e));
    int rc = database_next(s, statement, e);
    if (rc > 0) database_reset(statement);
    return rc < 0 ? rc : 0;
}

void database_text(char *out, size_t room, sqlite3_stmt *statement, int column)
{
    const char *text = (const char *)sqlite3_column_text(statement, column);
    snprintf(out, room, "%s", text ? text : "");
}

int database_script(struct store *s, const char *sql, struct err *e)
{
    int rc = sqlite3_exec(s->connection_own, sql, NULL, NULL, NULL);
    return rc == SQLITE_OK ? 0 : database_error(s, rc, e);
}

int database_number(struct store *s, int64_t *out, const char *sql, struct err *e)
{
    sqlite3_stmt *statement = NULL;
    int rc = sqlite3_prepare_v2(s->connection_own, sql, -1, &statement, NULL);

    if (rc == SQLITE_OK) rc = sqlite3_step(statement);
    if (rc == SQLITE_ROW) *out = sqlite3_column_int64(statement, 0);
    int code = rc == SQLITE_ROW ? 0 : database_error(s, rc, e);
    sqlite3_finalize(statement);
    return code;
}

/* The file under the path is still the one that was opened: somebody may delete or replace it. */
static int check_same_file(struct store *s, struct err *e)
{
    struct stat now;

    if (s->mode == STORE_READ) return database_refresh(s, e);
    if (stat(s->path, &now) == 0 && now.st_dev == s->opened.st_dev &&
        now.st_ino == s->opened.st_ino)
        return 0;
    return ERR(e, ERR_IO,
               "%s: was deleted or replaced while in use; nothing more is written to it, and the "
               "records under runs/ are kept: put the file back and repeat the command",
               s->path);
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
    memset(s->known, 0, sizeof s->known);
    if (sqlite3_get_autocommit(s->connection_own)) return;
    if (s->depth == 0) {
        database_script(s, "ROLLBACK", NULL);
    } else if (savepoint(s, "ROLLBACK TO", NULL) == 0) {
        savepoint(s, "RELEASE", NULL);
    }
}

int database_uri(char *out, size_t room, const char *path, const char *query, struct err *e)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._-~";
    size_t n = (size_t)snprintf(out, room, "file:");

    for (const char *p = path; *p && n + 4 < room; p++) {
        if (strchr(plain, *p))
            out[n++] = *p;
        else
            n += (size_t)snprintf(out + n, room - n, "%%%02X", (unsigned char)*p);
    }
    if (n + strlen(query) + 8 > room)
        return ERR(e, ERR_USAGE, "%.80s…: the path is too long", path);
    snprintf(out + n, room - n, "?%s", query);
    return 0;
}
