/* statements.c - statements of a store and nested transactions. */
#include "store/statements.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "store/database.h"
#include "store/open.h"
#include "store/side_files.h"

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
        "; take an undamaged copy from where it is published, unpacked if it is a zip file");
}

int database_replaced_error(const struct store *s, struct err *e)
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

    if (sqlite_code == SQLITE_READONLY_DBMOVED) return database_replaced_error(s, e);
    /* results.db-shm does not grow: SQLite calls that an I/O error, but the disk is full. */
    if (sqlite_code == SQLITE_IOERR_SHMSIZE) {
        sqlite_code = SQLITE_FULL;
        text = sqlite3_errstr(sqlite_code);
    }
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

static int check_same_file(struct store *s, struct err *e)
{
    if (s->mode == STORE_READ) return database_refresh(s, e);
    return side_files_are_replaced(s) ? database_replaced_error(s, e) : 0;
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
